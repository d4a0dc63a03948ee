"""The address: every control of every page is in it, and what a link says is what a page shows."""

import pytest

from tests.pages.screen import Screen
from wordlm.bundled import BUNDLED
from wordlm.ui.frame.parameters import PARAMETERS, SETS

KINDS = ("text_input", "text_area", "selectbox", "button_group", "slider", "select_slider", "number_input", "toggle")
# What is set by a control and is no part of a view: answers, a search in a dialog, the text to train on.
NO_VIEW = ("answer_", "glossary_search", "text_pasted", "replay")
VIEWS = [
    ("explore", {}),
    ("explore", {"model": "16"}),
    ("explore", {"model": "8kv1"}),
    ("compare", {}),
    ("compare", {"model": "4kv1", "b": "4"}),
    ("switch_off", {}),
    ("heads_and_words", {}),
    ("heads_and_words", {"about": "Words"}),
    ("switch_off", {"model": "8kv1"}),
    ("perplexity", {}),
    ("generate", {}),
    ("generate", {"engine": "your browser"}),
    ("train", {}),
    ("benchmark", {}),
    ("learn", {"part": "glossary"}),
    *(("learn", {"chapter": str(chapter)}) for chapter in range(1, 10)),
    *(("learn", {"chapter": chapter, "model": "4kv1"}) for chapter in "24567"),
]


def controls(screen: Screen) -> dict:
    """Every control that belongs to the view, by its key."""
    found = {widget.key: widget for kind in KINDS for widget in getattr(screen.app, kind)}
    return {key: widget for key, widget in found.items() if key and not key.startswith(NO_VIEW)}


TEXTS = {
    "course_x": "4, 3, 2, 1",
    "course_projections": "1 0 2 0\n" * 4,
    "probabilities": "0.5, 0.1",
    "term": "softmax",
    "word": "ball",
    "near": "ball",
}


def another(widget) -> object:
    """A value that the control does not have now."""
    if widget.type in ("text_input", "text_area"):
        return TEXTS.get(widget.key, "one big bear")
    if widget.type == "toggle":
        return not widget.value
    if getattr(widget, "options", None):
        several = isinstance(widget.value, list)
        now = widget.value if several else [widget.value]
        # A select box may offer less than is declared; the others offer what is, and show it in their own way.
        declared = None if widget.type == "selectbox" else getattr(PARAMETERS.get(widget.key), "options", None)
        offered = declared or widget.options
        if several and len(now) == len(offered):
            return now[:-1]
        other = next(option for option in reversed(offered) if option not in now)
        return [other] if several else other
    return widget.min if widget.value != widget.min else widget.min + (widget.step or 1)


def settings(screen: Screen) -> dict:
    return {key: widget.value for key, widget in controls(screen).items()}


@pytest.mark.parametrize(("page", "params"), VIEWS)
def test_whatever_is_set_on_a_page_stands_in_its_address_and_a_link_restores_it(page, params):
    screen = Screen(page, None, params)
    keep = {"model", "engine", "part", "chapter"} & params.keys() | {"part", "chapter"}
    for key in list(controls(screen)):
        widget = controls(screen).get(key)
        if widget is not None and key not in keep and not widget.disabled:
            widget.set_value(another(widget)).run()
            assert not screen.app.exception, key
    shown = settings(screen)
    carried = {key.removesuffix(SETS).removeprefix("not_") for key in shown}
    assert carried <= PARAMETERS.keys(), "a control that no link can carry"
    fresh = Screen(page, None, screen.address)
    assert settings(fresh) == shown
    assert "The link asks for" not in fresh.text
    assert fresh.address == screen.address


@pytest.mark.parametrize(("page", "params"), VIEWS)
def test_in_a_new_session_what_the_browser_holds_wins_over_the_link_that_it_had(page, params):
    screen = Screen(page, None, params)
    link = screen.address | params
    for key, widget in controls(screen).items():
        # All at once here, so nothing that decides which controls there are.
        if key not in {"model", "b", "trained", "engine", "part", "chapter"} and not widget.disabled:
            widget.set_value(another(widget))
    new = Screen(page, None, link, screen.held)
    screen.app.run()
    shown = settings(screen)
    # A number of heads stands for its model with other sets of keys and values until the next run.
    for key in shown:
        assert settings(new)[key] == shown[key] or f"{key}{SETS}" in shown, key
    assert new.address == screen.address
    new.app.run()
    assert settings(new) == shown
    assert new.address == screen.address


@pytest.mark.parametrize(("model", "said"), [("2", False), ("own 1", True)])
def test_an_own_model_that_the_browser_still_holds_gives_way_in_a_new_session(model, said):
    held = Screen("compare", None, {"model": "2"}).held
    for widget in held.widgets:
        if widget.id.endswith("-model"):
            widget.string_array_value.data[:] = ["own 1"]
    new = Screen("compare", None, {"model": model}, held)
    assert new.app.button_group(key="model").value == ("4" if said else "2")
    assert ("The link asks for model = own 1" in new.text) == said


