"""What controls show and what the address holds, as only a browser can tell."""

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, choose, settled


def prompt_box(page: Page):
    return page.get_by_role("textbox", name="Prompt")


def shown(page: Page, key: str):
    """What a select box shows."""
    return page.locator(f".st-key-{key} input")


def said(page: Page):
    return page.locator(".heads-said")


def test_every_control_shows_what_the_picture_shows_after_prompt_model_and_heads_have_changed(page, server):
    page.goto(server)
    expect(shown(page, "query")).to_have_value("the last word")
    prompt_box(page).fill("Lily gave the ball to")
    expect(said(page)).to_contain_text("to looks most at")
    expect(shown(page, "query")).to_have_value("the last word")
    expect(shown(page, "key")).to_have_value("the one looked at most")

    page.locator(".st-key-tokens").get_by_role("button", name="ball").press("Enter")
    expect(shown(page, "query")).to_have_value("4 · ball")
    prompt_box(page).fill("Lily gave the dog to Tom")
    expect(said(page)).to_contain_text("dog looks most at")
    expect(shown(page, "query")).to_have_value("4 · dog")
    prompt_box(page).fill("Lily")
    expect(said(page)).to_contain_text("Lily looks most at")
    expect(shown(page, "query")).to_have_value("the last word")

    choose(page, "head", "4")
    choose(page, "model", "2")
    expect(page.locator(".heads-said span")).to_have_count(2)
    expect(page.locator(".st-key-head").get_by_role("radio", checked=True)).to_have_accessible_name("1")
    settled(page)
    expect(page).to_have_url(re.compile(r"\?prompt=Lily&model=2&picture=all\+heads$"))


def test_compare_shows_the_chosen_word_also_where_another_word_comes_to_stand_there(page, server):
    page.goto(f"{server}/compare?query=3+%C2%B7+dog")
    expect(shown(page, "query")).to_have_value("3 · dog")
    prompt_box(page).fill("a little cat ran")
    expect(page.get_by_text("when it is the last word read")).to_contain_text("3 · cat")
    expect(shown(page, "query")).to_have_value("3 · cat")


def test_a_link_shows_on_a_phone_what_it_showed_on_a_desk_and_back(browser, server):
    for first, second in (({"viewport": {"width": 1366, "height": 768}}, PHONE), (PHONE, {})):
        there, here = browser.new_context(**first), browser.new_context(**second)
        page, other = there.new_page(), here.new_page()
        page.goto(f"{server}/?prompt=one+big+bear&head=3")
        expect(said(page)).to_contain_text("bear looks most at")
        settled(page)
        expect(page).to_have_url(re.compile("picture="))
        heads = page.locator("[class*=st-key-heads] .annotation", has_text="head").count()
        other.goto(page.url)
        expect(other.locator("[class*=st-key-heads] .annotation", has_text="head")).to_have_count(heads)
        settled(other)
        assert other.url == page.url
        there.close()
        here.close()


def test_typing_leaves_one_step_in_the_browsers_history(page, server):
    page.goto(server)
    expect(said(page)).to_contain_text("hat looks most at")
    before = page.evaluate("history.length")
    for text in ("one", "one big", "one big bear"):
        prompt_box(page).fill(text)
        expect(said(page)).to_contain_text(f"{text.split()[-1]} looks most at")
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
    expect(said(page)).to_contain_text("hat looks most at")
    expect(page.locator(".waiting")).to_have_count(0)
    assert not page.evaluate("window.sidebar")


def test_a_copied_link_says_what_it_cannot_carry(browser, server):
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(server)
    prompt_box(page).fill("the cat sat . " * 400)
    expect(said(page)).to_contain_text("looks most at")
    settled(page)
    page.get_by_role("button", name="Copy link").press("Enter")
    expect(page.get_by_text("Link copied. It cannot carry all of the prompt")).to_be_visible()
    context.close()
