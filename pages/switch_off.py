from wordlm.ui.frame.shell import PageEnds, inside_app

inside_app()

import streamlit as st

from wordlm.ablation import loss_table, next_word_effect, prompt_effect
from wordlm.ui.drawing import charts
from wordlm.ui.frame import controls, export, numbers_behind
from wordlm.ui.frame.glossary import explain
from wordlm.ui.state.resources import ablation_of, attention_of, mean_messages_of, vocabulary_of
from wordlm.ui.views import switch_off as view

choice = controls.shared_choice()
prompt, chosen = choice.prompt, choice.checkpoint

st.subheader("What changes without a head?")
explain("A head's weights say where it looks, not how much that matters. Switch it off and see what the model loses.")
controls.say_other_seed(choice)
if controls.nothing_to_see_without_heads(choice):
    raise PageEnds

stored = ablation_of(chosen)
off, fill = view.choose_heads_off(chosen, stored)
mean = mean_messages_of(chosen) if fill == "mean" else None
effect = prompt_effect(attention_of(chosen), choice.word_ids, off, mean, first=prompt.first_word)
words = next_word_effect(effect.before, effect.after, vocabulary_of(chosen))
losses = loss_table(effect, prompt.word_labels)

left, right = st.columns(2)
with left:
    st.subheader("What does the next word become?")
    view.say_next_word_effect(words, off)
    view.draw_next_words(words, off)
with right:
    st.subheader("What happens to the prompt's own words?")
    view.say_loss_effect(losses, off)
    view.draw_losses(losses, off)

st.subheader("What is each head worth on the test set?")
if stored is None:
    view.say_not_measured(chosen)
else:
    view.explain_worth(chosen, stored)
    worth, picture = view.worth_of(chosen)
    st.plotly_chart(picture, key="worth", config=charts.MENU, alt="Increase of the test loss without each head")
    view.say_weight_is_not_influence(view.last_weights(chosen, prompt.ids), worth)
    view.say_stored(stored, fill, off)
    view.say_worth_is_given_the_others(stored)
    numbers_behind.in_numbers("worth", lambda: view.draw_worth(chosen, stored, prompt.ids))
    numbers_behind.in_numbers("subsets", lambda: view.draw_subsets(stored), "Every set of heads that was measured")
    view.recompute(chosen, fill, off)

export.take_away(
    export.file_stem("switch-off", chosen.title, choice.text),
    "Without some heads",
    choice.text,
    [chosen],
    lambda: view.collect(words, losses, off, chosen, prompt.ids),
)
