"""The address of a view: each parameter of the URL, declared once.

A control takes its name, options or range, and default from here; a link is checked against the same declaration; what
no link can carry is said when it is copied. What the visitor sets is kept for the session, on whatever page it was set,
and a page's address holds what its own controls are set to.

Streamlit can bind a control to a parameter by itself. It then loses what a link said when the page is left, and a
correction sent while somebody types puts the text before into the address; so the address is written here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args
from urllib.parse import quote, urlencode

import streamlit as st
from streamlit.elements.lib.mutable_expander_container import ExpanderContainer

from wordlm.ablation import Fill
from wordlm.bundled import EXPORTED, SEEDS
from wordlm.course import WIDTHS
from wordlm.jobs import MOST_STEPS, MOST_VALIDATIONS
from wordlm.profiles import NAMES, STORIES, TARGETS, WORDS
from wordlm.starts import AUTHORED
from wordlm.training import Precision, TrainConfig
from wordlm.ui.drawing.charts import FirstToken, Scale
from wordlm.ui.drawing.escape import for_markdown, shortened
from wordlm.ui.frame.link import copy_link, write_address
from wordlm.ui.state.resources import MODELS

LAST, LARGEST = "the last word", "the one looked at most"
"""What moves with the typing, and stands for no word of its own."""
SETS = "_sets"
"""Ends the key of a control that sets a part of another parameter: how many keys and values a model's heads share."""
LONGEST_TEXT = 2000
"""Characters of a text in an address; servers refuse addresses of some 10,000 or more."""


@dataclass(frozen=True)
class OneOf:
    """A choice of one. Without `options` they are known only when the control is drawn."""

    options: Sequence[Any] | None
    default: Any = None
    always: bool = False
    """Whether it stands in the address also where it is the default, since that differs from place to place."""

    def read(self, texts: list[str]) -> Any:
        """Return what a link says. Raises `ValueError` where that is not offered."""
        if self.options is None and texts[0]:
            return texts[0]
        return {_written(option): option for option in self.options or ()}[texts[0]]


@dataclass(frozen=True)
class Several:
    """A choice of any number of things, also of none; they are known when the control is drawn."""

    default: Any = None
    always: bool = False

    def read(self, texts: list[str]) -> list[str]:
        """Return what a link says."""
        return [text for text in texts if text]


@dataclass(frozen=True)
class Number:
    """A number within a range; a whole one where the range is given in whole numbers."""

    low: float
    high: float
    default: float
    step: float | None = None
    always: bool = False

    def read(self, texts: list[str]) -> float:
        """Return what a link says. Raises `ValueError` where that is no such number."""
        number = float(texts[0])
        if not self.low <= number <= self.high or (isinstance(self.low, int) and not number.is_integer()):
            raise ValueError(f"{texts[0]} does not lie from {self.low} to {self.high}")
        return type(self.low)(number)


@dataclass(frozen=True)
class Switch:
    """On or off."""

    default: bool = False
    always: bool = False

    def read(self, texts: list[str]) -> bool:
        """Return what a link says. Raises `KeyError` where that is neither."""
        return {"true": True, "false": False}[texts[0]]


@dataclass(frozen=True)
class Text:
    """Anything that can be typed; `what` names it where it is too long for an address."""

    default: str = ""
    what: str = "all of the text"
    always: bool = False

    def read(self, texts: list[str]) -> str:
        """Return what a link says."""
        return texts[0]


_POWERS = tuple(2**k for k in range(6, 18))
_SHARED_OUT = (1, 2, 4, 8, 16, 32, 64)
_TRAIN = TrainConfig()

