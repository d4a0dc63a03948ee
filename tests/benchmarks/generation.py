"""How fast stories are written: `python -m tests.benchmarks.generation`.

Greedy words a second on one prompt for PyTorch, ONNX Runtime and, where WORDLM_ORT_WEB names the npm package's folder,
ONNX Runtime Web in Chromium. As a reference a plain loop over `forward_details`, every query row and all. The engines
take turns, and the median over the rounds is printed; loading and warm-up are left out.
"""

import json
import os
import statistics
import time
from pathlib import Path

import torch
from playwright.sync_api import sync_playwright

from tests.browser.conftest import CHROMIUM, FLAGS, start_server, stop_server
from tests.browser.test_generate_browser import open_generate, serve_from
from wordlm.engines import OnnxEngine, TorchEngine, warm_up
from wordlm.files import ARTIFACTS
from wordlm.generation import Decoding, Generation, generate
from wordlm.text import encode_prompt
from wordlm.ui.generate import onnx_name
from wordlm.ui.resources import checkpoint, model_of, vocabulary

PROMPT = "one day a big bear saw a small bird"
WORDS = 60
ROUNDS = 9


class PlainLoop(TorchEngine):
    """The definition: every step for every slot, then the last row."""

    name = "forward_details"

    def logits(self, context):
        with torch.inference_mode():
            return self._model.forward_details(torch.from_numpy(context))["logits"][0].numpy()


def words_a_second(story: Generation) -> float:
    report = story.report()
    return report["model calls"] / report["seconds"]


def browser_words_a_second() -> float | None:
    """Return what the page reports for a story made in Chromium."""
    folder = os.environ.get("WORDLM_ORT_WEB")
    if folder is None or CHROMIUM is None:
        return None
    process, url = start_server(Path(os.devnull))
    rates = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page()
        serve_from(page, Path(folder))
        open_generate(page, url, "your browser")
        for _ in range(3):
            page.get_by_role("button", name="Run in my browser").click()
            page.get_by_text("Done in your browser").wait_for(timeout=60_000)
            page.get_by_text("What did it take?").wait_for()
            page.wait_for_timeout(1500)
            with page.expect_download() as download:
                page.get_by_role("button", name="Download as JSON").click()
            stories = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))["stories"]
            report = next(iter(stories.values()))["report"]
            rates.append(report["model calls"] / report["seconds"])
        browser.close()
    stop_server(process)
    return statistics.median(rates)


def main() -> None:
    chosen = checkpoint("4", 11)
    model, ids = model_of(chosen), encode_prompt(PROMPT, vocabulary()).ids
    engines = [PlainLoop(model), TorchEngine(model), OnnxEngine(ARTIFACTS / "onnx" / onnx_name(chosen))]
    rates: dict[str, list[float]] = {engine.name: [] for engine in engines}
    for engine in engines:
        warm_up(engine)
    begun = time.perf_counter()
    for _ in range(ROUNDS):
        for engine in engines:
            rates[engine.name].append(words_a_second(generate(engine, ids, Decoding(WORDS))))
    medians = {name: statistics.median(values) for name, values in rates.items()}
    in_browser = browser_words_a_second()
    if in_browser is not None:
        medians["ONNX Runtime Web in Chromium"] = in_browser
    reference = medians[PlainLoop.name]
    print(f"{chosen.name}, {WORDS} words, {ROUNDS} rounds in turn, {time.perf_counter() - begun:.0f} s")
    for name, rate in medians.items():
        print(f"{name:30} {rate:8.0f} words/s  {rate / reference:6.2f} times the reference")


if __name__ == "__main__":
    main()
