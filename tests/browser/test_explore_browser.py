"""The Explore page as a visitor meets it."""

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, settled


def prompt_box(page: Page):
    return page.get_by_role("textbox", name="Prompt")


def words(page: Page):
    return page.locator(".strip .word")


def test_prompt_picture_next_words_and_tabs_fit_the_first_screen_and_follow_what_is_typed(page, server):
    page.goto(f"{server}/?form=cells&prompt=the+big+dog+found+a+red+hat")
    expect(words(page)).to_have_text(["<BOS>", "the", "big", "dog", "found", "a", "red", "hat"])
    settled(page)
    for seen in (page.locator(".squares"), page.locator(".next"), page.get_by_role("tab", name="In numbers")):
        box = seen.bounding_box()
        assert box["y"] + box["height"] <= 768

    prompt_box(page).fill("the happy bird sang")
    expect(words(page)).to_have_text(["<BOS>", "the", "happy", "bird", "sang"])
    expect(page.locator(".answer")).to_contain_text("4 · sang looks at")
    expect(page.get_by_text("After sang the likeliest word is")).to_be_visible()
    expect(page.locator(".chain")).to_contain_text("The query of 4 · sang")
    expect(page.locator(".stApp")).not_to_contain_text("7 · hat")
    expect(page).to_have_url(re.compile("prompt=the"))


def test_a_link_to_a_page_of_a_fresh_server_shows_the_shared_controls(page, fresh_server):
    page.goto(f"{fresh_server}/explore?form=cells&prompt=one+big+bear&model=1")
    expect(prompt_box(page)).to_have_value("one big bear")
    expect(words(page)).to_have_text(["<BOS>", "one", "big", "bear"])
    expect(page.locator(".strip .name")).to_have_count(1)


def test_a_phone_shows_prompt_then_words_then_one_head(browser, server):
    context = browser.new_context(**PHONE)
    page = context.new_page()
    page.goto(f"{server}/?form=cells&prompt=one+big+bear&head=3")
    expect(page.locator(".square canvas")).to_have_count(1)
    expect(page.locator(".square b")).to_have_text("head 3")
    tops = [item.bounding_box()["y"] for item in (prompt_box(page), words(page).first, page.locator(".square"))]
    assert tops == sorted(tops)
    assert tops[2] < 1.5 * 844
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()


def test_every_word_of_a_long_text_can_be_read(page, server):
    text = ("once upon a time there was a little girl who had a red ball and a big dog " * 4).split()[:63]
    page.goto(f"{server}/?form=cells&prompt={'+'.join(text)}")
    expect(words(page)).to_have_count(64)
    sizes = words(page).evaluate_all("(all) => all.map((e) => parseFloat(getComputedStyle(e).fontSize))")
    assert min(sizes) >= 11
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 1366


def test_a_very_long_word_never_widens_the_page(page, server):
    page.goto(f"{server}/?form=cells&prompt={'x' * 1500}+ran")
    expect(page.locator(".answer")).to_contain_text("2 · ran looks at")
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 1366
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator(".square canvas")).to_have_count(1)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_new_visitor_is_invited_and_the_picture_does_not_move_once_that_was_used(page, server):
    page.goto(f"{server}/?form=cells")
    expect(page.locator(".answer")).to_contain_text("hat looks at")
    before = page.locator(".st-key-heads").bounding_box()
    page.get_by_role("button", name="a thing named twice").click()
    expect(prompt_box(page)).to_have_value("The bear had honey . The bee wanted the honey so the")
    expect(page.locator(".answer")).to_contain_text("the looks at")
    settled(page)
    assert page.locator(".st-key-heads").bounding_box()["y"] == before["y"]
    page.get_by_role("link", name="Benchmark", exact=True).click()
    page.get_by_role("link", name="Explore", exact=True).click()
    expect(page.locator(".answer")).to_contain_text("the looks at")
    expect(page.get_by_text("Type, or try:")).to_have_count(0)


def test_on_a_phone_all_but_the_prompt_is_folded_into_a_sheet_that_a_key_opens(browser, server):
    context = browser.new_context(**PHONE)
    page = context.new_page()
    page.goto(f"{server}/?form=cells&prompt=the+little+dog")
    expect(page.locator(".square canvas")).to_be_visible()
    assert page.locator(".square canvas").bounding_box()["y"] < 1.5 * 844
    for hidden in (".st-key-model", ".st-key-seed", ".st-key-glossary", ".st-key-copy_link"):
        expect(page.locator(hidden)).to_be_hidden()
    page.locator(".fold summary").press("Enter")
    expect(page.locator(".st-key-copy_link")).to_be_visible()
    page.locator(".st-key-model").get_by_role("radio", name="1", exact=True).press("Space")
    expect(page.locator(".strip .name")).to_have_count(1)
    expect(page.locator(".st-key-seed")).to_be_visible()
    context.close()


def test_on_a_wide_screen_nothing_is_folded(page, server):
    page.goto(f"{server}/?form=cells")
    expect(page.locator(".st-key-copy_link")).to_be_visible()
    expect(page.locator(".fold")).to_be_hidden()
