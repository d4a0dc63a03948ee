from wordlm.ui.shell import inside_app

inside_app()

import streamlit as st

from wordlm.ablation import word_effect
from wordlm.arithmetic import explain_weight, softmax_table, step_table, term_table
from wordlm.head_measures import MEASURES, head_measures
from wordlm.inspection import next_words, rank_of, shape_table, token_table, weight_table
from wordlm.numbers import written
from wordlm.ui import blocks, charts, components, controls
from wordlm.ui import explore as view
from wordlm.ui.escape import for_markdown
from wordlm.ui.glossary import explain
from wordlm.ui.resources import inspection_of, model_of, probabilities_of, rows_drawn_of, vocabulary_of

choice = controls.shared_choice()
prompt, chosen, vocab = choice.prompt, choice.checkpoint, vocabulary_of(choice.checkpoint)
has_heads = chosen.heads is not None

st.subheader("What did the model read?")
controls.say_other_seed(choice)
blocks.say_what_was_read(prompt)
tokens = st.container()

st.subheader("Where does each head look?")
explain(
    "Each row is a word that looks, the *query*; each column is one it may look at, the *key*: itself or earlier. "
    "A row is what the model does when that word is the last one it has read. Press a token or click a cell."
)
with st.container(key="picture_controls", horizontal=True, vertical_alignment="bottom"):
    query = controls.choose_query(prompt)
    head = controls.choose_head(chosen.heads) if has_heads else 0
    shown_heads = controls.choose_picture(chosen.heads, head) if has_heads else []
    scale = controls.choose_scale()
    first_token = controls.choose_first_token()

reading = prompt.up_to(query)
seen = {c.name: inspection_of(c, reading.ids) for c in choice.compared}
weights_table = weight_table(seen, reading)
probabilities = probabilities_of(chosen, reading.ids)
words = next_words(probabilities, vocab)
figures = {"The ten likeliest next words": charts.next_word_bars(words)}
tables = {"Tokens": token_table(prompt), "Weights of the chosen query": weights_table}
tables["The ten likeliest next words"] = words

with tokens:
    components.token_row(
        prompt,
        components.id_notes(prompt),
        key="tokens",
        chosen=query,
        on_pick=lambda place: controls.pick_query(prompt, place),
    )

if not has_heads:
    st.info("The MLP has no heads: it reads all 64 slots at once. Choose a number of heads above.")
else:
    inspection, rows = seen[chosen.name], rows_drawn_of(chosen, prompt)
    place_of_picture = st.container()
    one_reading = controls.choose_one_reading()
    picture = charts.weight_heatmaps(
        inspection_of(chosen, prompt.ids).weights if one_reading else rows.weights,
        prompt.labels,
        shown_heads,
        scale=scale,
        query=query,
        first_token=first_token,
    )
    with place_of_picture:
        view.heatmaps(picture, shown_heads, chosen.title)
    components.heatmap_clicks("heads", shown_heads, lambda *cell: controls.pick_cell(prompt, *cell))
    if one_reading:
        explain(view.ONE_READING)
    blocks.heads_in_words(inspection.weights[:, -1], reading, shown=query + 1)
    blocks.check_strip(inspection.checks, drawn=rows.difference(query, inspection))
    figures = {f"Attention weights of {chosen.name}": picture} | figures

    shade_by = controls.choose_shading()
    view.shaded_text(rows, prompt, head, query, shade_by, lambda place: controls.pick_query(prompt, place))

if seen:
    explain("The weights of the chosen query in numbers, model under model. Each row sums to 1.")
    blocks.number_table(weights_table, index=True, alt="Weights of the chosen query, one row a head")

if has_heads:
    measures = head_measures(model_of(chosen), inspection)
    st.caption(f"How {chosen.name} spreads the weights of {blocks.quoted(prompt, query)}, head by head.")
    blocks.number_table(measures, alt="How each head spreads its weights", help=MEASURES)
    tables["How each head spreads its weights"] = measures
    blocks.see_for_yourself()

    st.subheader("How is one weight made?")
    explain(
        "Each number is made by hand from the one before and set beside the model's own. *e* is a word's embedding: "
        "what the word is, plus where it stands. The head turns it into a query *q*, a key *k* and a value *v*."
    )
    key = controls.choose_key(reading, inspection.weights[head, -1])
    explained = explain_weight(
        model_of(chosen), inspection, head=head, key=key, word=words["id"][0], spelled=words["word"][0]
    )
    vectors, steps, terms = view.weight_vectors(explained), step_table(explained), term_table(explained)
    softmax = softmax_table(inspection, reading.labels, head=head)
    view.one_weight(explained, reading, vectors, steps, terms, softmax)
    figures["The vectors of one weight"] = vectors
    tables["One weight, step by step"] = steps
    tables["The dot product, term by term"] = terms
    tables["The softmax over the row"] = softmax

st.subheader("What comes next?")
explain(
    f"The ten likeliest of {len(vocab):,} words after {blocks.quoted(prompt, query)}, by {chosen.name}. The model "
    "gives each word a number, its *logit*; the softmax turns them into probabilities."
)
blocks.picture_and_table(
    figures["The ten likeliest next words"], words.drop(columns="id"), "next", alt="The ten likeliest next words"
)
view.say_likeliest(words)
word = controls.choose_word(vocab, int(words["id"][0]))
if has_heads:
    effect = word_effect(model_of(chosen), reading.ids, word)
    view.word_in_words(vocab.itos[word], effect)
    blocks.number_table(effect, alt="The word's probability and rank with each head off")
    tables[f"The word {vocab.itos[word]} with each head off"] = effect
else:
    rank = rank_of(word, probabilities)
    st.write(f"**{for_markdown(vocab.itos[word])}**: probability {written(probabilities[word])}, rank {rank:,}.")

if has_heads:
    st.subheader("What are the shapes?")
    explain(
        "Of every tensor (table of numbers) on the way, for one reading (1) in 64 slots; padding is part of it. "
        "With H heads each is 64 / H wide, so together they are always 64."
    )
    shapes = shape_table(inspection)
    blocks.text_table(shapes, alt="The shape of every tensor on the way")
    tables["Shapes"] = shapes

blocks.take_away(
    blocks.file_stem("explore", choice.checkpoint.title, choice.text),
    "Where each head looks",
    choice.text,
    choice.compared,
    lambda: (tables, figures),
)
