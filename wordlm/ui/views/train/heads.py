"""How the heads of a training form."""

import functools
from dataclasses import replace

import numpy as np
import streamlit as st

from wordlm.jobs import Job, last_row_table
from wordlm.numbers import counted
from wordlm.text import EncodedPrompt
from wordlm.ui.browser.model.layout import layout_of
from wordlm.ui.browser.pictures.block import block_picture, material
from wordlm.ui.browser.pictures.heads import Look, heads_picture, panes_of
from wordlm.ui.drawing.sentences import heads_in_words, say_what_was_read
from wordlm.ui.drawing.tables import number_table
from wordlm.ui.frame import controls, widgets
from wordlm.ui.frame.glossary import explain
from wordlm.ui.frame.numbers_behind import in_numbers
from wordlm.ui.state.own_models import REPLAY


def draw_heads(job: Job, live: bool) -> None:
    """Draw where the heads of a training look, after each validation; `live` while it goes on."""
    prompt, steps = job.order.prompt, sorted(job.weights)
    st.subheader("How do the heads form?")
    explain(
        "The attention weights of your prompt, as it was when you pressed Train, each word read as the last one. A new "
        "model's come from random numbers."
    )
    say_what_was_read(prompt)
    kept = job.result["selected_step"] if job.result else None
    step = steps[-1] if kept is None else kept
    through = False
    if not live:
        with st.container(horizontal=True, vertical_alignment="center"):
            if len(steps) > 1:
                step = st.select_slider("After so many updates", steps, value=step, key=REPLAY, persist_state="session")
            through = widgets.toggle("through", "Show the whole model")
    st.caption(f"After {counted(step, 'update')}.{_is_it_kept(step, kept)}")
    weights, look = job.weights[step], look_at_last(job.weights[step], prompt)
    if through:
        _draw_whole_model(job, step, look)
    else:
        heads_picture(
            prompt, weights, panes_of(len(weights)), look, functools.partial(controls.choose_in_picture, but=("off",))
        )
        heads_in_words(weights[:, -1], prompt)
    if not live:
        alt = "Weights of the last word, one row a head"
        in_numbers("last_row", lambda: number_table(last_row_table(job, step), index=True, alt=alt))


def _draw_whole_model(job: Job, step: int, look: Look) -> None:
    """Draw the whole model as it was after so many updates; the text is the one that the training followed."""
    prompt, vocab, model = job.order.prompt, job.order.corpus.vocab, job.model
    if model is None:  # it has not ended
        return
    then = material(f"after {counted(step, 'update')}", job.snapshots.read(step), layout_of(model), vocab)
    text = " ".join(prompt.text_typed[1:])
    alone = look.query == len(prompt.ids) - 1
    weights = job.weights[step][:, -1] if alone else None
    chosen_here = functools.partial(controls.choose_in_picture, but=("off", "form", "beside", "prompt"))
    block_picture([then], text, prompt, look, chosen_here, weights=weights, follows=False)


def look_at_last(weights: np.ndarray, prompt: EncodedPrompt) -> Look:
    """Return how the heads' weights (H, n, n) are looked at."""
    head = controls.held_head(len(weights))
    query = controls.held_query(prompt)
    return replace(controls.held_look(prompt, query, weights[head, query]), head=head)


def _is_it_kept(step: int, kept: int | None) -> str:
    if kept is None:
        return ""
    if step == kept:
        return " This is the model that is kept."
    return f" Not the model that is kept: that is the one after {counted(kept, 'update')}."
