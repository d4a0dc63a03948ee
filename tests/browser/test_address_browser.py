"""What controls show and what the address holds, as only a browser can tell."""

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, choose, settled


def prompt_box(page: Page):
    return page.get_by_role("textbox", name="Prompt")


def answer(page: Page):
    return page.locator(".answer")


def test_the_picture_and_the_address_follow_prompt_model_and_heads(page, server):
    page.goto(f"{server}/?form=cells")
    expect(answer(page)).to_contain_text("7 · hat looks at")
    prompt_box(page).fill("Lily gave the ball to")
    expect(answer(page)).to_contain_text("5 · to looks at")

    page.locator(".strip .word", has_text="ball").press("Enter")
    expect(answer(page)).to_contain_text("4 · ball looks at")
    prompt_box(page).fill("Lily gave the dog to Tom")
    expect(answer(page)).to_contain_text("4 · dog looks at")
    expect(page.locator(".strip .word", has_text="dog")).to_have_attribute("aria-pressed", "true")
    prompt_box(page).fill("Lily")
    expect(answer(page)).to_contain_text("1 · Lily looks at")

    page.locator(".strip .name").nth(3).press("Enter")
    expect(answer(page)).to_contain_text("head 4:")
    choose(page, "model", "2")
    expect(page.locator(".strip .name")).to_have_count(2)
    expect(answer(page)).to_contain_text("head 1:")
    settled(page)
    expect(page).to_have_url(re.compile(r"\?prompt=Lily&model=2&form=cells$"))


def test_controls_of_compare_show_what_the_picture_shows_when_a_model_has_fewer_heads(page, server):
    page.goto(f"{server}/compare?query=3+%C2%B7+dog&head=4&b_head=1&b=8")
    expect(page.locator(".square b").first).to_have_text("A: 4 heads, head 4")
    choose(page, "model", "2")
    expect(page.locator(".square b").first).to_have_text("A: 2 heads, head 1")
    expect(page.locator(".st-key-head").get_by_role("radio", checked=True)).to_have_accessible_name("1")
    prompt_box(page).fill("a little cat ran")
    expect(answer(page)).to_contain_text("3 · cat looks at")


def test_a_link_shows_on_a_phone_what_it_showed_on_a_desk_and_back(browser, server):
    for first, second in (({"viewport": {"width": 1366, "height": 768}}, PHONE), (PHONE, {})):
        there, here = browser.new_context(**first), browser.new_context(**second)
        page, other = there.new_page(), here.new_page()
        page.goto(f"{server}/?prompt=one+big+bear&head=3&without=2&form=lines&tab=Shapes")
        expect(answer(page)).to_contain_text("head 3: 3 · bear looks at")
        settled(page)
        other.goto(page.url)
        expect(answer(other)).to_have_text(answer(page).inner_text())
        expect(other.get_by_role("switch", name="head 2 on")).not_to_be_checked()
        expect(other.locator("svg.lines")).to_be_attached()
        expect(other.get_by_role("tab", name="Shapes")).to_have_attribute("aria-selected", "true")
        settled(other)
        assert other.url == page.url
        there.close()
        here.close()


def test_typing_leaves_one_step_in_the_browsers_history(page, server):
    page.goto(f"{server}/?form=cells")
    expect(answer(page)).to_contain_text("hat looks at")
    before = page.evaluate("history.length")
    for text in ("one", "one big", "one big bear"):
        prompt_box(page).fill(text)
        expect(answer(page)).to_contain_text(f"{text.split()[-1]} looks at")
    expect(page).to_have_url(re.compile("prompt=one"))
    assert page.evaluate("history.length") == before


def test_a_cold_server_shows_the_frame_and_a_skeleton_at_once_and_never_a_sidebar(page, fresh_server):
    page.add_init_script(
        "new MutationObserver(() => { window.sidebar ||= !!document.querySelector('[data-testid=stSidebar]'); })"
        ".observe(document, {childList: true, subtree: true})"
    )
    page.goto(fresh_server, wait_until="commit")
    expect(page.locator(".waiting")).to_be_visible()
    expect(page.get_by_role("link", name="Compare heads").first).to_be_visible()
    expect(page.locator(".board .word").last).to_have_text("hat")
    expect(page.locator(".waiting")).to_have_count(0)
    assert not page.evaluate("window.sidebar")


def test_a_copied_link_says_what_it_cannot_carry(browser, server):
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(f"{server}/?form=cells")
    prompt_box(page).fill("the cat sat . " * 250)
    expect(answer(page)).to_contain_text("1000 · .")
    settled(page)
    page.get_by_role("button", name="Copy link").press("Enter")
    expect(page.get_by_text("Link copied. It cannot carry all of the prompt")).to_be_visible()
    context.close()
