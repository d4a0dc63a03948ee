"""How fast the pages answer: `python -m tests.benchmarks.pages`.

Server: the time of one rerun after the prompt changed (median and 95th percentile), without a browser. As a
reference, the model's own share of it: `forward_details` and `forward` for the same prompt, measured in turn.
Browser: from the last key typed to the end of the first frame in which the new picture stands, and the bytes that the
server sent for it; once as the server draws it and once as the browser calculates it. For the server the prompt
control waits 60 ms for a further key, which is part of that time.
Training: the same reruns of Explore while another visitor's model trains in this process, beside the idle ones.
"""

import math
import os
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from playwright.sync_api import sync_playwright
from streamlit.testing.v1 import AppTest

from tests.browser.conftest import CHROMIUM, FLAGS, start_server, stop_server
from wordlm.commands import CommandParser, whole_number
from wordlm.files import REPOSITORY
from wordlm.jobs import Order, Trainer
from wordlm.text import encode_prompt
from wordlm.training import TrainConfig
from wordlm.ui.state.resources import checkpoint, model_of, smoke_corpus, vocabulary
from wordlm.variants import Variant

TOKENS = (8, 16, 64)
STORY = (
    "once upon a time there was a little girl named lily who lived in a big house near the park . one day she found "
    "a red ball under the tree and took it home to show it to her mom and dad . they were very happy and said that "
    "she could play with it in the garden all day long with her friend tom ."
)
PAGES = ("explore", "compare", "switch_off")
"""Pages whose pictures follow the prompt."""

FORMS = {"cells": "by the server", "model": "by the browser"}
"""Two forms of the picture of Explore, and by whom it is calculated."""


def prompt_of(tokens: int, last: str) -> str:
    """Return a prompt that fills `tokens` positions, the start mark included, and ends with the word `last`."""
    return " ".join([*STORY.split()[: tokens - 2], last])


def summary(seconds: list[float]) -> tuple[float, float]:
    """Return median and 95th percentile in milliseconds."""
    ordered = sorted(seconds)
    return 1e3 * statistics.median(ordered), 1e3 * ordered[math.ceil(0.95 * len(ordered)) - 1]


def server_times(page: str, tokens: int, repeats: int, first_word: int = 200) -> tuple[list[float], list[float]]:
    """Return the seconds of reruns with a new last word, and of the model alone, alternating."""
    app = AppTest.from_file(str(REPOSITORY / "app.py"), default_timeout=60).run()
    if page != "explore":
        app.switch_page(f"pages/{page}.py").run()
    model, reruns, model_alone = model_of(checkpoint("4", 11)), [], []
    # Words that were not used before, so that no cache answers.
    words = vocabulary().itos[first_word : first_word + repeats]
    for word in words:
        text = prompt_of(tokens, word)
        app.text_input(key="prompt").set_value(text)
        start = time.perf_counter()
        app.run()
        reruns.append(time.perf_counter() - start)
        assert not app.exception
        ids = torch.from_numpy(encode_prompt(text, vocabulary()).input_ids)
        start = time.perf_counter()
        with torch.inference_mode():
            model.forward_details(ids)
            model(ids)
        model_alone.append(time.perf_counter() - start)
    return reruns[1:], model_alone[1:]


@contextmanager
def a_training_going_on() -> Iterator[None]:
    """Train a model for another visitor meanwhile, as the Train page does."""
    prompt = encode_prompt(prompt_of(16, "dog"), vocabulary())
    order = Order(Variant.with_heads(4), TrainConfig(), smoke_corpus(False), "smoke stories", prompt)
    job = Trainer(lambda owner: True).submit(order, "another visitor")
    while len(job.losses) < 5:
        time.sleep(0.01)
    try:
        yield
    finally:
        job.stop.set()
        while job.is_active:
            time.sleep(0.01)


