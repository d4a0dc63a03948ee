"""Small pieces of JavaScript: the address, a link to copy; and how scripts and what they read come to the browser.

They receive words as data and write them with `textContent`, so nothing that a visitor types is ever markup.
"""

import hashlib
import re
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit import runtime

_LINK_HTML = '<button type="button">Copy link</button><p role="status"></p>'


def _text(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def fetched_component(name: str) -> Callable:
    """Register a component `name` that is a `div` of that class, runs `name.js` and gets it by `loader.js`."""
    sheets = style("picture.css", f"{name}.css")
    mounted = st.components.v2.component(
        name, html=f'<div class="{name}" data-picture></div>', css=sheets, js=module("loader.js")
    )

    def draw(key: str, data: dict[str, Any], on_chosen_change: Callable[[], None]) -> None:
        # Streamlit looks for data frames among the first level of what is sent, so there is little there.
        mounted(
            key=key,
            data={"script": offered(*script(name), f"the script {name}", "text/javascript"), "picture": data},
            on_chosen_change=on_chosen_change,
        )

    return draw


@cache
def script(name: str) -> tuple[bytes, str]:
    """Return `name.js` with what it imports, and its digest."""
    return named(module(f"{name}.js").encode())


def named(content: bytes) -> tuple[bytes, str]:
    """Return bytes with their SHA-256, under which a browser keeps them."""
    return content, hashlib.sha256(content).hexdigest()


def style(*names: str) -> str:
    """Return several style sheets as one."""
    return "\n".join(map(_text, names))


_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w.]+)";\n', re.MULTILINE)


def module(name: str) -> str:
    """Return a script with those that it imports, each once and before its first use.

    A component's script comes to the browser as one text, which has no address that another could be imported from.
    """
    found: dict[str, str] = {}

    def collect(script: str) -> None:
        source = _text(script)
        for imported in _IMPORT.findall(source):
            if imported not in found:
                collect(imported)
        found[script] = _IMPORT.sub("", source)

    collect(name)
    return "\n".join(found.values())


@st.cache_resource(show_spinner=False)
def _registered() -> dict[str, Callable]:
    """Register once a process; registering again on each run would warn. A component `x` is `x.js`, `x.css`."""
    component = st.components.v2.component
    return {
        "address": component("address", js=_text("address.js")),
        "link": component("link", html=_LINK_HTML, css=_text("link.css"), js=_text("link.js")),
    }


def offered(content: bytes, digest: str, place: str, kind: str = "application/octet-stream") -> dict[str, Any]:
    """Let the browser fetch bytes as it fetches a picture; return where, and their digest, under which it keeps them.

    Through the websocket they would hold up everything else, and could show no progress. `place` names what they are
    for on the page, `kind` is their media type.
    """
    if not runtime.exists():  # the page is drawn for a test
        return {"url": "", "digest": digest, "bytes": len(content)}
    url = runtime.get_instance().media_file_mgr.add(content, kind, place)
    return {"url": url, "digest": digest, "bytes": len(content)}


def write_address(query: str, names: list[str]) -> None:
    """Make `query` the address; `names` are the parameters of which only those in `query` shall stand there."""
    # The time makes each run's data new: another page may have changed the address since the same data were sent.
    _registered()["address"](key="address", data={"query": query, "names": names, "at": time.time()})


def copy_link(missing: list[str]) -> None:
    """Draw a button that copies the address of this view and says what of it is `missing` there."""
    _registered()["link"](key="copy_link", data={"missing": missing}, width="content")
