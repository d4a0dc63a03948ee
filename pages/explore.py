from wordlm.ui.shell import inside_app

inside_app()

import streamlit as st

from wordlm.inspection import next_words, shape_table, weight_table
from wordlm.ui import blocks, charts, controls
from wordlm.ui.resources import inspection_of, probabilities_of, vocabulary

choice = controls.shared_choice()
prompt, chosen = choice.prompt, choice.checkpoint
controls.say_other_seed(choice)

st.subheader("What did the model read?")
blocks.say_what_was_read(prompt)
blocks.token_row(prompt)

st.subheader("Where does each head look?")
st.caption(
    "Each row is a word that looks, the *query*; each column is one it may look at, the *key*: itself or earlier."
)
with st.container(key="picture", horizontal=True, vertical_alignment="bottom"):
    query = controls.choose_query(prompt)
    shown_heads = controls.choose_heads(chosen.heads) if chosen.heads else []
    scale = controls.choose_scale()

if chosen.heads is None:
    st.info(
        "The MLP has no heads: it reads all 64 slots at once. Choose a number of heads above to see where they look."
    )
else:
    inspection = inspection_of(chosen, prompt.ids)
    with st.container(key="heads_many" if len(shown_heads) > 1 else "heads_one"):
        st.plotly_chart(
            charts.weight_heatmaps(inspection.weights, prompt.labels, shown_heads, scale=scale, query=query),
            key="heatmaps",
            config=charts.MENU,
            alt=f"Attention weights of {chosen.title}, one square a head: row is the query, column the key.",
        )
    blocks.heads_in_words(inspection, prompt, query)
    blocks.check_strip(inspection.checks)

st.caption("The weights of the chosen query in numbers, model under model. Each row sums to 1.")
table = weight_table({c.name: inspection_of(c, prompt.ids) for c in choice.compared}, prompt, query)
blocks.number_table(table, "weights", index=True, alt="Weights of the chosen query: one row a head, one column a key")

st.subheader("What comes next?")
st.caption(f"The ten likeliest of 4,000 words after the prompt, by {chosen.name}.")
words = next_words(probabilities_of(chosen, prompt.ids), vocabulary())
bars_column, words_column = st.columns([3, 2])
with bars_column:
    st.plotly_chart(
        charts.next_word_bars(words["word"].tolist(), words["probability"].to_numpy()),
        key="next",
        config=charts.MENU,
        alt=f"The ten likeliest next words; the first is {words['word'][0]} with {words['probability'][0]:.3f}.",
    )
with words_column:
    blocks.number_table(words, "next_words", alt="The ten likeliest next words with their probabilities")

if chosen.heads is not None:
    st.subheader("What are the shapes?")
    st.caption("Of every tensor on the way, for one prompt (1) in 64 slots. Padding is part of it.")
    st.dataframe(shape_table(inspection), hide_index=True, alt="The shape of every tensor on the way")
