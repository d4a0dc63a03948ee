"""The app in Chromium, Firefox and WebKit: what a visitor does is answered alike in all three."""

import io
import re
import zipfile
from contextlib import ExitStack

import pytest

from tests.browser.conftest import needs
from tests.browser.engines import FIREFOX, MINI_BROWSER, WEBKIT, XVFB, Chromium, Firefox, Page, WebKit
from wordlm.files import ARTIFACTS
from wordlm.ui.frame.shell import PAGES

PROMPT = "a girl saw the dog"
WORDS = ["<BOS>", *PROMPT.split()]
SAID = ["the start mark", *(f"“{word}”" for word in PROMPT.split())]
BOX = ".st-key-prompt input"
SHOWN = {
    "Explore": ".board .word",
    "Compare heads": ".square canvas",
    "Switch heads off": ".st-key-worth .js-plotly-plot",
    "Heads and words": ".js-plotly-plot",
    "Perplexity": ".st-key-targets .js-plotly-plot",
    "Generate": ".st-key-start_row",
    "Train": "[data-testid=stFileUploader]",
    "Benchmark": ".st-key-head_curve .js-plotly-plot",
    "Learn": ".st-key-next_chapter button",
}
"""What each page is there for, by its title."""

STARTS = "(css, text) => all(css).some((one) => one.textContent.trim().startsWith(text))"
HAS = "(css, text) => all(css).some((one) => one.textContent.includes(text))"


@pytest.fixture(scope="session", params=["chromium", "firefox", "webkit"])
def engine(request, tmp_path_factory):
    with ExitStack() as ends:
        if request.param == "chromium":
            yield Chromium(request.getfixturevalue("browser"), ends)
        elif request.param == "firefox":
            needs(FIREFOX is not None, "no Firefox here: install Debian's firefox-esr")
            yield Firefox(tmp_path_factory.mktemp("firefox"), ends)
        else:
            installed = None not in (WEBKIT, MINI_BROWSER, XVFB)
            needs(installed, "no WebKit here: install Debian's webkit2gtk-driver and xvfb")
            yield WebKit(tmp_path_factory.mktemp("webkit"), ends)


@pytest.fixture
def page(engine):
    page = Page(engine)
    yield page
    assert page.errors() == []


@pytest.fixture
def picture(page, server):
    """Explore with the whole model in one picture."""
    open_picture(page, server)
    return page


def open_picture(page: Page, server: str, more: str = "") -> None:
    page.goto(f"{server}/?form=model&prompt={PROMPT.replace(' ', '+')}{more}")
    page.see(".board .word", *WORDS)
    page.settle()


def test_every_page_opens(page, server):
    assert tuple(SHOWN) == tuple(title for title, _ in PAGES.values())
    page.goto(f"{server}/learn")
    page.see(SHOWN["Learn"])
    page.settle()  # Streamlit forgets a press on a link before it is connected
    for title, shown in SHOWN.items():
        page.press("[data-testid=stTopNavLink]", title)
        page.until("(title) => document.title === title", f"{title} · Attention explorer")
        page.settle()
        page.see(shown)
        assert page.errors() == [], title


def test_the_picture_follows_what_is_typed(picture):
    picture.write(BOX, "a red hat")
    picture.see(".board .word", "<BOS>", "a", "red", "hat")
    picture.until(HAS, ".check", "✓ The server agrees")


def test_a_next_word_a_matrix_and_a_heads_switch_answer_a_press(picture):
    picture.press(".board .next li button")
    picture.see(".panel table")
    picture.press(".open", "embedding")
    picture.see(".panel canvas")
    picture.press("[data-focus=on-1]")
    picture.until(HAS, ".next h4", "without head 2")
    picture.until("() => location.search.includes('without=2')")


def test_the_steps_play_pause_and_go_forward(picture):
    picture.press("[data-focus=play]")
    picture.until(HAS, ".sentence", "Words and slots.")
    picture.press("[data-focus=play]")
    picture.see("[data-focus=play]", "▶ Play")
    picture.press("[data-focus=forth]")
    picture.until(HAS, ".sentence", "Embedding.")


@pytest.mark.parametrize("projected", [False, True], ids=["desk", "projected"])
def test_the_pointer_names_the_head_and_the_word_that_it_is_at(page, server, projected):
    open_picture(page, server, "&present=true" if projected else "")
    columns = page.script("() => all('.board .lane').map((one) => middle(one)[0])")
    rows = page.script("() => all('.board .word').map((one) => middle(one)[1])")
    assert (len(columns), len(rows)) == (4, len(WORDS))
    for head, x in enumerate(columns, 1):
        for word, y in zip(SAID, rows, strict=True):
            page.engine.point(x, y, press=False)
            page.until(STARTS, ".tip", f"head {head}: “dog” looks at {word}, score")
    page.engine.point(columns[2], rows[2], press=True)
    page.until(HAS, ".panel h4", "head 3")


@pytest.mark.parametrize("projected", [False, True], ids=["desk", "projected"])
def test_an_opened_matrix_names_the_cell_that_the_pointer_is_at(page, server, projected):
    open_picture(page, server, "&present=true" if projected else "")
    page.press(".open", "embedding")
    page.see(".panel canvas")
    page.point(".panel canvas")
    box = page.script("() => all('.panel canvas')[0].getBoundingClientRect().toJSON()")
    rows = page.script("() => all('.row-names bdi').map((one) => middle(one)[1])")
    for word, y in zip(SAID, rows, strict=True):
        for number in (1, 20, 64):
            page.engine.point(box["x"] + box["width"] * (number - 0.5) / 64, y, press=False)
            page.until(STARTS, ".cell-said", f"{word}, number {number} of 64: ")


def test_what_opens_a_matrix_is_underlined(picture):
    lines = picture.script("() => all('.open').map((one) => getComputedStyle(one).textDecorationLine)")
    assert lines and set(lines) == {"underline"}


def test_a_controls_name_stands_beside_its_buttons(picture):
    heights = picture.script("() => all('.player .choice > *').map((one) => middle(one)[1])")
    assert max(heights) - min(heights) < 10, heights


def test_a_checkpoint_is_uploaded_and_opened(page, server):
    page.goto(f"{server}/train")
    page.see("[data-testid=stFileUploader]")
    page.settle()
    page.engine.upload("[data-testid=stFileUploader] input", ARTIFACTS / "heads" / "multihead_kv1_seed11.npz")
    page.until(HAS, "[data-testid=stAlert]", "open as own 1")


def test_the_tables_of_a_page_are_downloaded(picture):
    name, content = picture.engine.download(lambda: picture.press(".st-key-tables button"))
    assert re.fullmatch(r"[\w.-]+\.zip", name)
    with zipfile.ZipFile(io.BytesIO(content)) as tables:
        assert tables.testzip() is None
        assert any(each.endswith(".csv") for each in tables.namelist())
