"""What the Perplexity page draws: losses of typed probabilities, a text shaded by surprisal."""

import html
import math
from contextlib import suppress

import numpy as np
import pandas as pd
import streamlit as st

from wordlm.loss import TypedProbabilities, losses_of_probabilities, probability_table, read_probabilities
from wordlm.numbers import count, percent, short, written, written_exp
from wordlm.scoring import WordScores, disagreement_table, model_table, unit_table, word_score_table
from wordlm.text import SPECIALS, UNK, Vocab, spaces_between
from wordlm.ui import limits
from wordlm.ui.drawing.charts import ACCENT, MENU, bars_under_line, horizontal_bars
from wordlm.ui.drawing.escape import as_sentence, for_markdown
from wordlm.ui.drawing.figure import PlainFigure
from wordlm.ui.drawing.tables import number_table
from wordlm.ui.frame import widgets
from wordlm.ui.frame.export import Collected
from wordlm.ui.frame.glossary import explain, say
from wordlm.ui.frame.numbers_behind import in_numbers


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
    measures = {
        "Cross-entropy, nats per target": written(mean),
        "Cross-entropy, bits per target": written(mean / math.log(2)),
        "Perplexity": written_exp(mean),
        "Geometric mean probability": written_exp(-mean),
    }
    with st.container(horizontal=True, gap="medium"):
        for label, value in measures.items():
            st.metric(label, value, width="content")


TARGETS, SCORED = "The loss of each target and the running mean", "Probability, rank and loss of each word"
DIFFER, UNITS = "The words on which the models differ most", "The same total loss as perplexities over different units"


def draw_targets(reading: TypedProbabilities) -> None:
    """Draw the loss of each typed probability and how the mean moves with it."""
    if math.inf in reading.losses:
        say("A target with probability 0 has an infinite loss, so cross-entropy and perplexity are infinite.")
    table = probability_table(reading)
    st.plotly_chart(target_bars(table), key="targets", config=MENU, alt=TARGETS)
    in_numbers("targets", lambda: number_table(table, alt=TARGETS, decimals=4, limits=False))


def target_bars(table: pd.DataFrame) -> PlainFigure:
    """Draw a table of `probability_table`: a bar a target, and over them the mean of the losses so far."""
    given = table.iloc[:, 1]
    names = [f"{place} · {short(value)}" for place, value in zip(table["target"], given, strict=True)]
    # An infinite loss has no height; it is said in words.
    losses, means = (
        [value if math.isfinite(value) else None for value in table[column]]
        for column in ("loss, nats", "running mean, nats")
    )
    return bars_under_line(names, ("loss, −ln p", losses), ("mean so far", means))


def one_more_prediction(losses: np.ndarray) -> None:
    """Let the visitor add one prediction and see how it moves the whole."""
    added = widgets.stops("added", "Add one more prediction with probability", format_func=short)
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


def at_most(words: list[str], ids: list[int]) -> tuple[list[str], list[int]]:
    """Return the first words of a text, as many as are scored, and say so where there are more."""
    if len(words) > (most := limits.SCORED_WORDS.most):
        st.warning(limits.SCORED_WORDS(len(words)))
    return words[:most], ids[:most]


def draw_scored(words: list[str], ids: list[int], scores: WordScores, vocab: Vocab) -> None:
    """Draw how each word was expected, as a table."""
    number_table(word_score_table(words, ids, scores, vocab), alt=SCORED)


def model_bars(table: pd.DataFrame) -> PlainFigure:
    """Draw the perplexities of a `model_table`."""
    return horizontal_bars(table["model"].tolist(), table["perplexity"].to_numpy(), "perplexity")


def say_best(table: pd.DataFrame) -> None:
    """Say which model of a `model_table` expects the text best, and which worst."""
    best, worst = table.loc[table["perplexity"].idxmin()], table.loc[table["perplexity"].idxmax()]
    say(
        f"{best['model']} expects the text best, perplexity {written(best['perplexity'])}; {worst['model']} worst, "
        f"{written(worst['perplexity'])}."
    )


def draw_disagreement(words: list[str], scores: dict[str, WordScores]) -> None:
    """Draw the words on which the models differ most, as a table."""
    explain("The loss of each word under each model, in nats, and how far the models lie apart.")
    number_table(disagreement_table(words, scores), alt=DIFFER)


def say_other_units(scores: WordScores, words: list[str]) -> None:
    """Say what the same total loss makes over other units."""
    table = unit_table(float(scores.losses.astype(float).sum()), words)
    (_, n, by_word), (_, letters, by_letter) = table.itertuples(index=False)
    say(
        f"The words above cost {written(scores.losses.astype(float).sum(), 1)} nats in all. Shared out over the "
        f"{count(n)} words and marks of this app, that is a perplexity of {written(by_word)}. Over their "
        f"{count(letters)} characters it is {written(by_letter)}; another tokenizer would change the total, too."
    )
    in_numbers("units", lambda: number_table(table, alt=UNITS, decimals=4))


def collect(
    reading: TypedProbabilities | None,
    words: list[str],
    ids: list[int],
    scores: dict[str, WordScores],
    name: str,
    vocab: Vocab,
) -> Collected:
    """Return all tables and pictures of the page; `name` is the chosen model's."""
    tables, figures = {}, {}
    if reading is not None:
        tables["Typed probabilities"] = probability_table(reading)
        figures["Typed probabilities"] = target_bars(tables["Typed probabilities"])
    if words:
        chosen, models = scores[name], model_table(scores)
        tables |= {
            "Words": word_score_table(words, ids, chosen, vocab),
            "Models": models,
            "Where the models differ most": disagreement_table(words, scores),
            "Other units": unit_table(float(chosen.losses.astype(float).sum()), words),
        }
        figures["Perplexity under each model"] = model_bars(models)
    return tables, figures


def warn_of_unknown(ids: list[int]) -> None:
    """Warn with the share of unknown words; each scores the `<UNK>` target."""
    unknown = ids.count(UNK)
    if unknown:
        st.warning(
            f"{count(unknown)} of {count(len(ids))} words ({percent(unknown / len(ids))}) are unknown to the "
            f"vocabulary. Each is scored as {SPECIALS[UNK]}, which can be easy to expect, so the loss says less about "
            "such a text."
        )
