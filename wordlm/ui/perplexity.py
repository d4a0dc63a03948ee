"""What the Perplexity page draws: losses of typed probabilities, a text shaded by surprisal."""

import html
import math
from contextlib import suppress

import numpy as np
import pandas as pd
import streamlit as st

from wordlm.loss import TypedProbabilities, losses_of_probabilities, perplexity, read_probabilities
from wordlm.numbers import count, percent, short, written, written_exp
from wordlm.scoring import WordScores
from wordlm.text import SPECIALS, UNK, Vocab, spaces_between
from wordlm.ui import address
from wordlm.ui.charts import ACCENT
from wordlm.ui.escape import as_sentence, for_markdown
from wordlm.ui.glossary import say

MOST_WORDS = 10_000


def read_typed(typed: str, logarithms: bool) -> TypedProbabilities | None:
    """Read the typed probabilities and say how, where that is not plain; None, with the reason said, where not."""
    try:
        reading = read_probabilities(typed, logarithms=logarithms)
    except ValueError as error:
        hint = ""
        with suppress(ValueError):
            read_probabilities(typed, logarithms=not logarithms)
            hint = (
                " All entries are from 0 to 1: are they probabilities? Then switch the control above off."
                if logarithms
                else " All entries are at most 0: are they log-probabilities? Then switch the control above on."
            )
        st.error(as_sentence(error) + for_markdown(hint))
        return None
    if reading.said:
        st.info(for_markdown(reading.said))
    return reading


def measures_row(losses: np.ndarray) -> None:
    """Draw cross-entropy in nats and bits, perplexity and geometric mean of some losses."""
    mean = float(losses.astype(float).mean())
    for column, (label, value) in zip(
        st.columns(4),
        [
            ("Cross-entropy, nats per target", written(mean)),
            ("Cross-entropy, bits per target", written(mean / math.log(2))),
            ("Perplexity", written_exp(mean)),
            ("Geometric mean probability", written_exp(-mean)),
        ],
        strict=True,
    ):
        column.metric(label, value)


def one_more_prediction(losses: np.ndarray) -> None:
    """Let the visitor add one prediction and see how it moves the whole."""
    added = address.stops("added", "Add one more prediction with probability", format_func=short)
    before, after = float(losses.mean()), float(np.append(losses, losses_of_probabilities([added])).mean())
    say(
        f"With it the cross-entropy goes from {written(before)} to {written(after)} nats, the perplexity from "
        f"{written_exp(before)} to {written_exp(after)}."
    )
    if added == 0:
        say(
            "One target to which the model gave probability 0 makes the perplexity of the whole infinite, however "
            "good the rest is."
        )


def shaded_words(text: str, typed: list[str], ids: list[int], losses: np.ndarray) -> None:
    """Draw the text with each word tinted by its surprisal, from none at 0 to full at 10 nats.

    It runs in its own direction and keeps its spaces and paragraphs, so words are no islands of their own direction.
    """
    words = []
    for space, word, id_, loss in zip(spaces_between(text, typed), typed, ids, losses, strict=True):
        share = min(45, round(4.5 * float(loss)))  # no deeper, so that the words stay readable
        style = f"background: color-mix(in srgb, {ACCENT} {share}%, transparent)"
        sort = ' class="unknown"' if id_ == UNK else ""
        words.append(f'{space}<span{sort} style="{style}" title="{written(loss, 3)} nats">{html.escape(word)}</span>')
    st.html(f'<div class="surprisal" dir="auto">{"".join(words).lstrip()}</div>')


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
            f"{count(unknown)} of {count(len(ids))} words ({percent(unknown / len(ids))}) are unknown to the "
            f"vocabulary. Each is scored as {SPECIALS[UNK]}, which can be easy to expect, so the loss says less about "
            "such a text."
        )


def other_units(total_nats: float, typed: list[str]) -> pd.DataFrame:
    """Return one total loss shared out over other units: `shared out over`, `number`, `perplexity`."""
    letters = sum(map(len, typed))
    st.html(
        f"<p>The words scored above cost {written(total_nats, 1)} nats in all. Shared out over other units, the same "
        "total gives another perplexity; another tokenizer would change the total, too.</p>"
    )
    return pd.DataFrame(
        [
            ("words and marks of this app's tokenizer", len(typed), perplexity(total_nats / len(typed))),
            ("characters of these", letters, perplexity(total_nats / letters)),
        ],
        columns=["shared out over", "number", "perplexity"],
    )