def beside_training(repeats: int) -> tuple[list[float], list[float]]:
    """Return the seconds of reruns of Explore idle and while a model trains, three times in turn."""
    idle, busy = [], []
    for turn in range(3):
        idle += server_times("explore", 16, repeats, first_word=600 + 2 * turn * repeats)[0]
        with a_training_going_on():
            busy += server_times("explore", 16, repeats, first_word=600 + (2 * turn + 1) * repeats)[0]
    return idle, busy


# Resolves with the milliseconds from the next key to the end of the first frame in which the words end with `label`.
WATCH = """
(label) => {
  const parts = (root) => [...root.querySelectorAll("*")].flatMap((e) => (e.shadowRoot ? [e.shadowRoot] : []));
  const words = () => parts(document).flatMap((root) => [...root.querySelectorAll(".strip .word, .board .word")]);
  window.shown = new Promise((resolve) => {
    document.addEventListener("keydown", () => {
      const pressed = performance.now();
      const look = () => requestAnimationFrame(() => {
        if (!words().at(-1)?.getAttribute("aria-label").split(",")[0].endsWith(label)) return look();
        const painted = new MessageChannel();
        painted.port1.onmessage = () => resolve(performance.now() - pressed);
        painted.port2.postMessage(0);
      });
      look();
    }, { capture: true, once: true });
  });
}
"""


def browser_times(url: str, form: str, tokens: int, repeats: int) -> tuple[list[float], list[int]]:
    """Return seconds from the last key to the new picture of Explore, and the bytes that the server sent for each."""
    times, sizes = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1366, "height": 768})
        received = [0]
        page.on("websocket", lambda ws: ws.on("framereceived", lambda frame: count(received, frame)))
        page.goto(f"{url}/?form={form}&prompt={prompt_of(tokens, 'dog').replace(' ', '+')}")
        page.wait_for_selector(".strip .word, .board .word")
        page.wait_for_timeout(2000)
        box = page.get_by_role("textbox", name="Prompt")
        for word in vocabulary().itos[400 : 400 + repeats]:
            box.fill(prompt_of(tokens, word)[:-1])
            page.wait_for_timeout(1500)
            received[0] = 0
            page.evaluate(WATCH, f"{tokens - 1} · {word}")
            box.press_sequentially(word[-1])
            times.append(page.evaluate("window.shown") / 1e3)
            page.wait_for_timeout(500)
            sizes.append(received[0])
        browser.close()
    return times, sizes


def count(total: list[int], frame: str | bytes) -> None:
    total[0] += len(frame)


def main() -> None:
    parser = CommandParser(__doc__)
    parser.add_argument("--repeats", type=whole_number(3, 1000), default=25)
    repeats = parser.parse_args().repeats
    print(f"{'page':12} {'tokens':>6}  {'server ms: median':>17} {'p95':>6}  {'model ms':>8}  {'ratio':>6}")
    for page in PAGES:
        for tokens in TOKENS:
            reruns, model_alone = server_times(page, tokens, repeats)
            (median, p95), (model, _) = summary(reruns), summary(model_alone)
            print(f"{page:12} {tokens:6}  {median:17.1f} {p95:6.1f}  {model:8.2f}  {median / model:6.1f}")
    (median, p95), (busy_median, busy_p95) = map(summary, beside_training(repeats))
    print(f"\nexplore, 16 tokens, idle: {median:.1f} ms (p95 {p95:.1f}); while a model trains: {busy_median:.1f} ms")
    print(f"(p95 {busy_p95:.1f}), {busy_median / median:.2f} times as long")
    if CHROMIUM is None:
        print("no Chromium here, so nothing is measured in a browser")
        return
    process, url = start_server(Path(os.devnull))
    print(f"\n{'explore':16} {'tokens':>6}  {'key to picture ms: median':>25} {'p95':>6}  {'kB sent':>8}")
    for form, drawn in FORMS.items():
        for tokens in TOKENS:
            times, sizes = browser_times(url, form, tokens, min(repeats, 25))
            median, p95 = summary(times)
            print(f"{drawn:16} {tokens:6}  {median:25.0f} {p95:6.0f}  {statistics.median(sizes) / 1e3:8.0f}")
    stop_server(process)


if __name__ == "__main__":
    main()
