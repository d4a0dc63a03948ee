"""What the Switch-heads-off page says and draws."""

from typing import get_args

import pandas as pd
import streamlit as st

from wordlm.ablation import Fill, PromptEffect, stored_entry, subset_losses, worth_together
from wordlm.data import DataError
from wordlm.numbers import signed, written
from wordlm.text import Vocab
from wordlm.ui.escape import as_sentence, for_html, label_html
from wordlm.ui.glossary import say
from wordlm.ui.resources import Checkpoint, ablation_of, data_is_present, mean_messages_of, model_of, story_windows

WORTH_HELP = {
    "zero": "Increase of the test loss, in nats per token, with zeros in the place of this head alone",
    "mean": "Increase of the test loss, in nats per token, with its mean message in the place of this head alone",
    "Shapley, zero": "The head's share in lowering the loss, averaged over all orders of switching heads on",
    "Shapley, mean": "The same with mean messages for the heads that are off",
    "message norm": "In your prompt: the length of what the head adds to the last word",
    "largest weight": "In your prompt: the largest weight in the head's last row",
}


def fills_of(chosen: Checkpoint) -> tuple[Fill, ...]:
    """Return what a switched-off head of this checkpoint can give: its mean message only where that was measured."""
    return get_args(Fill) if ablation_of(chosen) is not None else ("zero",)


def say_not_measured(chosen: Checkpoint) -> None:
    """Say why an own model has no losses on the test set."""
    st.info(
        f"This was measured for the bundled models; {chosen.title} is your own. Download its file on the Train page, "
        "put it in a folder, and `python -m wordlm.ablate --heads-dir FOLDER` measures it."
    )


def heads_named(off: tuple[int, ...]) -> str:
    """Return "no head", "head 1" or "heads 1, 3"."""
    if not off:
        return "no head"
    return f"head{'s' * (len(off) > 1)} {', '.join(str(head + 1) for head in off)}"


def without_heads(off: tuple[int, ...]) -> str:
    """Return "without head 1", or "with no head off" where there is none to be without."""
    return f"without {heads_named(off)}" if off else "with no head off"


def say_none_is_off() -> None:
    """Say that before and after are the same reading, and how to change that."""
    st.info("No head is switched off, so before and after are the same. Choose a head above.")


def say_next_word_effect(effect: PromptEffect, vocab: Vocab, without: str) -> None:
    """Say which next word is likeliest before and after."""
    before, after = int(effect.before.argmax()), int(effect.after.argmax())
    st.html(
        f"<p>With all heads the likeliest next word is <b>{for_html(vocab.itos[before])}</b>, "
        f"{written(effect.before[before], 3)}; {without} it is <b>{for_html(vocab.itos[after])}</b>, "
        f"{written(effect.after[after], 3)}.</p>"
    )


def say_loss_effect(losses: pd.DataFrame, without: str) -> None:
    """Say how the mean surprisal changes, and for which word most."""
    most = int(losses["change"].abs().idxmax())
    said = (
        f"It changes most for <b>{label_html(losses['word'][most])}</b>, by {signed(losses['change'][most])}."
        if losses["change"].any()
        else "No word changes."
    )
    st.html(
        f"<p>Mean surprisal: {written(losses['before'].mean())} nats per word with all heads, "
        f"{written(losses['after'].mean())} "
        f"{without}. {said}</p>"
    )


def say_weight_is_not_influence(values: pd.DataFrame) -> None:
    """Say which head looks most sharply and which one matters most."""
    if len(values) == 1:
        return
    sharp, worth = values["largest weight"].idxmax(), values["zero"].idxmax()
    say(
        f"In your prompt {sharp} looks most sharply, at {written(values['largest weight'].max(), 3)}; on the test set "
        f"{worth} "
        f"is worth most, {written(values['zero'].max())} nats per token. "
        + ("Here they are the same head." if sharp == worth else "Weight and influence are not the same.")
    )


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


def recompute(chosen: Checkpoint, fill: Fill, off: tuple[int, ...]) -> None:
    """Offer to measure the chosen heads anew on the test stories, where they are, and compare with what is stored."""
    entry = stored_entry(ablation_of(chosen), fill, off)
    if entry is not None:
        low, high = entry["interval"]
        say(
            f"Stored for {heads_named(off)} off, {fill}: test loss {written(entry['loss'])}, an increase of "
            f"{signed(entry['increase'])} ({signed(low)} to {signed(high)})."
        )
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
        losses = subset_losses(model_of(chosen), contexts, targets, [off], {fill: mean}, bar.progress)
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
