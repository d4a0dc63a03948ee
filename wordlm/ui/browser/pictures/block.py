"""The whole model in one picture: what `block.js` is given, and where the browser finds the weights.

The browser reads the prompt by itself, at every key. The server says what is chosen, and confirms the numbers.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from wordlm.checkpoints import parameter_bytes
from wordlm.text import EncodedPrompt, Vocab
from wordlm.ui.browser.carrying.components import fetched_component, named, offered
from wordlm.ui.browser.model.layout import layout_of, tokenizer_tables
from wordlm.ui.browser.pictures.heads import Look
from wordlm.ui.drawing.charts import head_hue
from wordlm.ui.state.resources import Checkpoint, kept, model_of, vocabulary_of

_CONFIRMED = 10
"""So many of the likeliest words are compared with what the browser calculates."""


@dataclass(frozen=True)
class Material:
    """What the browser needs to read with a model."""

    title: str
    parameters: bytes
    """`parameter_bytes`."""
    digest: str
    """Their SHA-256, under which the browser keeps them."""
    layout: dict[str, Any]
    vocab: Vocab


def block_picture(
    models: Sequence[Material],
    text: str,
    prompt: EncodedPrompt,
    look: Look,
    on_chosen: Callable[[dict[str, Any]], None],
    *,
    off: tuple[int, ...] = (),
    weights: np.ndarray | None = None,
    probabilities: np.ndarray | None = None,
    others: Sequence[Checkpoint] = (),
    beside: str = "",
    forms: bool = False,
    welcome: bool = False,
) -> None:
    """Draw a model, or two of them, reading `text`; a press calls `on_chosen` with what it chooses.

    The server's own numbers of the first model, for the query's reading, are `weights` (H, n) and `probabilities` (V,),
    where it has them. Of `others`, which may stand beside the first one, `beside` is chosen. With `forms` the picture
    can be exchanged for cells or lines. On a first visit, a `welcome`, the steps play by themselves.
    """
    last = look.query == len(prompt.ids) - 1
    likeliest = () if probabilities is None else np.argsort(-probabilities, kind="stable")[:_CONFIRMED]
    data = {
        "text": text,
        "position": None if last else prompt.positions[look.query],
        "head": look.head,
        "off": list(off),
        "models": [_offered(one) for one in models],
        "others": [[one.choice, one.title] for one in others],
        "beside": beside,
        "forms": forms,
        "welcome": welcome,
        "large": look.large,
        "hues": [head_hue(number) for number in range(max(one.layout["heads"] or 1 for one in models))],
        "confirm": {
            "text": text,
            "position": prompt.positions[look.query],
            "off": list(off),
            "words": [[int(word), float(probabilities[word])] for word in likeliest],
            "weights": None if weights is None else np.round(weights, 6).ravel().tolist(),
        },
    }

    def chosen() -> None:
        if (came := st.session_state["block"].chosen) is not None:
            on_chosen(dict(came))

    _registered()(key="block", data=data, on_chosen_change=chosen)


@st.cache_resource(show_spinner=False)
def _registered() -> Callable:
    return fetched_component(Path(__file__).with_suffix(".js"))


@kept(16)
def material_of(chosen: Checkpoint) -> Material:
    """Return what the browser needs to read with a checkpoint."""
    model = model_of(chosen)
    return material(chosen.title, parameter_bytes(model), layout_of(model), vocabulary_of(chosen))


def material(title: str, parameters: bytes, layout: dict[str, Any], vocab: Vocab) -> Material:
    """Return what the browser needs to read with a model of these parameters."""
    return Material(title, parameters, hashlib.sha256(parameters).hexdigest(), layout, vocab)


def _offered(one: Material) -> dict[str, Any]:
    return {
        "title": one.title,
        "layout": one.layout,
        **offered(one.parameters, one.digest, f"the weights of {one.title}"),
        "vocabulary": offered(*_words(one.vocab), "the vocabulary"),
    }


@kept(4)
def _words(vocab: Vocab) -> tuple[bytes, str]:
    return named(json.dumps({"tables": tokenizer_tables(), "itos": vocab.itos}, separators=(",", ":")).encode())
