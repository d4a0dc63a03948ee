"""How scripts, and what they read, come to the browser.

They receive words as data and write them with `textContent`, so nothing that a visitor types is ever markup.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import streamlit as st
from streamlit import runtime

from wordlm.ui.browser.carrying.messages import Chosen, OfferedFile, Said

_HERE = Path(__file__)
_PICTURE_STYLE = _HERE.with_name("picture.css")


def fetched_component(path: Path) -> Callable:
    """Register a component: a `div` of the class `path.stem`, and the script at `path`, which `loader.js` fetches.

    Its style sheet stands beside the script. What is returned draws it: `draw(key, data, on_said)` with what the
    picture is to show; `on_said` is called with what the visitor chose in it, before the page is run for it.
    """
    name = path.stem
    sheets = "\n".join(sheet.read_text(encoding="utf-8") for sheet in (_PICTURE_STYLE, path.with_suffix(".css")))
    mounted = st.components.v2.component(
        name, html=f'<div class="{name}" data-picture></div>', css=sheets, js=module(_HERE.with_name("loader.js"))
    )

    def draw(key: str, data: Mapping[str, Any], on_said: Callable[[Chosen], None]) -> None:
        heard = f"{key}_heard"

        def said() -> Said | None:
            """Return what was said last, if it has not been heard."""
            came = checked(st.session_state[key].chosen)
            return None if came is None or came["at"] <= st.session_state.get(heard, 0) else came

        def hear() -> None:
            if (came := said()) is not None:
                st.session_state[heard] = came["at"]
                on_said(came)

        # Streamlit looks for data frames among the first level of what is sent, so there is little there.
        picture = {"heard": st.session_state.get(heard, 0), **data}
        file = offered(*script(path), f"the script {name}", "text/javascript")
        mounted(key=key, data={"script": file, "picture": picture}, on_chosen_change=hear)
        if (came := said()) is not None:  # of a session that began with this message, which knew of no one to call
            st.session_state[heard] = came["at"]
            st.session_state.setdefault(_UNHEARD, []).append(lambda: on_said(came))

    return draw


_UNHEARD = "unheard"


def has_unheard() -> bool:
    """Whether something was said in a picture that could not be chosen in this run, and will be in the next."""
    return bool(st.session_state.get(_UNHEARD))


def choose_unheard() -> None:
    """Choose what was said in the run before. Call it before any control is drawn."""
    for choose in st.session_state.pop(_UNHEARD, []):
        choose()


def checked(came: object) -> Said | None:
    """Return what the browser said, if it is what our scripts say."""
    try:
        return msgspec.convert(dict(came), Said)  # type: ignore[call-overload]  # what is no mapping is refused
    except (msgspec.ValidationError, TypeError, ValueError):
        return None


@cache
def script(path: Path) -> tuple[bytes, str]:
    """Return a script with what it imports, and its digest."""
    return named(module(path).encode())


def named(content: bytes) -> tuple[bytes, str]:
    """Return bytes with their SHA-256, under which a browser keeps them."""
    return content, hashlib.sha256(content).hexdigest()


_IMPORT = re.compile(r'^import \{[^}]*\} from "(\.[\w./]+)";\n', re.MULTILINE)


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


def offered(
    content: bytes, digest: str, place: str, kind: str = "application/octet-stream", *, keep: bool = True
) -> OfferedFile:
    """Let the browser fetch bytes as it fetches a picture, and keep them under their digest if it is to.

    Through the websocket they would hold up everything else, and could show no progress. `place` names what they are
    for on the page, `kind` is their media type.
    """
    url = ""
    if runtime.exists():  # otherwise the page is drawn for a test
        url = runtime.get_instance().media_file_mgr.add(content, kind, place)
    return {"url": url, "digest": digest, "bytes": len(content), "keep": keep}
