"""What the Switch-heads-off page says and draws."""

from typing import get_args

import numpy as np
import pandas as pd
import streamlit as st

from wordlm.ablation import Fill, head_value_table, stored_entry, subset_losses, subset_table, worth_together
from wordlm.data import DataError
from wordlm.files import artifact
from wordlm.inspection import rows_as_last
from wordlm.numbers import counted, signed, written
from wordlm.row_measures import head_measures
from wordlm.ui.browser.pictures.heads import heads_named, without_heads
from wordlm.ui.drawing.charts import MENU, interval_points, paired_bars, paired_rows
from wordlm.ui.drawing.escape import as_sentence, label_html, word_html
from wordlm.ui.drawing.figure import PlainFigure
from wordlm.ui.drawing.sentences import check_strip
from wordlm.ui.drawing.tables import number_table
from wordlm.ui.frame import address, widgets
from wordlm.ui.frame.export import Collected
from wordlm.ui.frame.glossary import explain, say
from wordlm.ui.frame.numbers_behind import in_numbers
from wordlm.ui.state.resources import (
    Checkpoint,
    ablation_of,
    ablations,
    attention_of,
    data_is_present,
    inspection_of,
    mean_messages_of,
    measured_ablation_of,
    story_windows,
)

WORTH_HELP = {
    "nothing": "Increase of the test loss, in nats per token, with nothing in the place of this head alone",
    "average": "Increase of the test loss, in nats per token, with its average message in the place of this head alone",
    "Shapley, nothing": "The head's share in lowering the loss, averaged over all orders of switching heads on",
    "Shapley, average": "The same with average messages for the heads that are off",
    "message norm": "In your prompt: the length of what the head adds to the last word",
    "largest weight": "In your prompt: the largest weight in the head's last row",
}


FILL_NAMES: dict[Fill, str] = {"zero": "nothing", "mean": "its average message"}
"""What a switched-off head gives, in the words of the control."""


def choose_heads_off(chosen: Checkpoint, stored: dict | None) -> tuple[tuple[int, ...], Fill]:
    """Let the visitor switch heads off and say what they give instead; return the heads from 0, and that."""
    with st.container(key="heads_off", horizontal=True, vertical_alignment="bottom"):
        heads = [str(head + 1) for head in range(chosen.heads or 0)]
        # What is off on Explore is off here at first.
        first = [head for head in address.chosen("without") if head in heads]
        off = widgets.switches("off", "Heads that are on: press one to switch it off", heads, default=first)
        fill = widgets.segments(
            "fill",
            "What a head that is off gives instead",
            # The average was measured for the bundled models only.
            get_args(Fill) if stored is not None else ("zero",),
            format_func=FILL_NAMES.get,
            help="Nothing: zeros. Its average message: what the head says on average over all validation targets. "
            "That takes away what it says about this text and disturbs the rest less.",
        )
    return tuple(sorted(int(head) - 1 for head in off)), fill


def say_not_measured(chosen: Checkpoint) -> None:
    """Say why an own model has no losses on the test set."""
    st.info(
        f"This was measured for the bundled models; {chosen.title} is your own. Download its file on the Train page, "
        "put it in a folder, and `python -m wordlm.ablate --heads-dir FOLDER` measures it."
    )


NEXT_WORDS, SURPRISAL = "Probabilities of the next words", "Surprisal of each word, before and after"


def say_next_word_effect(words: pd.DataFrame, off: tuple[int, ...]) -> None:
    """Say which next word loses most and which gains most. `words` is of `next_word_effect`."""
    before, after = words.loc[words["before"].idxmax()], words.loc[words["after"].idxmax()]
    likeliest = f"{word_html(before['word'])}, {_chance(before['before'])}"
    if not off:
        st.html(f"<p>No head is switched off, so nothing changes. The likeliest next word is {likeliest}.</p>")
        return
    fallen, risen = words.loc[words["change"].idxmin()], words.loc[words["change"].idxmax()]
    moves = [
        f"{word_html(one['word'])} {verb} most, from {_chance(one['before'])} to {_chance(one['after'])}"
        for verb, one, moved in (("falls", fallen, fallen["change"] < 0), ("rises", risen, risen["change"] > 0))
        if moved
    ]
    stays = "stays" if after["word"] == before["word"] else "becomes"
    st.html(
        f"<p>{without_heads(off).capitalize()}, of the {counted(len(words), 'word')} shown, "
        f"{'; '.join(moves) or 'none changes'}. "
        f"The likeliest next word {stays} {word_html(after['word'])}, {_chance(after['after'])}.</p>"
    )


def _chance(probability: float) -> str:
    return written(probability, 3, limit=True)


