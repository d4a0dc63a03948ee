"""Writing stories on the server and in the visitor's own browser.

ONNX Runtime Web is fetched from a public address in real life. Here every request to it is answered from the npm
package of the same version, whose folder WORDLM_ORT_WEB names; the digests that the page states are those of the
published files, so the browser itself checks that the two are the same.
"""

import os
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from wordlm.checkpoints import load_bundled
from wordlm.engines import TorchEngine
from wordlm.files import ARTIFACTS
from wordlm.generation import Decoding, generate
from wordlm.text import encode_prompt
from wordlm.ui.generate import ORT_VERSION

PROMPT = "one day a big bear saw a small bird"


@pytest.fixture(scope="session")
def ort_web() -> Path:
    """The `dist` folder of the npm package onnxruntime-web."""
    folder = os.environ.get("WORDLM_ORT_WEB")
    if folder is None:
        message = f"set WORDLM_ORT_WEB to the dist folder of npm's onnxruntime-web@{ORT_VERSION}"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return Path(folder)


def serve_from(page: Page, folder: Path) -> list[str]:
    """Answer requests for the engine from `folder`; return the list of what was asked for."""
    asked = []

    def answer(route):
        asked.append(route.request.url)
        path = folder / route.request.url.rsplit("/", 1)[-1]
        kind = "application/wasm" if path.suffix == ".wasm" else "text/javascript"
        route.fulfill(path=path, content_type=kind, headers={"Access-Control-Allow-Origin": "*"})

    page.route(f"https://cdn.jsdelivr.net/npm/onnxruntime-web@{ORT_VERSION}/**", answer)
    return asked


def greedy_words(name: str, vocab) -> list[str]:
    model = load_bundled(ARTIFACTS / "heads" / f"{name}.npz")[1]
    story = generate(TorchEngine(model), encode_prompt(PROMPT, vocab).ids, Decoding(60))
    return vocab.decode(story.new_ids)


def open_generate(page: Page, server: str, engine: str) -> None:
    page.goto(f"{server}/generate?prompt={PROMPT.replace(' ', '+')}&engine={engine.replace(' ', '+')}")


@pytest.mark.parametrize("engine", ["ONNX Runtime", "PyTorch"])
def test_words_stream_and_end_as_the_models_greedy_story(page, server, vocab, engine):
    open_generate(page, server, engine)
    page.get_by_role("button", name="Write").click()
    expect(page.get_by_text("What did it take?")).to_be_visible()
    expect(page.locator(".story a")).to_have_text(greedy_words("multihead_seed11", vocab))


def test_a_press_on_a_word_opens_explore_at_that_moment(page, server, vocab):
    open_generate(page, server, "ONNX Runtime")
    page.get_by_role("button", name="Write").click()
    expect(page.get_by_text("What did it take?")).to_be_visible()
    words = greedy_words("multihead_seed11", vocab)
    with page.context.expect_page() as opened:
        page.locator(".story a").nth(2).click()
    expect(opened.value.locator(".st-key-tokens b")).to_have_text(["<BOS>", *PROMPT.split(), *words[:3]])


@pytest.mark.parametrize(("model", "name", "size"), [("4", "multihead_seed11", "5.3"), ("MLP", "mlp_seed11", "9.3")])
def test_a_story_made_in_the_browser_equals_pytorch_s_greedy_one(page, server, vocab, ort_web, model, name, size):
    asked = serve_from(page, ort_web)
    open_generate(page, server, "your browser")
    page.locator(".st-key-browser_model").get_by_role("radio", name=model, exact=True).click(force=True)
    button = page.get_by_role("button", name="Run in my browser")
    expect(button).to_contain_text(f"14.3 MB once, and the model, {size} MB")
    assert asked == []
    button.click()
    expect(page.get_by_text("What did it take?")).to_be_visible(timeout=60_000)
    expect(page.locator(".story a")).to_have_text(greedy_words(name, vocab))
    assert len(asked) == 2
    page.reload()
    page.locator(".st-key-browser_model").get_by_role("radio", name=model, exact=True).click(force=True)
    expect(button).to_contain_text(f"and the model, {size} MB")
    button.click()
    expect(page.get_by_text("Done in your browser")).to_be_visible(timeout=60_000)
    assert len(asked) == 2, "the browser keeps the engine for the next visit"


def test_without_a_network_the_page_says_so_and_the_server_still_writes(page, server):
    open_generate(page, server, "your browser")
    page.get_by_role("button", name="Run in my browser").click()
    expect(page.get_by_text("no network, or it is blocked")).to_be_visible()
    page.locator(".st-key-engine").get_by_role("radio", name="PyTorch").click(force=True)
    page.get_by_role("button", name="Write").click()
    expect(page.get_by_text("What did it take?")).to_be_visible()


def test_an_engine_that_was_changed_on_the_way_is_refused(page, server):
    page.route(
        "https://cdn.jsdelivr.net/**",
        lambda route: route.fulfill(body="changed", headers={"Access-Control-Allow-Origin": "*"}),
    )
    open_generate(page, server, "your browser")
    page.get_by_role("button", name="Run in my browser").click()
    expect(page.get_by_text("could not be fetched")).to_be_visible()
    expect(page.get_by_text("Done in your browser")).to_have_count(0)


def test_a_browser_without_webassembly_is_told_so(page, server):
    page.add_init_script("delete globalThis.WebAssembly")
    open_generate(page, server, "your browser")
    page.get_by_role("button", name="Run in my browser").click()
    expect(page.get_by_text("offers no WebAssembly")).to_be_visible()


def test_two_visitors_write_at_once_without_disturbing_each_other(browser, server, vocab):
    pages = [browser.new_context().new_page() for _ in range(2)]
    for page in pages:
        open_generate(page, server, "PyTorch")
        expect(page.get_by_role("button", name="Write")).to_be_visible()
    for page in pages:
        page.get_by_role("button", name="Write").click()
    for page in pages:
        expect(page.get_by_text("What did it take?")).to_be_visible()
        expect(page.locator(".story a")).to_have_text(greedy_words("multihead_seed11", vocab))
        page.context.close()
