"""The controls, each with the name of its parameter as its key.

Streamlit can bind a control to a parameter by itself. It then loses what a link said when the page is left, and a
correction sent while somebody types puts the text before into the address; so the address is written in `address`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st
from streamlit.elements.lib.mutable_expander_container import ExpanderContainer

from wordlm.ui.frame.address import (
    DRAWN,
    SEEN,
    VIEW,
    choose,
    has_reconnected,
    is_beginning,
    keep,
    leave_out,
    read_text,
    say_if_cut,
)
from wordlm.ui.frame.parameters import PARAMETERS, options_of, range_of


def segments(name: str, label: str, options: Sequence[Any] | None = None, *, default: Any = None, **more: Any) -> Any:
    """Draw a segmented control; `options` and `default` where they are known only now."""
    offered, first = _offer(name, options, default)
    return keep(name, st.segmented_control(label, offered, default=first, required=True, key=name, **more))


def dropdown(name: str, label: str, options: Sequence[Any] | None = None, **more: Any) -> Any:
    """Draw a select box; its first option is the default unless another is declared."""
    offered, first = _offer(name, options, None)
    return keep(name, st.selectbox(label, offered, 0 if first is None else offered.index(first), key=name, **more))


def pills(name: str, label: str, options: Sequence[Any], default: Sequence[Any], **more: Any) -> list[Any]:
    """Draw pills of which any number may be chosen."""
    first = _begin_several(name, options, default)
    return keep(name, st.pills(label, options, selection_mode="multi", default=first, key=name, **more))


def switches(name: str, label: str, options: Sequence[Any], default: Sequence[Any], **more: Any) -> list[Any]:
    """Draw pills that are lit where a thing is on; return, and keep in the address, those that are off."""
    first, lit = _begin_several(name, options, default), f"not_{name}"

    def others(some: Sequence[Any]) -> list[Any]:
        return [option for option in options if option not in some]

    if first is None and st.session_state.get(lit) != others(st.session_state[name]):
        st.session_state[lit] = others(st.session_state[name])
    on = st.pills(
        label,
        options,
        selection_mode="multi",
        default=None if first is None else others(first),
        key=lit,
        on_change=lambda: choose(name, others(st.session_state[lit])),
        **more,
    )
    if first is not None:
        st.session_state[name] = others(on)
    return keep(name, st.session_state[name])


def stops(name: str, label: str, *, place: Any = st, **more: Any) -> Any:
    """Draw a slider over a few values."""
    offered, first = _offer(name, None, None)
    return keep(name, place.select_slider(label, offered, first, key=name, **more))


def slider(name: str, label: str, *, place: Any = st, **more: Any) -> float:
    """Draw a slider over a range."""
    n, first = range_of(name), _begin(name)
    return keep(name, place.slider(label, n.low, n.high, first, n.step, key=name, **more))


def number(name: str, label: str, *, high: float | None = None, place: Any = st, **more: Any) -> float:
    """Draw a field for a number; `high` where its range is known only now."""
    n = range_of(name)
    high = n.high if high is None else high
    first = _correct(name, _begin(name), lambda value: value <= high)
    return keep(
        name, place.number_input(label, n.low, high, "min" if first is None else first, n.step, key=name, **more)
    )


def toggle(name: str, label: str, *, place: Any = st, **more: Any) -> bool:
    """Draw a switch."""
    first = _begin(name)
    return keep(name, place.toggle(label, bool(first), key=name, **more))


def expander(name: str, label: str, **more: Any) -> ExpanderContainer:
    """Draw something to open; what stands in it is made only while `.open` is true."""
    first = _begin(name)
    # It is another expander with another `expanded`. A browser that was there before sends each as it shows it.
    if first is not None and not has_reconnected():
        st.session_state[name] = first
    drawn = st.expander(label, key=name, on_change="rerun", **more)
    keep(name, drawn.open)
    return drawn


def field(name: str, label: str, **more: Any) -> str:
    """Draw a field for one line of text, and return what is read of it."""
    first = _begin(name)
    return _typed(name, st.text_input(label, first or "", key=name, **more))


def area(name: str, label: str, **more: Any) -> str:
    """Draw a field for several lines of text, and return what is read of it."""
    first = _begin(name)
    return _typed(name, st.text_area(label, first or "", key=name, **more))


def _typed(name: str, text: str | None) -> str:
    keep(name, text or "")
    say_if_cut(name)
    return read_text(name)


def tabs(name: str) -> list[Any]:
    """Draw tabs, of which only the open one need be filled: `tab.open`."""
    _begin(name)
    options = options_of(name)
    # They are other tabs with another `default`, so it stays. A browser sends them only once one has been pressed.
    drawn = st.tabs(list(options), default=st.session_state[SEEN][name], key=name, on_change="rerun")
    keep(name, next((tab for tab, part in zip(options, drawn, strict=True) if part.open), PARAMETERS[name].default))
    return list(drawn)


def _begin(name: str, default: Any = None) -> Any:
    """Let a control that was not on the page before begin with what the visitor set, the link says, or its default.

    Returns that where the control is to take it as its default, else None. A browser whose server was started anew
    sends what its controls hold, and that wins over a default, and so over the link; it would not over the session.
    """
    state = st.session_state
    state[DRAWN][name] = default = PARAMETERS[name].default if default is None else default
    first = state[VIEW].get(name, default)
    # What a page had before is still there under the same key when the next page begins, and then gone.
    known, seen = name in state, name in state[SEEN]
    state[SEEN].setdefault(name, first)
    if not known and is_beginning():
        return first
    if not (known and seen):
        state[name] = first
    return None


def _begin_several(name: str, options: Sequence[Any], default: Sequence[Any]) -> list[Any] | None:
    """Begin as `_begin`, without choices that are not offered."""
    first = _begin(name, list(default))
    now = st.session_state[name] if first is None else first
    if lost := [choice for choice in now if choice not in options]:
        leave_out(name, lost[0])
        now = [choice for choice in now if choice in options] or list(default)
        if first is None:
            st.session_state[name] = now
    return None if first is None else now


def _offer(name: str, options: Sequence[Any] | None, default: Any) -> tuple[Sequence[Any], Any]:
    """Return what a control offers, and what `_begin` returns; what is not offered gives way to the default."""
    offered = options_of(name) if options is None else options
    default = PARAMETERS[name].default if default is None else default
    first = _begin(name, default if default in offered else offered[0])
    return offered, _correct(name, first, lambda value: value in offered)


def _correct(name: str, first: Any, fits: Callable[[Any], bool]) -> Any:
    """Return `first`, or the default where that, or what the control is set to, does not fit; choose it by name.

    Merely forgotten, the browser would go on showing it.
    """
    now = st.session_state[name] if first is None else first
    if not fits(now):
        leave_out(name, str(now))
        now = st.session_state[DRAWN][name]
        if first is None:
            st.session_state[name] = now
    return None if first is None else now
