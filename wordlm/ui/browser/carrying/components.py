"""How scripts, and what they read, come to the browser.

They receive words as data and write them with `textContent`, so nothing that a visitor types is ever markup.
"""

import hashlib
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit import runtime

_HERE = Path(__file__)
_PICTURE_STYLE = _HERE.with_name("picture.css")


def fetched_component(path: Path) -> Callable:
    """Register a component: a `div` of the class `path.stem`, and the script at `path`, which `loader.js` fetches.

    Its style sheet stands beside the script.
    """
    name = path.stem
    sheets = "\n".join(sheet.read_text(encoding="utf-8") for sheet in (_PICTURE_STYLE, path.with_suffix(".css")))
    mounted = st.components.v2.component(
        name, html=f'<div class="{name}" data-picture></div>', css=sheets, js=module(_HERE.with_name("loader.js"))
    )

    def draw(key: str, data: dict[str, Any], on_chosen_change: Callable[[], None]) -> None:
        # Streamlit looks for data frames among the first level of what is sent, so there is little there.
        mounted(
            key=key,
            data={"script": offered(*script(path), f"the script {name}", "text/javascript"), "picture": data},
            on_chosen_change=on_chosen_change,
        )

    return draw


@cache
def script(path: Path) -> tuple[bytes, str]:
    """Return a script with what it imports, and its digest."""
    return named(module(path).encode())


def named(content: bytes) -> tuple[bytes, str]:
    """Return bytes with their SHA-256, under which a browser keeps them."""
    return content, hashlib.sha256(content).hexdigest()


_IMPORT = re.compile(r'^(?:import|export) \{[^}]*\} from "(\.[\w./]+)";\n', re.MULTILINE)


def module(path: Path) -> str:
    """Return a script with those that it imports, each once and before its first use.

    A component's script comes to the browser as one text, which has no address that another could be imported from.
    """
    found: dict[Path, str] = {}

    def collect(script: Path) -> None:
        source = script.read_text(encoding="utf-8")
        for relative in _IMPORT.findall(source):
            if (imported := (script.parent / relative).resolve()) not in found:
                collect(imported)
        found[script] = _IMPORT.sub("", source)

    collect(path.resolve())
    return "\n".join(found.values())


def offered(content: bytes, digest: str, place: str, kind: str = "application/octet-stream") -> dict[str, Any]:
    """Let the browser fetch bytes as it fetches a picture; return where, and their digest, under which it keeps them.

    Through the websocket they would hold up everything else, and could show no progress. `place` names what they are
    for on the page, `kind` is their media type.
    """
    if not runtime.exists():  # the page is drawn for a test
        return {"url": "", "digest": digest, "bytes": len(content)}
    url = runtime.get_instance().media_file_mgr.add(content, kind, place)
    return {"url": url, "digest": digest, "bytes": len(content)}
