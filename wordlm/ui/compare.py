"""What the Compare page draws: two models side by side, and heads matched across seeds."""

import numpy as np
import pandas as pd
import streamlit as st

from wordlm.compare import best_matching
from wordlm.inspection import Inspection
from wordlm.numbers import written
from wordlm.text import EncodedPrompt, Vocab
from wordlm.ui.blocks import number_table, picture_and_table
from wordlm.ui.escape import for_html, label_html
from wordlm.ui.glossary import say
from wordlm.ui.resources import Checkpoint


def say_rows(seen: dict[str, Inspection], reading: EncodedPrompt) -> None:
    """Say which head of which model looks most sharply from the last word of a reading, and at what."""
    rows = [(name, head, s.weights[head, -1]) for name, s in seen.items() for head in range(s.heads)]
    name, head, row = max(rows, key=lambda entry: entry[2].max())
    st.html(
        f"<p>Most sharply looks head {head + 1} of {for_html(name)}: <b>{label_html(reading.typed[-1])}</b> at "
        f"<b>{label_html(reading.labels[int(row.argmax())])}</b>, {written(row.max(), 3)}.</p>"
    )


def compare_next_words(probabilities: dict[str, np.ndarray], vocab: Vocab, count: int = 10) -> pd.DataFrame:
    """Draw and return the likeliest next words of two models side by side."""
    either = np.maximum(*probabilities.values())
    top = np.argsort(-either, kind="stable")[:count]
    table = pd.DataFrame({"word": vocab.decode(top.tolist()), **{n: p[top] for n, p in probabilities.items()}})
    firsts = {name: vocab.itos[int(p.argmax())] for name, p in probabilities.items()}
    said = "; ".join(
        f"{for_html(name)}: <b>{for_html(word)}</b>, {written(probabilities[name].max(), 3)}"
        for name, word in firsts.items()
    )
    st.html(f"<p>The likeliest next word. {said}.</p>")
    number_table(table, alt="The likeliest next words under A and B")
    return table


def compare_surprisal(prompt: EncodedPrompt, surprisals: dict[str, np.ndarray], figures: dict) -> pd.DataFrame:
    """Draw and return the surprisal of each typed word under two models."""
    table = pd.DataFrame({"word": prompt.word_labels, **surprisals})
    first, second = surprisals
    table["B − A"] = table[second] - table[first]
    apart = table["B − A"].abs()
    means = "; ".join(f"{for_html(name)}: {written(values.mean())}" for name, values in surprisals.items())
    most = f"They differ most at <b>{label_html(table['word'][apart.idxmax()])}</b>."
    st.html(f"<p>Mean surprisal in nats per word. {means}. {most if apart.any() else 'They do not differ.'}</p>")
    picture = figures["Surprisal of each typed word"]
    picture_and_table(picture, table, "surprisal", alt="Surprisal of each typed word under A and B", decimals=4)
    return table


def say_closest(distances: pd.DataFrame) -> None:
    """Say which of the four heads is closest to the one head, and how close their mean is."""
    to_one = distances.iloc[0, 1:]
    heads = to_one.drop("mean of the four")
    say(
        f"Of the four, {heads.idxmin().removeprefix('four heads, ')} is closest to the one head, at "
        f"{written(heads.min(), 3)}; "
        f"the mean of the four is at {written(to_one['mean of the four'], 3)}. On average over many words the one "
        f"head is "
        "nearer to the mean than to any single head, but not in every row. A mean is smoother, which favours it."
    )


def partner_table(first: Checkpoint, likeness: dict[int, np.ndarray]) -> pd.DataFrame:
    """Return, for each head of `first`, its partner at every other seed and how alike the two are."""
    table = pd.DataFrame({f"head, seed {first.seed}": range(1, first.heads + 1)})
    for seed, matrix in likeness.items():
        partners = best_matching(matrix)
        table[f"partner, seed {seed}"] = [partner + 1 for partner in partners]
        table[f"likeness, seed {seed}"] = matrix[range(len(partners)), partners]
    return table


def say_partners(partners: pd.DataFrame, seeds: tuple[int, ...]) -> None:
    """Say how often a head keeps its number at another seed."""
    heads = partners.iloc[:, 0]
    kept = sum(int((partners[f"partner, seed {seed}"] == heads).sum()) for seed in seeds[1:])
    of = len(partners) * (len(seeds) - 1)
    second = " and ".join(f"head {partners[f'partner, seed {seed}'][1]} at seed {seed}" for seed in seeds[1:])
    say(
        f"Head 2 at seed {seeds[0]} is matched with {second}. Of {of} matches, {kept} keep their number: "
        "a head's number is only the order in which its coordinates stand."
    )
