"""Training in a real browser, on the smoke stories."""

import io
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import settled, start_server, stop_server
from wordlm.checkpoints import load_model_npz
from wordlm.models import build_model

TOKEN = "attention-explorer-training"
"""What run_marker.js calls a training's token in the tab's session storage."""
SETTINGS = "learn_from=smoke+stories&batch=64&validations=20"


def open_train(page: Page, server: str, **settings: str) -> None:
    page.goto(f"{server}/train?{SETTINGS}&" + "&".join(f"{k}={v}" for k, v in settings.items()))
    expect(page.get_by_text("as measured here with a few")).to_be_visible()
    settled(page)


def button(page: Page, name: str):
    return page.get_by_role("button", name=name, exact=True)


def updates(page: Page) -> int:
    """How many updates the progress bar tells of; 0 while there is none."""
    said = page.get_by_text(re.compile(r"[\d,]+ of [\d,]+ updates")).first
    return int(re.search(r"([\d,]+) of", said.inner_text())[1].replace(",", "")) if said.count() else 0


def points(page: Page) -> int:
    """How many points the curve of the training loss has."""
    charts = "[...document.querySelectorAll('.st-key-loss .js-plotly-plot')]"
    return page.evaluate(f"() => Math.max(0, ...{charts}.map((chart) => chart._fullData?.[0].x.length ?? 0))")


def wait_until(page: Page, condition, what: str) -> None:
    for _ in range(1200):
        if condition():
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"{what} did not happen in two minutes")


def start_run(page: Page, server: str) -> None:
    """Begin a long training and wait for its first update."""
    open_train(page, server, steps="6000")
    button(page, "Train").click()
    wait_until(page, lambda: updates(page) > 0, "the run")


def test_two_quick_presses_start_one_run_that_can_be_left_stopped_opened_and_downloaded(page, server, tmp_path):
    open_train(page, server, steps="6000")
    button(page, "Train").dblclick()
    wait_until(page, lambda: points(page) > 3, "the first points of the curve")
    expect(button(page, "Train")).to_be_disabled()
    few = points(page)
    wait_until(page, lambda: points(page) > few, "a growing curve")
    expect(page.get_by_text("Another visitor's training")).to_have_count(0)

    page.get_by_role("link", name="Explore", exact=True).click()
    expect(page.locator(".board .word").first).to_be_visible()
    page.get_by_role("link", name="Train", exact=True).click()
    wait_until(page, lambda: updates(page) > 0, "the return to the run")
    before = updates(page)
    wait_until(page, lambda: updates(page) > before, "the run that went on meanwhile")

    wait_until(page, lambda: page.locator(".square canvas").count() == 4, "the heads")
    button(page, "Stop").click()
    expect(page.get_by_text(re.compile("Stopped after [0-9,]+ of 6,000 updates"))).to_be_visible()
    expect(button(page, "Train")).to_be_enabled()
    expect(page.get_by_text("How good is it?")).to_be_visible()
    loss = re.search(r"validation loss of ([\d.]+)", page.get_by_text("All lines are scored").inner_text())[1]

    expect(page.locator(".strip")).to_have_count(1)
    page.locator(".strip .name", has_text="head 2").click()
    expect(page.locator(".answer")).to_contain_text("head 2: ")
    page.get_by_text("Colours and more").click()
    page.locator("select[data-focus=scale]").select_option("even")
    expect(page.locator(".heads .legend")).to_contain_text("against looking evenly")

    slider = page.get_by_role("slider", name="After so many updates")
    slider.press("Home")
    expect(page.get_by_text("After 0 updates.")).to_be_visible()
    settled(page)
    page.get_by_text("Show the whole model").click()
    expect(page.locator(".board .lane")).to_have_count(4)
    expect(page.locator(".check")).to_contain_text("✓ The server agrees to")
    slider.press("ArrowRight")
    expect(page.get_by_text("After 0 updates.")).to_have_count(0)
    expect(page.locator(".check")).to_contain_text("✓ The server agrees to")
    settled(page)
    followed = page.locator(".board .word").all_inner_texts()
    page.get_by_role("textbox", name="Prompt").fill("another text")
    expect(page).to_have_url(re.compile("prompt=another"))
    settled(page)
    assert page.locator(".board .word").all_inner_texts() == followed  # the text of the training, whatever is typed
    expect(page.locator(".append")).to_have_count(0)
    expect(page.locator(".check")).to_contain_text("✓ The server agrees to")

    with page.expect_download() as download:
        button(page, "Download .npz").first.press("Enter")
    metadata, _ = load_model_npz(io.BytesIO(download.value.path().read_bytes()), build_model("multihead"))
    assert f"{metadata['validation_loss']:.4f}" == loss
    assert metadata["config"]["steps"] == 6000

    button(page, "Open in Explore").first.click()
    expect(page.locator(".board .word").first).to_be_visible()
    expect(page.get_by_role("radio", name="own 1")).to_be_checked()
    expect(page).to_have_url(re.compile("model=own"))

    page.get_by_role("link", name="Train", exact=True).click()
    saved = tmp_path / "mine.npz"
    saved.write_bytes(download.value.path().read_bytes())
    page.locator("input[type=file]").set_input_files(saved)
    expect(page.get_by_text("The file is open as own 1; you had this model already.")).to_be_visible()
    expect(page.get_by_text("own 1: 4 heads, seed 11")).to_have_count(1)
    expect(page.get_by_text("own 2")).to_have_count(0)


