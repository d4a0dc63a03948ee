"""Every page in light, dark and on a phone: it fits, and it keeps to WCAG 2.1 AA. A picture of it is kept to look at.

The pictures go to `work/screenshots`, which git ignores.
"""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from wordlm.files import REPOSITORY

PAGES = ("explore", "compare", "switch_off", "perplexity", "generate", "train", "benchmark", "learn")
DESK = {"viewport": {"width": 1366, "height": 768}, "color_scheme": "light"}
PHONE = {
    "viewport": {"width": 390, "height": 844},
    "user_agent": "Mozilla/5.0 (iPhone) Mobile/15E148",
    "has_touch": True,
}
PICTURES = REPOSITORY / "work" / "screenshots"


def open_whole(context, server: str, path: str) -> Page:
    """Open a page and make the window as high as it is."""
    page = context.new_page()
    page.goto(f"{server}/{path}?prompt=the+girl+saw+the+big+brown+bear+and+the+bear+saw+the+girl")
    if path not in ("generate", "train"):
        expect(page.locator(".js-plotly-plot").first).to_be_attached()
    expect(page.locator("[data-test-script-state=notRunning]")).to_be_attached()
    expect(page.get_by_test_id("stException")).to_have_count(0)
    expect(page.get_by_text("Page not found")).to_have_count(0)
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    height = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
    page.set_viewport_size({"width": page.viewport_size["width"], "height": height + 10})
    PICTURES.mkdir(parents=True, exist_ok=True)
    return page


def faults(page: Page) -> list:
    """Return what breaks WCAG 2.1 AA: the rule and the elements."""
    found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}).response
    return [(violation["id"], [node["html"] for node in violation["nodes"]]) for violation in found["violations"]]


@pytest.mark.parametrize("path", PAGES)
def test_a_page_fits_a_desk_and_keeps_to_wcag_in_light_and_dark(browser, server, path):
    context = browser.new_context(**DESK)
    page = open_whole(context, server, path)
    assert not faults(page)
    page.screenshot(path=PICTURES / f"{path}-light.png")
    page.emulate_media(color_scheme="dark")
    expect(page.locator(".stApp")).to_have_css("color-scheme", "dark")
    page.wait_for_timeout(300)  # the colours change in a transition
    assert not faults(page)
    page.screenshot(path=PICTURES / f"{path}-dark.png")
    context.close()


@pytest.mark.parametrize("path", PAGES)
def test_a_page_fits_a_phone(browser, server, path):
    context = browser.new_context(**PHONE)
    open_whole(context, server, path).screenshot(path=PICTURES / f"{path}-phone.png")
    context.close()


# Collects how far what is drawn moves without the visitor's doing (CLS, https://web.dev/articles/cls).
WATCH_SHIFTS = """
() => {
  window.shifts = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.shifts.push(entry.value);
  }).observe({ type: "layout-shift", buffered: false });
}
"""


@pytest.mark.parametrize("path", ["explore", "switch_off"])
def test_nothing_moves_while_a_word_is_typed(page, server, path):
    page.goto(f"{server}/{path}?prompt=the+girl+saw+the+big+brown+bear")
    expect(page.locator(".js-plotly-plot").first).to_be_attached()
    expect(page.locator("[data-test-script-state=notRunning]")).to_be_attached()
    page.wait_for_timeout(1000)
    page.evaluate(WATCH_SHIFTS)
    box = page.get_by_role("textbox", name="Prompt")
    box.press("End")
    box.press_sequentially("s ran", delay=150)
    page.wait_for_timeout(2500)
    assert page.evaluate("window.shifts.reduce((a, b) => a + b, 0)") < 0.1  # "good" by that measure
