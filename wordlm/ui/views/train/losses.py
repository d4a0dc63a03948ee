"""The losses of a training, and what those of the bundled models looked like."""

import plotly.graph_objects as go
import streamlit as st

from wordlm.jobs import Job, validation_table
from wordlm.ui.drawing.charts import MENU, loss_curves, past_curves
from wordlm.ui.drawing.tables import number_table
from wordlm.ui.frame.glossary import explain
from wordlm.ui.frame.numbers_behind import in_numbers
from wordlm.ui.state.resources import comparison_of
from wordlm.variants import Variant


def curves(job: Job) -> go.Figure:
    """Return the losses of a training by update."""
    validations = {one.step: one.validation_loss for one in job.history if one.validation_loss is not None}
    return loss_curves(job.losses, validations, job.result["selected_step"] if job.result else None)


def draw_losses(job: Job, live: bool) -> None:
    """Draw the losses of a training; `live` while it goes on."""
    figure = curves(job)
    alt = "Training loss of each update, smoothed, and validation loss"
    st.plotly_chart(figure, key="loss", config=MENU, alt=alt)
    if not live:  # the table comes with the outcome
        in_numbers("validations", lambda: number_table(validation_table(job), alt=alt, decimals=4))


def show_what_to_expect(model: str) -> None:
    """Show what the training of the bundled model of this kind looked like, before there is one to follow."""
    comparison, variant = comparison_of(), Variant.parse(model)
    runs = comparison["runs"].get(variant.group, [])
    histories = {f"seed {run['seed']}": run["history"] for run in runs if run.get("history")}
    if not histories:
        return
    st.subheader("What will it look like?")
    protocol = comparison["protocol"]
    explain(
        f"Grey: how the validation loss of the bundled {variant.title} fell, with {protocol['steps']:,} updates of "
        f"{protocol['batch_size']} targets on 6,000 stories. Your own curve takes its place once you press Train."
    )
    alt = f"Validation loss of the bundled {variant.title} by update, one line a seed"
    st.plotly_chart(past_curves(histories), key="expected", config=MENU, alt=alt)