def draw_next_words(words: pd.DataFrame, off: tuple[int, ...]) -> None:
    """Draw the likeliest next words before and after."""
    st.plotly_chart(next_word_picture(words, off), key="next_effect", config=MENU, alt=NEXT_WORDS)
    in_numbers("next_effect", lambda: number_table(words, alt=NEXT_WORDS))


def say_loss_effect(losses: pd.DataFrame, off: tuple[int, ...]) -> None:
    """Say how the mean surprisal changes, and for which word most. `losses` is of `loss_table`."""
    if losses.empty:
        return
    before, after = losses["before"].mean(), losses["after"].mean()
    if not losses["change"].any():
        st.html(f"<p>Mean surprisal: {written(before)} nats per word. No word changes.</p>")
        return
    most = int(losses["change"].abs().idxmax())
    st.html(
        f"<p>Mean surprisal: {written(before)} nats per word with all heads, {written(after)} {without_heads(off)}. "
        f"It changes most for <b>{label_html(losses['word'][most])}</b>, by {signed(losses['change'][most])}.</p>"
    )


def draw_losses(losses: pd.DataFrame, off: tuple[int, ...]) -> None:
    """Draw the surprisal of the prompt's words before and after."""
    if losses.empty:
        st.info("The prompt is empty, so it has no words to score. Type some words above.")
        return
    st.plotly_chart(loss_picture(losses, off), key="loss_effect", config=MENU, alt=SURPRISAL)
    explain("Surprisal is −ln of a word's probability after the words before it, in nats. Lower is better.")
    in_numbers("loss_effect", lambda: number_table(losses, alt=SURPRISAL, decimals=4))


def next_word_picture(words: pd.DataFrame, off: tuple[int, ...]) -> PlainFigure:
    """Draw a table of `next_word_effect` as pairs of bars."""
    labels = [f"{rank} · {word}" for rank, word in enumerate(words["word"], 1)]
    return paired_rows(labels, _before_and_after(words, off), "probability")


def loss_picture(losses: pd.DataFrame, off: tuple[int, ...]) -> PlainFigure:
    """Draw a table of `loss_table` as pairs of bars."""
    return paired_bars(losses["word"].tolist(), _before_and_after(losses, off), "surprisal, nats")


def worth_picture(values: pd.DataFrame) -> PlainFigure:
    """Draw a table of `head_value_table`: each increase with its interval."""
    groups = {
        "nothing instead": ("zero", "zero low", "zero high"),
        "its average message instead": ("mean", "mean low", "mean high"),
    }
    return interval_points(values, groups, "increase of the test loss, nats per token")


def _before_and_after(table: pd.DataFrame, off: tuple[int, ...]) -> dict[str, np.ndarray]:
    before = {"all heads": table["before"].to_numpy()}
    return before | {without_heads(off): table["after"].to_numpy()} if off else before


def worth_of(chosen: Checkpoint) -> tuple[pd.DataFrame, PlainFigure]:
    """Return what each head of a measured checkpoint is worth on the test set, as a table and as a picture."""
    return _worth(chosen, artifact("heads", "ablation.json").stat().st_mtime_ns)


@st.cache_resource(max_entries=32, show_spinner=False)
def _worth(chosen: Checkpoint, changed: int) -> tuple[pd.DataFrame, PlainFigure]:
    values = head_value_table(measured_ablation_of(chosen))
    return values, worth_picture(values)


def explain_worth(chosen: Checkpoint, stored: dict) -> None:
    """Say what was measured on the test set, and how."""
    measured = ablations()
    explain(
        f"How much the test loss of {chosen.name}, {written(stored['loss'])} nats per token, rises when one head is "
        f"off. It is exact over all {measured['targets']:,} targets of {measured['stories']} stories. The bars are "
        f"intervals: {measured['interval']}."
    )


def last_weights(chosen: Checkpoint, ids: tuple[int, ...]) -> np.ndarray:
    """Return where each head looks from the last word of a prompt, (H, n)."""
    return rows_as_last(attention_of(chosen), ids, 1)[:, 0]


def say_weight_is_not_influence(weights: np.ndarray, values: pd.DataFrame) -> None:
    """Say which head has the largest weight and which one matters most; `weights` (H, n) are those of the last word."""
    if len(values) == 1:
        return
    largest = weights.max(axis=1)
    sharp, worth = values.index[largest.argmax()], values["zero"].idxmax()
    say(
        f"In your prompt {sharp} has the largest weight, {_chance(largest.max())}; on the test set {worth} is worth "
        f"most, {written(values['zero'].max())} nats per token. "
        + ("Here they are the same head." if sharp == worth else "Weight and influence are not the same.")
    )


