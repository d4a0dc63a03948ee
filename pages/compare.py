from wordlm.ui.shell import inside_app

inside_app()

import pandas as pd
import streamlit as st

from wordlm.bundled import SEEDS
from wordlm.compare import head_distances
from wordlm.head_measures import MEASURES, head_measures
from wordlm.inspection import weight_table
from wordlm.ui import blocks, charts, controls
from wordlm.ui import compare as view
from wordlm.ui.glossary import explain
from wordlm.ui.resources import (
    checkpoint,
    inspection_of,
    likeness_of,
    model_of,
    probabilities_of,
    scores_of,
    vocabulary_of,
)

choice = controls.shared_choice()
prompt, a = choice.prompt, choice.checkpoint

st.subheader("How do two models read the same prompt?")
explain("A is the model chosen above. Choose B here; the prompt stays the same for both.")
controls.say_other_seed(choice)
b = controls.choose_other_model(a)
pair = {f"A: {a.name}": a, f"B: {b.name}": b}
tables, figures = {}, {}

st.subheader("Where does each look?")
with st.container(key="picture_controls", horizontal=True, vertical_alignment="bottom"):
    query = controls.choose_query(prompt)
    scale = controls.choose_scale()
reading = prompt.up_to(query)
with_heads = {name: inspection_of(c, reading.ids) for name, c in pair.items() if c.heads}
for name in pair.keys() - with_heads.keys():
    st.info(f"{name} has no heads, so it has no row here. Choose a number of heads for it to see where they look.")
if with_heads:
    rows = weight_table(with_heads, reading)
    figures["Weights of the chosen query"] = charts.row_heatmap(rows.drop(columns="sum"), scale)
    tables["Weights of the chosen query"] = rows
    st.caption(f"The weights of {blocks.quoted(prompt, query)} when it is the last word read, one line a head.")
    blocks.picture_and_table(
        figures["Weights of the chosen query"],
        rows,
        "rows",
        index=True,
        alt="The weights of the query, one row a head",
    )
    measures = pd.concat(
        {name: head_measures(model_of(pair[name]), seen) for name, seen in with_heads.items()},
        names=["model", None],
    ).reset_index(level=0)
    view.say_rows(with_heads, reading)
    blocks.check_strip(*(seen.checks for seen in with_heads.values()))
    blocks.see_for_yourself()
    explain("How each head spreads these weights.")
    blocks.number_table(measures, alt="How each head spreads its weights", help=MEASURES)
    tables["How each head spreads its weights"] = measures

st.subheader("What does each expect next?")
expected = view.compare_next_words(
    {name: probabilities_of(c, reading.ids) for name, c in pair.items()}, vocabulary_of(a)
)
tables["Next words"] = expected

st.subheader("Which typed words surprise each?")
explain(
    "The *surprisal* of a word is −ln of its probability, in nats, when the model has read only what stands before it: "
    "0 for a word it was sure of. The first word follows the start mark alone."
)
if prompt.word_labels:
    surprisals = {name: scores_of(c, choice.word_ids, prompt.first_word).losses for name, c in pair.items()}
    figures["Surprisal of each typed word"] = charts.paired_bars(
        list(prompt.word_labels), surprisals, "surprisal, nats"
    )
    tables["Surprisal of each typed word"] = view.compare_surprisal(prompt, surprisals, figures)
else:
    st.info("The prompt is empty, so there is no word to be surprised by. Type some words above.")

st.subheader("Is one head a blend of four?")
explain(f"The same prompt and query with seed {choice.seed}: the row of one head, the rows of four, and their mean.")
bundled = choice.bundled_prompt.up_to(query)
one, four = (inspection_of(checkpoint(model, choice.seed), bundled.ids) for model in "14")
blend = weight_table({"one head": one, "four heads": four}, bundled).drop(columns="sum")
blend.loc["mean of the four"] = blend.iloc[1:].mean()
figures["One head beside four"] = charts.row_heatmap(blend, scale)
tables["One head beside four"] = blend
blocks.picture_and_table(
    figures["One head beside four"],
    blend,
    "blend",
    index=True,
    alt="One head's row, the four heads' rows and their mean",
)
distances = pd.DataFrame(head_distances(blend.to_numpy()), index=blend.index, columns=blend.index)
explain("How far apart the rows are: the Jensen-Shannon distance, 0 for equal rows, 1 for rows without overlap.")
figures["Distances of the rows"] = charts.matrix_heatmap(distances, rows="row", columns="row", unit="distance, 0 to 1")
tables["Distances of the rows"] = distances
view.say_closest(distances)
blocks.picture_and_table(
    figures["Distances of the rows"], distances, "distances", index=True, alt="Jensen-Shannon distances of the rows"
)

st.subheader("A head's name does not travel")
explain(
    "Four heads, trained three times from another random start (seed). Heads are matched by how alike their rows are "
    "over eight texts: 1 minus the mean Jensen-Shannon distance, 1 for heads that always look alike. "
    "Each head gets one partner, so that all the pairs together are as alike as can be."
)
first = checkpoint("4", SEEDS[0])
partners = view.partner_table(first, {s: likeness_of(first, checkpoint("4", s)) for s in SEEDS[1:]})
view.say_partners(partners, SEEDS)
blocks.number_table(partners, alt="Which head of another seed each head is matched with")
tables["Heads matched across seeds"] = partners
for seed in SEEDS[1:]:
    names = [f"head {head + 1}" for head in range(4)]
    likeness = pd.DataFrame(likeness_of(first, checkpoint("4", seed)), index=names, columns=names)
    name = f"Likeness of heads, seed {SEEDS[0]} and seed {seed}"
    figures[name] = charts.matrix_heatmap(
        likeness, rows=f"seed {SEEDS[0]}", columns=f"seed {seed}", unit="likeness, 0 to 1"
    )
    tables[name] = likeness
    blocks.picture_and_table(figures[name], likeness, f"likeness_{seed}", index=True, alt=name)

used = [*dict.fromkeys([a, b, *(checkpoint(m, choice.seed) for m in "14"), *(checkpoint("4", s) for s in SEEDS)])]
blocks.take_away(
    blocks.file_stem("compare", choice.checkpoint.title, choice.text),
    "Two models side by side",
    choice.text,
    used,
    lambda: (tables, figures),
)
