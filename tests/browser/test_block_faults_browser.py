"""The whole model's picture when models come late or damaged, the server is busy, a browser lacks something."""

import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import choose, settled
from tests.browser.test_block_browser import TEXT, expected, likeliest, open_picture, prompt_box, words
from wordlm.bundled import Bundled
from wordlm.variants import Variant


class Requests:
    """The browser's requests for weights, from `start` on: held, unless `answer` says what becomes of each."""

    def __init__(self, page: Page) -> None:
        self.held, self.answer, self._page = [], self.held_back, page

    def held_back(self, route) -> None:
        self.held.append(route)

    def start(self) -> None:
        self._page.route("**/media/*.bin", lambda route: self.answer(route))


@pytest.fixture
def weights(page):
    return Requests(page)


@pytest.fixture
def _unused(page):

    return Requests(page)


def model(bundled, choice: str):
    return bundled(Bundled(Variant.parse(choice), 11).file.removesuffix(".npz"))


def test_while_another_model_is_fetched_the_old_picture_is_said_to_be_the_old_one(
    page, server, weights, bundled, vocab
):
    open_picture(page, server)
    weights.start()
    choose(page, "model", "8")
    expect(page.locator(".notice")).to_contain_text("Fetching 8 heads, once")
    expect(page.locator(".notice")).to_contain_text("Until then you see 4 heads.")
    prompt_box(page).press("End")
    prompt_box(page).press_sequentially(" his")
    expect(page.locator(".board .word")).to_have_count(2 + len(TEXT.split()))
    assert likeliest(page) == expected(model(bundled, "4"), vocab, f"{TEXT} his")
    assert page.locator(".figures").evaluate("(figures) => figures.inert")
    settled(page)
    for route in weights.held:
        route.continue_()
    expect(page.locator(".board .lane")).to_have_count(8)
    expect(page.locator(".notice")).to_be_hidden()
    expect(page.locator(".check")).to_contain_text("✓ The server agrees")
    assert likeliest(page) == expected(model(bundled, "8"), vocab, f"{TEXT} his")


def test_a_model_that_is_no_longer_wanted_is_given_up_and_its_failure_changes_nothing(page, server, weights):
    open_picture(page, server)
    weights.start()
    with page.expect_request("**/media/*.bin"):
        choose(page, "model", "8")
    expect(page.locator(".notice")).to_contain_text("Fetching 8 heads")
    with page.expect_event("requestfailed") as given_up, page.expect_request("**/media/*.bin"):
        choose(page, "model", "2")
    assert "ABORTED" in given_up.value.failure
    expect(page.locator(".notice")).to_contain_text("Fetching 2 heads")
    weights.held[-1].continue_()
    expect(page.locator(".board .lane")).to_have_count(2)
    expect(page.locator(".notice")).to_be_hidden()


def test_a_model_that_fails_can_be_tried_again(page, server, weights):
    open_picture(page, server)
    weights.answer = lambda route: route.fulfill(status=404)
    weights.start()
    choose(page, "model", "8")
    expect(page.locator(".notice")).to_contain_text("(the server answered 404)")
    expect(page.locator(".notice")).to_contain_text("You still see 4 heads.")
    weights.answer = lambda route: route.continue_()
    page.get_by_role("button", name="Try again").press("Enter")
    expect(page.locator(".board .lane")).to_have_count(8)
    expect(page.locator(".notice")).to_be_hidden()


@pytest.mark.parametrize("form", ["model", "cells"])
def test_heads_switched_off_while_the_server_is_busy_are_off_for_it_too(page, server, proxy, form):
    proxy.port = urlsplit(server).port
    page.goto(f"{proxy.url}/?form={form}&prompt={TEXT.replace(' ', '+')}")
    expect(page.get_by_role("switch", name="head 3 on")).to_be_visible()
    settled(page)
    proxy.answers.clear()
    for head in (1, 2, 3):
        page.get_by_role("switch", name=f"head {head} on").press("Space")
    proxy.answers.set()
    for head in (1, 2, 3):
        expect(page.get_by_role("switch", name=f"head {head} on")).not_to_be_checked()
        expect(page).to_have_url(re.compile(f"without={head}"))
    if form == "model":
        expect(page.locator(".check")).to_contain_text("✓ The server agrees")


def test_heads_3_and_11_of_16_are_off_for_both(page, server):
    open_picture(page, server, more="&model=16")
    for head in (11, 3):
        page.get_by_role("button", name=f"head {head}", exact=True).press("Enter")
        page.get_by_role("switch", name=f"head {head} on").press("Space")
    expect(page).to_have_url(re.compile("without=3&without=11"))
    expect(page.locator(".check")).to_contain_text("✓ The server agrees")


def cell_under(page: Page, row: int, column: int, rows: int, columns: int) -> str:
    canvas = page.locator(".panel canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + box["width"] * (column + 0.5) / columns, box["y"] + box["height"] * (row + 0.5) / rows)
    return page.locator(".cell-said").inner_text()


@pytest.mark.parametrize("present", ["", "&present=true"])
def test_a_pointer_over_an_opened_matrix_names_the_cell_under_it(page, server, present):
    open_picture(page, server, "lily had a ball", more=present)
    page.get_by_role("button", name="embedding", exact=True).press("Enter")
    typed = ["the start mark", "“lily”", "“had”", "“a”", "“ball”"]
    for row, column in ((0, 0), (1, 17), (2, 40), (3, 63), (4, 31), (0, 63)):
        said = cell_under(page, row, column, 5, 64)
        assert said.startswith(f"{typed[row]}, number {column + 1} of 64"), (row, column, said)


def test_a_long_word_stays_in_its_place_and_can_be_pressed(page, server):
    long = "a" * 3000
    open_picture(page, server, f"{long} {long[:34]}")
    board = page.locator(".board").bounding_box()
    for place in (1, 2):
        word = page.locator(".board .word").nth(place)
        assert word.bounding_box()["width"] < 150
        word.click()
        expect(word).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".next li").first).to_be_visible()
    after = page.locator(".next").bounding_box()
    assert after["x"] + after["width"] <= board["x"] + board["width"] + 1


