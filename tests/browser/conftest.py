"""A real server and a real browser. Without a Chromium these tests are skipped; in CI that is a failure."""

import os
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.browser.engines import free_port
from tests.browser.proxy import Proxy
from wordlm.files import REPOSITORY

CHROMIUM = os.environ.get("CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
# The sandbox needs rights that containers lack; the rest keeps the browser from calling home, or anybody else.
FLAGS = [
    "--no-sandbox",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

PHONE = {
    "viewport": {"width": 390, "height": 844},
    "user_agent": "Mozilla/5.0 (iPhone) Mobile/15E148",
    "has_touch": True,
}

expect.set_options(timeout=20_000)


def start_server(log: Path, folder: Path = REPOSITORY) -> tuple[subprocess.Popen, str]:
    """Start the app in `folder` on a free port and wait until it answers; on failure show what it printed."""
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", str(REPOSITORY / "app.py"), "--server.port", str(port)]
    with open(log, "wb") as output:
        process = subprocess.Popen(
            [*command, "--server.headless", "true", "--server.address", "127.0.0.1"],
            stdout=output,
            stderr=output,
            cwd=folder,
        )
    url = f"http://127.0.0.1:{port}"
    for _ in range(200):
        try:
            urllib.request.urlopen(f"{url}/_stcore/health", timeout=1)
            return process, url
        except OSError:
            assert process.poll() is None, log.read_text(encoding="utf-8")
            time.sleep(0.1)
    stop_server(process)
    raise AssertionError(f"the server did not answer: {log.read_text(encoding='utf-8')}")


def stop_server(process: subprocess.Popen) -> None:
    process.terminate()
    process.wait(20)


def needs(installed: bool, what: str) -> None:
    """Skip what needs something that is not installed; in CI that is a failure."""
    if installed:
        return
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture
def fresh_server(tmp_path):
    """A server that nobody has visited."""
    process, url = start_server(tmp_path / "server.log")
    yield url
    stop_server(process)


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    process, url = start_server(tmp_path_factory.mktemp("server") / "server.log")
    yield url
    stop_server(process)


@pytest.fixture(scope="session")
def browser():
    needs(CHROMIUM is not None, "no Chromium here: install it, or set CHROMIUM to its path")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser) -> Page:
    """A page in a new session of 1366 by 768 pixels."""
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    context.set_default_timeout(30_000)
    page = context.new_page()
    yield page
    context.close()


@pytest.fixture
def proxy():
    """A connection to a server, whose port is to be set, that a test can break or hold."""
    proxy = Proxy()
    yield proxy
    proxy.close()


def choose(page: Page, control: str, option: str) -> None:
    """Choose an option of a segmented control by the keyboard, which needs no place on a page that still moves."""
    page.locator(f".st-key-{control}").get_by_role("radio", name=option, exact=True).press("Space")


def settled(page: Page) -> None:
    """Wait until the server has nothing more to draw: a control pressed before may be drawn anew under the press."""
    expect(page.locator("[data-test-script-state=notRunning]")).to_be_attached()


def coloured(page: Page) -> None:
    """Wait until no colour is on its way to another: transitions end, but what turns while it waits does not."""
    page.evaluate(
        """() => Promise.all(document.getAnimations()
             .filter((one) => one.effect.getComputedTiming().endTime !== Infinity)
             .map((one) => one.finished.catch(() => null)))"""
    )


def calm(page: Page) -> None:
    """Wait until nothing on the page has changed its place for half a second of frames."""
    page.evaluate(
        """() => new Promise((done) => {
             let before = "", since = 0;
             const look = () => {
               const places = [...document.querySelectorAll("[data-testid=stElementContainer]")]
                 .map((one) => Object.values(one.getBoundingClientRect().toJSON()).map(Math.round).join()).join(";");
               since = places === before ? since + 1 : 0;
               before = places;
               since > 30 ? done() : requestAnimationFrame(look);
             };
             look();
           })"""
    )