def in_words(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with its columns named as the control names what a head gives."""
    return table.rename(columns=lambda name: name.replace("zero", "nothing").replace("mean", "average"))


def worth_table(chosen: Checkpoint, stored: dict, ids: tuple[int, ...]) -> pd.DataFrame:
    """Return what each head is worth on the test set, and how strongly it looks in the prompt."""
    values, seen = head_value_table(stored), inspection_of(chosen, ids)
    values["message norm"] = head_measures(attention_of(chosen), seen)["message norm"].to_numpy()
    values["largest weight"] = seen.weights[:, -1].max(axis=1)
    return in_words(values)


def draw_worth(chosen: Checkpoint, stored: dict, ids: tuple[int, ...]) -> None:
    """Draw what each head is worth as a table, with the checks of the weights in it."""
    table = worth_table(chosen, stored, ids)
    number_table(table, index=True, alt="What each head is worth", decimals=4, help=WORTH_HELP)
    check_strip(inspection_of(chosen, ids).checks)


def draw_subsets(stored: dict) -> None:
    """Draw the loss with each measured set of heads off."""
    explain("Every set of heads." if stored["heads"] <= 4 else "No head, each head, and all heads off.")
    number_table(in_words(subset_table(stored)), alt="Test loss for each set of heads off", decimals=4)


def collect(
    words: pd.DataFrame, losses: pd.DataFrame, off: tuple[int, ...], chosen: Checkpoint, ids: tuple[int, ...]
) -> Collected:
    """Return all tables and pictures of the page."""
    tables = {"Next words before and after": words, "Surprisal before and after": losses}
    figures = {
        "Next words before and after": next_word_picture(words, off),
        "Surprisal before and after": loss_picture(losses, off),
    }
    stored = ablation_of(chosen)
    if stored is not None:
        tables["What each head is worth"] = worth_table(chosen, stored, ids)
        tables["Sets of heads"] = in_words(subset_table(stored))
        figures["Increase of the test loss"] = worth_of(chosen)[1]
    return tables, figures


def say_worth_is_given_the_others(stored: dict) -> None:
    """Say that a head's worth is measured with the others on, so that single increases do not add up."""
    if stored["heads"] == 1:
        return
    together = worth_together(stored)
    said = (
        f"A head's increase is its worth given the others, which stay on. The {stored['heads']} single increases add "
        f"up to {written(together.singles, 3)}; with all heads off the loss rises by {written(together.all_off, 3)}. "
    )
    if together.singles < together.all_off:
        said += "The sum is smaller, since the heads that stay make up for part of what is lost. "
    if "shapley_zero" in stored:
        said += f"The Shapley values share out the whole: they add up to {written(sum(stored['shapley_zero']), 3)}."
    say(said)


def say_stored(stored: dict, fill: Fill, off: tuple[int, ...]) -> None:
    """Say what the chosen heads are worth together on the test set, where that was measured."""
    entry = stored_entry(stored, fill, off)
    if entry is None:
        say(f"On the test set, {heads_named(off)} off together were not measured.")
        return
    low, high = entry["interval"]
    change = f" That is {signed(entry['increase'])}, 95\u00a0% interval {signed(low)} to {signed(high)}." if off else ""
    say(f"On the test set the loss is {written(entry['loss'])} nats per token {without_heads(off)}.{change}")


def recompute(chosen: Checkpoint, fill: Fill, off: tuple[int, ...]) -> None:
    """Offer to measure the chosen heads anew on the test stories, where they are, and compare with what is stored."""
    entry = stored_entry(measured_ablation_of(chosen), fill, off)
    if not data_is_present():
        st.caption(
            "The test stories are not on this machine, so the stored numbers cannot be measured again here. "
            "`python -m wordlm.prepare_data --profile dgx` brings them."
        )
        return
    if st.button("Measure again on all test targets"):
        try:
            contexts, targets = story_windows()["test"]
        except DataError as error:
            st.error(as_sentence(error))
            return
        mean = mean_messages_of(chosen) if fill == "mean" else None
        bar = st.progress(0.0, "Scoring the test targets …")

        def show(share: float) -> None:
            bar.progress(share)

        losses = subset_losses(attention_of(chosen), contexts, targets, [off], {fill: mean}, show)
        bar.empty()
        loss = float(losses[fill, off].double().mean())
        said = f"Measured now: {loss:.6f} nats per token over {len(targets):,} targets."
        if entry is None:
            st.success(f"{said} This set of heads was not stored.")
        elif abs(loss - entry["loss"]) < 1e-5:
            st.success(f"{said} It agrees with the stored {entry['loss']:.6f}.")
        else:
            st.error(
                f"{said} It differs from the stored {entry['loss']:.6f}: the parameters or the stories are others."
            )
