"""One way to use a page in three engines: Chromium, Firefox and WebKit.

Each is driven by what it offers itself: Chromium by Playwright, Firefox by WebDriver BiDi and WebKit by WebDriver. What
a test asks for is the same in all: `Page`.
"""

import base64
import glob
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

import requests
from playwright.sync_api import Browser
from websockets.sync.client import connect

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
WEBKIT = shutil.which("WebKitWebDriver")
MINI_BROWSER = next(iter(glob.glob("/usr/lib/*/webkit2gtk-4.*/MiniBrowser")), None)
XVFB = shutil.which("Xvfb")

WIDTH, HEIGHT = 1366, 768
SECONDS = 120
"""How long to wait for what should happen."""

# Streamlit's components live in shadow trees. An element counts as met where a pointer in its middle would meet it.
LIBRARY = """
window.all ??= (css, text = null, root = document) => [
  ...[...root.querySelectorAll(css)].filter((one) => text === null || one.textContent.trim() === text),
  ...[...root.querySelectorAll("*")].flatMap((one) => (one.shadowRoot ? all(css, text, one.shadowRoot) : [])),
];
window.middle ??= (one) => {
  const { x, y, width, height } = one.getBoundingClientRect();
  return [x + width / 2, y + height / 2];
};
window.place ??= (css, text) => {
  const one = all(css, text).find((each) => each.getClientRects().length);
  if (!one) return null;
  one.scrollIntoView({ block: "center", behavior: "instant" });
  const [x, y] = middle(one);
  let met = document.elementFromPoint(x, y);
  for (let inner; met?.shadowRoot && (inner = met.shadowRoot.elementFromPoint(x, y)) && inner !== met; ) met = inner;
  return one.contains(met) || one.control?.contains(met) || met?.contains(one) ? [x, y] : null;
};
if (!window.faults) {
  window.faults = [];
  window.addEventListener("error", (event) => window.faults.push(String(event.error ?? event.message)));
  window.addEventListener("unhandledrejection", (event) => window.faults.push(String(event.reason)));
}
"""


class Engine(Protocol):
    """What an engine has to offer. Points are CSS pixels of the window of `WIDTH` by `HEIGHT`.

    What an engine starts ends with the `ends` that it is made with.
    """

    def goto(self, url: str) -> None:
        """Load an address; return once it is loaded."""

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression that has one in JSON."""

    def point(self, x: float, y: float, *, press: bool) -> None:
        """Move the pointer to a point, and press there."""

    def type(self, text: str) -> None:
        """Press the keys of a text, one after the other, without a delay."""

    def upload(self, css: str, file: Path) -> None:
        """Choose a file in a file input."""

    def download(self, press: Callable[[], None]) -> tuple[str, bytes]:
        """Do what starts a download; return the file's name and content."""

    def screenshot(self, file: Path) -> None:
        """Write what the window shows to a PNG."""


class Chromium:
    """Chromium by Playwright."""

    def __init__(self, browser: Browser, ends: ExitStack) -> None:
        context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT})
        ends.callback(context.close)
        self._page = context.new_page()

    def goto(self, url: str) -> None:
        self._page.goto(url)

    def evaluate(self, expression: str) -> Any:
        return self._page.evaluate(expression)

    def point(self, x: float, y: float, *, press: bool) -> None:
        self._page.mouse.move(x, y)
        if press:
            self._page.mouse.click(x, y)

    def type(self, text: str) -> None:
        self._page.keyboard.type(text)

    def upload(self, css: str, file: Path) -> None:
        self._page.locator(css).set_input_files(file)

    def download(self, press: Callable[[], None]) -> tuple[str, bytes]:
        with self._page.expect_download() as came:
            press()
        return came.value.suggested_filename, came.value.path().read_bytes()

    def screenshot(self, file: Path) -> None:
        self._page.screenshot(path=file)