TABLES = (
    "weight",  # Explore
    *("surprisal", "blend", "distances", *(f"likeness_{seed}" for seed in SEEDS[1:])),  # Compare
    *("next_effect", "loss_effect", "worth", "subsets"),  # Switch heads off
    *("profile", "looks_at", "nearest"),  # Heads and words
    *("targets", "scored", "models", "differ", "units"),  # Perplexity
    *("report", "decisions"),  # Generate
    *("validations", "last_row", "own_beside"),  # Train
    *("runs", "best", "pairs", "sharing", "history", "baselines", "course", "conditions"),  # Benchmark
    *("wishes", "shapes", "growth", "doubled", "trio", "spread"),  # Learn
    *("masked", "reach", "without", "induction", "cost"),
)
"""What stands behind "In numbers", by the names of its parameters without `table_`."""

Parameter = OneOf | Several | Number | Switch | Text

PARAMETERS: dict[str, Parameter] = {
    # Every page that reads a prompt
    "prompt": Text("a little dog found a red hat", "all of the prompt"),
    "model": OneOf(None, "4"),
    "seed": OneOf(SEEDS, SEEDS[0]),
    # Explore, Compare, Switch heads off
    "query": OneOf(None, LAST),
    "key": OneOf(None, LARGEST),
    "head": OneOf(None, "1"),
    "without": Several(()),
    "form": OneOf(("model", "cells", "lines"), "model"),
    "beside": OneOf(None, ""),
    "scale": OneOf(get_args(Scale), get_args(Scale)[0]),
    "first": OneOf(get_args(FirstToken), "shown"),
    "one_reading": Switch(),
    "tab": OneOf(("One weight", "In numbers", "Next words", "Shapes"), "One weight"),
    "present": Switch(),
    "note": Text("", "all of the line above the picture"),
    "word": Text(),
    "b_head": OneOf(None, "1"),
    "pane": OneOf(tuple("123456"), "1"),
    "compared": OneOf(("Surprise", "One head and four", "Across seeds", "In numbers"), "Surprise"),
    "b": OneOf(None, "1"),
    "b_seed": OneOf(SEEDS, SEEDS[0]),
    "off": Several(),
    "fill": OneOf(get_args(Fill), "zero"),
    # Heads and words
    "about": OneOf(("Heads", "Words"), "Heads"),
    "over": OneOf((STORIES, WORDS, NAMES), STORIES),
    "looks_at": OneOf(tuple(TARGETS), "the previous word"),
    "near": Text(),
    "vectors": OneOf(("what training added", "as the model reads them"), "what training added"),
    # Perplexity
    "probabilities": Text("0.5, 0.25, 0.125", "all of the probabilities"),
    "logarithms": Switch(),
    "added": OneOf(
        (0.0, 1e-6, 1e-5, 1e-4, 0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 1.0), 0.001
    ),
    "text": Text(
        "Once upon a time there was a little boy named Tom. Tom had a red boat. One day he took the boat to the river. "
        "The river was cold and fast. The boat went away, and Tom was sad. Then a big bird came and brought it back."
    ),
    # Generate
    "engine": OneOf(("ONNX Runtime", "PyTorch", "PyTorch with a cache", "your browser"), "ONNX Runtime"),
    "way": OneOf(("WebAssembly", "WebGPU"), "WebAssembly"),
    "browser_model": OneOf(tuple(variant.choice for variant in EXPORTED), "4"),
    "writers": Several(),
    "start": OneOf(
        ("the prompt above", *AUTHORED, "a training story", "a held-out story"),
        "the prompt above",
    ),
    "story": Number(1, 10**6, 1),
    "opening": Number(3, 60, 20),
    "limit": Number(5, 200, 60),
    "temperature": Number(0.0, 2.0, 0.0, 0.1),
    "top_k": Number(0, 4000, 0),
    "top_p": Number(0.05, 1.0, 1.0, 0.05),
    "draw_seed": Number(0, 10**6, 0),
    "unknown": Switch(),
    # Train
    "learn_from": OneOf(("smoke stories", "6,000 stories", "a text of mine"), "smoke stories", always=True),
    "words": OneOf(("the bundled one", "its own"), "the bundled one"),
    "trained": OneOf(MODELS, "4"),
    "steps": Number(1, MOST_STEPS, 100, 50),
    "batch": Number(8, 2048, _TRAIN.batch_size, 64),
    "train_seed": Number(0, 10**6, _TRAIN.seed, 1),
    "rate": Number(0.00001, 1.0, _TRAIN.learning_rate, 0.001),
    "decay": Number(0.0, 1.0, _TRAIN.weight_decay, 0.001),
    "validations": Number(1, MOST_VALIDATIONS, 10, 1),
    "precision": OneOf(get_args(Precision), "fp32"),
    "through": Switch(),
    # Benchmark
    "source": OneOf(("ours", "yours", "both"), "both"),
    # Learn
    "part": OneOf(("course", "quiz", "glossary"), "course"),
    "chapter": OneOf(tuple(map(str, range(1, 10))), "1"),
    "term": Text(),
    "wish_subject": Number(0.0, 8.0, 4.0, 0.5),
    "wish_object": Number(0.0, 8.0, 4.0, 0.5),
    "course_width": OneOf((64, 128, 256, 512, 768, 1024), 512),
    "course_heads": Number(1, 16, 8),
    "course_x": Text("1, 2, -1, 0.5"),
    "course_projections": Text("1, 0, 0, 1\n0, 1, 1, 0\n0.5, 0, 2, 0\n0, -1, 0, 1"),
    "swapped": Switch(),
    "scale_width": OneOf(WIDTHS, 64),
    "scale_on": Switch(True),
    "mask_way": OneOf(("minus infinity before", "zero after", "none"), "minus infinity before"),
    "induction_seed": Number(0, 20, 0),
    "cost_length": OneOf(_POWERS, 4096),
    "cost_width": OneOf((64, 512, 1024, 2048, 4096, 8192), 4096),
    "cost_heads": OneOf(_SHARED_OUT, 32),
    "cost_groups": OneOf(_SHARED_OUT, 8),
    "cost_precision": OneOf((1, 2, 4), 2),
    "cost_layers": Number(1, 96, 32),
    "loss_first": Number(0.01, 1.0, 0.5, 0.01),
    "loss_second": Number(0.01, 1.0, 0.02, 0.01),
    # The tables behind the pictures, which stand open or not
    **{f"table_{name}": Switch() for name in TABLES},
}
"""Each parameter by its name in the URL, which is also the key of its control."""


