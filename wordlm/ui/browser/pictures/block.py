"""The whole model in one picture: what `block.js` is given, and where the browser finds the weights.

The browser reads the prompt by itself, at every key. The server says what is chosen, and confirms the numbers.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import streamlit as st

from wordlm.checkpoints import parameter_bytes
from wordlm.text import EncodedPrompt, Vocab
from wordlm.ui.browser.carrying.components import fetched_component, named, offered
from wordlm.ui.browser.carrying.messages import BlockData, Chosen, Layout, OfferedModel, Place
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
    layout: Layout
    vocab: Vocab
    keep: bool
    """Whether the browser keeps them beyond the visit."""


def block_picture(
    models: Sequence[Material],
    text: str,
    prompt: EncodedPrompt,
    look: Look,
    on_said: Callable[[Chosen], None],
    *,
    off: tuple[int, ...] = (),
    weights: np.ndarray | None = None,
    probabilities: np.ndarray | None = None,
    others: Sequence[Checkpoint] = (),
    beside: str = "",
    follows: bool = True,
    forms: bool = False,
    welcome: bool = False,
) -> None:
    """Draw a model, or two of them, reading `text`; a press calls `on_said` with all that is chosen then.

    The server's own numbers of the first model, for the query's reading, are `weights` (H, n) and `probabilities` (V,),
    where it has them. Of `others`, which may stand beside the first one, `beside` is chosen. The picture `follows` the
    prompt box unless it is of another text. With `forms` it can be exchanged for cells or lines. On a first visit, a
    `welcome`, the steps play by themselves.
    """
    last = look.query == len(prompt.ids) - 1
    query: Place = {"label": prompt.labels[look.query], "position": prompt.positions[look.query]}
    words = [] if probabilities is None else _likeliest(probabilities)
    data: BlockData = {
        "chosen": {
            "query": None if last else query,
            "head": look.head,
            "off": list(off),
            "form": "model",
            "beside": beside,
        },
        "text": text,
        "follows": follows,
        "models": [_offered(one) for one in models],
        "others": [(one.choice, one.title) for one in others],
        "forms": forms,
        "welcome": welcome,
        "large": look.large,
        "hues": [head_hue(number) for number in range(max(one.layout["heads"] or 1 for one in models))],
        "confirm": {
            "text": text,
            "position": query["position"],
            "off": list(off),
            "words": words,
            "weights": None if weights is None else np.round(weights, 6).ravel().tolist(),
        },
    }
    _registered()("block", data, on_said)


@st.cache_resource(show_spinner=False)
def _registered() -> Callable:
    return fetched_component(Path(__file__).with_suffix(".js"))


@kept(16)
def material_of(chosen: Checkpoint) -> Material:
    """Return what the browser needs to read with a checkpoint; it keeps the bundled ones, never a visitor's own."""
    model = model_of(chosen)
    layout = layout_of(model)
    return material(chosen.title, parameter_bytes(model), layout, vocabulary_of(chosen), keep=not chosen.is_own)


def material(title: str, parameters: bytes, layout: Layout, vocab: Vocab, *, keep: bool = False) -> Material:
    """Return what the browser needs to read with a model of these parameters."""
    return Material(title, parameters, hashlib.sha256(parameters).hexdigest(), layout, vocab, keep)


def _offered(one: Material) -> OfferedModel:
    words, digest = _words(one.vocab)
    return {
        "title": one.title,
        "weights": offered(one.parameters, one.digest, f"the weights of {one.title}", keep=one.keep),
        "layout": one.layout,
        "vocabulary": offered(words, digest, f"the vocabulary of {one.title}", keep=one.keep),
    }


def _likeliest(probabilities: np.ndarray) -> list[tuple[int, float]]:
    best = np.argsort(-probabilities, kind="stable")[:_CONFIRMED]
    return [(int(word), float(probabilities[word])) for word in best]


@kept(4)
def _words(vocab: Vocab) -> tuple[bytes, str]:
    return named(json.dumps({"tables": tokenizer_tables(), "itos": vocab.itos}, separators=(",", ":")).encode())
