"""The course, the quiz, the glossary and the tour in a real browser, also by the keyboard alone."""

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import settled
from wordlm.quiz import question_of, questions
from wordlm.ui.frame.tour import STOPS


def open_part(page: Page, server: str, query: str) -> None:
    page.goto(f"{server}/learn?{query}")
    expect(page.get_by_role("radiogroup", name="Part", exact=True)).to_be_visible()
    settled(page)


def button(page: Page, name: str):
    return page.get_by_role("button", name=name, exact=True)


def tab_to(page: Page, target) -> None:
    """Press Tab until the target has the focus."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if target.evaluate("(e) => e === document.activeElement || e.contains(document.activeElement)"):
            return
    raise AssertionError(f"{target} is not reached by Tab")


def test_the_swap_swaps_the_patterns(page, server):
    open_part(page, server, "chapter=4")
    expect(page.get_by_text("Head 1 looks most at dog")).to_be_visible()
    page.locator(".st-key-swapped").get_by_role("switch").or_(page.locator(".st-key-swapped input")).first.press(
        "Space"
    )
    expect(page.get_by_text("Head 1 looks most at cat")).to_be_visible()
    expect(page.locator(".st-key-trio .js-plotly-plot")).to_have_count(1)
    shown = page.evaluate("document.querySelector('.st-key-trio .js-plotly-plot').calcdata[0][0].z.map((r) => [...r])")
    assert shown[0][2] > shown[0][0]
    assert shown[1][0] > shown[1][2]


def test_a_wrong_answer_explains_itself_and_the_right_one_is_taken(page, server):
    question = question_of(2, 0)
    open_part(page, server, "chapter=2")
    box = page.get_by_role("spinbutton", name=re.compile("How wide is a head"))
    box.fill("3")
    button(page, "Check").click()
    expect(page.get_by_text("Not yet. The coordinates are shared out")).to_be_visible()
    box.fill(f"{question.answer:g}")
    box.press("Enter")
    expect(page.get_by_text("Right. The coordinates are shared out")).to_be_visible()


def test_the_quiz_is_answered_by_the_keyboard_alone(page, server):
    question = questions(1)[0]
    open_part(page, server, "part=quiz")
    options = page.get_by_test_id("stRadio").get_by_role("radiogroup")
    tab_to(page, options)
    place = list(question.options).index(question.answer)
    page.keyboard.press("Space")
    for _ in range(place):
        page.keyboard.press("ArrowDown")
    tab_to(page, button(page, "Check"))
    page.keyboard.press("Enter")
    expect(page.get_by_text("Right. One softmax makes one distribution")).to_be_visible()
    tab_to(page, button(page, "Next question"))
    page.keyboard.press("Enter")
    expect(page.get_by_text("Question 2 of")).to_be_visible()


def test_the_glossary_opens_in_a_new_tab_from_a_term_and_over_any_page_from_its_button(page, server):
    page.goto(f"{server}/switch_off")
    link = page.get_by_role("link", name="Surprisal", exact=True).first
    with page.context.expect_page() as opened:
        link.click()
    glossary = opened.value
    expect(glossary.get_by_text("The −ln p of a word that came")).to_be_visible()
    expect(glossary.locator("dt")).to_have_count(1)

    button(page, "Glossary").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Search").fill("softmax")
    expect(dialog.locator("dt")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def test_the_tour_leads_through_the_app_and_can_be_left_and_resumed(page, server):
    page.goto(f"{server}/")
    expect(page.locator(".board .word").first).to_be_visible()
    settled(page)
    button(page, "Tour").click()
    for place, stop in enumerate(STOPS):
        expect(page.get_by_text(f"Tour, stop {place + 1} of {len(STOPS)}.")).to_be_visible()
        expect(page.locator("[data-testid=stTopNavLink][aria-current=page]")).to_have_text(stop.title)
        expect(page.get_by_text("The tour waits")).to_have_count(0)
        if place == 2:  # wander off, come back, leave, resume
            page.get_by_role("link", name="Train", exact=True).click()
            expect(page.get_by_text("The tour waits on the page")).to_be_visible()
            button(page, f"Go to {stop.title}").click()
            expect(page.get_by_text("That is one prompt")).to_be_visible()
            button(page, "Leave the tour").click()
            expect(page.get_by_text("Tour, stop")).to_have_count(0)
            button(page, "Resume the tour").click()
            expect(page.get_by_text(f"Tour, stop {place + 1} of {len(STOPS)}.")).to_be_visible()
        settled(page)
        if place + 1 < len(STOPS):
            page.locator(".st-key-tour_next button").click()
    button(page, "End the tour").click()
    expect(button(page, "Tour")).to_be_visible()