_VIEW, _LINK, _DRAWN, _SEEN, _PAGE, _ARRIVED = "view", "link", "drawn", "seen", "page", "arrived"


@dataclass
class Link:
    """What a link said wrongly, told until a whole page has read it."""

    left_out: dict[str, str]
    read: bool = False


# The controls. Each has the name of its parameter as its key.


def segments(name: str, label: str, options: Sequence[Any] | None = None, *, default: Any = None, **more: Any) -> Any:
    """Draw a segmented control; `options` and `default` where they are known only now."""
    offered = _offer(name, options, default)
    return _set(name, st.segmented_control(label, offered, required=True, key=name, **more))


def dropdown(name: str, label: str, options: Sequence[Any] | None = None, **more: Any) -> Any:
    """Draw a select box; its first option is the default unless another is declared."""
    return _set(name, st.selectbox(label, _offer(name, options, None), key=name, **more))


def pills(name: str, label: str, options: Sequence[Any], default: Sequence[Any], **more: Any) -> list[Any]:
    """Draw pills of which any number may be chosen."""
    _begin_several(name, options, default)
    return _set(name, st.pills(label, options, selection_mode="multi", key=name, **more))


def switches(name: str, label: str, options: Sequence[Any], default: Sequence[Any], **more: Any) -> list[Any]:
    """Draw pills that are lit where a thing is on; return, and keep in the address, those that are off."""
    _begin_several(name, options, default)
    lit = f"not_{name}"
    on = [option for option in options if option not in st.session_state[name]]
    if st.session_state.get(lit) != on:
        st.session_state[lit] = on

    def pressed() -> None:
        choose(name, [option for option in options if option not in st.session_state[lit]])

    st.pills(label, options, selection_mode="multi", key=lit, on_change=pressed, **more)
    return _set(name, st.session_state[name])


