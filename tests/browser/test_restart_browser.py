"""What a visitor does first after the server was started anew, in a page that was open before.

The page then sends what all its controls hold, in a new session that reads the same link. `tests/pages/test_address.py`
holds the same for every control; here it is what a browser does send.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import choose, settled, start_server, stop_server
from tests.browser.proxy import Proxy


@dataclass(frozen=True)
class Case:
    """A link, what is done first on the page that it opened, and the address after that."""

    link: str
    act: Callable[[Page], None]
    address: str


def write(label: str, text: str) -> Callable[[Page], None]:
    def write(page: Page) -> None:
        field = page.get_by_role("textbox", name=label)
        field.fill(text)
        field.press("Control+Enter")
        settled(page)
        expect(field).to_have_value(text)

    return write


def press(control: str, option: str) -> Callable[[Page], None]:
    def press(page: Page) -> None:
        choose(page, control, option)
        settled(page)
        chosen = page.locator(f".st-key-{control}").get_by_role("radio", checked=True)
        expect(chosen).to_have_accessible_name(option)

    return press


def open_tab(page: Page) -> None:
    page.get_by_role("tab", name="One head and four").click()
    expect(page.get_by_role("tab", name="One head and four")).to_have_attribute("aria-selected", "true")


def close_table(page: Page) -> None:
    table = page.locator(".st-key-table_scored details")
    expect(table).to_have_attribute("open", "")
    table.locator("summary").click()
    settled(page)
    expect(table).not_to_have_attribute("open", "")


def switch_off(page: Page) -> None:
    page.get_by_role("switch", name="head 2 on").press("Space")
    settled(page)
    expect(page.get_by_role("switch", name="head 2 on")).not_to_be_checked()


CASES = {
    "the prompt": Case("/?prompt=one+big+bear&model=8", write("Prompt", "Lily ran"), r"\?prompt=Lily\+ran&model=8$"),
    "the number of heads": Case("/?prompt=one+bear&model=8", press("model", "2"), r"\?prompt=one\+bear&model=2$"),
    "a text": Case("/perplexity?text=One+day&model=2", write("Text", "the cat"), r"\?model=2&text=the\+cat$"),
    "a word": Case("/heads_and_words?about=Words&near=ball", write("Word", "dog"), r"\?about=Words&near=dog$"),
    "the seed": Case("/compare?model=1&seed=29", press("seed", "47"), r"\?model=1&seed=47$"),
    "a head in the whole model": Case("/?prompt=one+bear&head=3", switch_off, r"\?prompt=one\+bear&head=3&without=2"),
    "a head among the cells": Case("/?prompt=one&form=cells", switch_off, r"\?prompt=one&without=2&form=cells$"),
    "a tab": Case("/compare?compared=Across+seeds", open_tab, r"\?compared=One\+head\+and\+four$"),
    "a table closed": Case("/perplexity?model=2&table_scored=true", close_table, r"\?model=2$"),
}


@pytest.fixture(scope="module")
def open_pages(browser: Browser, tmp_path_factory):
    """A page for each case, opened with one server and connected to the next."""
    folder = tmp_path_factory.mktemp("restart")
    proxy, context = Proxy(), browser.new_context(viewport={"width": 1366, "height": 768})
    context.set_default_timeout(30_000)
    pages = {}
    process, url = start_server(folder / "before.log")
    try:
        proxy.port = urlsplit(url).port
        for name, case in CASES.items():
            pages[name] = context.new_page()
            pages[name].goto(proxy.url + case.link)
            expect(pages[name].get_by_role("button", name="Copy link")).to_be_visible()
            if case.act is switch_off:
                expect(pages[name].get_by_role("switch", name="head 2 on")).to_be_visible()
            settled(pages[name])
    finally:
        stop_server(process)
    process, url = start_server(folder / "after.log")
    try:
        proxy.port = urlsplit(url).port
        for page in pages.values():
            expect(page.locator("[data-test-connection-state=CONNECTED]")).to_be_attached(timeout=60_000)
        yield pages
    finally:
        context.close()
        proxy.close()
        stop_server(process)


@pytest.mark.parametrize("name", CASES)
def test_the_first_input_after_a_new_start_of_the_server_is_kept_and_so_is_the_rest(open_pages, name):
    page, case = open_pages[name], CASES[name]
    page.bring_to_front()
    case.act(page)
    expect(page).to_have_url(re.compile(case.address))
    settled(page)
    expect(page).to_have_url(re.compile(case.address))
    expect(page.get_by_test_id("stException")).to_have_count(0)
