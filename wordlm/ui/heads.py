"""The heads' picture on the screen: what `heads.js` is given, and what a press in it chooses."""

import base64
from collections.abc import Callable
from dataclasses import dataclass
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
    off: tuple[int, ...]
    """Heads that are switched off."""
    large: bool
    """For a projector."""


def heads_picture(
    prompt: EncodedPrompt,
    weights: np.ndarray,
    scores: np.ndarray,
    beyond: np.ndarray,
    look: Look,
    words: pd.DataFrame,
    on_chosen: Callable[[dict[str, Any]], None],
) -> None:
    """Draw where each head looks and the likeliest next words; a press calls `on_chosen` with what it chooses.

    `weights` (H, n, n) are the rows drawn; `scores` (H, query + 1) those of the query before the softmax; `beyond` (H,)
    what its row gives to words that are not in the picture; `words` as `next_words` or `next_word_effect` make them.
    """
    n = len(prompt.ids)
    lower = np.tril_indices(n)
    packed = np.ascontiguousarray(weights[:, lower[0], lower[1]], np.float32)
    changed = "after" in words
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
        "heads": [{"hue": head_hue(head), "on": head not in look.off} for head in range(len(weights))],
        "rows": base64.b64encode(packed.tobytes()).decode(),
        "scores": np.round(scores, 4).tolist(),
        "beyond": np.round(beyond, 4).tolist(),
        "reads": len(prompt.up_to(look.query).ids),
        "query": look.query,
        "head": look.head,
        "key": min(look.key, look.query),
        "form": look.form,
        "scale": look.scale,
        "first": look.first,
        "large": look.large,
        "off": " and ".join(f"head {head + 1}" for head in look.off),
        "next": [
            {"word": word, "before": float(before), "after": float(after) if changed else None}
            for word, before, after in zip(
                words["word"],
                words["before"] if changed else words["probability"],
                words["after"] if changed else words["probability"],
                strict=True,
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
