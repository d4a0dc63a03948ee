"""The heads' picture on the screen: what `heads.js` is given, and what a press in it chooses."""

import base64
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from wordlm.text import UNK, EncodedPrompt
from wordlm.ui.charts import head_hue

_HERE = Path(__file__)


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


def heads_picture(
    prompt: EncodedPrompt,
    weights: np.ndarray,
    panes: list[Pane],
    look: Look,
    words: pd.DataFrame,
    on_chosen: Callable[[dict[str, Any]], None],
    *,
    scores: np.ndarray | None = None,
    beyond: np.ndarray | None = None,
    compared: bool = False,
) -> None:
    """Draw where each head looks and the likeliest next words; a press calls `on_chosen` with what it chooses.

    `weights` (P, n, n) are the rows drawn, a pane each; `words` has `word` and `before`, and `after` where there is
    another probability to set beside it. `scores` (P, query + 1) are those of the query before the softmax; `beyond`
    (P,) what its row gives to words that are not in the picture. Of two `compared` models the panes are a head of each
    and their difference.
    """
    n = len(prompt.ids)
    lower = np.tril_indices(n)
    packed = np.ascontiguousarray(weights[:, lower[0], lower[1]], np.float32)
    changed = "after" in words
    off = [pane.title for pane in panes if not pane.on]
    data = {
        "words": [
            {
                "label": prompt.labels[i],
                "typed": prompt.typed[i],
                "token": prompt.tokens[i],
                "id": prompt.ids[i],
                "sort": "unknown" if prompt.ids[i] == UNK else "special" if prompt.positions[i] == 0 else "",
            }
            for i in range(n)
        ],
        "heads": [asdict(pane) for pane in panes],
        "direction": prompt.direction,
        "rows": base64.b64encode(packed.tobytes()).decode(),
        "scores": None if scores is None else np.round(scores, 4).tolist(),
        "beyond": None if beyond is None else np.round(beyond, 4).tolist(),
        "reads": len(prompt.up_to(look.query).ids),
        "query": look.query,
        "head": look.head,
        "key": min(look.key, look.query),
        "form": look.form,
        "scale": look.scale,
        "first": look.first,
        "large": look.large,
        "switches": not compared,
        "compared": compared,
        "off": " and ".join(off),
        "next": [
            {"word": word, "before": float(before), "after": float(after) if changed else None}
            for word, before, after in zip(
                words["word"], words["before"], words["after"] if changed else words["before"], strict=True
            )
        ],
    }

    def chosen() -> None:
        if (came := st.session_state["heads"].chosen) is not None:
            on_chosen(dict(came))

    _registered()(key="heads", data=data, on_chosen_change=chosen)


@st.cache_resource(show_spinner=False)
def _registered() -> Callable:
    return st.components.v2.component(
        "heads",
        html='<div class="heads"></div>',
        css=_HERE.with_suffix(".css").read_text(encoding="utf-8"),
        js=_HERE.with_suffix(".js").read_text(encoding="utf-8"),
    )
