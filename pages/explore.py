from wordlm.ui.frame.shell import inside_app

inside_app()

from functools import cache, partial

import streamlit as st

from wordlm.ablation import switches, word_effect
from wordlm.arithmetic import explain_weight, softmax_table, step_table, term_table
from wordlm.inspection import next_probabilities, rank_of, shape_table, token_table, weight_table
from wordlm.row_measures import MEASURES, head_measures
from wordlm.starts import EXAMPLES
from wordlm.ui.drawing import sentences, tables
from wordlm.ui.frame import address, controls, export, numbers_behind, widgets
from wordlm.ui.frame.glossary import explain
from wordlm.ui.state.resources import (
    attention_of,
    inspection_of,
    model_of,
    probabilities_of,
    rows_drawn_of,
    vocabulary_of,
)
from wordlm.ui.views import explore as view

choice = controls.shared_choice()
prompt, chosen, vocab = choice.prompt, choice.checkpoint, vocabulary_of(choice.checkpoint)
has_heads, presenting = chosen.heads is not None, address.held("present")

# What comes and goes while one types has a place of its own: otherwise the browser makes the picture below it anew.
with st.container():
    if presenting:
        view.note_of_the_teacher()
    else:
        view.invite(EXAMPLES)
        controls.say_other_seed(choice)
query = controls.held_query(prompt)
reading = prompt.up_to(query)
expected = probabilities = probabilities_of(chosen, reading.ids)
inspection, head, key, off = None, 0, len(reading.ids) - 1, ()
if has_heads:
    head, off = controls.held_head(chosen.heads), controls.held_off(chosen.heads)
    inspection = inspection_of(chosen, reading.ids)
    key = controls.held_key(reading, inspection.weights[head, -1])
    if off:
        expected = next_probabilities(model_of(chosen), reading.ids, **switches(attention_of(chosen), off))
words = cache(partial(view.likeliest, probabilities, expected, vocab))
look = controls.look_at(reading, query, key, head, large=presenting)
as_squares = has_heads and look.form != "model"  # otherwise the browser draws, and says at every key what is seen
one_reading = as_squares and presenting and address.held("one_reading")

if as_squares:
    view.say_what_is_seen(inspection, reading, words(), off)
elif not has_heads:
    view.say_without_heads(reading, words())
picture = st.container()
if not presenting:
    with st.container():
        view.say_odd_words(prompt)
    if has_heads:
        with st.container(key="below_picture", horizontal=True, vertical_alignment="center"):
            one_reading = as_squares and controls.choose_one_reading()
            view.present_button()
            checks = st.container(width="content")
        if one_reading:
            explain(view.ONE_READING)
with picture:
    if as_squares:
        rows = rows_drawn_of(chosen, prompt)
        whole = inspection_of(chosen, prompt.ids) if one_reading else None
        view.draw_squares(prompt, rows, inspection, whole, off, look, words(), controls.choose_in_picture)
    else:
        view.draw_whole_model(
            choice, look, controls.choose_in_picture, off, expected, inspection.weights[:, -1] if has_heads else None
        )
if has_heads and not presenting:
    with checks:
        drawn = view.difference_drawn(rows, inspection, whole, query) if as_squares else None
        sentences.check_strip(inspection.checks, drawn=drawn)

if not presenting:
    one_weight, in_numbers, what_next, shapes = widgets.tabs("tab")
    with one_weight:
        if one_weight.open and not has_heads:
            explain("The MLP has no attention, so it has no weight to follow. Choose a number of heads above.")
        elif one_weight.open:
            word, spelled = int(probabilities.argmax()), vocab.itos[int(probabilities.argmax())]
            steps = explain_weight(attention_of(chosen), inspection, head=head, key=key, word=word, spelled=spelled)
            st.html(view.weight_chain(steps, inspection, reading))

            def draw_numbers() -> None:
                softmax = softmax_table(inspection, reading.labels, head=head)
                view.weight_in_numbers(step_table(steps), term_table(steps), softmax)

            numbers_behind.in_numbers("weight", draw_numbers)
    with in_numbers:
        if in_numbers.open:
            seen = {one.name: inspection_of(one, reading.ids) for one in choice.compared}
            measures = head_measures(attention_of(chosen), inspection) if has_heads else None
            view.numbers(weight_table(seen, reading), measures, MEASURES, chosen.name)
    with what_next:
        if what_next.open:
            tables.number_table(words().drop(columns="id", errors="ignore"), alt="The ten likeliest next words")
            word = controls.choose_word(vocab, int(probabilities.argmax()))
            if has_heads:
                effect = word_effect(attention_of(chosen), reading.ids, word)
                view.word_in_words(vocab.itos[word], effect)
                tables.number_table(effect, alt="The word's probability and rank with each head off")
            else:
                view.word_alone(vocab.itos[word], probabilities[word], rank_of(word, probabilities))
    with shapes:
        if shapes.open:
            sentences.say_what_was_read(prompt)
            tables.text_table(token_table(prompt), alt="Each token with its number and its slot")
            if has_heads:
                tables.text_table(shape_table(inspection), alt="The shape of every tensor on the way")
    compared = choice.compared  # asked here, since a file is made where there is no session to ask

    def collect() -> export.Collected:
        return view.collected(chosen, compared, prompt, reading, words())

    alone = partial(view.squares_alone, chosen, prompt, look, off, one_reading) if has_heads else None
    name = export.file_stem("explore", chosen.title, choice.text)
    export.take_away(name, "Where each head looks", choice.text, compared, collect, picture=alone)
