from wordlm.ui.shell import PageEnds, inside_app

inside_app()

import streamlit as st

from wordlm.ablation import head_value_table, loss_table, next_word_effect, prompt_effect, subset_table
from wordlm.head_measures import head_measures
from wordlm.numbers import written
from wordlm.ui import blocks, charts, controls
from wordlm.ui import switch_off as view
from wordlm.ui.glossary import explain
from wordlm.ui.resources import ablation_of, ablations, inspection_of, mean_messages_of, model_of, vocabulary_of

choice = controls.shared_choice()
prompt, chosen = choice.prompt, choice.checkpoint

st.subheader("What changes without a head?")
explain(
    "A head's weights say where it looks, not how much that matters. Switch it off and see what the model loses: "
    "that is evidence of its influence."
)
controls.say_other_seed(choice)
if controls.nothing_to_see_without_heads(choice):
    raise PageEnds

with st.container(horizontal=True, vertical_alignment="bottom"):
    off = controls.choose_heads_off(chosen.heads)
    fill = controls.choose_fill(view.fills_of(chosen))
model, stored, vocab = model_of(chosen), ablation_of(chosen), vocabulary_of(chosen)
mean = mean_messages_of(chosen) if fill == "mean" else None
effect = prompt_effect(model, prompt.ids, choice.word_ids, off, mean, first=prompt.first_word)
tables, figures = {}, {}
without = view.without_heads(off)
if not off:
    view.say_none_is_off()

st.subheader("What does the next word become?")
view.say_next_word_effect(effect, vocab, without)
words = next_word_effect(effect.before, effect.after, vocab)
labels = [f"{rank} · {word}" for rank, word in enumerate(words["word"], 1)]
series = {"all heads": words["before"].to_numpy(), without: words["after"].to_numpy()}
figures["Next words before and after"] = charts.paired_bars(labels, series, "probability")
tables["Next words before and after"] = words
blocks.picture_and_table(
    figures["Next words before and after"],
    words,
    "next_effect",
    alt="Probabilities of the next words",
)

st.subheader("What happens to the prompt's own words?")
explain("The surprisal of each word in nats, −ln of its probability after the words before it. Lower is better.")
if prompt.word_labels:
    losses = loss_table(effect, prompt.word_labels)
    series = {"all heads": losses["before"].to_numpy(), without: losses["after"].to_numpy()}
    figures["Surprisal before and after"] = charts.paired_bars(list(losses["word"]), series, "surprisal, nats")
    tables["Surprisal before and after"] = losses
    view.say_loss_effect(losses, without)
    blocks.picture_and_table(
        figures["Surprisal before and after"],
        losses,
        "loss_effect",
        alt="Surprisal of each word, before and after",
        decimals=4,
    )
else:
    st.info("The prompt is empty, so it has no words to score. Type some words above.")

st.subheader("What is each head worth on the test set?")
if stored is None:
    view.say_not_measured(chosen)
    blocks.take_away(
        blocks.file_stem("switch-off", choice.checkpoint.title, choice.text),
        "Without some heads",
        choice.text,
        [chosen],
        lambda: (tables, figures),
    )
    raise PageEnds
measured = ablations()
explain(
    f"How much the test loss of {chosen.name}, {written(stored['loss'])} nats per token, rises when one head is off: "
    f"exact over all {measured['targets']:,} targets of {measured['stories']} stories. "
    f"The bars are intervals: {measured['interval']}. Beside it, how strongly the same head looks in your prompt."
)
values, seen = head_value_table(stored), inspection_of(chosen, prompt.ids)
measures = head_measures(model, seen).set_axis(values.index)
values["message norm"] = measures["message norm"]
values["largest weight"] = seen.weights[:, -1].max(axis=1)
figures["Increase of the test loss"] = charts.interval_points(
    values,
    {"zeros instead": ("zero", "zero low", "zero high"), "mean message instead": ("mean", "mean low", "mean high")},
    "increase of the test loss, nats per token",
)
tables["What each head is worth"] = values
st.plotly_chart(
    figures["Increase of the test loss"],
    key="worth",
    config=charts.MENU,
    alt="Increase of the test loss without each head, with its interval",
)
view.say_weight_is_not_influence(values)
view.say_worth_is_given_the_others(stored)
blocks.number_table(values, index=True, alt="What each head is worth", decimals=4, help=view.WORTH_HELP)
blocks.check_strip(seen.checks)

subsets = subset_table(stored)
tables["Sets of heads"] = subsets
explain("Every set of heads that was measured." if chosen.heads <= 4 else "No head, each head, and all heads off.")
blocks.number_table(subsets, alt="Test loss for each set of heads off", decimals=4)
view.recompute(chosen, fill, off)

blocks.take_away(
    blocks.file_stem("switch-off", choice.checkpoint.title, choice.text),
    "Without some heads",
    choice.text,
    [chosen],
    lambda: (tables, figures),
)