def stops(name: str, label: str, *, place: Any = st, **more: Any) -> Any:
    """Draw a slider over a few values."""
    return _set(name, place.select_slider(label, _offer(name, None, None), key=name, **more))


def slider(name: str, label: str, *, place: Any = st, **more: Any) -> float:
    """Draw a slider over a range."""
    n = _begin(name)
    return _set(name, place.slider(label, n.low, n.high, step=n.step, key=name, **more))


def number(name: str, label: str, *, high: float | None = None, place: Any = st, **more: Any) -> float:
    """Draw a field for a number; `high` where its range is known only now."""
    n = _begin(name)
    high = n.high if high is None else high
    if st.session_state[name] > high:
        _leave_out(name, str(st.session_state[name]))
        st.session_state[name] = n.default
    return _set(name, place.number_input(label, n.low, high, step=n.step, key=name, **more))


def toggle(name: str, label: str, *, place: Any = st, **more: Any) -> bool:
    """Draw a switch."""
    _begin(name)
    return _set(name, place.toggle(label, key=name, **more))


def expander(name: str, label: str, **more: Any) -> ExpanderContainer:
    """Draw something to open; what stands in it is made only while `.open` is true."""
    _begin(name)
    drawn = st.expander(label, key=name, on_change="rerun", **more)
    _set(name, drawn.open)
    return drawn


def field(name: str, label: str, **more: Any) -> str:
    """Draw a field for one line of text."""
    _begin(name)
    return _set(name, st.text_input(label, key=name, **more) or "")


def area(name: str, label: str, **more: Any) -> str:
    """Draw a field for several lines of text."""
    _begin(name)
    return _set(name, st.text_area(label, key=name, **more) or "")


def tabs(name: str) -> list[Any]:
    """Draw tabs, of which only the open one need be filled: `tab.open`."""
    declared = _begin(name)
    drawn = st.tabs(list(declared.options), key=name, on_change="rerun")
    _set(name, next((tab for tab, part in zip(declared.options, drawn, strict=True) if part.open), declared.default))
    return drawn


def held(name: str, options: Sequence[Any] | None = None) -> Any:
    """Return what was chosen in a picture, by `choose`, or set by a link; it stands in the address like a control."""
    declared = PARAMETERS[name]
    st.session_state[_DRAWN][name] = declared.default
    offered = getattr(declared, "options", None) if options is None else options
    value = chosen(name)
    if isinstance(declared, Several):
        lost = [one for one in value if one not in offered]
        value = [one for one in value if one in offered]
    else:
        lost = [] if offered is None or value in offered else [value]
        value = declared.default if lost else value
    if lost:
        _leave_out(name, str(lost[0]))
        st.session_state[_VIEW][name] = value
    return value


def _begin(name: str, default: Any = None) -> Parameter:
    """Let a control that was not on the page before begin with what the visitor set, the link says, or its default."""
    declared = PARAMETERS[name]
    default = declared.default if default is None else default
    st.session_state[_DRAWN][name] = default
    # What a page had before is still there under the same key when the next page begins, and then gone.
    if name not in st.session_state or name not in st.session_state[_SEEN]:
        st.session_state[name] = st.session_state[_VIEW].get(name, default)
    st.session_state[_SEEN].add(name)
    return declared


def _begin_several(name: str, options: Sequence[Any], default: Sequence[Any]) -> None:
    """Begin as `_begin`, without choices that are not offered."""
    _begin(name, list(default))
    lost = [choice for choice in st.session_state[name] if choice not in options]
    if lost:
        _leave_out(name, lost[0])
        st.session_state[name] = [choice for choice in st.session_state[name] if choice in options] or list(default)


def _offer(name: str, options: Sequence[Any] | None, default: Any) -> Sequence[Any]:
    """Return what a control offers; a choice that is not among it gives way to the default, chosen by name.

    Merely forgotten, the browser would go on showing it.
    """
    declared = PARAMETERS[name]
    offered = declared.options if options is None else options
    default = declared.default if default is None else default
    _begin(name, default if default in offered else offered[0])
    if st.session_state[name] not in offered:
        _leave_out(name, str(st.session_state[name]))
        st.session_state[name] = st.session_state[_DRAWN][name]
    return offered


