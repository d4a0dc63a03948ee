from wordlm.ui.frame.shell import PageEnds, inside_app

inside_app()

import streamlit as st

from wordlm.ui.drawing import sentences
from wordlm.ui.frame import controls, export, numbers_behind, widgets
from wordlm.ui.state.resources import profile_of_prompt
from wordlm.ui.views.heads_and_words import cards, words

choice = controls.shared_choice()
chosen = choice.checkpoint
controls.say_other_seed(choice)

about_heads, about_words = widgets.tabs("about")
with about_heads:
    if about_heads.open:
        if controls.nothing_to_see_without_heads(choice):
            raise PageEnds
        st.subheader("What does each head do, over many texts?")
        texts, seen = cards.choose_texts(chosen)
        cards.cards(chosen, seen)
        cards.say_where_worth_differs(chosen)
        numbers_behind.in_numbers("profile", lambda: cards.numbers(seen))

        st.subheader("Does a head look at what you think?")
        head, target = cards.state_hypothesis(chosen)
        own = profile_of_prompt(chosen, choice.word_ids) if choice.word_ids else None
        answers = cards.answer_table(chosen, own, head, target)
        cards.answer(seen, own, texts, head, target)
        numbers_behind.in_numbers("looks_at", lambda: cards.draw_answer(answers, target))
        sentences.see_for_yourself()
        tables, figures = cards.collected(texts, seen, own, answers, target)
with about_words:
    if about_words.open:
        st.subheader("Which words does the model take for alike?")
        word, added = words.choose(choice)
        tables, figures = words.neighbourhood(chosen, word, added)

        st.subheader("How alike are the slots?")
        more_tables, more_figures = words.slots(chosen, added)
        tables, figures = tables | more_tables, figures | more_figures

name = export.file_stem("heads-and-words", chosen.title, choice.text)
export.take_away(name, "Heads and words", choice.text, [chosen], lambda: (tables, figures))
