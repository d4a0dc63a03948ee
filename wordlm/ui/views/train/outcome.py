"""What came of a training: beside the bundled model, and to take along."""

import functools
import math
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from wordlm.bundled import SEEDS, Bundled
from wordlm.checkpoints import read_metadata
from wordlm.data import Corpus, make_all_windows
from wordlm.files import give_back_memory
from wordlm.jobs import Job, last_row_table, loss_table, validation_sample, validation_table
from wordlm.loss import perplexity
from wordlm.numbers import counted, written
from wordlm.results import seed_difference
from wordlm.training import evaluate
from wordlm.ui.browser.pictures.heads import panes_of
from wordlm.ui.browser.pictures.squares import squares_svg
from wordlm.ui.drawing.charts import MENU, horizontal_bars
from wordlm.ui.drawing.figure import PlainFigure
from wordlm.ui.drawing.tables import number_table
from wordlm.ui.frame.export import Collected, file_stem, take_away
from wordlm.ui.frame.glossary import say
from wordlm.ui.frame.numbers_behind import in_numbers
from wordlm.ui.state.own_models import OwnModel, model_of_training
from wordlm.ui.state.resources import Checkpoint, comparison_of, model_of, reading, vocabulary
from wordlm.ui.views.train.heads import look_at_last
from wordlm.ui.views.train.losses import curves
from wordlm.ui.views.train.models import open_links


def outcome(job: Job) -> None:
    """Draw what came of a training: beside the bundled model, where to go on, the files."""
    own = model_of_training()
    if job.result is None or own is None:
        return
    st.subheader("How good is it?")
    table = _beside_table(job, own, job.result["selected_step"])
    say(
        f"{own.name} was best after {counted(job.result['selected_step'], 'update')}, at a validation loss of "
        f"{written(job.result['validation_loss'])} nats per token. That model is kept, and opens on the other pages. "
        "All lines are scored on the same validation targets."
    )
    _say_what_followed(job, job.result)
    even = math.log(len(own.weights.vocab))
    if job.result["validation_loss"] > even:
        st.warning(
            f"On the validation stories {own.name} is worse than even chance. To give each of the "
            f"{len(own.weights.vocab):,} words the same probability has a loss of {written(even)}."
        )
    alt = "Your model beside the bundled one on the same validation targets"
    st.plotly_chart(_beside_bars(table), key="own_beside", config=MENU, alt=alt)
    in_numbers("own_beside", lambda: number_table(table, alt=alt, decimals=4))
    with st.container(horizontal=True, vertical_alignment="center"):
        open_links(own, "outcome")


def _beside_bars(table: pd.DataFrame) -> PlainFigure:
    names, losses = table["model"].tolist(), table["validation loss"].to_numpy()
    return horizontal_bars(names, losses, "validation loss, nats per token")


def take_along(job: Job) -> None:
    """Draw the buttons that take a training's losses and weights along, once it has ended."""
    own = model_of_training()
    if job.result is None or own is None:
        return
    kept, prompt = job.result["selected_step"], job.order.prompt
    weights = job.weights.get(kept)
    alone = None
    if weights is not None:
        title = f"Where each head of {own.name} looks, each word read as the last"
        panes = panes_of(len(weights))
        alone = functools.partial(squares_svg, title, prompt, weights, panes, look_at_last(weights, prompt))

    def collect() -> Collected:
        beside = _beside_table(job, own, kept)
        tables = {
            "Losses of every update": loss_table(job),
            "Validations": validation_table(job),
            "Beside the bundled model": beside,
        }
        figures = {"Losses": curves(job), "Beside the bundled model": _beside_bars(beside)}
        if weights is not None:
            tables["Weights of the last word"] = last_row_table(job, kept)
        return tables, figures

    text = " ".join(prompt.typed[prompt.positions[0] == 0 :])
    name = file_stem("training", own.name)
    take_away(name, f"The training of {own.name}", text, [own.key], collect, picture=alone)


def _say_what_followed(job: Job, result: dict[str, Any]) -> None:
    """Where the validation loss rose after the kept step, by more than another seed makes, say so and what it means."""
    kept, last = result["selected_step"], job.history[-1]
    if last.validation_loss is None or last.validation_loss < result["validation_loss"] + seed_difference(
        comparison_of()
    ):
        return
    # One batch is chance: ten updates up to the step kept, or as many as there were, against the last ten.
    then, now = np.mean(job.losses[max(0, kept - 10) : kept]), np.mean(job.losses[-10:])
    rose = f"By update {last.step:,} the validation loss rose to {written(last.validation_loss)}"
    if now < then:
        st.info(
            f"{rose}, while the training loss, a mean of ten updates, fell from "
            f"{written(float(then))} to {written(float(now))}. That is *overfitting*: the model learns its own stories "
            "by heart, and predicts others worse."
        )
    else:
        st.info(f"{rose}, and the training loss did not fall. A smaller learning rate may help.")


def _beside_table(job: Job, own: OwnModel, kept_step: int) -> pd.DataFrame:
    corpus = job.order.corpus
    rows: list[tuple[str, int, Checkpoint]] = [(own.name, kept_step, own.key)]
    if corpus.vocab.sha256 == vocabulary().sha256:
        same = Bundled.nearest(own.key.variant.choice, SEEDS[0])
        with reading(path := same.path):
            kept = read_metadata(path)["selected_step"]
        rows.append((f"bundled: {same.name}", kept, same))
    table = pd.DataFrame(
        [(name, step, _validation_loss(chosen, corpus.digest, corpus)) for name, step, chosen in rows],
        columns=["model", "best after updates", "validation loss"],
    )
    table.loc[len(table)] = ["the same chance for every word", 0, math.log(len(corpus.vocab))]
    table["perplexity"] = table["validation loss"].map(perplexity)
    return table


@st.cache_data(max_entries=64, show_spinner="Scoring on the same targets …")
def _validation_loss(chosen: Checkpoint, digest: str, _corpus: Corpus) -> float:
    # The digest stands for the corpus in the key. In float32, also for a model that was trained in bf16.
    loss = evaluate(model_of(chosen), *validation_sample(make_all_windows(_corpus)))
    give_back_memory()
    return loss