def choose(name: str, value: Any) -> None:
    """Choose for the visitor, as by a press on a picture. Call it from a callback."""
    st.session_state[name] = st.session_state[_VIEW][name] = value


def chosen(name: str) -> Any:
    """Return what a parameter is set to, also where its control is not drawn."""
    return st.session_state[_VIEW].get(name, PARAMETERS[name].default)


def is_default(name: str) -> bool:
    """Whether neither a link nor the visitor has set a parameter to anything else."""
    return chosen(name) == PARAMETERS[name].default


def settle(name: str, options: Sequence[Any]) -> Any:
    """Return what a parameter is set to, its default where that is not among `options`. For a control not drawn."""
    if chosen(name) not in options:
        _leave_out(name, str(chosen(name)))
        choose(name, PARAMETERS[name].default)
    return chosen(name)


def _set(name: str, value: Any) -> Any:
    """Keep what a control is set to, and return it."""
    st.session_state[_VIEW][name] = value
    return value


# Reading a link, and writing the address


_PLACE, _NOT_CARRIED = "link_place", "not_carried"


def arrived() -> bool:
    """Whether this is the first run on this page since the visitor came to it."""
    return st.session_state[_ARRIVED]


def read_link(page: str) -> None:
    """Begin a run of `page`; on a visitor's first one read the link. What does not fit is named and left out."""
    state = st.session_state
    state[_ARRIVED] = state.get(_PAGE) != page
    if state[_ARRIVED]:
        state[_SEEN] = set()
    state[_PLACE], state[_PAGE], state[_DRAWN], state[_NOT_CARRIED] = st.container(), page, {}, []
    if _VIEW not in state:
        state[_VIEW], state[_LINK] = {}, Link({})
        for name in st.query_params:
            if name in PARAMETERS:
                texts = st.query_params.get_all(name)
                try:
                    state[_VIEW][name] = PARAMETERS[name].read(texts)
                except (ValueError, KeyError, OverflowError):
                    state[_LINK].left_out[name] = texts[0]
    if not state[_LINK].read:
        for name, text in state[_LINK].left_out.items():
            _say_left_out(name, text)


def _leave_out(name: str, text: str) -> None:
    """Note and say a choice of the link that is not offered, once; later ones are no mistake of a link."""
    link: Link = st.session_state[_LINK]
    if not link.read and name not in link.left_out:
        link.left_out[name] = text
        _say_left_out(name, text)


def _say_left_out(name: str, asked: str) -> None:
    st.session_state[_PLACE].warning(
        f"The link asks for {name} = {for_markdown(shortened(asked)) or 'nothing'}, "
        "which is not offered; it is left out."
    )


def not_carried(what: str) -> None:
    """Note something on this page that no link carries; it is said when the link is copied."""
    if what not in st.session_state[_NOT_CARRIED]:
        st.session_state[_NOT_CARRIED].append(what)


def end_page() -> None:
    """End a run: write the address and draw the button that copies it. The link's mistakes have been told."""
    state = st.session_state
    state[_LINK].read = True
    pairs = []
    for name, default in state[_DRAWN].items():
        value = state[_VIEW].get(name, default)
        if (value == default or (not value and not default)) and not PARAMETERS[name].always:
            continue
        if isinstance(value, str) and len(quote(value)) > LONGEST_TEXT:
            not_carried(f"{getattr(PARAMETERS[name], 'what', name)}, which is too long for an address")
            continue
        pairs += [(name, _written(one)) for one in (value or [""] if isinstance(value, list) else [value])]
    write_address(urlencode(pairs), list(PARAMETERS))
    copy_link(state[_NOT_CARRIED])


def _written(value: Any) -> str:
    """Return a value as `read` reads it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.12g}" if isinstance(value, float) else str(value)
