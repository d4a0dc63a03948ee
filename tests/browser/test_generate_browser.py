"""Writing stories on the server and in the visitor's own browser.

ONNX Runtime Web is fetched from a public address in real life. Here every request to it is answered from the npm
package of the same version, whose folder WORDLM_ORT_WEB names; the digests that the page states are those of the
published files, so the browser itself checks that the two are the same.
"""

import os
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import CHROMIUM, FLAGS, choose, settled, start_server, stop_server
from wordlm.checkpoints import open_checkpoint
from wordlm.engines import TorchEngine
from wordlm.files import ARTIFACTS, REPOSITORY
from wordlm.generation import Decoding, candidate_probabilities, generate
from wordlm.text import BOS, EOS, PAD, UNK, encode_prompt
from wordlm.ui.browser.carrying.components import module
from wordlm.ui.views.generate.browser_engine import ORT_VERSION

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


def greedy_words(name: str, vocab, limit: int = 60) -> list[str]:
    model = open_checkpoint(ARTIFACTS / "heads" / f"{name}.npz")[1]
    story = generate(TorchEngine(model), encode_prompt(PROMPT, vocab).ids, Decoding(limit))
    return vocab.decode(story.new_ids)


def open_generate(page: Page, server: str, engine: str, limit: int = 60) -> None:
    page.goto(f"{server}/generate?prompt={PROMPT.replace(' ', '+')}&engine={engine.replace(' ', '+')}&limit={limit}")
    expect(page.get_by_text("A better loss on held-out stories")).to_be_visible()
    settled(page)


def test_words_end_as_the_models_greedy_story_and_a_press_on_one_opens_explore_at_that_moment(page, server, vocab):
    open_generate(page, server, "ONNX Runtime")
    page.get_by_role("button", name="Write").click()
    expect(page.get_by_text("What did it take?")).to_be_visible()
    words = greedy_words("multihead_seed11", vocab)
    expect(page.locator(".story a")).to_have_text(words)
    with page.context.expect_page() as opened:
        page.locator(".story a").nth(2).click()
    expect(opened.value.locator(".board .word")).to_have_text(["<BOS>", *PROMPT.split(), *words[:3]])


def test_a_story_made_in_the_browser_by_the_chosen_model_equals_pytorch_s_greedy_one(page, server, vocab, ort_web):
    asked = serve_from(page, ort_web)
    open_generate(page, server, "your browser")
    button = page.get_by_role("button", name="Run in my browser")
    choose(page, "browser_model", "MLP")
    expect(button).to_contain_text("14.3 MB once, and the model, 9.3 MB")
    assert asked == []
    button.click()
    expect(page.get_by_text("What did it take?")).to_be_visible(timeout=60_000)
    expect(page.locator(".story a")).to_have_text(greedy_words("mlp_seed11", vocab))
    assert len(asked) == 2


@pytest.mark.parametrize("milliseconds", [0, 200, 500])
def test_a_model_chosen_while_the_page_is_still_coming_reaches_the_button(page, server, milliseconds):
    page.route("**/BidiComponent*.js", lambda route: (time.sleep(0.3), route.continue_()))
    page.goto(f"{server}/generate?engine=your+browser")
    expect(page.locator(".st-key-browser_model")).to_be_attached()
    page.wait_for_timeout(milliseconds)
    choose(page, "browser_model", "MLP")
    expect(page.get_by_role("button", name="Run in my browser")).to_contain_text("the model, 9.3 MB")


def test_a_run_that_ends_after_another_model_was_chosen_leaves_the_button_of_the_chosen_one(page, server, ort_web):
    serve_from(page, ort_web)
    open_generate(page, server, "your browser", limit=200)
    page.get_by_role("button", name="Run in my browser").click()
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    choose(page, "browser_model", "MLP")
    expect(page.get_by_text("Done in your browser")).to_be_visible(timeout=60_000)
    expect(page.get_by_role("button", name="Run in my browser")).to_contain_text("the model, 9.3 MB")
    expect(page.get_by_text("4 heads, seed 11 · your browser").first).to_be_visible()


def test_the_browser_keeps_the_engine_and_the_model_for_the_next_visit(page, server, vocab, ort_web):
    asked, models = serve_from(page, ort_web), []
    page.on(
        "request",
        lambda request: (
            models.append(request.url) if "/media/" in request.url and request.url.endswith(".bin") else None
        ),
    )
    open_generate(page, server, "your browser", limit=20)
    button = page.get_by_role("button", name="Run in my browser")
    button.click()
    expect(page.get_by_text("Done in your browser")).to_be_visible(timeout=60_000)
    expect(page.locator(".story a")).to_have_text(greedy_words("multihead_seed11", vocab, limit=20))
    assert (len(asked), len(models)) == (2, 1)
    page.reload()
    button.click()
    expect(page.get_by_text("Done in your browser")).to_be_visible(timeout=60_000)
    assert (len(asked), len(models)) == (2, 1)


def test_a_story_made_with_webgpu_equals_pytorch_s_greedy_one(browser, server, vocab, ort_web):
    """On the software adapter that Chromium brings along."""
    flags = [flag for flag in FLAGS if flag != "--disable-gpu"]
    flags += ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--use-vulkan=swiftshader"]
    flags += ["--enable-features=Vulkan,WebGPU", "--ignore-gpu-blocklist"]
    with browser.browser_type.launch(executable_path=CHROMIUM, args=flags) as with_gpu:
        page = with_gpu.new_page()
        asked = serve_from(page, ort_web)
        open_generate(page, server, "your browser", limit=8)
        if not page.evaluate("navigator.gpu?.requestAdapter().then((adapter) => adapter !== null)"):
            pytest.skip("this Chromium brings no WebGPU adapter")
        choose(page, "way", "WebGPU")
        button = page.get_by_role("button", name="Run in my browser")
        expect(button).to_contain_text("26.9 MB")
        button.click()
        expect(page.get_by_text("What did it take?")).to_be_visible(timeout=90_000)
        expect(page.locator(".story a")).to_have_text(greedy_words("multihead_seed11", vocab, limit=8))
        assert len(asked) == 2 and any("webgpu" in url for url in asked)


