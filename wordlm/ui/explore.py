"""What the Explore page draws: pictures, shaded text, the steps of one weight."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from wordlm.arithmetic import WeightSteps
from wordlm.inspection import Rows
from wordlm.numbers import scientific, written
from wordlm.text import EncodedPrompt
from wordlm.ui.blocks import number_table, text_table
from wordlm.ui.charts import MENU, head_hue, vector_bars
from wordlm.ui.components import token_row
from wordlm.ui.escape import for_html, label_html


def heatmaps(picture: go.Figure, heads: list[int], title: str) -> None:
    """Draw the heatmaps; several keep their size on a phone and scroll sideways."""
    with st.container(key="heads_many" if len(heads) > 1 else "heads_one"):
        st.plotly_chart(
            picture,
            key="heatmaps",
            config=MENU,
            alt=f"Attention weights of {title}, one square a head: row is the query, column the key.",
        )


ONE_READING = (
    "These are the matrices as one reading of the whole prompt makes them, as the course prints them. Training "
    "supervised the last word alone. So an earlier word stands here in a slot from which the model never learned to "
    "predict, and its row is nearly even. Only the last row is what the model does; it is the same in both views."
)


def shaded_text(
    rows: Rows, prompt: EncodedPrompt, head: int, query: int, shade_by: str, on_pick: Callable[[int], None]
) -> None:
    """Draw the text with each token tinted by its weight in one head, and the weight below it."""
    weights = rows.weights[head]
    by_key = shade_by == "keys of the query"
    shown = weights[query] if by_key else weights[:, query]
    unseen = range(query + 1, len(shown)) if by_key else range(query)
    notes = ["–" if i in unseen else f"{written(shown[i], 3, limit=True)}" for i in range(len(shown))]
    shades = [None if i in unseen else float(shown[i]) for i in range(len(shown))]
    token_row(prompt, notes, key="shaded", chosen=query, on_pick=on_pick, shades=shades, hue=head_hue(head))


def weight_vectors(e: WeightSteps) -> go.Figure:
    """Return the vectors of one weight as bars."""
    vectors = {"e, query": e.e_query, "e, key": e.e_key, "q": e.q, "k": e.k, "q × k": e.q * e.k}
    vectors |= {"value mix": e.message, "update": e.update}
    return vector_bars(vectors, head_hue(e.head))


def one_weight(
    explained: WeightSteps,
    reading: EncodedPrompt,
    vectors: go.Figure,
    steps: pd.DataFrame,
    terms: pd.DataFrame,
    softmax: pd.DataFrame,
) -> None:
    """Draw the calculation of one weight: the sentence, the vectors as bars, the steps, the terms."""
    e = explained
    st.html(
        f"<p>Head {e.head + 1}: the weight of the key <b>{label_html(reading.labels[e.key])}</b> for the query "
        f"<b>{label_html(reading.labels[-1])}</b> is <b>{written(e.weight, 3)}</b>. "
        f"By hand and by the model differ by at most {scientific(e.largest_difference)}.</p>"
    )
    left, right = st.columns([1, 2])
    with left:
        st.plotly_chart(
            vectors,
            key="vectors",
            config=MENU,
            alt="The embeddings, q and k, their products, the mix of values and the update, as bars",
        )
    with right:
        text_table(steps, alt="The calculation of the weight, step by step")
    left, right = st.columns(2)
    with left:
        st.caption("The dot product, term by term.")
        number_table(terms, alt="The dot product term by term")
    with right:
        st.caption("The softmax over the row of scores.")
        number_table(softmax, alt="The softmax over the row")


def say_likeliest(words: pd.DataFrame) -> None:
    """Say which word is likeliest, and how sure the model is."""
    ten = words["probability"].sum()
    st.html(
        f"<p>Likeliest is <b>{for_html(words['word'][0])}</b>, {written(words['probability'][0], 3)}; the ten "
        f"together have "
        f"{written(ten, 3)}.</p>"
    )


def word_in_words(word: str, effect: pd.DataFrame) -> None:
    """Say how likely one word is, and which head matters most for it."""
    factors = effect["times as likely"][1:]
    most = int(np.log(factors).abs().idxmax())  # half as likely is as large an effect as twice as likely
    st.html(
        f"<p><b>{for_html(word)}</b> has probability {written(effect['probability'][0])}, rank {effect['rank'][0]:,} "
        f"of the "
        f"vocabulary. Head {most} matters most for it: without that head its probability is "
        f"{written(factors[most], 2)} times "
        "as large.</p>"
    )