def test_a_trained_model_opens_on_other_pages(page, server):
    open_train(page, server, steps="5", validations="1", trained="2")
    button(page, "Train").click()
    expect(page.get_by_text("How good is it?")).to_be_visible()
    button(page, "Open in Compare").first.click()
    expect(page.get_by_text("That is one prompt")).to_be_visible()
    expect(page.get_by_role("radio", name="own 1").first).to_be_checked()

    page.get_by_role("link", name="Train", exact=True).click()
    button(page, "Open in Generate").first.click()
    expect(page.get_by_text("How does the story go on?")).to_be_visible()
    expect(page.get_by_role("radio", name="own 1").first).to_be_checked()
    settled(page)
    button(page, "Write").click()
    page.get_by_text("Every decision", exact=True).click()
    expect(page.get_by_text("Every decision of own 1 (2 heads), seed 11 · PyTorch.")).to_be_visible()
    expect(page.get_by_test_id("stException")).to_have_count(0)


@contextmanager
def a_server_that_keeps_sessions(seconds: int, log: Path) -> Iterator[tuple[subprocess.Popen, str]]:
    """A server that keeps a session, and a training, so many seconds without its visitor."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STREAMLIT_SERVER_DISCONNECTED_SESSION_TTL", str(seconds))
        process, url = start_server(log)
    yield process, url
    if process.poll() is None:
        stop_server(process)


@pytest.fixture(scope="module")
def forgetful_server(tmp_path_factory):
    with a_server_that_keeps_sessions(2, tmp_path_factory.mktemp("forgetful") / "server.log") as (_, url):
        yield url


def test_a_run_outlives_a_lost_connection(page, proxy, tmp_path):
    """Two minutes of ten, a thirtieth as long."""
    with a_server_that_keeps_sessions(20, tmp_path / "server.log") as (_, url):
        proxy.port = urlsplit(url).port
        start_run(page, proxy.url)
        proxy.lose()
        before, lost = updates(page), time.monotonic()
        wait_until(page, lambda: time.monotonic() - lost > 4, "the tunnel's end")
        proxy.lost = False
        wait_until(page, lambda: updates(page) > before + 100, "the run that went on meanwhile")
        button(page, "Stop").click()
        expect(page.get_by_text("of 6,000 updates: you pressed Stop.")).to_be_visible()
        expect(page.get_by_text("Another visitor's training")).to_have_count(0)


def test_after_a_new_start_of_the_server_the_page_says_that_the_run_is_gone(page, proxy, tmp_path):
    with a_server_that_keeps_sessions(30, tmp_path / "first.log") as (process, url):
        proxy.port = urlsplit(url).port
        start_run(page, proxy.url)
        stop_server(process)
    with a_server_that_keeps_sessions(30, tmp_path / "second.log") as (_, url):
        proxy.port = urlsplit(url).port
        gone = page.get_by_text("Your last training on this page is gone, and its model with it")
        expect(gone).to_be_visible(timeout=30_000)
        expect(gone).to_contain_text("the app was started anew since")
        expect(button(page, "Train")).to_be_enabled()
        page.reload()
        expect(page.get_by_text("as measured here with a few")).to_be_visible()
        settled(page)
        expect(gone).to_have_count(0)  # it is told once


def test_a_run_goes_on_when_its_page_is_loaded_anew(page, server):
    start_run(page, server)
    before = updates(page)
    page.reload()
    wait_until(page, lambda: updates(page) > before, "the same run")
    expect(page.get_by_text("Another visitor's training")).to_have_count(0)
    button(page, "Stop").click()
    expect(page.get_by_text("own 1 was best after")).to_be_visible()
    page.reload()
    expect(page.get_by_text("own 1 was best after")).to_be_visible()
    expect(page.get_by_text(re.compile("^own 1: "))).to_have_count(1)

    button(page, "Remove").click()
    expect(page.get_by_text("own 1 was best after")).to_have_count(0)
    page.wait_for_function(f"() => sessionStorage.getItem('{TOKEN}') === null")
    page.reload()
    expect(page.get_by_text("as measured here with a few")).to_be_visible()
    settled(page)
    expect(page.get_by_text("own 1")).to_have_count(0)  # what was removed does not come back


def test_a_visitor_who_was_gone_too_long_is_told_what_ended_the_run(page, forgetful_server):
    start_run(page, forgetful_server)
    page.goto("about:blank")
    left = time.monotonic()
    wait_until(page, lambda: time.monotonic() - left > 3, "an absence that is too long")
    page.go_back()
    expect(page.get_by_text("of 6,000 updates: you had been gone for more than 2 s.")).to_be_visible()
    expect(button(page, "Train")).to_be_enabled()


def test_a_visitor_who_closes_the_tab_frees_the_slot_for_the_one_who_waits(browser, forgetful_server):
    server = forgetful_server
    first, second = (browser.new_context().new_page() for _ in range(2))
    open_train(first, server, steps="6000")
    button(first, "Train").click()
    wait_until(first, lambda: updates(first) > 0, "the first run")
    open_train(second, server, steps="5", validations="1")
    expect(second.get_by_text("Another visitor's training is running")).to_be_visible()
    button(second, "Train").click()
    expect(second.get_by_text("Your training waits for its turn.")).to_be_visible()
    first.context.close()
    expect(second.get_by_text("How good is it?")).to_be_visible(timeout=60_000)
    second.context.close()
