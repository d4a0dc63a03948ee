"""The limits to what a visitor can make the server do: set in one place, and by the environment."""

import importlib.util
import sys
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordlm.checkpoints import parameter_bytes
from wordlm.files import ARTIFACTS, REPOSITORY
from wordlm.models import build_model
from wordlm.ui import limits
from wordlm.ui.frame.parameters import PARAMETERS, Text
from wordlm.ui.limits import Limit, TextLimit


@pytest.fixture
def with_environment(monkeypatch):
    """Read the limits once more under other variables, beside those of the process."""

    def read(**variables: str):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        spec = importlib.util.spec_from_file_location("limits_read_anew", limits.__file__)
        found = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, spec.name, found)  # where dataclasses look for it
        spec.loader.exec_module(found)
        return found

    return read


def test_the_environment_sets_a_limit(with_environment):
    found = with_environment(WORDLM_PROMPT="123", WORDLM_OWN_MODELS="1")
    assert (found.PROMPT.most, found.OWN_MODELS.most, found.wrong) == (123, 1, [])
    assert found.PROMPT(456) == "The prompt has 456 characters; the last 123 are read."


@pytest.mark.parametrize("value", ["", "0", "-1", "many", "1e3", "4_000", " 5", "9" * 13])
def test_a_value_that_is_no_limit_is_named_in_one_sentence(with_environment, value):
    found = with_environment(WORDLM_STEPS=value)
    said = f"The environment variable WORDLM_STEPS must be a whole number of at least 1, but is {value!r}"
    assert found.wrong == [said]
    assert found.STEPS.most == 6000


def test_no_page_is_drawn_with_limits_that_are_wrong(open_page, monkeypatch):
    monkeypatch.setattr(limits, "wrong", ["The environment variable WORDLM_STEPS must be a whole number"])
    screen = open_page("perplexity")
    assert [error.value for error in screen.app.error] == [
        "The app cannot start. The environment variable WORDLM\\_STEPS must be a whole number."
    ]
    assert not screen.app.text_area


def test_the_server_takes_what_the_pages_take_and_no_more():
    server = tomllib.loads((REPOSITORY / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["server"]
    assert server["maxUploadSize"] == limits.UPLOAD_MB
    assert server["maxMessageSize"] == limits.MESSAGE_MB
    longest = max(limit.most for limit in vars(limits).values() if isinstance(limit, TextLimit))
    assert limits.MESSAGE_MB * limits.MB > 2 * limits.TRAINING_TEXT.most + 4 * longest


def test_the_largest_model_can_be_brought_along_and_little_more():
    largest = max(len(parameter_bytes(build_model(kind))) for kind in ("mlp", "attention", "multihead"))
    assert largest == limits.LARGEST_MODEL
    files = [model.stat().st_size for model in (ARTIFACTS / "heads").glob("*.npz")]
    assert largest < max(files) < limits.MODEL_MB.most * limits.MB < 1.25 * max(files)


def test_every_limit_says_how_much_is_allowed():
    every = {name: limit for name, limit in vars(limits).items() if isinstance(limit, Limit)}
    assert len(every) > 10
    for limit in every.values():
        assert limits.count(limit.most) in limit(7) or "too long" in limit(7)


def test_every_text_that_can_be_typed_has_a_limit():
    assert all(declared.limit.most <= 10**6 for declared in PARAMETERS.values() if isinstance(declared, Text))


@given(st.text(alphabet="ab ,\n", max_size=60), st.integers(1, 30), st.booleans())
def test_a_cut_text_is_a_part_of_whole_words(text, most, keeps_end):
    cut = TextLimit(most, "", keeps_end).cut(text)
    assert len(cut) <= most
    assert text.endswith(cut) if keeps_end else text.startswith(cut)
    words, of = cut.replace(",", " ").split(), text.replace(",", " ").split()
    if len(text) > most and len(max(of, default="", key=len)) < most:
        assert words == (of[len(of) - len(words) :] if keeps_end else of[: len(words)])
