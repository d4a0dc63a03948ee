"""What the Words tab of Heads and words draws: words near a word, a map of all words, and how alike the slots are."""

import numpy as np
import pandas as pd
import streamlit as st

from wordlm.embeddings import (
    WordMap,
    chance_of_nearest,
    cosines,
    length,
    mean_apart,
    nearest,
    of_like_frequency,
    similarity,
)
from wordlm.numbers import percent, written
from wordlm.text import SPECIALS, Vocab, tokenize
from wordlm.ui.drawing import charts, tables
from wordlm.ui.drawing.escape import for_markdown, word_html
from wordlm.ui.drawing.figure import PlainFigure
from wordlm.ui.frame import numbers_behind, parameters, widgets
from wordlm.ui.frame.controls import Choice
from wordlm.ui.frame.export import Collected
from wordlm.ui.frame.glossary import explain, say
from wordlm.ui.state.resources import Checkpoint, embeddings_of, kept, map_of, vocabulary_of

ADDED, AS_READ = parameters.options_of("vectors")
NEIGHBOURS, FEWEST = 10, 3


def choose(choice: Choice) -> tuple[int, bool]:
    """Let the visitor name a word and choose the vectors; return its id, and whether what training added is meant."""
    chosen = choice.checkpoint
    known = embeddings_of(chosen, added=True) is not None
    with st.container(key="words_shown", horizontal=True, vertical_alignment="bottom"):
        word = _word(choice)
        form = widgets.segments("vectors", "Its vector", (ADDED, AS_READ) if known else (AS_READ,))
    if known:
        share = length(embeddings_of(chosen, added=True).words) / length(embeddings_of(chosen, added=False).words)
        explain(
            f"Each word begins as a random vector, and most of that stays: what training added is {percent(share, 0)} "
            "as long as the vector that the model reads. Taken by itself it shows what was learned."
        )
    else:
        explain(f"What training added to {chosen.title} is not known: it did not begin with the values of its seed.")
    return word, form == ADDED


def _word(choice: Choice) -> int:
    """Return the id of the named word, or of the last word of the prompt that is known."""
    vocab = vocabulary_of(choice.checkpoint)
    known = [id_ for id_ in choice.word_ids if id_ >= len(SPECIALS)]
    word = known[-1] if known else len(SPECIALS)
    tokens = tokenize(widgets.field("near", "Word", placeholder=vocab.itos[word], live=True, width=320))
    if not tokens:
        return word
    (id_,) = vocab.encode(tokens[:1])
    if id_ < len(SPECIALS):
        st.warning(f"{for_markdown(tokens[0])} is not among the {len(vocab):,} words, so it has no vector.")
        return word
    return id_


def neighbourhood(chosen: Checkpoint, word: int, added: bool) -> Collected:
    """Draw the words nearest to a word beside two baselines, and the map of all words; return both."""
    vocab, vectors = vocabulary_of(chosen), embeddings_of(chosen, added).words
    if len(vocab) < len(SPECIALS) + FEWEST:
        st.info(f"The vocabulary of {chosen.title} has fewer than {FEWEST} words, too few for neighbours and a map.")
        return {}, {}
    if not vectors[word].any():
        said = f"Training never read *{for_markdown(vocab.itos[word])}*, so it added nothing to its vector."
        st.info(f"{said} Choose another word, or the vectors *{AS_READ}*.")
        return {}, {}
    near = cosines(vectors, word)
    table = nearest(near, word, vocab, NEIGHBOURS)
    alike = near[of_like_frequency(word, len(vocab))]
    table["random directions"] = _chance(*vectors.shape)[: len(table)]
    table["words of like frequency"] = float(alike.mean())
    _say_nearest(vocab.itos[word], table, alike)
    bars, points = nearest_bars(table), word_points(map_of(chosen, added), word, table, vocab)
    left, right = st.columns(2)
    with left:
        alt = f"The words nearest to {vocab.itos[word]}"
        st.plotly_chart(bars, key="nearest_words", config=charts.MENU, alt=alt)
        numbers_behind.in_numbers("nearest", lambda: tables.number_table(table, alt=alt))
    with right:
        st.plotly_chart(points, key="word_map", config=charts.MENU, alt="A map of the words by their vectors")
        explain(
            "Each point is a word. The axes are those along which the vectors vary most, by principal component "
            "analysis. Two directions of "
            f"{vectors.shape[1]} cannot show all that is near, so neighbours may lie apart here. The first axis and "
            f"the rank by frequency correlate by {written(map_of(chosen, added).with_rank, 2)}."
        )
    return {alt: table}, {alt: bars, "A map of the words": points}


def _say_nearest(word: str, table: pd.DataFrame, alike: np.ndarray) -> None:
    st.html(
        f"<p>Nearest to {word_html(word)}: {', '.join(word_html(other) for other in table['word'][:3])}; the first has "
        f"a cosine of {written(table['cosine'][0], 3)}. Of as many random directions the nearest would be at "
        f"{written(table['random directions'][0], 3)}. The {len(alike)} words of most like frequency are at "
        f"{written(alike.mean(), 3)} on average, {written(alike.max(), 3)} at most.</p>"
    )


def nearest_bars(table: pd.DataFrame) -> PlainFigure:
    """Draw the nearest words' cosines with both baselines."""
    names = [f"{rank} · {name}" for rank, name in enumerate(table["word"], 1)]
    marks = {name: table[name].to_numpy() for name in ("random directions", "words of like frequency")}
    return charts.bars_with_marks(names, ("nearest words", table["cosine"].to_numpy()), marks, "cosine")


def word_points(drawn: WordMap, word: int, table: pd.DataFrame, vocab: Vocab) -> PlainFigure:
    """Draw the map of all words with a word and its nearest ones marked."""
    marked = [int(id_) - len(SPECIALS) for id_ in (word, *table["id"])]
    across, up = (f"axis {number}: {percent(share)} of the variance" for number, share in enumerate(drawn.shares, 1))
    return charts.map_of_points(drawn.places, vocab.decode(drawn.ids), marked, (across, up))


@kept(8)
def _chance(vocab_size: int, width: int) -> np.ndarray:
    return chance_of_nearest(vocab_size, width, NEIGHBOURS)


def slots(chosen: Checkpoint, added: bool) -> Collected:
    """Draw how alike the position embeddings of every two slots are, or say why there are none; return that."""
    vectors = embeddings_of(chosen, added).slots
    if vectors is None:
        st.info("The MLP has no position embeddings: it reads the 64 slots side by side, each by weights of its own.")
        return {}, {}
    alike, near = similarity(vectors), len(vectors) // 4
    figure, name = charts.cosine_heatmap(alike, "slot"), "How alike the slots are"
    left, right = st.columns(2)
    with left:
        st.plotly_chart(figure, key="slots_alike", config=charts.MENU, alt="Cosines of the position embeddings")
    with right:
        say(
            f"The last {near} slots, those of the latest words, have a mean cosine of "
            f"{written(mean_apart(alike[-near:, -near:]), 3)} with each other; the {len(alike) - near} before them of "
            f"{written(mean_apart(alike[:-near, :-near]), 3)}."
        )
        explain("Alike slots are treated alike, so a model that tells two distances apart needs unlike slots for them.")
    return {name: pd.DataFrame(alike)}, {name: figure}
