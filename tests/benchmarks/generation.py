"""How fast stories are written: `python -m tests.benchmarks.generation`.

Greedy words a second on one prompt for PyTorch, ONNX Runtime and, where WORDLM_ORT_WEB names the npm package's folder,
ONNX Runtime Web in Chromium. As a reference a plain loop over `forward_details`, every query row and all. The engines
take turns, and the median over the rounds is printed; loading and warm-up are left out.
"""

import json
import os
import statistics
from contextlib import ExitStack
from pathlib import Path

import torch
from playwright.sync_api import sync_playwright

from tests.browser.conftest import CHROMIUM, FLAGS, start_server, stop_server
from tests.browser.test_generate_browser import open_generate, serve_from
from wordlm.engines import OnnxEngine, TorchEngine, warm_up
from wordlm.generation import Decoding, generate
from wordlm.text import encode_prompt
from wordlm.ui.state.resources import checkpoint, model_of, vocabulary

PROMPT = "one day a big bear saw a small bird"
WORDS = 60
ROUNDS = 9


class PlainLoop(TorchEngine):
    """The definition: every step for every slot, then the last row."""

    name = "forward_details"

    def logits(self, context):
        with torch.inference_mode():
            return self._model.forward_details(torch.from_numpy(context))["logits"][0].numpy()


def calls_a_second(report: dict) -> float:
    return report["model calls"] / report["seconds"]


class BrowserSession:
    """The Generate page in Chromium, asked for one story after the other."""

    def __init__(self, playwright, url: str, folder: Path) -> None:
        self._browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        self._page = self._browser.new_page()
        serve_from(self._page, folder)
        open_generate(self._page, url, "your browser")
        self.calls_a_second()  # fetches and loads

    def calls_a_second(self) -> float:
        self._page.get_by_role("button", name="Run in my browser").click()
        self._page.get_by_text("Done in your browser").wait_for(timeout=60_000)
        self._page.wait_for_timeout(1500)  # until the page has drawn the story that it downloads
        with self._page.expect_download() as download:
            self._page.get_by_role("button", name="Download as JSON").click()
        stories = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))["stories"]
        return calls_a_second(next(iter(stories.values()))["report"])


def measure(rounds: int = ROUNDS) -> dict[str, float]:
    """Return the words a second of each engine, the reference first."""
    chosen = checkpoint("4", 11)
    model, ids = model_of(chosen), encode_prompt(PROMPT, vocabulary()).ids
    engines = [PlainLoop(model), TorchEngine(model), OnnxEngine(chosen.onnx_path)]
    rates: dict[str, list[float]] = {engine.name: [] for engine in engines}
    for engine in engines:
        warm_up(engine)
    folder = os.environ.get("WORDLM_ORT_WEB")
    with ExitStack() as stack:
        browser = None
        if folder is not None and CHROMIUM is not None:
            process, url = start_server(Path(os.devnull))
            stack.callback(stop_server, process)
            browser = BrowserSession(stack.enter_context(sync_playwright()), url, Path(folder))
        for _ in range(rounds):
            for engine in engines:
                story = generate(engine, ids, Decoding(WORDS))
                rates[engine.name].append(calls_a_second(story.report()))
            if browser is not None:
                rates.setdefault("ONNX Runtime Web in Chromium", []).append(browser.calls_a_second())
    return {name: statistics.median(values) for name, values in rates.items()}


def main() -> None:
    medians = measure()
    print(f"4 heads, seed 11, up to {WORDS} words, median of {ROUNDS} rounds in turn")
    for name, rate in medians.items():
        print(f"{name:30} {rate:8.0f} words/s  {rate / medians[PlainLoop.name]:6.2f} times the reference")


if __name__ == "__main__":
    main()
