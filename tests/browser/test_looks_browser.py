"""Every page in light, dark, on a phone and by the keyboard: it fits, and it keeps to WCAG 2.1 AA."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, calm, coloured, settled
from wordlm.ui.frame.shell import PAGES

TITLES = tuple(title for title, _ in PAGES.values())
DESK = {"viewport": {"width": 1366, "height": 768}, "color_scheme": "light"}
PROMPT = "the girl saw the big brown bear and the bear saw the girl"
WCAG_AA = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]


@pytest.fixture(scope="module")
def desk(browser, server):
    yield from visit(browser, server, DESK)


@pytest.fixture(scope="module")
def phone(browser, server):
    yield from visit(browser, server, PHONE)


def visit(browser, server: str, device: dict):
    """One session for all pages, which asks nobody but the server for anything."""
    outside = []
    context = browser.new_context(**device)
    context.on("request", lambda request: outside.append(request.url) if not_ours(request.url) else None)
    page = context.new_page()
    page.goto(f"{server}/?form=cells&prompt={PROMPT.replace(' ', '+')}")
    expect(page.locator(".answer")).to_contain_text("looks at")
    settled(page)
    yield page
    context.close()
    assert not outside


def not_ours(url: str) -> bool:
    return not url.startswith(("http://127.0.0.1", "ws://127.0.0.1", "data:", "blob:"))


def go_to(page: Page, title: str, device: dict) -> None:
    """Go to a page by the menu, wait until it is drawn, and see that it is no wider than the window."""
    if device is PHONE:
        page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_role("link", name=title, exact=True).first.click()
    expect(page).to_have_title(f"{title} · Attention explorer")
    settled(page)
    if title in ("Explore", "Compare heads"):
        expect(page.locator(".square canvas").first).to_be_attached()
    elif title not in ("Generate", "Train"):
        expect(page.locator(".js-plotly-plot").first).to_be_attached()
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0)
    expect(page.get_by_test_id("stException")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def faults(page: Page, rules: list[str]) -> list:
    """Return what breaks the rules: the name of the rule and the elements."""
    found = Axe().run(page, options={"runOnly": rules, "resultTypes": ["violations"]}).response
    return [(violation["id"], [node["html"] for node in violation["nodes"]]) for violation in found["violations"]]


@pytest.mark.parametrize("title", TITLES)
def test_a_page_keeps_to_wcag_in_light_and_dark(desk, title):
    go_to(desk, title, DESK)
    for scheme, rules in (("light", WCAG_AA), ("dark", ["color-contrast"])):  # only the colours differ
        desk.emulate_media(color_scheme=scheme)
        expect(desk.locator(".stApp")).to_have_css("color-scheme", scheme)
        coloured(desk)
        assert not faults(desk, rules)


WHOLE_MODEL = "/?prompt=the+girl+saw+the+dog+and+the+dog+saw+the+girl&query=5+%C2%B7+dog&without=2"


@pytest.mark.parametrize("device", [DESK, PHONE], ids=["desk", "phone"])
def test_the_whole_model_keeps_to_wcag_with_what_it_opens_and_nothing_moves_while_a_word_is_typed(
    browser, server, device
):
    context = browser.new_context(**device)
    page = context.new_page()
    page.goto(server + WHOLE_MODEL)
    expect(page.locator(".check")).to_contain_text("✓ The server agrees")
    for opened in (".board .next li button", ".open"):
        page.locator(opened).first.press("Enter")
        expect(page.locator(".panel")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        for scheme, rules in (("light", WCAG_AA), ("dark", ["color-contrast"])):
            page.emulate_media(color_scheme=scheme)
            expect(page.locator(".stApp")).to_have_css("color-scheme", scheme)
            coloured(page)
            assert not faults(page, rules)
    page.get_by_role("button", name="Close").press("Enter")
    settled(page)
    calm(page)
    page.evaluate(WATCH_SHIFTS)
    box = page.get_by_role("textbox", name="Prompt")
    box.press("End")
    box.press_sequentially("s", delay=150)
    expect(page.locator(".board .word").last).to_have_text("girls")
    settled(page)
    calm(page)
    assert page.evaluate("window.shifts.reduce((a, b) => a + b, 0)") < 0.1
    context.close()


def test_a_first_visit_sees_the_steps_play_unless_the_visitor_wants_nothing_to_move(browser, server):
    for motion, played in (("no-preference", True), ("reduce", False)):
        context = browser.new_context(**DESK, reduced_motion=motion)
        page = context.new_page()
        page.goto(server)
        expect(page.locator(".board .word").last).to_have_text("hat")
        expect(page.get_by_role("button", name="Pause")).to_have_count(int(played))
        if played:
            page.get_by_role("textbox", name="Prompt").press("End")
            page.keyboard.type("s")
            expect(page.get_by_role("button", name="Pause")).to_have_count(0)
            expect(page.locator(".steps [aria-current=step]")).to_have_text("All")
        context.close()


@pytest.mark.parametrize("title", TITLES)
def test_a_page_fits_a_phone(phone, title):
    go_to(phone, title, PHONE)


# Watches for everything that the Tab key must reach; a group of buttons is one stop, and arrow keys move inside of it.
WATCH_STOPS = """
() => {
  const groups = "[role=radiogroup], [role=toolbar]", stops = "a[href], button, input, textarea, [tabindex]";
  const visible = (e) => e.getClientRects().length
    && e.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const found = [...document.querySelectorAll(stops)].filter((e) => e.tabIndex >= 0 && !e.disabled && visible(e));
  const marked = [...new Set(found.map((e) => e.closest(groups) ?? e))];
  window.missed = new Map(marked.map((e) => [e, e.outerHTML.slice(0, 200)]));
  const reach = ({ target }) => window.missed.delete(target.closest(groups) ?? target);
  document.addEventListener("focusin", reach);
}
"""


@pytest.mark.parametrize("title", TITLES)
def test_every_control_of_a_page_is_reached_by_the_tab_key(desk, title):
    go_to(desk, title, DESK)
    desk.evaluate(WATCH_STOPS)
    for _ in range(8):
        for _ in range(50):  # a table is a stop for each cell of its first row
            desk.keyboard.press("Tab")
        if not (missed := desk.evaluate("[...window.missed.values()]")):
            break
    desk.evaluate("document.activeElement.blur()")  # the help of a focused control may cover the menu
    assert not missed


# Collects how far what is drawn moves without the visitor's doing (CLS, https://web.dev/articles/cls).
WATCH_SHIFTS = """
() => {
  window.shifts = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.shifts.push(entry.value);
  }).observe({ type: "layout-shift", buffered: false });
}
"""


@pytest.mark.parametrize("title", ["Explore", "Switch heads off"])
def test_nothing_moves_while_a_word_is_typed(desk, title):
    go_to(desk, title, DESK)
    box = desk.get_by_role("textbox", name="Prompt")
    box.fill(PROMPT)
    settled(desk)
    calm(desk)  # the charts find their places
    desk.evaluate(WATCH_SHIFTS)
    box.press("End")
    box.press_sequentially("s ran", delay=150)
    expect(desk).to_have_url(re.compile("ran"))
    settled(desk)
    calm(desk)  # what follows the words
    assert desk.evaluate("window.shifts.reduce((a, b) => a + b, 0)") < 0.1  # "good" by that measure


@pytest.mark.parametrize("late", ["BidiComponent", "Html"])
def test_what_the_browser_fetches_late_moves_no_control_under_a_press(browser, server, late):
    """Streamlit fetches each kind of element once it is needed; until then a grey bar has its place."""
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    page = context.new_page()
    waiting = []
    page.route(f"**/{late}.*.js", lambda route: waiting.append(route))
    page.goto(f"{server}/generate")
    controls = [page.get_by_role("button", name="Write"), page.locator(".st-key-model"), page.locator(".st-key-seed")]
    for control in controls:
        expect(control).to_be_visible()
    settled(page)
    expect(page.get_by_role("radio", name="47")).to_be_visible()
    expect(page.get_by_text("A better loss on held-out stories")).to_be_visible()
    page.evaluate("document.fonts.ready.then(() => true)")  # another font may break a line elsewhere
    before = [control.bounding_box() for control in controls]
    assert waiting, f"nothing of {late} was fetched"
    for route in waiting:
        route.continue_()
    expect(page.get_by_role("button", name="Copy link")).to_be_visible()
    expect(page.locator(".story")).to_be_visible()
    assert [control.bounding_box() for control in controls] == before
    context.close()
