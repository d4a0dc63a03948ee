from wordlm.ui.shell import PageEnds, inside_app

inside_app()

import math

import streamlit as st

from wordlm.loss import probability_table
from wordlm.numbers import count, written
from wordlm.text import typed_words
from wordlm.ui import address, blocks, charts, controls
from wordlm.ui import perplexity as view
from wordlm.ui.glossary import explain, say
from wordlm.ui.resources import checkpoint, models_beside, scores_of, vocabulary_of

choice = controls.shared_choice()
vocab = vocabulary_of(choice.checkpoint)

st.subheader("What do probabilities make of a loss?")
explain(
    "For each target the model gave the right word some probability p. Its loss is −ln p; the mean of the losses is "
    "the *cross-entropy*; its exponential is the *perplexity*, which is 1 over the geometric mean of the probabilities."
)
typed = address.area(
    "probabilities", "Probabilities of the right words, between commas, spaces or lines: 0.25, 25% or 1/4", height=80
)
logarithms = address.toggle(
    "logarithms",
    "They are log-probabilities",
    help="Natural logarithms, as many services return them: −0.69 for a probability of about 0.5.",
)
reading = view.read_typed(typed, logarithms)
if reading is not None:
    view.measures_row(reading.losses)
    if math.inf in reading.losses:
        say("A target with probability 0 has an infinite loss, so cross-entropy and perplexity are infinite.")
    blocks.number_table(
        probability_table(reading),
        alt="The loss of each target and the running mean",
        decimals=4,
        limits=False,
    )
    view.one_more_prediction(reading.losses)
    explain(
        "Perplexity is no accuracy: a model can be right every time and still have a high one, if it is unsure. Nor "
        "is it a count of words, though a model that hesitates evenly between N words has perplexity N."
    )

st.subheader("How well does a model expect a text?")
explain(
    "Each word is scored after the up to 64 positions before it, exactly as in training: the first after the start "
    "mark alone. The end of the text is not scored. The deeper the tint, the bigger the surprise of "
    f"{choice.checkpoint.name}."
)
controls.say_other_seed(choice)
text = address.area("text", "Text", height=120)
words, ids = typed_words(text, vocab)
if not words:
    st.info("There is no word to score yet. Type or paste a text above.")
    raise PageEnds
if len(words) > view.MOST_WORDS:
    st.warning(f"The text has {count(len(words))} words; the first {count(view.MOST_WORDS)} are scored.")
    words, ids = words[: view.MOST_WORDS], ids[: view.MOST_WORDS]

models = {c.name: c for c in (checkpoint(model, choice.seed) for model in models_beside(choice.checkpoint))}
with st.spinner("Scoring the text under every model …", show_time=True):
    scores = {name: scores_of(c, tuple(ids)) for name, c in models.items()}
chosen = scores[choice.checkpoint.name]

view.warn_of_unknown(ids)
view.measures_row(chosen.losses)
view.shaded_words(text, words, ids, chosen.losses)
word_table = view.word_score_table(words, ids, chosen, vocab)
blocks.number_table(word_table, alt="Probability, rank and loss of each word")

st.subheader("Which model expects it best?")
explain("The same words and the same targets for every model, so these may be compared. Lower is better.")
model_table = view.model_table(scores)
blocks.picture_and_table(
    charts.horizontal_bars(model_table["model"].tolist(), model_table["perplexity"].to_numpy(), "perplexity"),
    model_table,
    "models",
    alt="Perplexity of the text under each model",
    decimals=4,
)
best, worst = model_table["perplexity"].idxmin(), model_table["perplexity"].idxmax()
say(
    f"{model_table['model'][best]} expects the text best, perplexity {written(model_table['perplexity'][best])}; "
    f"{model_table['model'][worst]} worst, {written(model_table['perplexity'][worst])}."
)
explain("Where the models differ most, in nats.")
blocks.number_table(view.disagreement_table(words, scores), alt="The words on which the models differ most")

st.subheader("When may two perplexities be compared?")
explain(
    "Only with the same tokenizer and the same targets. The total loss of a text is shared out over its targets, and "
    "another way to cut the text gives another number of them. Nor do two texts compare: one may simply be easier."
)
units = view.other_units(float(chosen.losses.astype(float).sum()), words)
blocks.number_table(units, alt="The same total loss as perplexities over different units", decimals=4)
