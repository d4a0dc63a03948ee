"""The page about heads over many texts and about the vectors of words, in a real browser."""

from playwright.sync_api import Page, expect

from tests.browser.conftest import choose, coloured, settled
from tests.browser.test_looks_browser import WCAG_AA, faults


def test_each_head_has_a_picture_and_a_hypothesis_is_answered(page: Page, server):
    page.goto(f"{server}/heads_and_words")
    pictures = page.locator(".head-cards img")
    expect(pictures).to_have_count(4)
    assert all(picture.evaluate("img => img.complete && img.naturalWidth > 0") for picture in pictures.all())
    expect(page.locator(".head-cards i").first).to_have_css("background-color", "rgb(0, 114, 178)")
    choose(page, "head", "2")
    expect(page.get_by_text("Yes, mostly.")).to_be_visible()
    choose(page, "over", "repeated words")
    expect(page.get_by_text("Over repeated words the share is")).to_be_visible()


def test_a_typed_word_is_marked_on_the_map_and_the_tab_keeps_to_wcag(page: Page, server):
    page.goto(f"{server}/heads_and_words?about=Words")
    expect(page.locator(".st-key-word_map .textpoint text").first).to_have_text("hat")
    page.get_by_role("textbox", name="Word").fill("balloon")
    expect(page.locator(".st-key-word_map .textpoint text").first).to_have_text("balloon")
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert not faults(page, WCAG_AA)
    page.emulate_media(color_scheme="dark")
    expect(page.locator(".stApp")).to_have_css("color-scheme", "dark")
    coloured(page)
    assert not faults(page, ["color-contrast"])