class Firefox:
    """Firefox by WebDriver BiDi, https://w3c.github.io/webdriver-bidi, which needs no driver beside the browser."""

    def __init__(self, folder: Path, ends: ExitStack) -> None:
        self._downloads = folder / "downloads"
        self._downloads.mkdir()
        profile = folder / "profile"
        profile.mkdir()
        settings = {"browser.download.folderList": 2, "browser.download.dir": str(self._downloads)}
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in settings.items()]
        (profile / "user.js").write_text("\n".join(lines), encoding="utf-8")
        self._sent = 0
        _start(ends, [FIREFOX, "--headless", "--profile", str(profile), "--remote-debugging-port", "0"], folder)
        server = profile / "WebDriverBiDiServer.json"
        _wait(lambda: server.is_file() and server.read_bytes().strip().endswith(b"}"), "Firefox's WebDriver BiDi")
        port = json.loads(server.read_text(encoding="utf-8"))["ws_port"]
        self._socket = ends.enter_context(connect(f"ws://127.0.0.1:{port}/session", max_size=None))
        self._do("session.new", capabilities={})
        self._tab = self._do("browsingContext.getTree")["contexts"][0]["context"]
        self._in_tab("browsingContext.setViewport", viewport={"width": WIDTH, "height": HEIGHT})

    def _do(self, method: str, **values: Any) -> dict:
        """Give a command and return its result."""
        self._sent += 1
        self._socket.send(json.dumps({"id": self._sent, "method": method, "params": values}))
        while (came := json.loads(self._socket.recv(timeout=60))).get("id") != self._sent:
            pass  # an event
        assert came["type"] == "success", f"Firefox refused {method}: {came}"
        return came["result"]

    def _in_tab(self, method: str, **values: Any) -> dict:
        return self._do(method, context=self._tab, **values)

    def goto(self, url: str) -> None:
        # The page before, which sets its own address as it runs, can end Firefox's wait before it is gone.
        self.evaluate("window.left = true")
        self._in_tab("browsingContext.navigate", url=url, wait="complete")
        _wait(lambda: self.evaluate("!window.left && document.readyState === 'complete'"), url)

    def evaluate(self, expression: str) -> Any:
        # As JSON, which Python reads; the protocol's own form of a value names the type of each part.
        came = self._do(
            "script.evaluate",
            expression=f"JSON.stringify({expression})",
            target={"context": self._tab},
            awaitPromise=False,
        )
        assert came["type"] == "success", came["exceptionDetails"]["text"]
        return json.loads(came["result"].get("value", "null"))

    def point(self, x: float, y: float, *, press: bool) -> None:
        self._in_tab("input.performActions", actions=[_pointer(x, y, press)])

    def type(self, text: str) -> None:
        self._in_tab("input.performActions", actions=[_keys(text)])

    def upload(self, css: str, file: Path) -> None:
        found = self._in_tab("browsingContext.locateNodes", locator={"type": "css", "value": css})["nodes"][0]
        self._in_tab("input.setFiles", element={"sharedId": found["sharedId"]}, files=[str(file)])

    def download(self, press: Callable[[], None]) -> tuple[str, bytes]:
        return _downloaded(self._downloads, press)

    def screenshot(self, file: Path) -> None:
        file.write_bytes(base64.b64decode(self._in_tab("browsingContext.captureScreenshot")["data"]))


class WebKit:
    """WebKitGTK's MiniBrowser by WebDriver, https://www.w3.org/TR/webdriver2, on a screen of its own."""

    def __init__(self, folder: Path, ends: ExitStack) -> None:
        self._downloads = folder / "downloads"
        self._downloads.mkdir()
        (folder / "user-dirs.dirs").write_text(f'XDG_DOWNLOAD_DIR="{self._downloads}"\n', encoding="utf-8")
        display, port = folder / "display", free_port()
        with open(display, "wb") as number:
            command = [XVFB, "-displayfd", str(number.fileno()), "-screen", "0", "1600x1000x24", "-nolisten", "tcp"]
            _start(ends, command, folder, pass_fds=[number.fileno()])
        _wait(lambda: display.read_bytes().endswith(b"\n"), "Xvfb")
        own = {
            "DISPLAY": f":{display.read_text(encoding='utf-8').strip()}",
            "XDG_CONFIG_HOME": str(folder),
            "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS": "1",  # it needs rights that containers lack
        }
        _start(ends, [WEBKIT, f"--port={port}"], folder, env=os.environ | own)
        self._session = f"http://127.0.0.1:{port}"
        _wait(self._answers, "WebKit's WebDriver")
        options = {"binary": MINI_BROWSER, "args": ["--automation"]}
        came = self._do("session", capabilities={"alwaysMatch": {"webkitgtk:browserOptions": options}})
        self._session += f"/session/{came['sessionId']}"
        ends.callback(requests.delete, self._session, timeout=SECONDS)
        self._do("window/rect", width=WIDTH, height=HEIGHT)
        self._do("window/rect", width=WIDTH, height=2 * HEIGHT - self.evaluate("innerHeight"))

    def _answers(self) -> bool:
        try:
            return requests.get(f"{self._session}/status", timeout=SECONDS).ok
        except requests.ConnectionError:
            return False

    def _do(self, command: str, **values: Any) -> Any:
        """Give a command and return its value."""
        answer = requests.post(f"{self._session}/{command}", json=values, timeout=2 * SECONDS)
        assert answer.ok, f"WebKit refused {command}: {answer.text}"
        return answer.json()["value"]

    def goto(self, url: str) -> None:
        self._do("url", url=url)

    def evaluate(self, expression: str) -> Any:
        return self._do("execute/sync", script=f"return {expression}", args=[])

    def point(self, x: float, y: float, *, press: bool) -> None:
        self._do("actions", actions=[_pointer(x, y, press)])

    def type(self, text: str) -> None:
        self._do("actions", actions=[_keys(text)])

    def upload(self, css: str, file: Path) -> None:
        (element,) = self._do("element", using="css selector", value=css).values()
        self._do(f"element/{element}/value", text=str(file))

    def download(self, press: Callable[[], None]) -> tuple[str, bytes]:
        return _downloaded(self._downloads, press)

    def screenshot(self, file: Path) -> None:
        answer = requests.get(f"{self._session}/screenshot", timeout=SECONDS)
        file.write_bytes(base64.b64decode(answer.json()["value"]))


