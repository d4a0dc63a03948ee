"""The address bar and the button that copies it, on the screen."""

import time
from collections.abc import Callable
from pathlib import Path

import streamlit as st

_LINK_HTML = '<button type="button">Copy link</button><p role="status"></p>'


@st.cache_resource(show_spinner=False)
def _registered() -> dict[str, Callable]:
    """Register once a process; registering again on each run would warn."""

    def text(name: str) -> str:
        return Path(__file__).with_name(name).read_text(encoding="utf-8")

    component = st.components.v2.component
    return {
        "address": component("address", js=text("address.js")),
        "link": component("link", html=_LINK_HTML, css=text("link.css"), js=text("link.js")),
    }


def write_address(query: str, names: list[str]) -> None:
    """Make `query` the address; `names` are the parameters of which only those in `query` shall stand there."""
    # The time makes each run's data new: another page may have changed the address since the same data were sent.
    _registered()["address"](key="address", data={"query": query, "names": names, "at": time.time()})


def copy_link(missing: list[str]) -> None:
    """Draw a button that copies the address of this view and says what of it is `missing` there."""
    _registered()["link"](key="copy_link", data={"missing": missing}, width="content")
