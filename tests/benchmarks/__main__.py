"""All benchmarks in short, in one table: `python -m tests.benchmarks`.

Each line has a figure, a reference measured in the same run, and their ratio. The modules of this folder print more:
pages, scoring, generation, key_value_cache, training, startup, load, browser_forward.
"""

import asyncio
import os
import platform
import statistics
import time
from pathlib import Path

import torch
from playwright.sync_api import sync_playwright

from tests.benchmarks import generation, key_value_cache, load, pages, scoring, startup, training
from tests.browser.conftest import CHROMIUM, FLAGS, start_server, stop_server
from wordlm.commands import errors_in_one_line
from wordlm.data import build_corpus, make_all_windows
from wordlm.text import CONTEXT_LEN
from wordlm.training import TrainConfig


def line(name: str, figure: str, reference: str, ratio: float) -> None:
    print(f"{name:46} {figure:>14}   {reference:34} {ratio:7.2f}", flush=True)


def describe_machine() -> str:
    """Return the processor as the system names it, cores and torch."""
    info = Path("/proc/cpuinfo")
    rows = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    name = next((row.partition(": ")[2] for row in rows if "model name" in row), platform.processor())
    return f"{name}, {os.cpu_count()} cores, torch {torch.__version__}"


def page_lines() -> None:
    reruns, model = pages.server_times("explore", 16, 20)
    page, alone = 1e3 * statistics.median(reruns), 1e3 * statistics.median(model)
    line("Explore, rerun after a new word", f"{page:.0f} ms", f"the model alone, {alone:.1f} ms", page / alone)
    idle, busy = (1e3 * statistics.median(times) for times in pages.beside_training(15))
    line("Explore, rerun while a model trains", f"{busy:.0f} ms", f"idle, {idle:.0f} ms", busy / idle)


def scoring_lines() -> None:
    times = scoring.measure()
    ours, reference = (sum(pair[place] for pair in times.values()) for place in (0, 1))
    # The MLP has one form only.
    line("5,000 words under six models", f"{ours:.2f} s", f"the plain form, {reference:.1f} s", reference / ours)


def generation_lines() -> None:
    rates = generation.measure(rounds=5)
    (reference, slow), *engines = rates.items()
    for name, rate in engines:
        line(f"Stories, {name}", f"{rate:,.0f} words/s", f"{reference}, {slow:,.0f} words/s", rate / slow)


def cache_lines() -> None:
    without, with_it, kept = key_value_cache.measure(4, 4, CONTEXT_LEN)
    figure, reference = f"{1e3 * with_it:.2f} ms", f"without it, {1e3 * without:.2f} ms"
    line(f"A word more with a cache, {kept} bytes a word", figure, reference, without / with_it)


def training_lines() -> None:
    data_dir = Path("work/data")
    profile = "dgx" if (data_dir / "dgx" / "stories.txt").is_file() else "smoke"
    with errors_in_one_line():
        corpus = build_corpus(data_dir, profile)
    data = make_all_windows(corpus)
    contexts = data["train"][0][:]
    for kind in training.KINDS:
        for precision in ("fp32", "bf16") if training.has_bf16() else ("fp32",):
            ours, plain = training.race(kind, precision, data, contexts, TrainConfig(steps=50))
            line(
                f"Training, {kind}, {precision}, {profile} stories",
                f"{ours.rate:.1f} updates/s",
                f"a plain loop, {plain.rate:.1f} updates/s",
                ours.rate / plain.rate,
            )


def startup_lines() -> None:
    imports = sum(map(startup.import_seconds, startup.IMPORTS))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        start = time.perf_counter()
        process, url = start_server(Path(os.devnull))
        startup.visit(browser, url)
        seconds = time.perf_counter() - start
        again = startup.visit(browser, url)
        stop_server(process)
        browser.close()
    line(
        "From the command to the drawn Explore",
        f"{seconds:.1f} s",
        f"imports alone, {imports:.1f} s",
        seconds / imports,
    )
    line("A further visitor's drawn Explore", f"{again:.1f} s", f"the first visitor, {seconds:.1f} s", again / seconds)


async def _p95(url: str, count: int) -> float:
    sessions = [load.Session(url) for _ in range(count)]
    for session in sessions:
        await session.open()
    times: list[float] = []
    until = time.perf_counter() + 20
    await asyncio.gather(*(load.visit(session, 5.0, until, times) for session in sessions))
    for session in sessions:
        await session.close()
    return load.percentile(times, 0.95)


def load_lines() -> None:
    process, url = start_server(Path(os.devnull))
    one, many = (1e3 * asyncio.run(_p95(url, count)) for count in (1, 25))
    stop_server(process)
    line("25 sessions, a prompt every 5 s, p95", f"{many:.0f} ms", f"one session, {one:.0f} ms", many / one)


def main() -> None:
    print(describe_machine())
    print(f"{'':46} {'figure':>14}   {'reference':34} {'ratio':>7}")
    page_lines()
    scoring_lines()
    generation_lines()
    cache_lines()
    training_lines()
    if CHROMIUM is not None:
        startup_lines()
    load_lines()


if __name__ == "__main__":
    main()