def test_what_a_shortcut_of_the_browser_means_is_left_to_it(page, server):
    open_picture(page, server, more="&present=true")
    page.locator(".steps button").nth(3).press("Enter")
    expect(page.locator(".steps button").nth(3)).to_have_attribute("aria-current", "step")
    prevented = page.evaluate(
        """() => ["altKey", "ctrlKey", "metaKey"].flatMap((held) => ["ArrowLeft", "ArrowRight", "2", "b"].map((key) => {
          const how = { key, [held]: true, bubbles: true, composed: true, cancelable: true };
          const event = new KeyboardEvent("keydown", how);
          const part = document.querySelector("[data-testid=stBidiComponentRegular]") ?? document.body;
          part.dispatchEvent(event);
          return event.defaultPrevented;
        }))"""
    )
    assert not any(prevented)
    expect(page.locator(".steps button").nth(3)).to_have_attribute("aria-current", "step")


def test_on_a_projector_every_head_has_a_key_and_digits_are_the_steps(page, server):
    open_picture(page, server, more="&model=16&present=true")
    for key, head in (("a", 1), ("j", 10), ("p", 16)):
        page.keyboard.press(key)
        expect(page.locator(".name[aria-pressed=true]")).to_have_attribute("aria-label", f"head {head}")
    page.keyboard.press("5")
    expect(page.locator(".sentence b")).to_have_text("Weights. ")
    page.keyboard.press("0")
    expect(page.locator(".sentence b")).to_have_count(0)


KEPT = """async () => {
  const cache = await caches.open("attention-explorer kept");
  return (await cache.keys()).map((request) => new URL(request.url).pathname.split("/")[1]).sort();
}"""
DAMAGE = """async (how) => {
  const cache = await caches.open("attention-explorer kept");
  for (const request of await cache.keys()) {
    const bytes = new Uint8Array(await (await cache.match(request)).arrayBuffer());
    if (how === "cut") await cache.put(request, new Response(bytes.slice(0, bytes.length * 0.9)));
    else { bytes[bytes.length >> 1] ^= 1; await cache.put(request, new Response(bytes)); }
  }
}"""


@pytest.mark.parametrize("how", ["cut", "changed"])
def test_a_damaged_copy_is_fetched_anew(page, server, four_heads_text, how):
    open_picture(page, server)
    assert page.evaluate(KEPT) == ["script", "vocabulary", "weights"]
    page.evaluate(DAMAGE, how)
    open_picture(page, server)
    assert likeliest(page) == four_heads_text
    expect(page.locator(".check")).to_contain_text("✓ The server agrees")


@pytest.fixture
def four_heads_text(bundled, vocab):
    return expected(model(bundled, "4"), vocab, TEXT)


def test_what_the_browser_keeps_can_be_cleared(page, server):
    open_picture(page, server)
    page.get_by_role("button", name=re.compile(r"Clear what this browser keeps \(\d\.\d MB\)")).press("Enter")
    expect(page.locator(".forget")).to_have_count(0)
    assert page.evaluate(KEPT) == []


def test_a_browser_without_newer_functions_draws_the_lanes(page, server, four_heads_text):
    page.add_init_script("delete window.OffscreenCanvas; delete Intl.ListFormat;")
    open_picture(page, server, more="&without=1&without=2&without=3")
    expect(page.locator(".next h4")).to_have_text("Next word after to without heads 1, 2 and 3")
    page.locator(".titles .open", has_text="keys").first.press("Enter")
    expect(page.locator(".panel")).to_be_visible()


def test_what_fails_while_drawing_is_said_and_cells_are_offered(page, server):
    page.add_init_script("CanvasRenderingContext2D.prototype.strokeRect = () => { throw new Error('no lines here'); };")
    page.goto(f"{server}/?form=model")
    expect(page.locator(".notice")).to_contain_text("This browser could not draw the picture (no lines here).")
    expect(page.get_by_role("button", name="cells", exact=True)).to_be_visible()


def test_in_high_contrast_what_is_on_pressed_or_filled_can_be_told(page, server):
    page.emulate_media(forced_colors="active")
    open_picture(page, server, more="&without=2")
    on, off = (page.get_by_role("switch", name=f"head {head} on") for head in (1, 2))
    colour = "(part) => getComputedStyle(part).backgroundColor"
    assert on.evaluate(colour) != off.evaluate(colour)
    bar = page.locator(".next .bar i:not(.before)").first
    assert bar.evaluate(colour) != page.locator(".board").evaluate(colour)
    outlined = "(part) => getComputedStyle(part).outlineStyle"
    assert page.locator(".steps [aria-current=step]").evaluate(outlined) == "solid"
    assert page.locator(".steps button").nth(3).evaluate(outlined) == "none"


def test_the_models_words_are_not_for_a_page_translator(page, server):
    open_picture(page, server)
    for part in (".board .word", ".next li button"):
        assert page.locator(part).evaluate_all("(all) => all.every((one) => one.translate === false)")
    assert words(page)[1:] == TEXT.split()
