"""What happens on the pages when a visitor meets a limit: a sentence, and nothing typed is lost."""

import gc
from dataclasses import replace

import pytest
import streamlit
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.web.server.starlette.starlette_app_utils import generate_xsrf_token_string
from streamlit.web.server.starlette.starlette_server_config import XSRF_COOKIE_NAME

from wordlm.jobs import LineIsFull, Trainer
from wordlm.text import encode_prompt
from wordlm.ui import limits
from wordlm.ui.frame import controls
from wordlm.ui.frame.parameters import PARAMETERS
from wordlm.ui.views.generate.stories import as_linked
from wordlm.ui.views.train.trainer import visitor

LONG = " ".join(f"the {word} dog saw a ball ." for word in ("little", "big", "happy", "sad") * 250)


@pytest.mark.parametrize("page", ["explore", "compare", "switch_off", "heads_and_words", "generate"])
def test_of_a_long_prompt_the_end_is_read_and_all_of_it_stays(open_page, page):
    screen = open_page(page, LONG)
    assert f"The prompt has {len(LONG):,} characters; the last 4,000 are read." in screen.text
    assert screen.app.text_input(key="prompt").value == LONG
    assert screen.app.session_state["view"]["prompt"] == LONG


def test_the_model_reads_a_long_prompt_as_before(vocab):
    assert encode_prompt(limits.PROMPT.cut(LONG), vocab).ids == encode_prompt(LONG, vocab).ids


def test_a_word_appended_in_the_picture_of_a_long_prompt_leaves_its_beginning(monkeypatch):
    monkeypatch.setattr(controls.st, "session_state", {"view": {"prompt": LONG}})
    read = limits.PROMPT.cut(LONG)
    for sent, kept in ((f"{read} and", f"{LONG} and"), ("another text", "another text")):
        controls.st.session_state["view"]["prompt"] = LONG
        controls.choose_in_picture({"prompt": sent})
        assert controls.st.session_state["view"]["prompt"] == kept


def test_of_a_long_text_the_beginning_is_scored_and_all_of_it_stays(open_page, monkeypatch):
    declared = PARAMETERS["text"]
    monkeypatch.setitem(PARAMETERS, "text", replace(declared, limit=replace(limits.SCORED_TEXT, most=100)))
    screen, text = open_page("perplexity"), "a dog " * 20
    screen.app.text_area(key="text").set_value(text).run()
    assert not screen.app.exception
    assert "The text has 120 characters; the first 100 are read." in screen.text
    assert screen.table("Probability, rank and loss of each word")["word"].tolist()[-1] == "33 · a"
    assert screen.app.text_area(key="text").value == text


def test_of_typed_probabilities_no_number_is_cut_in_two(open_page, monkeypatch):
    declared = PARAMETERS["probabilities"]
    monkeypatch.setitem(PARAMETERS, "probabilities", replace(declared, limit=replace(limits.PROBABILITIES, most=11)))
    screen = open_page("perplexity")
    screen.app.text_area(key="probabilities").set_value("0.5, 0.25, 0.125").run()
    assert "What stands for the probabilities has 16 characters; the first 11 are read." in screen.text
    assert screen.table("The loss of each target").iloc[:, 1].tolist() == [0.5, 0.25]


def test_a_link_of_a_long_story_holds_what_the_model_reads_and_fits_an_address(vocab):
    text = as_linked(LONG)
    assert len(text) <= limits.ADDRESS_TEXT.most
    assert encode_prompt(text, vocab).ids[-63:] == encode_prompt(LONG, vocab).ids[-63:]
    assert as_linked("a dog ran") == "a dog ran"


def test_tabs_of_one_browser_are_one_visitor_though_each_has_another_cookie(monkeypatch):
    def visitor_with(cookies: dict[str, str]) -> str:
        monkeypatch.setattr(type(streamlit.context), "cookies", cookies)
        return visitor()

    ours, theirs = b"0123456789abcdef", b"fedcba9876543210"
    first, second, other = (
        {XSRF_COOKIE_NAME: generate_xsrf_token_string(token, 1_700_000_000)} for token in (ours, ours, theirs)
    )
    assert first != second
    assert visitor_with(first) == visitor_with(second) != visitor_with(other)
    assert visitor_with({}) == visitor_with({XSRF_COOKIE_NAME: "no token"}) == ""


@pytest.mark.parametrize(
    ("yours", "said"),
    [
        (True, "2 trainings of yours are in line already, from other tabs: stop one of them, or wait for its end."),
        (False, "8 trainings are in line already: try again in a few minutes."),
    ],
)
def test_whoever_meets_the_end_of_the_line_reads_why(open_page, monkeypatch, yours, said):
    def submit(*args):
        raise LineIsFull(2 if yours else 8, yours=yours)

    monkeypatch.setattr(Trainer, "submit", submit)
    screen = open_page("train", learn_from="smoke stories")
    next(b for b in screen.app.button if b.label == "Train").click().run()
    assert said in screen.text.replace("\\", "")


def test_where_another_pace_is_being_measured_the_page_stands_and_says_so(open_page, monkeypatch):
    monkeypatch.setattr(Trainer, "pace", lambda trainer, order: None)
    screen = open_page("train", learn_from="smoke stories")
    assert "once a few updates of another visitor's model have been measured" in screen.text
    assert not next(b for b in screen.app.button if b.label == "Train").disabled
    monkeypatch.setattr(Trainer, "pace", lambda trainer, order: (0.01, 0.1))
    screen.app.run()
    assert "100 updates of 10 ms" in screen.text


class Uploads:
    """What the server holds of uploaded files."""

    def __init__(self, monkeypatch) -> None:
        self.managers: list[MemoryUploadedFileManager] = []
        made = MemoryUploadedFileManager.__init__

        def init(manager, *args) -> None:
            made(manager, *args)
            self.managers.append(manager)

        monkeypatch.setattr(MemoryUploadedFileManager, "__init__", init)

    def held(self) -> int:
        return sum(
            len(file.data) for m in self.managers for files in m.file_storage.values() for file in files.values()
        )


@pytest.mark.parametrize(
    ("page", "key", "name", "params"),
    [
        ("train", "checkpoint_file", "mine.npz", {}),
        ("train", "text_file", "mine.txt", {"learn_from": "a text of mine"}),
        ("benchmark", "own", "comparison.json", {}),
    ],
)
def test_a_refused_file_leaves_nothing_on_the_server(open_page, monkeypatch, page, key, name, params):
    uploads = Uploads(monkeypatch)
    screen = open_page(page, **params)
    content = bytes(range(256)) * 4 * 1024  # 1 MB of no file of these sorts
    for _ in range(3):
        screen.app.file_uploader(key=key).set_value((name, content, "application/octet-stream")).run()
        assert not screen.app.exception, screen.app.exception
        assert screen.app.error
    screen.app.run()
    assert screen.app.error  # what was said stays
    assert uploads.managers
    assert uploads.held() == 0
    gc.collect()
    blocks = [one for one in gc.get_objects() if type(one).__name__ == "UploadedFile" and one.getbuffer().nbytes]
    assert not blocks


def test_a_file_that_the_browser_should_not_have_sent_is_refused_by_its_size(open_page, monkeypatch):
    screen = open_page("train")
    content = b"x" * (limits.MODEL_MB.most * limits.MB + 1)
    screen.app.file_uploader(key="checkpoint_file").set_value(("mine.npz", content, "application/zip")).run()
    assert (
        f"The file has {len(content):,} bytes, at most {limits.MODEL_MB.most} MB can be opened."
        in screen.text.replace("\\", "")
    )
