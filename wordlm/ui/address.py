"""The address of a view: each parameter of the URL, declared once.

A control takes its name, options or range, and default from here. A link is checked against the same declaration, and
what no link can carry is said when it is copied. Most parameters are bound to their control by Streamlit; `kept` and
`keep` are for what has no control that can be bound.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args
from urllib.parse import quote

import streamlit as st

from wordlm.ablation import Fill
from wordlm.course import WIDTHS
from wordlm.starts import AUTHORED
from wordlm.training import Precision, TrainConfig
from wordlm.ui.charts import FirstToken, Scale
from wordlm.ui.components import copy_link
from wordlm.ui.escape import for_markdown, shortened
from wordlm.ui.job import MOST_STEPS, MOST_VALIDATIONS
from wordlm.ui.resources import MODELS, SEEDS

LONGEST_KEPT = 2000
"""Characters of a text in an address; servers refuse addresses of some 10,000 or more."""


@dataclass(frozen=True)
class OneOf:
    """A choice of one. Without `options` they are known only when the control is drawn.

    Without a default the page itself puts one into the address, see `by_device`.
    """

    options: Sequence[Any] | None
    default: Any = None

    def refused(self, texts: list[str]) -> str | None:
        """Return what of a link is not offered, None where all is."""
        offered = None if self.options is None else [str(option) for option in self.options]
        return next((text for text in texts if not text or (offered is not None and text not in offered)), None)


@dataclass(frozen=True)
class Several:
    """A choice of any number of things, also of none; they are known when the control is drawn."""

    def refused(self, texts: list[str]) -> None:
        """Return None: what is not offered is found when the control is drawn."""


@dataclass(frozen=True)
class Number:
    """A number within a range; a whole one where the range is given in whole numbers."""

    low: float
    high: float
    default: float
    step: float | None = None

    def refused(self, texts: list[str]) -> str | None:
        """Return what of a link is no such number, None where all is."""
        return next((text for text in texts if not self._fits(text)), None)

    def _fits(self, text: str) -> bool:
        try:
            number = float(text)
        except ValueError:
            return False
        return self.low <= number <= self.high and (isinstance(self.low, float) or number.is_integer())


@dataclass(frozen=True)
class Switch:
    """On or off."""

    default: bool = False

    def refused(self, texts: list[str]) -> str | None:
        """Return what of a link is neither, None where all is."""
        return next((text for text in texts if text not in ("true", "false")), None)


@dataclass(frozen=True)
class Text:
    """Anything that can be typed."""

    default: str = ""

    def refused(self, texts: list[str]) -> None:
        """Return None: nothing is refused."""


_POWERS = tuple(2**k for k in range(6, 18))
_SHARED_OUT = (1, 2, 4, 8, 16, 32, 64)
_TRAIN = TrainConfig()

PARAMETERS: dict[str, OneOf | Several | Number | Switch | Text] = {
    # Every page that reads a prompt
    "prompt": Text("a little dog found a red hat"),
    "model": OneOf(None, "4"),
    "seed": OneOf(SEEDS, SEEDS[0]),
    # Explore, Compare, Switch heads off
    "query": OneOf(None),
    "key": OneOf(None),
    "head": OneOf(None, "1"),
    "picture": OneOf(("all heads", "one head")),
    "scale": OneOf(get_args(Scale), "absolute"),
    "first": OneOf(get_args(FirstToken), "shown"),
    "rows": OneOf(("each word as the last", "one reading"), "each word as the last"),
    "shading": OneOf(("keys of the query", "queries of the token"), "keys of the query"),
    "word": Text(),
    "b": OneOf(None, "1"),
    "b_seed": OneOf(SEEDS, SEEDS[0]),
    "off": Several(),
    "fill": OneOf(get_args(Fill), "zero"),
    # Perplexity
    "probabilities": Text("0.5, 0.25, 0.125"),
    "added": OneOf(
        (
            *("0", "1e-06", "1e-05", "0.0001", "0.001", "0.01", "0.05"),
            *("0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "0.99", "1"),
        ),
        "0.001",
    ),
    "text": Text(
        "Once upon a time there was a little boy named Tom. Tom had a red boat. One day he took the boat to the river. "
        "The river was cold and fast. The boat went away, and Tom was sad. Then a big bird came and brought it back."
    ),
    # Generate
    "engine": OneOf(("ONNX Runtime", "PyTorch", "your browser"), "ONNX Runtime"),
    "way": OneOf(("WebAssembly", "WebGPU"), "WebAssembly"),
    "browser_model": OneOf(("MLP", "1", "4"), "4"),
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
    "learn_from": OneOf(("smoke stories", "6,000 stories", "a text of mine"), "smoke stories"),
    "words": OneOf(("the bundled one", "its own"), "the bundled one"),
    "trained": OneOf(MODELS, "4"),
    "steps": Number(1, MOST_STEPS, 100, 50),
    "batch": Number(8, 2048, _TRAIN.batch_size, 64),
    "train_seed": Number(0, 10**6, _TRAIN.seed, 1),
    "rate": Number(0.00001, 1.0, _TRAIN.learning_rate, 0.001),
    "decay": Number(0.0, 1.0, _TRAIN.weight_decay, 0.001),
    "validations": Number(1, MOST_VALIDATIONS, 10, 1),
    "precision": OneOf(get_args(Precision), "fp32"),
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
    "course_projections": Text("1, 0, 0, 1; 0, 1, 1, 0; 0.5, 0, 2, 0; 0, -1, 0, 1"),
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
}
"""Each parameter by its name in the URL, which is also the key of its control."""


# The controls. Each is bound to the parameter of its name.


def _bound(name: str, more: dict) -> dict:
    return {"key": name, "bind": "query-params"} | more


def segments(name: str, label: str, options: Sequence[Any] | None = None, *, default: Any = None, **more: Any) -> Any:
    """Draw a segmented control; `options` and `default` where they are known only now."""
    offered, chosen = _offer(name, options, default)
    return st.segmented_control(label, offered, default=chosen, required=True, **_bound(name, more))


def dropdown(name: str, label: str, options: Sequence[Any] | None = None, **more: Any) -> Any:
    """Draw a select box; its first option is the default."""
    offered, _ = _offer(name, options, None)
    return st.selectbox(label, offered, **_bound(name, more))


def pills(name: str, label: str, options: Sequence[Any], default: Sequence[Any], **more: Any) -> list[Any]:
    """Draw pills of which any number may be chosen."""
    check_offered(name, options)
    if not set(st.session_state.get(name) or []) <= set(options):
        st.session_state.pop(name, None)
    return list(st.pills(label, options, selection_mode="multi", default=default, **_bound(name, more)))


def stops(name: str, label: str, *, place: Any = st, **more: Any) -> Any:
    """Draw a slider over a few values."""
    declared = PARAMETERS[name]
    return place.select_slider(label, declared.options, declared.default, **_bound(name, more))


def slider(name: str, label: str, *, place: Any = st, **more: Any) -> float:
    """Draw a slider over a range."""
    n = PARAMETERS[name]
    return place.slider(label, n.low, n.high, n.default, n.step, **_bound(name, more))


def number(name: str, label: str, *, high: float | None = None, place: Any = st, **more: Any) -> float:
    """Draw a field for a number; `high` where its range is known only now."""
    n = PARAMETERS[name]
    return place.number_input(label, n.low, n.high if high is None else high, n.default, n.step, **_bound(name, more))


def toggle(name: str, label: str, *, place: Any = st, **more: Any) -> bool:
    """Draw a switch."""
    return place.toggle(label, PARAMETERS[name].default, **_bound(name, more))


def field(name: str, label: str, **more: Any) -> str:
    """Draw a field for one line of text."""
    return st.text_input(label, PARAMETERS[name].default, **_bound(name, more)) or ""


def area(name: str, label: str, **more: Any) -> str:
    """Draw a field for several lines of text."""
    return st.text_area(label, PARAMETERS[name].default, **_bound(name, more)) or ""


def _offer(name: str, options: Sequence[Any] | None, default: Any) -> tuple[Sequence[Any], Any]:
    """Return what a control offers and what it starts with; a choice that is no longer offered is forgotten."""
    declared = PARAMETERS[name]
    offered = declared.options if options is None else options
    if options is not None:
        check_offered(name, options)
        if st.session_state.get(name) not in options:
            st.session_state.pop(name, None)
    chosen = declared.default if default is None else default
    return offered, chosen if chosen is None or chosen in offered else offered[0]


def by_device(name: str, value: str) -> None:
    """Put a default that depends on the visitor's device into the address, so that a link shows the same on any other.

    Streamlit leaves a default out of the address, and takes what stands there when a run begins: so it begins anew.
    """
    if name not in st.session_state and name not in st.query_params:
        st.query_params[name] = value
        st.rerun()


# What has no control that could be bound: a long text, a table, a choice made by pressing a picture.


def kept(name: str) -> str:
    """Return what the visitor set, the link says, or the default."""
    slot = f"kept_{name}"
    if slot not in st.session_state:
        st.session_state[slot] = st.query_params.get(name, PARAMETERS[name].default)
    return st.session_state[slot]


def keep(name: str, text: str, what: str) -> None:
    """Keep what the visitor set for the session and, unless it is too long, in the address; `what` is its name."""
    st.session_state[f"kept_{name}"] = text
    if text == PARAMETERS[name].default:
        text = ""
    elif len(quote(text)) > LONGEST_KEPT:
        text = ""
        not_carried(f"{what}, which is too long for an address")
    if text != st.query_params.get(name, ""):
        if text:
            st.query_params[name] = text
        else:
            del st.query_params[name]


# What a link says


_READ, _PLACE, _LEFT_OUT, _NOT_CARRIED = "link_read", "link_place", "link_left_out", "link_not_carried"


def read_link() -> None:
    """Check the link of a visitor's first run: what does not fit is named, left out, and breaks no control.

    Call it before any control. Streamlit seeds its controls from the link as it was when the run began, so the run
    begins anew without what is left out.
    """
    st.session_state[_PLACE] = st.container()
    st.session_state[_NOT_CARRIED] = []
    if st.session_state.get(_READ):
        return
    asked = {name: st.query_params.get_all(name) for name in st.query_params if name in PARAMETERS}
    unfit = {name: text for name, texts in asked.items() if (text := PARAMETERS[name].refused(texts)) is not None}
    left_out = st.session_state.setdefault(_LEFT_OUT, {})
    left_out |= unfit
    if unfit:
        for name in unfit:
            del st.query_params[name]
        st.rerun()
    for name, text in left_out.items():
        _say_left_out(name, text)


def end_reading() -> None:
    """Remember that a whole page has read the link, so that its mistakes are told once."""
    st.session_state[_READ] = True


def check_offered(name: str, options: Sequence[Any]) -> None:
    """Say what a link asks of a control that does not offer it. Call it before the control is drawn."""
    if not st.session_state.get(_READ):
        offered = [str(option) for option in options]
        left_out = st.session_state[_LEFT_OUT]
        for text in st.query_params.get_all(name):
            if text not in offered and left_out.get(name) != text:
                left_out[name] = text  # told again if this run gives way to another one
                _say_left_out(name, text)


def _say_left_out(name: str, asked: str) -> None:
    st.session_state[_PLACE].warning(
        f"The link asks for {name} = {for_markdown(shortened(asked)) or 'nothing'}, "
        "which is not offered; it is left out."
    )


def not_carried(what: str) -> None:
    """Note something on this page that no link carries; it is said when the link is copied."""
    noted = st.session_state[_NOT_CARRIED]
    if what not in noted:
        noted.append(what)


def draw_copy_link() -> None:
    """Draw the button that copies the address of this view. Call it when the page is drawn."""
    copy_link(st.session_state[_NOT_CARRIED])
