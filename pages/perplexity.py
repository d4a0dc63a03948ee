from wordlm.ui.frame.shell import inside_app

inside_app()

import streamlit as st

from wordlm.scoring import model_table
from wordlm.text import typed_words
from wordlm.ui.drawing import charts, tables
from wordlm.ui.frame import controls, export, numbers_behind, widgets
from wordlm.ui.frame.glossary import explain
from wordlm.ui.state.resources import checkpoint, models_beside, one_for_each_heads, scores_of, vocabulary_of
from wordlm.ui.views import perplexity as view

choice = controls.shared_choice()
vocab = vocabulary_of(choice.checkpoint)

st.subheader("How do probabilities become a perplexity?")
explain(
    "For each target the model gave the right word some probability p. Its loss is −ln p; the mean of the losses is "
    "the *cross-entropy*; its exponential is the *perplexity*, which is 1 over the geometric mean of the probabilities."
)
typed = widgets.area(
    "probabilities", "Probabilities of the right words, between commas, spaces or lines: 0.25, 25% or 1/4", height=80
)
logarithms = widgets.toggle(
    "logarithms",
    "They are log-probabilities",
    help="Natural logarithms, as many services return them: −0.69 for a probability of about 0.5.",
)
reading = view.read_typed(typed, logarithms)
if reading is not None:
    view.measures_row(reading.losses)
    view.draw_targets(reading)
    view.one_more_prediction(reading.losses)
    explain(
        "Perplexity is no accuracy: a model can be right every time and still have a high one, if it is unsure. Nor "
        "is it a count of words, though a model that hesitates evenly between N words has perplexity N."
    )

st.subheader("How well does a model expect a text?")
explain(
    f"The deeper the tint, the bigger the surprise of {choice.checkpoint.name}. Each word is scored after the up to "
    "64 positions before it, exactly as in training. The end of the text is not scored."
)
controls.say_other_seed(choice)
text = widgets.area("text", "Text", height=120)
words, ids = view.at_most(*typed_words(text, vocab))
shown = one_for_each_heads(models_beside(choice.checkpoint), choice.checkpoint.choice)
models = {c.name: c for c in (checkpoint(model, choice.seed) for model in shown)}
with st.spinner("Scoring the text under every model …", show_time=True):
    scores = {name: scores_of(c, tuple(ids)) for name, c in models.items()} if words else {}

if words:
    chosen = scores[choice.checkpoint.name]
    view.warn_of_unknown(ids)
    view.measures_row(chosen.losses)
    view.shaded_words(text, words, ids, chosen.losses)
    numbers_behind.in_numbers("scored", lambda: view.draw_scored(words, ids, chosen, vocab))

    st.subheader("Which model expects it best?")
    explain("The same words and the same targets for every model, so these may be compared. Lower is better.")
    table = model_table(scores)
    alt = "Perplexity of the text under each model"
    st.plotly_chart(view.model_bars(table), key="models", config=charts.MENU, alt=alt)
    view.say_best(table)
    numbers_behind.in_numbers("models", lambda: tables.number_table(table, alt=alt, decimals=4))
    numbers_behind.in_numbers("differ", lambda: view.draw_disagreement(words, scores), "Where the models differ most")

    st.subheader("When may two perplexities be compared?")
    explain("Only with the same tokenizer and the same targets. Nor do two texts compare: one may simply be easier.")
    view.say_other_units(chosen, words)
else:
    st.info("There is no word to score yet. Type or paste a text above.")

export.take_away(
    export.file_stem("perplexity", choice.checkpoint.title, text),
    "Perplexity",
    text,
    list(models.values()),
    lambda: view.collect(reading, words, ids, scores, choice.checkpoint.name, vocab),
)
