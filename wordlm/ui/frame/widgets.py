"""The controls, each with the name of its parameter as its key.

Streamlit can bind a control to a parameter by itself. It then loses what a link said when the page is left, and a
correction sent while somebody types puts the text before into the address; so the address is written in `address`.
"""

from collections.abc import Sequence
from typing import Any

import streamlit as st
from streamlit.elements.lib.mutable_expander_container import ExpanderContainer

from wordlm.ui.frame.address import DRAWN, SEEN, VIEW, choose, keep, leave_out, read_text, say_if_cut
from wordlm.ui.frame.parameters import PARAMETERS, Parameter


def segments(name: str, label: str, options: Sequence[Any] | None = None, *, default: Any = None, **more: Any) -> Any:
    """Draw a segmented control; `options` and `default` where they are known only now."""
    offered = _offer(name, options, default)
    return keep(name, st.segmented_control(label, offered, required=True, key=name, **more))


def dropdown(name: str, label: str, options: Sequence[Any] | None = None, **more: Any) -> Any:
    """Draw a select box; its first option is the default unless another is declared."""
    return keep(name, st.selectbox(label, _offer(name, options, None), key=name, **more))


def pills(name: str, label: str, options: Sequence[Any], default: Sequence[Any], **more: Any) -> list[Any]:
    """Draw pills of which any number may be chosen."""
    _begin_several(name, options, default)
    return keep(name, st.pills(label, options, selection_mode="multi", key=name, **more))


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
    return keep(name, st.session_state[name])


def stops(name: str, label: str, *, place: Any = st, **more: Any) -> Any:
    """Draw a slider over a few values."""
    return keep(name, place.select_slider(label, _offer(name, None, None), key=name, **more))


def slider(name: str, label: str, *, place: Any = st, **more: Any) -> float:
    """Draw a slider over a range."""
    n = _begin(name)
    return keep(name, place.slider(label, n.low, n.high, step=n.step, key=name, **more))


def number(name: str, label: str, *, high: float | None = None, place: Any = st, **more: Any) -> float:
    """Draw a field for a number; `high` where its range is known only now."""
    n = _begin(name)
    high = n.high if high is None else high
    if st.session_state[name] > high:
        leave_out(name, str(st.session_state[name]))
        st.session_state[name] = n.default
    return keep(name, place.number_input(label, n.low, high, step=n.step, key=name, **more))


def toggle(name: str, label: str, *, place: Any = st, **more: Any) -> bool:
    """Draw a switch."""
    _begin(name)
    return keep(name, place.toggle(label, key=name, **more))


def expander(name: str, label: str, **more: Any) -> ExpanderContainer:
    """Draw something to open; what stands in it is made only while `.open` is true."""
    _begin(name)
    drawn = st.expander(label, key=name, on_change="rerun", **more)
    keep(name, drawn.open)
    return drawn


def field(name: str, label: str, **more: Any) -> str:
    """Draw a field for one line of text, and return what is read of it."""
    _begin(name)
    return _typed(name, st.text_input(label, key=name, **more))


def area(name: str, label: str, **more: Any) -> str:
    """Draw a field for several lines of text, and return what is read of it."""
    _begin(name)
    return _typed(name, st.text_area(label, key=name, **more))


def _typed(name: str, text: str | None) -> str:
    keep(name, text or "")
    say_if_cut(name)
    return read_text(name)


def tabs(name: str) -> list[Any]:
    """Draw tabs, of which only the open one need be filled: `tab.open`."""
    declared = _begin(name)
    drawn = st.tabs(list(declared.options), key=name, on_change="rerun")
    keep(name, next((tab for tab, part in zip(declared.options, drawn, strict=True) if part.open), declared.default))
    return drawn


def _begin(name: str, default: Any = None) -> Parameter:
    """Let a control that was not on the page before begin with what the visitor set, the link says, or its default."""
    declared = PARAMETERS[name]
    default = declared.default if default is None else default
    st.session_state[DRAWN][name] = default
    # What a page had before is still there under the same key when the next page begins, and then gone.
    if name not in st.session_state or name not in st.session_state[SEEN]:
        st.session_state[name] = st.session_state[VIEW].get(name, default)
    st.session_state[SEEN].add(name)
    return declared


def _begin_several(name: str, options: Sequence[Any], default: Sequence[Any]) -> None:
    """Begin as `_begin`, without choices that are not offered."""
    _begin(name, list(default))
    lost = [choice for choice in st.session_state[name] if choice not in options]
    if lost:
        leave_out(name, lost[0])
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
        leave_out(name, str(st.session_state[name]))
        st.session_state[name] = st.session_state[DRAWN][name]
    return offered
