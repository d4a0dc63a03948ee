"""The Explore page as a visitor meets it."""

from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, settled


def prompt_box(page: Page):
    return page.get_by_role("textbox", name="Prompt")


def tokens(page: Page):
    return page.locator(".st-key-tokens b")


def test_tokens_and_pictures_fit_the_first_screen_and_every_block_follows_what_is_typed(page, server):
    page.goto(server)
    expect(tokens(page)).to_have_text(["<BOS>", "a", "little", "dog", "found", "a", "red", "hat"])
    picture = page.locator("[class*=st-key-heads] .js-plotly-plot")
    expect(picture).to_be_visible()
    box = picture.bounding_box()
    assert box["y"] + box["height"] <= 768
    settled(page)

    words = ["<BOS>", "the", "happy", "bird", "sang"]
    prompt_box(page).fill("the happy bird sang")
    expect(tokens(page)).to_have_text(words)
    expect(page.locator(".heads-said")).to_contain_text("sang looks most at")
    expect(page.locator(".st-key-shaded b")).to_have_text(words)
    expect(page.get_by_text("the weight of the key")).to_contain_text("4 · sang")
    expect(picture.locator(".ytick", has_text="4 · sang").first).to_be_attached()
    # The grid is drawn on a canvas; its accessible copy holds the column headers.
    expect(page.get_by_test_id("stDataFrame").first.locator("th", has_text="4 · sang")).to_be_attached()
    expect(page.locator(".stApp")).not_to_contain_text("7 · hat")
    assert "prompt=the+happy+bird+sang" in page.url or "prompt=the%20happy%20bird%20sang" in page.url


def test_a_link_to_a_page_of_a_fresh_server_shows_the_shared_controls(page, fresh_server):
    page.goto(f"{fresh_server}/explore?prompt=one+big+bear&model=1")
    expect(prompt_box(page)).to_have_value("one big bear")
    expect(tokens(page)).to_have_text(["<BOS>", "one", "big", "bear"])
    expect(page.locator(".heads-said")).not_to_contain_text("head 2")


def test_a_phone_shows_prompt_then_tokens_then_one_head(browser, server):
    context = browser.new_context(**PHONE)
    page = context.new_page()
    page.goto(server)
    picture = page.locator("[class*=st-key-heads] .js-plotly-plot")
    expect(picture).to_be_visible()
    tops = [item.bounding_box()["y"] for item in (prompt_box(page), tokens(page).first, picture)]
    assert tops == sorted(tops)
    expect(picture.locator(".annotation", has_text="head")).to_have_count(1)
    assert picture.bounding_box()["width"] <= 390
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()


def test_a_very_long_word_never_widens_the_page_and_a_narrow_window_scrolls_from_head_to_head(page, server):
    page.goto(f"{server}/?prompt={'x' * 3000}+ran")
    expect(page.locator(".heads-said")).to_contain_text("ran looks most at")
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 1366
    page.set_viewport_size({"width": 390, "height": 844})
    picture = page.locator("[class*=st-key-heads] .js-plotly-plot")
    expect(picture.locator(".annotation", has_text="head")).to_have_count(4)
    assert picture.bounding_box()["width"] > 1000
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
