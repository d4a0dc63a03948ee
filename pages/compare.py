from wordlm.ui.frame.shell import PageEnds, inside_app

inside_app()

from functools import partial

import streamlit as st

from wordlm.bundled import SEEDS
from wordlm.compare import beside_each_other, blend_table, distance_table, partner_table, surprisal_table
from wordlm.head_measures import MEASURES, measures_beside
from wordlm.inspection import weight_table
from wordlm.ui.browser.pictures.heads import heads_picture
from wordlm.ui.browser.pictures.squares import squares_svg
from wordlm.ui.drawing import charts, sentences, tables
from wordlm.ui.frame import controls, export, numbers_behind, widgets
from wordlm.ui.frame.glossary import explain
from wordlm.ui.state.resources import (
    checkpoint,
    comparison_of,
    inspection_of,
    likeness_of,
    model_of,
    probabilities_of,
    rows_drawn_of,
    scores_of,
    vocabulary_of,
)
from wordlm.ui.views import compare as view

choice = controls.shared_choice()
prompt, a = choice.prompt, choice.checkpoint
controls.say_other_seed(choice)
with st.container(key="b_controls", horizontal=True, vertical_alignment="bottom"):
    b = controls.choose_other_model(a)
    heads = controls.choose_two_heads(a, b) if a.heads and b.heads and a != b else None
if a == b:
    st.info("A and B are the same model, so there is nothing to compare. Choose another one for B, or train a second.")
    raise PageEnds

query = controls.held_query(prompt)
reading = prompt.up_to(query)
names = [f"A: {a.name}", f"B: {b.name}"]
named = list(zip(names, (a, b), strict=True))
probabilities = [probabilities_of(one, reading.ids) for one in (a, b)]
words = beside_each_other(*probabilities, vocabulary_of(a))
view.say_how_they_differ(a, b, prompt, query, words, comparison_of())
alone = None
if heads:
    rows = [rows_drawn_of(one, prompt).weights[head] for one, head in zip((a, b), heads, strict=True)]
    drawn, panes = view.with_difference(rows), view.panes_of_two((a, b), heads)
    look = controls.held_look(prompt, query, rows[0][query])
    heads_picture(
        prompt,
        drawn,
        panes,
        look,
        partial(controls.choose_in_picture, but=("head", "off")),
        words=words.head(8),
        compared=True,
    )
    title = "Where a head of A and a head of B look, and their difference"
    alone = partial(squares_svg, title, prompt, drawn, panes, look)

else:
    st.info(
        "The MLP has no attention, so it has no picture here. Choose a number of heads for both to see where they look."
    )
    st.plotly_chart(
        view.next_words_of_two(words, names), key="next_ab", config=charts.MENU, alt="Next words of A and B"
    )

surprise, one_and_four, across_seeds, in_numbers = widgets.tabs("compared")
with surprise:
    if surprise.open and prompt.word_labels:
        explain(
            "The *surprisal* of a word is −ln of its probability, in nats, when the model has read only what stands "
            "before it: 0 for a word it was sure of. The first word follows the start mark alone."
        )
        losses = {name: scores_of(one, choice.word_ids, prompt.first_word).losses for name, one in named}
        table = surprisal_table(prompt.word_labels, losses)
        view.say_surprisal(table)
        figure = charts.paired_bars(list(prompt.word_labels), losses, "surprisal, nats")
        alt = "Surprisal of each typed word under A and B"
        st.plotly_chart(figure, key="surprisal", config=charts.MENU, alt=alt)
        numbers_behind.in_numbers("surprisal", lambda: tables.number_table(table, alt=alt, decimals=4))
    elif surprise.open:
        st.info("The prompt is empty, so there is no word to be surprised by. Type some words above.")
with one_and_four:
    if one_and_four.open:
        explain(f"The same word with seed {choice.seed}: the row of one head, the rows of four, and their mean.")
        bundled, pair = choice.bundled_prompt, [checkpoint(model, choice.seed) for model in "14"]
        one, four = (rows_drawn_of(model, bundled).weights for model in pair)
        view.one_and_four(bundled, one[0], four, controls.held_look(bundled, query, one[0, query]))
        of_word = bundled.up_to(query)
        blend = blend_table(*(inspection_of(model, of_word.ids) for model in pair), of_word)
        alt = "One head's row, the four heads' rows and their mean"
        numbers_behind.in_numbers("blend", lambda: tables.number_table(blend, index=True, alt=alt))
        distances = distance_table(blend)
        view.say_closest(distances)
        explain(
            "How far apart the rows are: the Jensen-Shannon distance, 0 for equal rows, 1 for rows without overlap."
        )
        figure = charts.matrix_heatmap(distances, rows="row", columns="row", unit="distance, 0 to 1")
        alt = "Jensen-Shannon distances of the rows"
        numbers_behind.picture_over_numbers(figure, distances, "distances", index=True, alt=alt)
with across_seeds:
    if across_seeds.open:
        explain(
            "Four heads, trained three times from another random start (seed). Heads are matched by how alike their "
            "rows are over eight texts: 1 minus the mean Jensen-Shannon distance. Each head gets one partner, so that "
            "all the pairs together are as alike as can be."
        )
        first = checkpoint("4", SEEDS[0])
        likeness = {seed: likeness_of(first, checkpoint("4", seed)) for seed in SEEDS[1:]}
        partners = partner_table(SEEDS[0], likeness)
        view.say_partners(partners, SEEDS)
        tables.number_table(partners, alt="Which head of another seed each head is matched with")
        for place, (seed, table) in zip(st.columns(len(likeness)), likeness.items(), strict=True):
            with place:
                view.likeness(table, SEEDS[0], seed)
with in_numbers:
    if in_numbers.open:
        seen = {name: inspection_of(one, reading.ids) for name, one in named if one.heads}
        if seen:
            tables.number_table(weight_table(seen, reading), index=True, alt="The weights of the query, one row a head")
            models = [model_of(one) for one in (a, b) if one.heads]
            tables.number_table(measures_beside(models, seen), alt="How each head spreads its weights", help=MEASURES)
            sentences.check_strip(*(one.checks for one in seen.values()))
            sentences.see_for_yourself()
        tables.number_table(words, alt="The likeliest next words under A and B")


def collect() -> export.Collected:
    return view.collected(dict(named), prompt, reading, choice.word_ids, words)


stem = export.file_stem("compare", a.title, "with", b.title, choice.text)
export.take_away(stem, "Two models side by side", choice.text, [a, b], collect, picture=alone)
