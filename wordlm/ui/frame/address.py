"""The address of a view: what is set, as a link said it or the visitor chose it, and the URL that holds it.

What the visitor sets is kept for the session, on whatever page it was set, and a page's address holds what its own
controls are set to. What no link can carry is said when it is copied.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

import streamlit as st

from wordlm.ui import limits
from wordlm.ui.drawing.escape import for_markdown, shortened
from wordlm.ui.frame.link import copy_link, write_address
from wordlm.ui.frame.parameters import PARAMETERS, Several, Text, as_text

VIEW, _LINK, DRAWN, SEEN, _PAGE, _ARRIVED = "view", "link", "drawn", "seen", "page", "arrived"


@dataclass
class Link:
    """What a link said wrongly, told until a whole page has read it."""

    left_out: dict[str, str]
    read: bool = False


def held(name: str, options: Sequence[Any] | None = None) -> Any:
    """Return what was chosen in a picture, by `choose`, or set by a link; it stands in the address like a control."""
    declared = PARAMETERS[name]
    st.session_state[DRAWN][name] = declared.default
    offered: Sequence[Any] | None = getattr(declared, "options", None) if options is None else options
    value = chosen(name)
    if isinstance(declared, Several):
        lost = [one for one in value if one not in (offered or ())]
        value = [one for one in value if one in (offered or ())]
    else:
        lost = [] if offered is None or value in offered else [value]
        value = declared.default if lost else value
    if lost:
        leave_out(name, str(lost[0]))
        st.session_state[VIEW][name] = value
    return value


def choose(name: str, value: Any) -> None:
    """Choose for the visitor, as by a press on a picture. Call it from a callback."""
    st.session_state[name] = st.session_state[VIEW][name] = value


def chosen(name: str) -> Any:
    """Return what a parameter is set to, also where its control is not drawn."""
    return st.session_state[VIEW].get(name, PARAMETERS[name].default)


def is_default(name: str) -> bool:
    """Whether neither a link nor the visitor has set a parameter to anything else."""
    return chosen(name) == PARAMETERS[name].default


def settle(name: str, options: Sequence[Any]) -> Any:
    """Return what a parameter is set to, its default where that is not among `options`. For a control not drawn."""
    if chosen(name) not in options:
        leave_out(name, str(chosen(name)))
        choose(name, PARAMETERS[name].default)
    return chosen(name)


def keep(name: str, value: Any) -> Any:
    """Keep what a control is set to, and return it."""
    st.session_state[VIEW][name] = value
    return value


# Reading a link, and writing the address


_PLACE, _NOT_CARRIED = "link_place", "not_carried"


def arrived() -> bool:
    """Whether this is the first run on this page since the visitor came to it."""
    return st.session_state[_ARRIVED]


def is_beginning() -> bool:
    """Whether no page has been run to its end yet in this session."""
    return not st.session_state[_LINK].read


def has_reconnected() -> bool:
    """Whether the browser had a session before this one, as after a new start of the server: it asks for that one."""
    # "streamlit", a token, and the session that the page had, by the protocol of Streamlit's own front end.
    return st.context.headers.get("Sec-WebSocket-Protocol", "").count(",") == 2


def read_link(page: str) -> None:
    """Begin a run of `page`; on a visitor's first one read the link. What does not fit is named and left out."""
    state = st.session_state
    state[_ARRIVED] = state.get(_PAGE) != page
    if state[_ARRIVED]:
        state[SEEN] = {}
    state[_PLACE], state[_PAGE], state[DRAWN], state[_NOT_CARRIED] = st.container(), page, {}, []
    if VIEW not in state:
        state[VIEW], state[_LINK] = {}, Link({})
        for name in st.query_params:
            if name in PARAMETERS:
                texts = st.query_params.get_all(name)
                try:
                    state[VIEW][name] = PARAMETERS[name].read(texts)
                except (ValueError, KeyError, OverflowError):
                    state[_LINK].left_out[name] = texts[0]
    if not state[_LINK].read:
        for name, text in state[_LINK].left_out.items():
            _say_left_out(name, text)


def read_text(name: str) -> str:
    """Return what is read of a typed text: all of it, or as much as its limit lets through."""
    return _text(name).limit.cut(chosen(name))


def say_if_cut(name: str) -> None:
    """Say so above the page where a text is longer than what is read of it."""
    limit, length = _text(name).limit, len(chosen(name))
    if length > limit.most:
        st.session_state[_PLACE].warning(limit(length))


def _text(name: str) -> Text:
    declared = PARAMETERS[name]
    assert isinstance(declared, Text)
    return declared


def leave_out(name: str, text: str) -> None:
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
    for name, default in state[DRAWN].items():
        value = state[VIEW].get(name, default)
        if (value == default or (not value and not default)) and not PARAMETERS[name].always:
            continue
        # A very long text is not quoted at each rerun to count it.
        most = limits.ADDRESS_TEXT.most
        if isinstance(value, str) and (len(value) > most or len(quote(value)) > most):
            not_carried(limits.ADDRESS_TEXT(getattr(PARAMETERS[name], "what", name)))
            continue
        pairs += [(name, as_text(one)) for one in (value or [""] if isinstance(value, list) else [value])]
    write_address(urlencode(pairs), list(PARAMETERS))
    copy_link(state[_NOT_CARRIED])