def test_what_keeps_a_browser_from_writing_is_named_and_the_server_still_writes(page, server):
    open_generate(page, server, "your browser")
    button = page.get_by_role("button", name="Run in my browser")
    button.click()
    expect(page.get_by_text("no network, or it is blocked")).to_be_visible()
    page.route(
        "https://cdn.jsdelivr.net/**",
        lambda route: route.fulfill(body="changed", headers={"Access-Control-Allow-Origin": "*"}),
    )
    button.click()
    expect(page.get_by_text("could not be fetched")).to_be_visible()
    page.evaluate("Object.defineProperty(navigator, 'gpu', { value: undefined })")
    choose(page, "way", "WebGPU")
    expect(button).to_contain_text("26.9 MB")
    button.click()
    expect(page.get_by_text("offers no WebGPU here")).to_be_visible()
    page.evaluate("delete globalThis.WebAssembly")
    choose(page, "way", "WebAssembly")
    expect(button).to_contain_text("14.3 MB")
    button.click()
    expect(page.get_by_text("offers no WebAssembly")).to_be_visible()
    expect(page.get_by_text("Done in your browser")).to_have_count(0)
    choose(page, "engine", "PyTorch")
    page.get_by_role("button", name="Write").click()
    expect(page.get_by_text("What did it take?")).to_be_visible()


SETTINGS = [
    Decoding(),
    Decoding(temperature=1.0),
    Decoding(temperature=0.7, top_k=5),
    Decoding(temperature=1.3, top_p=0.6),
    Decoding(temperature=1.0, top_k=9, top_p=0.8, allow_unknown=True),
    Decoding(temperature=0.01),
]


def test_decoding_in_the_browser_follows_the_same_specification(page, server):
    """The same probabilities for the draw, and draws that follow them: a chi-square test with a fixed seed."""
    page.goto(f"{server}/_stcore/health")
    script = module(REPOSITORY / "wordlm/ui/views/generate/browser_engine.js")
    logits = np.random.default_rng(0).normal(0, 2, 40).astype(np.float32).round(1)  # rounded, so that some are equal
    special = {"PAD": PAD, "BOS": BOS, "EOS": EOS, "UNK": UNK}
    program = """
    async ([script, logits, settings, special]) => {
      const engine = await import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
      return settings.map((decoding) => {
        const p = engine.candidateProbabilities(Float32Array.from(logits), decoding, special);
        const random = engine.mulberry32(5), drawn = Array(p.length).fill(0);
        for (let i = 0; i < 4000; i++) drawn[engine.draw(p, decoding, random)]++;
        return { p: [...p], drawn };
      });
    }
    """
    shown = page.evaluate(program, [script, logits.tolist(), [asdict(decoding) for decoding in SETTINGS], special])
    for decoding, got in zip(SETTINGS, shown, strict=True):
        expected = candidate_probabilities(logits, decoding)
        np.testing.assert_allclose(got["p"], expected, atol=1e-12)
        drawn, possible = np.array(got["drawn"]), expected > 0
        assert drawn[~possible].sum() == 0
        chi_square = ((drawn[possible] - 4000 * expected[possible]) ** 2 / (4000 * expected[possible])).sum()
        freedom = possible.sum() - 1
        assert chi_square <= freedom + 4 * (2 * freedom) ** 0.5  # four standard deviations above its mean


def start_long_stories(page: Page, url: str) -> None:
    """Start six stories of up to 200 words, and wait for the first words."""
    open_generate(page, url, "PyTorch")
    for model in ("MLP", "1", "2", "8", "16"):
        page.locator(".st-key-writers").get_by_role("button", name=model, exact=True).click()
    slider = page.get_by_role("slider", name="New words")
    slider.press("End")
    expect(slider).to_have_value("200")
    page.get_by_role("button", name="Write").click()
    expect(page.locator(".story a").nth(3)).to_be_visible()


def test_stop_ends_a_story_where_it_is(page, server):
    start_long_stories(page, server)
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("Stopped because it was stopped.").first).to_be_visible()
    expect(page.get_by_text("What did it take?")).to_be_visible()


def cpu_seconds(pid: int) -> float:
    """Return the processor time that a process has used (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processor time is read from Linux's /proc")
def test_the_server_stops_writing_when_the_visitor_leaves(browser, tmp_path, request):
    process, url = start_server(tmp_path / "server.log")
    request.addfinalizer(lambda: stop_server(process))
    page = browser.new_context().new_page()
    start_long_stories(page, url)
    begun = cpu_seconds(process.pid)
    time.sleep(1)  # one window of the measure
    busy = cpu_seconds(process.pid) - begun
    words = page.locator(".story a").count()
    assert words < 6 * 100, "the case needs stories that are far from finished"
    page.context.close()
    for _ in range(60):  # nothing on screen can be waited for: the visitor is gone
        before = cpu_seconds(process.pid)
        time.sleep(1)
        if cpu_seconds(process.pid) - before < 0.3 * busy:
            return
    raise AssertionError("the server went on writing for a minute")


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