def test_models_that_share_keys_and_values_stand_behind_their_number_of_heads():
    screen = Screen("explore", None, {"form": "model"})
    sets = sorted({variant.kv_heads for variant in BUNDLED if variant.heads == 4}, reverse=True)
    assert screen.app.button_group(key="model").options == ["1", "2", "4", "8", "16", "MLP"]
    assert screen.app.button_group(key="model_sets").options == list(map(str, sets))
    screen.app.button_group(key="model_sets").set_value("4kv1").run()
    assert screen.address == {"model": ["4kv1"]}
    assert screen.app.button_group(key="model").options == ["1", "2", "4", "8", "16", "MLP"]
    fresh = Screen("explore", None, screen.address | {"form": "model"})
    assert [fresh.app.button_group(key=key).value for key in ("model", "model_sets")] == ["4kv1", "4kv1"]
    assert "The link asks for" not in fresh.text
    fresh.app.button_group(key="model").set_value("8").run()
    assert (fresh.address, fresh.app.button_group(key="model_sets").value) == ({"model": ["8"]}, "8")
    fresh.app.button_group(key="model").set_value("16").run()
    assert "model_sets" not in {group.key for group in fresh.app.button_group}
    fresh.app.button_group(key="model").set_value("4").run()
    assert fresh.address == {}


def test_a_link_to_sharing_that_no_model_has_is_named_and_left_out():
    screen = Screen("explore", None, {"form": "model", "model": "4kv3"})
    assert "The link asks for model = 4kv3" in screen.text.replace("\\", "")
    assert screen.address == {}


def test_what_is_at_its_default_is_left_out_of_the_address():
    assert Screen("explore", None, {"form": "model"}).address == {}


def test_a_choice_is_kept_on_pages_that_were_not_visited_when_it_was_made():
    screen = Screen("explore", None, {"query": "3 · dog", "scale": "logarithmic"})
    screen.app.switch_page("pages/compare.py").run()
    assert screen.picture["query"] == 3
    assert screen.picture["scale"] == "logarithmic"
    assert screen.address["query"] == ["3 · dog"]


HELD = {
    "query": "3 · dog",
    "key": "2 · little",
    "head": "3",
    "without": ["2", "4"],
    "form": "lines",
    "scale": "even",
    "first": "left out",
    "one_reading": "true",
    "tab": "Shapes",
    "note": "Look at head 2",
}


def test_what_is_pressed_in_the_picture_stands_in_the_address_and_a_link_restores_it():
    screen = Screen("explore", None, HELD)
    assert screen.address == {name: value if isinstance(value, list) else [value] for name, value in HELD.items()}
    picture = screen.picture
    assert (picture["query"], picture["key"], picture["head"]) == (3, 2, 2)
    assert (picture["form"], picture["scale"], picture["first"]) == ("lines", "even", "left out")
    assert [head["on"] for head in picture["heads"]] == [True, False, True, False]
    assert screen.has_table("The shape of every tensor")


def test_a_projection_shows_the_picture_alone_and_large_under_the_teachers_line():
    screen = Screen("explore", None, {"present": "true", "note": "What does <b>head 2</b> do?"})
    assert screen.picture["large"]
    assert not screen.app.dataframe and not screen.app.tabs
    assert "What does &lt;b&gt;head 2&lt;/b&gt; do?" in screen.text


def test_a_text_that_is_too_long_once_it_is_quoted_is_not_in_the_address():
    text = "שלום " * 100  # 500 characters, of which each letter takes six as quoted
    screen = Screen("explore", None, {"prompt": text})
    assert "prompt" not in screen.address
    assert screen.not_carried == ["all of the prompt, which is too long for an address"]
    assert Screen("explore", None, {"prompt": "a " * 250}).address["prompt"] == ["a " * 250]


def test_none_chosen_of_several_stands_in_the_address_where_some_are_by_default():
    screen = Screen("generate", None, {"writers": ""})
    assert screen.app.button_group(key="writers").value == []
    assert screen.address["writers"] == [""]
    assert Screen("generate", None, screen.address).app.button_group(key="writers").value == []
    assert "writers" not in Screen("generate", None, {}).address


def test_a_text_too_long_for_an_address_is_kept_and_said_to_be_missing_in_the_link():
    text = "the cat sat . " * 400
    screen = Screen("explore", text, {})
    assert "prompt" not in screen.address
    assert screen.not_carried == ["all of the prompt, which is too long for an address"]
    screen.app.switch_page("pages/compare.py").run()
    assert screen.app.text_input(key="prompt").value == text


@pytest.mark.parametrize(
    ("page", "name", "asked"),
    [
        ("perplexity", "added", "2"),
        ("generate", "unknown", "perhaps"),
        ("generate", "opening", "1e309"),
        ("generate", "writers", "99"),
        ("generate", "browser_model", "2"),
        ("generate", "start", "nowhere"),
        ("benchmark", "source", "theirs"),
        ("learn", "cost_width", "65"),
        ("learn", "wish_subject", "nan"),
        ("train", "rate", "-1"),
        ("explore", "one_reading", "maybe"),
        ("explore", "form", "circles"),
        ("explore", "tab", "All"),
        ("heads_and_words", "over", "all texts"),
        ("heads_and_words", "looks_at", "the moon"),
    ],
)
def test_a_wrong_value_of_any_parameter_is_named_and_left_out(page, name, asked):
    screen = Screen(page, None, {name: asked})
    assert f"The link asks for {name} = " in screen.text.replace("\\", "")
    assert "which is not offered; it is left out." in screen.text
    assert name not in screen.address