def _pointer(x: float, y: float, press: bool) -> dict:
    """Return what both WebDriver protocols call a source of actions: a pointer that moves to a point."""
    actions = [{"type": "pointerMove", "x": round(x), "y": round(y)}]
    if press:
        actions += [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
    return {"type": "pointer", "id": "mouse", "actions": actions}


def _keys(text: str) -> dict:
    """Return the source of actions that presses the keys of a text."""
    actions = [{"type": kind, "value": key} for key in text for kind in ("keyDown", "keyUp")]
    return {"type": "key", "id": "keyboard", "actions": actions}


def _start(ends: ExitStack, command: list[str], folder: Path, **more: Any) -> None:
    """Start a program, whose words go to a file in `folder`; it ends with `ends`."""
    with open(folder / f"{Path(command[0]).name}.log", "wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, **more)
    ends.callback(process.wait, 20)
    ends.callback(process.terminate)


def _downloaded(folder: Path, press: Callable[[], None]) -> tuple[str, bytes]:
    """Do what starts a download into a folder; return the file that came, once it is whole, by its name."""
    before = set(folder.iterdir())
    press()

    def came() -> list[Path]:
        now = set(folder.iterdir()) - before
        unfinished = [one for one in now if one.suffix in (".part", ".wkdownload") or not one.stat().st_size]
        return [] if unfinished else sorted(now)

    _wait(came, "the download")
    (file,) = came()
    return file.name, file.read_bytes()


def free_port() -> int:
    """Return a port of this machine that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait(condition: Callable[[], Any], what: str) -> Any:
    """Wait until a condition holds and return it."""
    until = time.monotonic() + SECONDS
    while not (held := condition()):
        if time.monotonic() > until:
            raise AssertionError(f"{what} did not come within {SECONDS} s")
        time.sleep(0.05)
    return held


class Page:
    """A page in any engine, as a visitor uses it: by a pointer and by keys."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def goto(self, url: str) -> None:
        """Load an address and watch for errors from then on."""
        self.engine.goto(url)
        assert self.errors() == []

    def script(self, function: str, *values: Any) -> Any:
        """Return what a JavaScript function returns for values, both of them as in JSON.

        It may use `all(css, text)`, which returns elements in shadow trees too, and `middle(element)`.
        """
        return self.engine.evaluate(f"(() => {{ {LIBRARY} return ({function})(...{json.dumps(values)}); }})()")

    def until(self, function: str, *values: Any) -> Any:
        """Wait until a JavaScript function returns something true for values; return it."""
        return _wait(lambda: self.script(function, *values), f"{function} of {values}")

    def texts(self, css: str) -> list[str]:
        """Return the texts of all that a selector names."""
        return self.script("(css) => all(css).map((one) => one.textContent.trim())", css)

    def see(self, css: str, *texts: str) -> None:
        """Wait until the texts of what a selector names are these, or until there is any where none is given."""
        if not texts:
            self.until("(css) => all(css).some((one) => one.getClientRects().length)", css)
            return
        same = "(css, texts) => JSON.stringify(all(css).map((one) => one.textContent.trim())) === JSON.stringify(texts)"
        try:
            self.until(same, css, list(texts))
        except AssertionError:
            assert self.texts(css) == list(texts)
            raise

    def settle(self) -> None:
        """Wait until the server has nothing more to draw."""
        self.until("() => document.querySelector('[data-test-script-state=notRunning]') !== null")

    def point(self, css: str, text: str | None = None, *, press: bool = False) -> None:
        """Point at the first visible element with this text, and press it."""
        where = self.until("(css, text) => place(css, text)", css, text)
        self.engine.point(*where, press=press)

    def press(self, css: str, text: str | None = None) -> None:
        """Press the first visible element with this text."""
        self.settle()
        self.point(css, text, press=True)

    def write(self, css: str, text: str) -> None:
        """Write a text in place of what stands in a box."""
        self.press(css)
        self.script("(css) => all(css)[0].select()", css)
        self.engine.type(text)

    def errors(self) -> list[str]:
        """Return what went wrong since the page was loaded: the app's boxes of errors and JavaScript's."""
        return self.texts("[data-testid=stException]") + self.script("() => window.faults")
