"""The heads' picture on the screen: what `heads.js` is given, and what a press in it chooses."""

import base64
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st

from wordlm.numbers import numbered
from wordlm.text import UNK, EncodedPrompt
from wordlm.ui.browser.carrying.components import fetched_component
from wordlm.ui.browser.carrying.messages import Chosen, DrawnNext, HeadsData, Place
from wordlm.ui.drawing.charts import head_hue


@dataclass(frozen=True)
class Look:
    """How the picture is looked at."""

    query: int
    """Index of the word that looks, among the kept positions."""
    head: int
    key: int
    form: str
    scale: str
    first: str
    large: bool = False
    """For a projector."""


@dataclass(frozen=True)
class Pane:
    """One square of the picture: a head, or the difference of two."""

    title: str
    hue: str
    negative: str | None = None
    """The hue of what is below 0, for a difference."""
    on: bool = True


def panes_of(heads: int, off: tuple[int, ...] = ()) -> list[Pane]:
    """Return a pane a head, in its hue everywhere."""
    return [Pane(f"head {head + 1}", head_hue(head), on=head not in off) for head in range(heads)]


def heads_named(heads: Iterable[int]) -> str:
    """Return "no head", "head 1", "heads 1 and 3" or "heads 1, 2 and 3" for heads counted from 0."""
    numbers = [head + 1 for head in heads]
    return numbered("head", numbers) if numbers else "no head"


def without_heads(off: Iterable[int]) -> str:
    """Return "without head 1", or "with no head off" where there is none to be without."""
    return f"without {heads_named(off)}" if off else "with no head off"


def heads_picture(
    prompt: EncodedPrompt,
    weights: np.ndarray,
    panes: list[Pane],
    look: Look,
    on_said: Callable[[Chosen], None],
    *,
    key: str = "heads",
    words: pd.DataFrame | None = None,
    scores: np.ndarray | None = None,
    beyond: np.ndarray | None = None,
    switches: bool = False,
    compared: bool = False,
) -> None:
    """Draw where each head looks; a press calls `on_said` with all that is chosen then. `key` names one of several.

    `weights` (P, n, n) are the rows drawn, a pane each. `words`, the likeliest next ones, have `word` and
    `probability`, or `before` and `after` where there are two to set beside each other. `scores` (P, query + 1) are
    those of the query before the softmax; `beyond` (P,) what its row gives to words that are not in the picture. With
    `switches` each head can be switched off. Of two `compared` models the panes are a head of each and their
    difference.
    """
    n = len(prompt.ids)
    lower = np.tril_indices(n)
    packed = np.ascontiguousarray(weights[:, lower[0], lower[1]], np.float32)
    last = look.query == n - 1
    query: Place = {"label": prompt.labels[look.query], "position": prompt.positions[look.query]}
    data: HeadsData = {
        "chosen": {
            "query": None if last else query,
            "head": look.head,
            "off": [place for place, pane in enumerate(panes) if not pane.on],
            "form": look.form,
            "scale": look.scale,
            "first": look.first,
        },
        "words": [
            {
                "label": prompt.labels[i],
                "position": prompt.positions[i],
                "typed": prompt.typed[i],
                "token": prompt.tokens[i],
                "id": prompt.ids[i],
                "sort": "unknown" if prompt.ids[i] == UNK else "special" if prompt.positions[i] == 0 else "",
            }
            for i in range(n)
        ],
        "heads": [{"title": pane.title, "hue": pane.hue, "on": pane.on, "negative": pane.negative} for pane in panes],
        "direction": prompt.direction,
        "rows": base64.b64encode(packed.tobytes()).decode(),
        "scores": None if scores is None else np.round(scores, 4).tolist(),
        "beyond": None if beyond is None else np.round(beyond, 4).tolist(),
        "reads": len(prompt.up_to(look.query).ids),
        "query": look.query,
        "head": look.head,
        "key": min(look.key, look.query),
        "form": "lines" if look.form == "lines" else "cells",
        "scale": look.scale,
        "first": look.first,
        "large": look.large,
        "switches": switches,
        "compared": compared,
        "without": heads_named(place for place, pane in enumerate(panes) if not pane.on),
        "next": [] if words is None else _next(words),
    }

    _registered()(key, data, on_said)


def _next(words: pd.DataFrame) -> list[DrawnNext]:
    after = words["after"].tolist() if "after" in words else [None] * len(words)
    before = words["before" if "before" in words else "probability"].tolist()
    columns = zip(words["word"], before, after, strict=True)
    return [{"word": word, "before": before, "after": changed} for word, before, changed in columns]


@st.cache_resource(show_spinner=False)
def _registered() -> Callable:
    return fetched_component(Path(__file__).with_suffix(".js"))
