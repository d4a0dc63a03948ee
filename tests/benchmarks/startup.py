"""From `streamlit run app.py` to a usable page, and the memory of one visitor: `python -m tests.benchmarks.startup`.

Measured in Chromium: until the heads of Explore are drawn, by the first visitor of a new server and by the second.
Reference: a Python process that imports only what the page imports. Then every page is visited, a model is trained for
100 updates on the smoke stories, and the server's resident memory is read. The server is started in another folder.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tests.benchmarks.load import memory
from tests.browser.conftest import CHROMIUM, FLAGS, start_server, stop_server
from wordlm.commands import CommandParser
from wordlm.files import REPOSITORY

PAGES = ("compare", "switch_off", "perplexity", "generate", "train", "benchmark", "learn", "learn?part=quiz")
IMPORTS = ("streamlit", "torch", "pandas", "plotly.graph_objects", "onnxruntime")


def wait_for_picture(page: Page) -> None:
    page.wait_for_selector(".square canvas", state="attached", timeout=60_000)
    page.wait_for_selector("[data-test-script-state=notRunning]", state="attached", timeout=60_000)


def visit(browser: Browser, url: str) -> float:
    """Return the seconds from opening the address to the drawn heads, in a new session."""
    page = browser.new_context(viewport={"width": 1366, "height": 768}).new_page()
    start = time.perf_counter()
    page.goto(url)
    wait_for_picture(page)
    seconds = time.perf_counter() - start
    page.context.close()
    return seconds


def import_seconds(module: str) -> float:
    """Return how long a new process takes to import a module, less what an empty one takes."""

    def run(code: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, cwd=REPOSITORY)
        return time.perf_counter() - start

    return run(f"import {module}") - run("pass")


def walk(browser: Browser, url: str) -> None:
    """Visit every page in one session, and train a model for 100 updates."""
    page = browser.new_context(viewport={"width": 1366, "height": 768}).new_page()
    page.goto(url)
    wait_for_picture(page)
    for path in PAGES:
        page.goto(f"{url}/{path}")
        page.wait_for_selector("[data-test-script-state=notRunning]", state="attached", timeout=60_000)
        page.wait_for_timeout(1500)
        if path == "generate":
            page.get_by_role("button", name="Write", exact=True).click()
            page.get_by_text("What did it take?").wait_for()
    page.goto(f"{url}/train?learn_from=smoke+stories")
    page.get_by_role("button", name="Train", exact=True).click()
    page.get_by_text("How good is it?").wait_for(timeout=120_000)
    page.get_by_role("button", name="Open in Explore").first.click()
    wait_for_picture(page)
    page.context.close()


def main() -> None:
    parser = CommandParser(__doc__)
    parser.parse_args()
    if CHROMIUM is None:
        parser.error("no Chromium here: install it, or set CHROMIUM to its path")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as elsewhere:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for name in ("first start here", "started again"):
            start = time.perf_counter()
            process, url = start_server(Path(os.devnull), folder=Path(elsewhere))
            answers = time.perf_counter() - start
            first = visit(browser, url)
            total = time.perf_counter() - start
            second = visit(browser, url)
            print(f"{name}: server answers after {answers:.1f} s, Explore is drawn after {total:.1f} s in all")
            print(f"  first visitor {first:.1f} s, second visitor {second:.1f} s")
            if name == "started again":
                print(f"  memory after two visits of Explore: {memory(process.pid):.0f} MB")
                walk(browser, url)
                print(f"  memory after every page and a training: {memory(process.pid):.0f} MB")
            stop_server(process)
        browser.close()
    print("imports alone, in seconds: " + ", ".join(f"{name} {import_seconds(name):.2f}" for name in IMPORTS))


if __name__ == "__main__":
    main()
