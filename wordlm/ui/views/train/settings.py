"""How to train, on what device, and how long it will take."""

import math

import streamlit as st

from wordlm.data import Corpus, make_all_windows
from wordlm.jobs import Order, validation_sample
from wordlm.numbers import counted, duration
from wordlm.text import encode_prompt
from wordlm.training import TrainConfig, choose_device
from wordlm.ui.frame import widgets
from wordlm.ui.frame.controls import choose_model
from wordlm.ui.frame.glossary import explain
from wordlm.ui.state.resources import MODELS
from wordlm.ui.views.train.stories import SMOKE, SUBSET, TEXT
from wordlm.ui.views.train.trainer import trainer
from wordlm.variants import Variant


def choose_settings() -> tuple[str, TrainConfig]:
    """Let the visitor choose a model and how it is trained."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        model = choose_model("trained", "Heads of the new model, or the MLP (no attention)", MODELS)
        steps = int(widgets.number("steps", "Steps (updates)", width=220))
    with st.expander("Batch size, learning rate, seed and more"):
        left, middle, right = st.columns(3)
        batch = int(widgets.number("batch", "Batch size (targets an update)", place=left))
        seed = int(widgets.number("train_seed", "Seed of start and batches", place=left))
        rate = widgets.number("rate", "Learning rate", place=middle, format="%.5f")
        decay = widgets.number("decay", "Weight decay", place=middle, format="%.4f")
        validations = widgets.number("validations", "Validations on the way", place=right)
        with right:
            precision = widgets.segments(
                "precision",
                "Precision",
                help="bf16 computes the matrix products with fewer digits: faster where the processor has it.",
            )
    every = math.ceil(steps / validations)
    return model, TrainConfig(steps, batch, rate, decay, seed, every, precision)


def order_of(model: str, config: TrainConfig, corpus: Corpus, text: str) -> Order:
    """Return what Train would ask for."""
    return Order(Variant.parse(model), config, corpus, _source_of(corpus), encode_prompt(text, corpus.vocab))


def _source_of(corpus: Corpus) -> str:
    return {"smoke": SMOKE, "dgx": SUBSET}.get(corpus.profile, TEXT)


def say_device() -> None:
    """Say what trains, and why."""
    device, reason = choose_device()
    st.caption(
        f"It runs on the machine of this app, on its {str(device).upper()}: {reason}. "
        "One training at a time; the pages go on answering meanwhile."
    )


def say_duration(order: Order) -> None:
    """Say how long the training will take, by a few updates made just now, or soon, where others wait for theirs."""
    busy = bool(trainer().ahead_of(None))
    with st.spinner("Measuring a few updates …"):
        pace = trainer().pace(order)
    if pace is None:
        _say_duration_soon(order)
        return
    config, (update, validation) = order.config, pace
    validations = math.ceil(config.steps / config.eval_every)
    _, targets = validation_sample(make_all_windows(order.corpus))
    explain(
        f"About {duration(config.steps * update + validations * validation)}: {counted(config.steps, 'update')} of "
        f"{1e3 * update:.0f} ms, and {counted(validations, 'validation')} on {counted(len(targets), 'target')}, "
        f"{1e3 * validation:.0f} ms each, as measured here with a few{' beside a training' if busy else ''}."
    )


def _say_duration_soon(order: Order) -> None:
    def look() -> None:
        if trainer().pace(order) is not None:
            st.rerun()
        explain("How long it will take is said here once a few updates of another visitor's model have been measured.")

    st.fragment(look, run_every=1.0)()
