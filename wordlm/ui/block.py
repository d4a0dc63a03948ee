"""The whole model in one picture: what `block.js` is given, and where the browser finds the weights.

The browser reads the prompt by itself, at every key. The server says what is chosen, and confirms the numbers.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from wordlm.text import EncodedPrompt
from wordlm.ui.browser_model import layout_of, tokenizer_tables, weights_bytes
from wordlm.ui.charts import head_hue
from wordlm.ui.components import module, offered
from wordlm.ui.heads import Look
from wordlm.ui.resources import Checkpoint, kept, model_of, vocabulary_of

_CONFIRMED = 10
"""So many of the likeliest words are compared with what the browser calculates."""


def block_picture(
    models: Sequence[Checkpoint],
    text: str,
    prompt: EncodedPrompt,
    look: Look,
    off: tuple[int, ...],
    probabilities: np.ndarray,
    weights: np.ndarray | None,
    others: Sequence[Checkpoint],
    on_chosen: Callable[[dict[str, Any]], None],
    *,
    welcome: bool,
) -> None:
    """Draw a model, or two of them, reading `text`; a press calls `on_chosen` with what it chooses.

    The server's own numbers of the first model, for the query's reading, are `probabilities` (V,) and `weights`
    (H, n), None for an MLP. `others` are those that may stand beside it. On a
    first visit, a `welcome`, the steps play by themselves.
    """
    last = look.query == len(prompt.ids) - 1
    likeliest = np.argsort(-probabilities, kind="stable")[:_CONFIRMED]
    data = {
        "script": offered(*_script(), "the picture's script", "text/javascript"),
        "text": text,
        "position": None if last else prompt.positions[look.query],
        "head": look.head,
        "off": list(off),
        "models": [_material(one) for one in models],
        "others": [[one.choice, one.title] for one in others],
        "beside": models[1].choice if len(models) > 1 else "",
        "welcome": welcome,
        "large": look.large,
        "hues": [head_hue(number) for number in range(max(one.heads or 1 for one in models))],
        "confirm": {
            "text": text,
            "position": prompt.positions[look.query],
            "off": list(off),
            "words": [[int(word), float(probabilities[word])] for word in likeliest],
            "weights": None if weights is None else np.round(weights, 6).ravel().tolist(),
        },
    }

    def chosen() -> None:
        if (came := st.session_state["model_picture"].chosen) is not None:
            on_chosen(dict(came))

    _registered()(key="model_picture", data=data, on_chosen_change=chosen)


@st.cache_resource(show_spinner=False)
def _registered() -> Callable:
    return st.components.v2.component(
        "model_picture",
        html='<div class="model"></div>',
        css=Path(__file__).with_suffix(".css").read_text(encoding="utf-8"),
        js=module("loader.js"),
    )


@cache
def _script() -> tuple[bytes, str]:
    return _named(module("block.js").encode())


def _material(chosen: Checkpoint) -> dict[str, Any]:
    """Return what the browser needs to read with a model, and where it finds it."""
    weights, layout = _weights(chosen)
    words = _vocabulary(chosen)
    return {
        "title": chosen.title,
        "layout": layout,
        **offered(*weights, f"weights {chosen.title} {chosen.seed}"),
        "vocabulary": offered(*words, "vocabulary"),
    }


@kept(16)
def _weights(chosen: Checkpoint) -> tuple[tuple[bytes, str], dict[str, Any]]:
    model = model_of(chosen)
    return _named(weights_bytes(model)), layout_of(model)


@kept(4)
def _vocabulary(chosen: Checkpoint) -> tuple[bytes, str]:
    words = {"tables": tokenizer_tables(), "itos": list(vocabulary_of(chosen).itos)}
    return _named(json.dumps(words, separators=(",", ":")).encode())


def _named(content: bytes) -> tuple[bytes, str]:
    """Return bytes with the name under which a browser keeps them."""
    return content, hashlib.sha256(content).hexdigest()
