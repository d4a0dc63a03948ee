"""What the Compare page draws: a head of each of two models, their difference, and heads matched across seeds."""

from dataclasses import replace

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from wordlm.inspection import weight_table
from wordlm.likeness import surprisal_table
from wordlm.numbers import SPACE, counted, listed, signed, written
from wordlm.results import mean_interval, paired_differences
from wordlm.text import EncodedPrompt
from wordlm.ui.browser.carrying.messages import Chosen
from wordlm.ui.browser.pictures.heads import Look, Pane, heads_picture, panes_of
from wordlm.ui.drawing import charts
from wordlm.ui.drawing.charts import head_hue
from wordlm.ui.drawing.escape import for_html, label_html, word_html
from wordlm.ui.frame import address, controls
from wordlm.ui.frame.export import Collected
from wordlm.ui.frame.glossary import say
from wordlm.ui.frame.numbers_behind import picture_over_numbers
from wordlm.ui.state.resources import Checkpoint, inspection_of, scores_of

HUES, MEAN_HUE = ("#0072B2", "#D55E00"), head_hue(6)
"""Of A and of B; of the mean of four heads, which is the hue of none of them."""


def say_how_they_differ(
    a: Checkpoint, b: Checkpoint, prompt: EncodedPrompt, query: int, words: pd.DataFrame, comparison: dict
) -> None:
    """Say what each expects after this prompt, and how they compare over the whole test set."""
    firsts = []
    for name, column in (("A", "before"), ("B", "after")):
        best = int(words[column].idxmax())
        firsts.append(f"{name} expects {word_html(words['word'][best])}, {written(words[column][best], 3, limit=True)}")
    said = f"After <b>{label_html(prompt.typed[query])}</b> {' and '.join(firsts)}."
    st.html(f'<p class="seen">{said} {_over_the_test_set(a, b, comparison)}</p>')


def _over_the_test_set(a: Checkpoint, b: Checkpoint, comparison: dict) -> str:
    if a.is_own or b.is_own:
        return "That is one prompt; an own model was not scored on the test set."
    if a.variant == b.variant:
        return (
            "They are one kind of model from two random starts; how far seeds lie apart stands on the Benchmark page."
        )
    pairs = paired_differences(comparison, a.variant.group, b.variant.group)
    if len(pairs) < 2:
        return "That is one prompt."
    mean, low, high = mean_interval(pairs["difference"].tolist())
    better, worse = (a, b) if mean < 0 else (b, a)
    verb = "expect" if better.title.endswith(("heads", "kv")) else "expects"
    said = f"{better.title} {verb} the right word better than {worse.title}"
    if low <= 0 <= high:
        said = f"neither of {a.title} and {b.title} can be told to expect the right word better"
    holds = ", which holds 0" if low <= 0 <= high else ""
    return (
        f"That is one prompt. Over the whole test set {said}: the loss of A less that of B is {signed(mean)} nats a "
        f"word (95{SPACE}% interval {signed(low)} to {signed(high)}{holds}, {counted(len(pairs), 'seed')}; lower is "
        "better)."
    )


def panes_of_two(models: tuple[Checkpoint, Checkpoint], heads: tuple[int, int]) -> list[Pane]:
    """Return the panes of a head of A, a head of B, and their signed difference."""
    titles = [
        f"{name}: {one.title}" + (f", head {head + 1}" if (one.heads or 1) > 1 else "")
        for name, one, head in zip("AB", models, heads, strict=True)
    ]
    panes = [Pane(title, hue) for title, hue in zip(titles, HUES, strict=True)]
    return [*panes, Pane("A − B", HUES[0], negative=HUES[1])]


def with_difference(rows: list[np.ndarray]) -> np.ndarray:
    """Return the rows of A, those of B, and their difference."""
    return np.stack([*rows, rows[0] - rows[1]])


def one_and_four(prompt: EncodedPrompt, one: np.ndarray, four: np.ndarray, look: Look) -> None:
    """Draw the rows of one head, of four heads, and the mean of the four, each (n, n) or (4, n, n)."""
    panes = [Pane("one head", HUES[1]), *panes_of(len(four)), Pane("mean of the four", MEAN_HUE)]
    pane = int(address.held("pane")) - 1

    def chosen(said: Chosen) -> None:
        address.choose("pane", str(said["head"] + 1))
        controls.choose_in_picture(said, but=("head", "off"))

    rows = np.concatenate([one[None], four, four.mean(0, keepdims=True)])
    heads_picture(prompt, rows, panes, replace(look, head=pane), chosen, key="blend")


def next_words_of_two(words: pd.DataFrame, names: list[str]) -> go.Figure:
    """Return what two models expect, side by side."""
    labels = [f"{rank} · {word}" for rank, word in enumerate(words["word"], 1)]
    series = dict(zip(names, (words["before"].to_numpy(), words["after"].to_numpy()), strict=True))
    return charts.paired_bars(labels, series, "probability")


def collected(
    models: dict[str, Checkpoint],
    prompt: EncodedPrompt,
    reading: EncodedPrompt,
    word_ids: tuple[int, ...],
    words: pd.DataFrame,
) -> Collected:
    """Return the tables and figures of the view."""
    losses = {name: scores_of(one, word_ids, prompt.first_word).losses for name, one in models.items()}
    tables = {"Next words": words, "Surprisal of each typed word": surprisal_table(prompt.word_labels, losses)}
    figures = {
        "Surprisal of each typed word": charts.paired_bars(list(prompt.word_labels), losses, "surprisal, nats"),
        "Next words": next_words_of_two(words, list(models)),
    }
    seen = {name: inspection_of(one, reading.ids) for name, one in models.items() if one.heads}
    if seen:
        tables["Weights of the chosen query"] = weight_table(seen, reading)
    return tables, figures


def say_surprisal(table: pd.DataFrame) -> None:
    """Say how surprised each model is on average, and where they differ most."""
    apart = table["B − A"].abs()
    means = "; ".join(f"{for_html(name)}: {written(table[name].mean())}" for name in table.columns[1:3])
    most = f"They differ most at <b>{label_html(table['word'][apart.idxmax()])}</b>."
    st.html(f"<p>Mean surprisal in nats per word. {means}. {most if apart.any() else 'They do not differ.'}</p>")


def likeness(matrix: np.ndarray, first: int, second: int) -> None:
    """Draw how alike the heads of two seeds are."""
    names = [f"head {head + 1}" for head in range(len(matrix))]
    table = pd.DataFrame(matrix, index=names, columns=names)
    figure = charts.matrix_heatmap(table, rows=f"seed {first}", columns=f"seed {second}", unit="likeness, 0 to 1")
    alt = f"Likeness of heads, seed {first} and seed {second}"
    picture_over_numbers(figure, table, f"likeness_{second}", index=True, alt=alt)


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


def say_partners(partners: pd.DataFrame, seeds: tuple[int, ...]) -> None:
    """Say how often a head keeps its number at another seed."""
    heads = partners.iloc[:, 0]
    kept = sum(int((partners[f"partner, seed {seed}"] == heads).sum()) for seed in seeds[1:])
    of = len(partners) * (len(seeds) - 1)
    second = listed(f"head {partners[f'partner, seed {seed}'][1]} at seed {seed}" for seed in seeds[1:])
    say(
        f"Head 2 at seed {seeds[0]} is matched with {second}. Of {of} matches {kept} keep the number: "
        "a head's number is only the order in which its coordinates stand."
    )
