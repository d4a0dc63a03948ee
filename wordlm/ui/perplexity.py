"""What the Perplexity page draws: losses of typed probabilities, a text shaded by surprisal."""

import math

import numpy as np
import pandas as pd
import streamlit as st

from wordlm.measures import losses_of_probabilities, perplexity
from wordlm.scoring import WordScores
from wordlm.text import SPECIALS, UNK, Vocab
from wordlm.ui.charts import ACCENT
from wordlm.ui.escape import for_html
from wordlm.ui.glossary import say

EXAMPLE_PROBABILITIES = "0.5, 0.25, 0.125"
EXAMPLE_TEXT = (
    "Once upon a time there was a little boy named Tom. Tom had a red boat. One day he took the boat to the river. "
    "The river was cold and fast. The boat went away, and Tom was sad. Then a big bird came and brought it back."
)
MOST_WORDS = 10_000


def in_words(loss: float) -> str:
    """Return a loss in nats with four decimals, or "infinite"."""
    return "infinite" if math.isinf(loss) else f"{loss:.4f}"


def measures_row(losses: np.ndarray) -> None:
    """Draw cross-entropy in nats and bits, perplexity and geometric mean of some losses."""
    mean = float(losses.astype(float).mean())
    for column, (label, value) in zip(
        st.columns(4),
        [
            ("Cross-entropy, nats per target", in_words(mean)),
            ("Cross-entropy, bits per target", in_words(mean / math.log(2))),
            ("Perplexity", in_words(perplexity(mean))),
            ("Geometric mean probability", f"{math.exp(-mean):.4f}"),
        ],
        strict=True,
    ):
        column.metric(label, value)


def one_more_prediction(probabilities: list[float]) -> None:
    """Let the visitor add one prediction and see how it moves the whole."""
    added = st.select_slider(
        "Add one more prediction with probability",
        [0.0, 1e-6, 1e-5, 1e-4, 0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 1.0],
        value=0.001,
        format_func=lambda p: f"{p:g}",
        key="added",
        bind="query-params",
    )
    before, after = (float(losses_of_probabilities(p).mean()) for p in (probabilities, [*probabilities, added]))
    say(
        f"With it the cross-entropy goes from {in_words(before)} to {in_words(after)} nats, the perplexity from "
        f"{in_words(perplexity(before))} to {in_words(perplexity(after))}."
    )
    if added == 0:
        say(
            "One target to which the model gave probability 0 makes the perplexity of the whole infinite, however "
            "good the rest is."
        )


def shaded_words(typed: list[str], ids: list[int], losses: np.ndarray) -> None:
    """Draw the text with each word tinted by its surprisal, from none at 0 to full at 10 nats."""
    words = []
    for word, id_, loss in zip(typed, ids, losses, strict=True):
        share = min(45, round(4.5 * float(loss)))  # no deeper, so that the words stay readable
        style = f"background: color-mix(in srgb, {ACCENT} {share}%, transparent)"
        sort = ' class="unknown"' if id_ == UNK else ""
        words.append(f'<span{sort} style="{style}" title="{loss:.3f} nats">{for_html(word)}</span>')
    st.html(f'<div class="surprisal">{" ".join(words)}</div>')


def word_score_table(typed: list[str], ids: list[int], scores: WordScores, vocab: Vocab) -> pd.DataFrame:
    """Return one row per word: `word` with its place, `token`, `probability`, `rank`, `loss, nats`, `unknown`."""
    return pd.DataFrame(
        {
            "word": [f"{place} · {word}" for place, word in enumerate(typed, 1)],
            "token": vocab.decode(ids),
            "probability": np.exp(-scores.losses),
            "rank": scores.ranks,
            "loss, nats": scores.losses,
            "unknown": np.array(ids) == UNK,
        }
    )


def model_table(scores: dict[str, WordScores]) -> pd.DataFrame:
    """Return cross-entropy and perplexity of the text for each model."""
    return pd.DataFrame(
        [
            (name, s.cross_entropy, s.cross_entropy / math.log(2), perplexity(s.cross_entropy))
            for name, s in scores.items()
        ],
        columns=["model", "cross-entropy, nats", "cross-entropy, bits", "perplexity"],
    )


def disagreement_table(typed: list[str], scores: dict[str, WordScores], count: int = 15) -> pd.DataFrame:
    """Return the words on whose surprisal the models differ most: each model's loss in nats, and the spread."""
    losses = np.stack([s.losses for s in scores.values()])  # (models, n)
    spread = losses.max(0) - losses.min(0)
    top = np.argsort(-spread, kind="stable")[:count]
    table = pd.DataFrame({"word": [f"{i + 1} · {typed[i]}" for i in top]})
    for name, row in zip(scores, losses[:, top], strict=True):
        table[name] = row
    table["spread"] = spread[top]
    return table


def warn_of_unknown(ids: list[int]) -> None:
    """Warn with the share of unknown words; each scores the `<UNK>` target."""
    unknown = ids.count(UNK)
    if unknown:
        st.warning(
            f"{unknown:,} of {len(ids):,} words ({100 * unknown / len(ids):.1f} %) are unknown to the vocabulary. Each "
            f"is scored as {SPECIALS[UNK]}, which can be easy to expect, so the loss says less about such a text."
        )


def other_units(total_nats: float, typed: list[str]) -> pd.DataFrame:
    """Return one total loss shared out over other units: `shared out over`, `number`, `perplexity`."""
    letters = sum(map(len, typed))
    st.html(
        f"<p>The words scored above cost {total_nats:.1f} nats in all. Shared out over other units, the same total "
        "gives another perplexity; another tokenizer would change the total, too.</p>"
    )
    return pd.DataFrame(
        [
            ("words and marks of this app's tokenizer", len(typed), perplexity(total_nats / len(typed))),
            ("characters of these", letters, perplexity(total_nats / letters)),
        ],
        columns=["shared out over", "number", "perplexity"],
    )
