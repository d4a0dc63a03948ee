"""The nine chapters of the course: one idea, one thing to operate. Every number is calculated as the page is drawn."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st
import torch

from wordlm import course
from wordlm.ablation import cheapest_pair, head_value_table, worth_together
from wordlm.loss import losses_of_probabilities, perplexity
from wordlm.models import D_MODEL, DEFAULT_HEADS, HIDDEN, head_width, parameter_count
from wordlm.numbers import counted, scientific, short, signed, written
from wordlm.results import against_best, run_table, sharing_table, what_sharing_costs
from wordlm.text import CONTEXT_LEN, VOCAB_SIZE, EncodedPrompt
from wordlm.ui.drawing import charts
from wordlm.ui.drawing.charts import head_hue
from wordlm.ui.drawing.escape import as_sentence, for_markdown
from wordlm.ui.drawing.sentences import FORWARD, see_for_yourself
from wordlm.ui.drawing.tables import number_table, text_table
from wordlm.ui.frame import widgets
from wordlm.ui.frame.controls import Choice
from wordlm.ui.frame.glossary import explain, say
from wordlm.ui.frame.numbers_behind import in_numbers, picture_over_numbers
from wordlm.ui.state.resources import (
    Checkpoint,
    ablation_of,
    attention_of,
    checkpoint,
    comparison_of,
    inspection_of,
    vocabulary_of,
)
from wordlm.variants import Variant


@dataclass(frozen=True)
class Chapter:
    """A chapter's name in the menu, its title, which is its question or idea, what draws it, and what that reads."""

    name: str
    title: str
    draw: Callable[[Choice], None]
    uses: tuple[str, ...] = ()
    """Of the shared controls: "prompt", "model", "seed"."""


def _with_heads(choice: Choice) -> tuple[Checkpoint, EncodedPrompt]:
    """Return the chosen model and the prompt as it reads it; four heads where the MLP is chosen, which is said."""
    if choice.checkpoint.heads is not None:
        return choice.checkpoint, choice.prompt
    explain(f"The MLP has no heads, so {DEFAULT_HEADS} heads are shown.")
    return checkpoint(str(DEFAULT_HEADS), choice.seed), choice.bundled_prompt


def bottleneck(choice: Choice) -> None:
    """Two wishes, one head against two."""
    subject, object_ = (course.WISH_WORDS[place] for place in (course.SUBJECT, course.OBJECT))
    say(
        "Attention lets a word gather from other words what it needs. It compares its query with the key of each word; "
        "how well they fit is the score. From the scores come weights, and the word takes in the values, weighted. One "
        "such set of queries, keys and values is a head."
    )
    say(
        "A softmax makes the weights: e to the power of each score, divided by the sum of all these powers. So of the "
        f"scores 2 and 0, the first gets $e^2 / (e^2 + e^0)$ = {written(course.softmax(np.array([2.0, 0.0]))[0], 3)}."
    )
    say(
        f"A word may need two things at once. Here it wants to see the subject, *{subject}*, and the object, "
        f"*{object_}*. One head turns its scores into one distribution by a softmax, so the two wishes share the "
        "weights."
    )
    left, right = st.columns(2)
    first = widgets.slider("wish_subject", f"Wish to see {subject}, in points of score", place=left)
    second = widgets.slider("wish_object", f"Wish to see {object_}, in points of score", place=right)
    rows = course.two_wishes(first, second)
    short_names = rows.rename(index=lambda name: name.replace("two heads, ", "two: "))
    picture_over_numbers(
        charts.matrix_heatmap(short_names, rows="head", columns="key", unit="weight, 0 to 1"),
        rows,
        "wishes",
        index=True,
        alt="The rows of one head and of two heads",
    )
    one, two = rows.loc["one head"], rows.iloc[1:]
    say(
        f"One head gives {subject} {written(one[subject], 3)} and {object_} {written(one[object_], 3)}, together "
        f"{written(one[subject] + one[object_], 3)}: never more than 1. Two heads give "
        f"{written(two[subject].max(), 3)} and "
        f"{written(two[object_].max(), 3)}, together {written(two[subject].max() + two[object_].max(), 3)}, each from "
        f"a row of its own."
    )
    see_for_yourself()


def split(choice: Choice) -> None:
    """Shapes and parameters follow width and number of heads."""
    say(
        "The width is shared out among the heads. Each head attends in its part, and the parts are put side by side "
        "again."
    )
    left, right = st.columns(2)
    width = widgets.stops("course_width", "Width", place=left)
    heads = int(widgets.slider("course_heads", "Heads", place=right))
    try:
        each = head_width(width, heads)
    except ValueError as error:
        st.warning(
            f"{width} / {heads} = {written(width / heads, 2)}: the coordinates cannot be shared out evenly. So the "
            f"model refuses, in the words of its code: *{for_markdown(str(error))}*."
        )
        draw_split(width, heads)
    else:
        ours = head_width(D_MODEL, DEFAULT_HEADS)
        draw_split(width, heads)
        say(
            f"Width {width} with {counted(heads, 'head')} makes {each} each. Our model has width "
            f"{D_MODEL} and {DEFAULT_HEADS} heads, which makes {ours}."
        )
        explain(
            "A query is the vector with which a word looks at others. A message is what a head hands to it: the "
            "weighted sum of the values. Chapter 5 makes both step by step."
        )
        say(
            f"The matrices have {course.attention_parameters(width, heads, each):,} numbers, as many as for one head: "
            f"{course.attention_parameters(width, 1, width):,}."
            f"{f' There are {heads} patterns instead of one.' if heads > 1 else ''}"
        )
        shapes = course.split_shapes(width, heads)
        in_numbers("shapes", lambda: text_table(shapes, alt="Shapes on the way through the block"), "The shapes")
    st.markdown("**Keep the head width, or keep the width?**")
    say(
        "When a model gets more heads, there are two ways. They share out the same width, as here. Or each keeps "
        "all of it, and the attention matrices grow with the heads."
    )
    counts = [count for count in (1, 2, 4, 8, 16) if width % count == 0]
    growth = course.growth_table(width, counts)
    picture_over_numbers(
        growth_picture(growth), growth, "growth", alt="Parameters of the two ways to add heads, by number of heads"
    )
    shared, kept = growth.iloc[-1, 2], growth.iloc[-1, 3]
    say(
        f"At width {width}, the matrices of {counted(counts[-1], 'head')} that share have {shared:,} parameters; if "
        f"each keeps the full width, {kept:,}, which is {short(kept / shared)} times as many. Only these matrices "
        f"grow: our whole model would go from {parameter_count('attention'):,} to "
        f"{course.parameters_with_full_width(counts[-1]):,}. "
        "Sharing asks whether more patterns help at the same price."
    )
    st.markdown("**Twice the width: with the heads, or without?**")
    if width % heads:
        explain("Choose a number of heads that divides the width to see both.")
    else:
        doubled = course.doubling_table(width, heads)
        times = doubled.iloc[1, -1] / doubled.iloc[0, -1]
        say(
            f"With twice the heads, there are twice as many patterns, from heads as wide as before. With as many "
            f"heads, each is twice as wide. Both cost the same: {short(times)} times the parameters in these matrices."
        )
        in_numbers("doubled", lambda: text_table(doubled, alt="What twice the width makes of the heads"))
    st.markdown("**Too narrow or too wide?**")
    say(
        "The number of heads is not learned: whoever designs the model chooses it. At a fixed width, more heads are "
        "narrower. A narrow head has few numbers to compare with, and few heads make few patterns."
    )
    say_narrow_heads(comparison_of())
    st.page_link("pages/benchmark.py", icon=FORWARD, label="The Benchmark has every number of heads for this model")


def draw_split(width: int, heads: int) -> None:
    """Draw one word's vector, its cut into a block of cells a head, and the blocks side by side again.

    Each coordinate is a cell in its head's hue; what cannot be shared out is grey.
    """
    each, rest = divmod(width, heads)
    hues = [head_hue(head) for head in range(heads)]
    parts = [(each, hue) for hue in hues] + ([(rest, "#888888")] if rest else [])
    strip = "".join(f'<i style="flex-grow:{size};background:{hue}"></i>' for size, hue in parts)
    blocks = [_cells(each, hue, f"head {head + 1}") for head, hue in enumerate(hues)]
    if rest:
        blocks.append(_cells(rest, "#888888", "left over"))
    whole = f"<div class=strip>{strip}</div>"
    again = "" if rest else f"<p>The messages stand side by side again: {counted(width, 'number')}</p>{whole}"
    st.html(
        f'<div class="split" role="img" aria-label="{width} coordinates cut into {heads} blocks of {each}">'
        f"<p>The vector of one word: {width} coordinates</p>{whole}"
        f"<p>A block of {each} for each head, in which it attends</p><div class=blocks>{''.join(blocks)}</div>{again}"
        "</div>"
    )


def _cells(count: int, hue: str, name: str) -> str:
    """Return a block of so many cells, with what it is under it."""
    columns = 2 ** math.ceil((math.log2(count) + 1) / 2)
    rows, last = divmod(count, columns)
    lines = [(columns, rows), (last, 1)]
    drawn = "".join(f'<i style="--c:{c};--r:{r};background:{hue}"></i>' for c, r in lines if c and r)
    return f"<div>{drawn}<span>{name}<br>{counted(count, 'cell')}</span></div>"


def growth_picture(growth: pd.DataFrame) -> charts.PlainFigure:
    """Draw a table of `course.growth_table`: the parameters of both ways, side by side for each number of heads."""
    labels = [counted(heads, "head") for heads in growth["heads"]]
    shared, kept = (growth.iloc[:, column].to_numpy() for column in (2, 3))
    series = {"the width is shared out": shared, "each head keeps it all": kept}
    return charts.paired_bars(labels, series, "parameters of the matrices")


def say_narrow_heads(comparison: dict) -> None:
    """Say what our own runs show of heads that are too wide or too narrow, and whether the seeds decide it."""
    pairs = against_best(run_table(comparison)).set_index("heads")
    if len(pairs) < 2:
        return
    best, most, fewest = int(pairs["best"].iloc[0]), max(pairs.index), min(pairs.index)
    said = [
        f"In our runs {counted(best, 'head')}, each {head_width(D_MODEL, best)} wide, had the lowest mean test loss."
    ]
    for heads in (most, fewest):
        pair = pairs.loc[heads]
        said.append(
            f"With {counted(heads, 'head')} of width {head_width(D_MODEL, heads)} it is "
            f"{written(pair['difference'])} nats higher, 95\u00a0% interval {signed(pair['from'])} to "
            f"{signed(pair['to'])}" + ("." if pair["decided"] else ": that holds 0, so these seeds do not decide it.")
        )
    say(" ".join(said))


def one_vector(choice: Choice) -> None:
    """Slicing a vector against projecting it, with numbers to edit."""
    say(
        "Two heads of width 2 read one vector of 4 numbers. Either each gets a slice of it, or each has a projection "
        "of its own that reads all of it. Edit the numbers."
    )
    try:
        vector = course.parse_matrix(widgets.field("course_x", "The vector x: four numbers"), 1, 4)[0]
        matrices = course.parse_matrix(
            widgets.area("course_projections", "The projections: two lines of four numbers for head 1, two for head 2"),
            4,
            4,
        )
    except ValueError as error:
        st.error(as_sentence(error))
        return
    result = course.two_heads_from(vector, matrices[:2], matrices[2:])
    number_table(result, index=True, alt="What two heads get by a slice and by a projection")
    nudged = vector + np.array([0, 0, 0, 1.0])
    change = (course.two_heads_from(nudged, matrices[:2], matrices[2:]) - result).abs().sum(axis=1)
    say(
        f"Add 1 to the fourth number. The two coordinates of head 1 then change by "
        f"{written(change['slice, head 1'], 3)} in "
        f"all with the slice, and by {written(change['projection, head 1'], 3)} with the projection. A slice is the "
        "projection whose rows are one-hot."
    )


def two_patterns(choice: Choice) -> None:
    """Swap two queries, and the patterns swap with them."""
    say(
        f"Three tokens: {', '.join(course.TRIO)}. The last looks back with two heads. Both heads know the same keys "
        "here, so the query alone makes the pattern."
    )

    swapped = widgets.toggle("swapped", "Swap the two queries")
    queries = course.TRIO_QUERIES[::-1] if swapped else course.TRIO_QUERIES
    rows = course.trio_weights(queries)
    said = [f"head {h + 1}: query ({short(q[0])}, {short(q[1])})" for h, q in enumerate(queries)]
    explain(f"{'Swapped' if swapped else 'As they were'}. {'; '.join(said)}.")
    picture_over_numbers(
        charts.matrix_heatmap(rows, rows="head", columns="key", unit="weight, 0 to 1"),
        rows,
        "trio",
        index=True,
        alt="The weight rows of two heads over three tokens",
    )
    first, second = rows.loc["head 1"], rows.loc["head 2"]
    say(
        f"Head 1 looks most at *{first.idxmax()}*, {written(first.max(), 3)}; head 2 at *{second.idxmax()}*, "
        f"{written(second.max(), 3)}. Swap the queries and the rows change places."
    )
    see_for_yourself()


def message(choice: Choice) -> None:
    """Scale, mask, softmax, weighted sum, output projection."""
    say(
        "A query meets every key in a dot product. Divided by the root of the head width, it is the score. Later keys "
        "get the score negative infinity. The softmax makes weights of a row. The weighted sum of the values is the "
        "message."
    )
    query = course.vector_text(course.TRIO_QUERIES[0])
    explain(f"The last of three tokens, *{course.TRIO[-1]}*, looks with the query {query}. One line a key.")
    number_table(course.message_steps(), index=True, alt="From query, keys and values to a message")
    say(f"The last column adds up to the message: {course.vector_text(course.message_of_steps())}.")
    st.page_link("pages/explore.py", icon=FORWARD, label="Explore does the same for a weight of your prompt")
    st.markdown("**Why the scale?**")
    spread = course.spread_table()
    picture_over_numbers(
        charts.lines_by_width(spread.iloc[:, :3], "standard deviation"),
        spread,
        "spread",
        alt="The spread of random dot products and of scores, which are scaled, against the width",
    )
    left, right = st.columns(2)
    width = widgets.stops("scale_width", "Width of the head", place=left)
    scaled = widgets.toggle("scale_on", "Divide by the root of the width", place=right)
    drawn = course.score_spread(width, scaled)
    say(
        "Queries and keys are random here. The spread of their dot products grows with the width, as its root. "
        f"The scale keeps it from growing. At width {width} the {'scores' if scaled else 'dot products'} spread by "
        f"{written(drawn['spread'], 2)}; the root of the width is {written(math.sqrt(width), 2)}."
    )
    say(
        f"Made of {'scores' if scaled else 'dot products without the scale'}, the largest of {course.SPREAD_KEYS} "
        f"weights is {written(drawn['largest'], 2)} on average. A weight w lets w (1 − w) of a gradient pass: on "
        f"average {written(drawn['passes'], 3)} here, and never more than {short(course.MOST_THAT_PASSES)}. When "
        "that is near 0, the softmax is saturating."
    )
    st.markdown("**Why minus infinity, and why before the softmax?**")
    way = widgets.segments("mask_way", "Hide later keys")
    scores = np.array([[1.0, 2.0, 0.5], [0.5, 1.0, 2.0], [1.0, 0.0, 1.5]])
    weights = course.masked_rows(scores, way)
    explain("The scores, and the weights that they become. Row = query, column = key.")
    left, right = st.columns(2)
    with left:
        number_table(pd.DataFrame(scores, course.TRIO, course.TRIO), index=True, alt="Nine scores")
    table = pd.DataFrame(weights, index=course.TRIO, columns=course.TRIO)
    with right:
        picture = charts.matrix_heatmap(table, rows="query", columns="key", unit="weight, 0 to 1")
        table = table.assign(sum=weights.sum(1))
        picture_over_numbers(picture, table, "masked", index=True, alt="Three rows of weights and their sums")
    outcomes = {
        "minus infinity before": "No word sees a later one, and every row is a distribution.",
        "zero after": "Later scores still count in what each row was divided by, so the rows no longer sum to 1.",
        "none": f"The first word gives {written(weights[0, 1:].sum(), 3)} to words that come later.",
    }
    say(
        f"The rows sum to {written(weights[0].sum(), 3)}, {written(weights[1].sum(), 3)} and "
        f"{written(weights[2].sum(), 3)}. " + outcomes[way]
    )
    st.markdown("**What is lost without the output projection?**")
    chosen, _ = _with_heads(choice)
    reach = course.reach_of_messages(attention_of(chosen))
    own, whole = reach["without it"][0], reach["with it"][0]
    if own == whole:
        say(
            f"{chosen.title}: the message is as wide as the word, {own}, so one head loses no reach. Choose more "
            f"heads above."
        )
    else:
        say(
            f"In {chosen.title}, a head's message has {counted(own, 'number')}. Added as it is, it could change only "
            f"its own {own} of {D_MODEL} coordinates. The output projection lets it write into {whole}."
        )
    in_numbers("reach", lambda: number_table(reach, alt="How many coordinates each head can change"))


def built_in(choice: Choice) -> None:
    """Our block against PyTorch's own layer."""
    say("PyTorch has this block as a layer. With our matrices it must give our result. Run this in the repository.")
    chosen, prompt = _with_heads(choice)
    st.code(course.built_in_program(chosen.file, prompt.ids), language="python")
    model = attention_of(chosen)
    difference, averaged = course.built_in_layer(model, torch.from_numpy(prompt.input_ids))
    row = [round(weight, 3) for weight in averaged[0, -1, -len(prompt.ids) :].tolist()]
    st.code(f"largest difference: {scientific(difference)}\nlast row, averaged: {row}", language="text")
    sharpest, average = course.hidden_by_the_average(inspection_of(chosen, prompt.ids).weights)
    hides = model.heads > 1 and sharpest - average > 0.05
    say(
        f"By default the layer returns the mean of the weights over the heads, here {model.heads}. In the last row of "
        f"your prompt the largest weight of any head is {written(sharpest, 3)}; the largest of the mean is "
        f"{written(average, 3)}. "
        + ("The mean hides which head looked where." if hides else "Here there is little that the mean could hide.")
    )


def not_modules(choice: Choice) -> None:
    """Names are hypotheses, ablation is a test, and induction is not to be found here."""
    say(
        "It is tempting to name a head after what its picture shows. A name is a hypothesis; ablation is a test. "
        "Switch the head off, and see how the loss on the test set rises."
    )
    chosen, _ = _with_heads(choice)
    stored = ablation_of(chosen)
    if stored is None:
        explain(f"{chosen.title} is your own and was not measured; choose a bundled model above to see the numbers.")
    else:
        values = head_value_table(stored)[["zero", "zero low", "zero high"]]
        values.columns = ["increase of the test loss, nats", "95 % from", "to"]
        picture_over_numbers(
            charts.interval_bars(values, tuple(values.columns), "increase of the test loss, nats"),
            values,
            "without",
            index=True,
            alt="Increase of the test loss without each head, with its interval",
            decimals=4,
        )
        explain(
            "A bar is what the loss gains without that head. The line on it is a 95\u00a0% interval over the stories."
        )
        rises = values.iloc[:, 0]
        if len(rises) == 1:
            say(f"Without its one head, the loss of {chosen.name} rises by {written(rises.iloc[0])} nats.")
        else:
            say(
                f"Of {chosen.name}, {rises.idxmax()} is worth most, given the others: without it the loss rises by "
                f"{written(rises.max())} nats. Without {rises.idxmin()} it rises by {written(rises.min())}."
            )
            say_redundancy(stored)
    explain(
        "All this is measured on stories, by the loss over all their words. On another task other heads may matter, "
        "and another number of heads may be best."
    )
    see_for_yourself()
    st.markdown("**Is there an induction head?**")
    say(
        "A large model can use what it has just read, without any change to its parameters. That is in-context "
        "learning. Induction heads are one way to it: they find what followed last time, and copy it (Olsson et al. "
        "2022)."
    )
    say(
        "Show random words twice over: A B … A B. A head that copies would look from the second A at the first B, and "
        "the second showing would hardly surprise the model."
    )
    draw = int(widgets.slider("induction_seed", "Seed of the random words"))
    found = _induction(chosen, draw)
    table = pd.DataFrame({"head": range(1, len(found.scores) + 1), "induction score": found.scores})
    picture_over_numbers(
        charts.head_bars(found.scores, "induction score"),
        table,
        "induction",
        alt="How much each head looks at the word that followed last time",
    )
    explain("The induction score is the mean weight on the word that followed the last time.")
    best = int(found.scores.argmax())
    say(
        f"Even weights would score {written(found.even, 3)}; head {best + 1} has the highest score, "
        f"{written(found.scores[best], 3)}. "
        f"Mean surprisal: {written(found.first, 2)} nats in the first showing, {written(found.second, 2)} in the "
        f"second.{_beside_even_chances(found.first, math.log(len(vocabulary_of(chosen))))}"
    )
    # A head that copies puts most of its weight there, and the words of the second showing become easy.
    if found.scores[best] < 0.5 and found.second > 0.5 * found.first:
        say(
            "So no head copies here. That is as expected: one head must first mark which word came before, and another "
            "must use the mark. That takes two blocks, and this model has one."
        )
    else:
        say(
            "That looks like copying, which would be a surprise in one block. Try other random words before "
            "believing it."
        )


def say_redundancy(stored: dict) -> None:
    """Say that heads stand in for each other, with the sums, and what follows for pruning."""
    together = worth_together(stored)
    redundant = together.singles < together.all_off
    say(
        f"The {stored['heads']} increases add up to {written(together.singles, 3)}; with all heads off the loss rises "
        f"by {written(together.all_off, 3)}. "
        + ("While one is off, the others make up for part of it. That is redundancy." if redundant else "")
    )
    pair = cheapest_pair(stored)
    said = ""
    if pair is not None:
        (first, second), both, apart = pair
        said = (
            f" The cheapest pair to lose here is heads {first + 1} and {second + 1}: {written(both, 3)} when both are "
            f"off, "
            f"{written(apart, 3)} if one adds up the single increases."
        )
    say(
        "Pruning takes heads out for good, those that matter least first. After each, the rest must be measured anew "
        f"(Michel et al. 2019).{said}"
    )


def _beside_even_chances(surprisal: float, even: float) -> str:
    said = f"even chances for every word, {written(even, 2)}"
    if surprisal > even:
        return f" (Random words surprise this model more than {said}, would: it expects other words.)"
    return f" (That is no more than {said}, would give.)"


@st.cache_data(max_entries=32, show_spinner="Showing random words …")
def _induction(chosen: Checkpoint, seed: int) -> course.InductionTest:
    return course.induction_test(attention_of(chosen), seed=seed)


def cost(choice: Choice) -> None:
    """A calculator of memory, with a chart against the length."""
    say(
        "Each head has a weight for each pair of words, so the score matrix takes length² × heads numbers. When a "
        "model writes, it keeps keys and values in a key-value cache. Heads can share them: in groups, or all one set."
    )
    columns = st.columns(3)
    length = widgets.stops("cost_length", "Length in tokens", place=columns[0])
    width = widgets.stops("cost_width", "Width", place=columns[1])
    heads = widgets.stops("cost_heads", "Heads", place=columns[2])
    groups = widgets.stops("cost_groups", "Groups of heads", place=columns[0])
    precision = widgets.stops("cost_precision", "Bytes a number", place=columns[1])
    layers = int(widgets.slider("cost_layers", "Layers", place=columns[2]))
    try:
        table = course.cost_table(length, width, heads, groups, precision, layers)
    except ValueError as error:
        evenly = f"{groups} groups cannot share out {heads} heads evenly: choose as many as divide them."
        st.warning(evenly if heads % groups else as_sentence(error))
        return
    lengths = [2**k for k in range(6, 18)]
    each = head_width(width, heads)
    lines = {"scores of all layers": [course.score_bytes(n, heads, precision, layers) / 2**20 for n in lengths]}
    for way, count in zip(table["way"], table["sets of keys and values"], strict=True):
        lines[f"cache, {way}"] = [course.cache_bytes(n, count, each, precision, layers) / 2**20 for n in lengths]
    figure = charts.named_lines(lengths, lines)
    figure.update_layout(height=340, margin={"l": 8, "r": 8, "t": 28, "b": 8}, legend=charts.LEGEND_ABOVE)
    figure.add_vline(length, line_dash="dot", line_color="#888888")
    figure.update_xaxes(type="log", title="length, tokens", tickvals=lengths[::3], fixedrange=True)
    figure.update_yaxes(type="log", title="MiB", fixedrange=True)
    picture_over_numbers(figure, table, "cost", alt="Memory of scores and cache against the length", decimals=1)
    operations = course.attention_operations(length, width, layers)
    one_layer = course.score_bytes(length, heads, precision, 1) / 2**20
    say(
        f"Training keeps the weights of all layers for the gradient: {written(table.iloc[0, 2], 1)} MiB. Reading "
        f"alone needs "
        f"those of one layer at a time: {written(one_layer, 1)} MiB. Fused attention makes them piece by piece and "
        "keeps neither. It does not change the cache."
    )
    say(
        f"Scores and weighted sums take {written(operations / 1e9, 1)} billion multiplications and additions, "
        f"whatever the "
        "number of heads. That is one forward pass over the whole text that skips no masked pair. Skipping them, as "
        "fused attention may, saves nearly half."
    )
    saved = ""
    if len(table) > 1:
        times = table.iloc[0, 3] / table.iloc[1, 3]
        saved = f" Here {table['way'][1]} makes the cache {short(times)} times smaller."
    say(
        "What does sharing trade? Heads that share keep queries of their own, but find words by the same keys and take "
        f"in the same values.{saved} The heads can differ less, which may cost some quality (Shazeer 2019; Ainslie et "
        "al. 2023)."
    )
    _say_what_ours_keep()


def _say_what_ours_keep() -> None:
    """Say what a cache of our own models holds and saves, and what sharing cost them in our runs."""
    whole, one_set = (course.cache_bytes_of(Variant.with_heads(DEFAULT_HEADS, sets)) for sets in (None, 1))
    all_words, one_word = (2 * words * D_MODEL * D_MODEL for words in (CONTEXT_LEN, 1))
    say(
        f"Our own models can keep one. Each new word moves all others one slot, but a key is a word's part plus a "
        f"slot's part. So the word's part is kept and the cache is exact: {whole} bytes a word where {DEFAULT_HEADS} "
        f"heads have their own sets, {one_set} where they share one. To make keys and values of {CONTEXT_LEN} words "
        f"anew takes {all_words:,} multiplications, of one word {one_word:,}. To score the vocabulary takes "
        f"{HIDDEN * VOCAB_SIZE:,} either way, so at this length a cache saves little time."
    )
    if not (sharing := sharing_table(comparison_of())).empty:
        say(f"What sharing cost them, measured: {what_sharing_costs(sharing)}")


def reading_a_loss(choice: Choice) -> None:
    """From one probability to loss and perplexity."""
    say(
        "A model gives the word that comes a probability p. Its loss is −ln p, the surprisal. The mean over many words "
        "is the cross-entropy, and its exponential the perplexity."
    )
    first = widgets.slider("loss_first", "Probability of the first word")
    second = widgets.slider("loss_second", "Probability of the second word")
    losses = losses_of_probabilities([first, second])
    mean = float(losses.mean())
    say(
        f"The losses are {written(losses[0])} and {written(losses[1])} nats, their mean {written(mean)}. The "
        f"perplexity is "
        f"{written(perplexity(mean))}: as unsure as among so many equally likely words."
    )
    say(
        "Losses may be compared when tokenizer and test words are the same, as they are for all our models. The number "
        f"of parameters need not be: the MLP has {parameter_count('mlp'):,}, the attention models "
        f"{parameter_count('attention'):,}, or fewer where heads share keys and values."
    )
    st.page_link(
        "pages/perplexity.py", icon=FORWARD, label="Go on to Perplexity, with your own probabilities and texts"
    )


CHAPTERS = (
    Chapter("Bottleneck", "Why is one head a bottleneck?", bottleneck),
    Chapter("Split", "Split, attend, concatenate", split),
    Chapter("One vector", "Two heads from one vector", one_vector),
    Chapter("Two patterns", "Two heads, two patterns", two_patterns),
    Chapter("Message", "From Q, K, V to a message", message, ("model", "seed")),
    Chapter("Built-in layer", "The built-in layer", built_in, ("prompt", "model", "seed")),
    Chapter("Not modules", "Heads are not modules", not_modules, ("model", "seed")),
    Chapter("Cost", "What do many heads cost?", cost),
    Chapter("Loss", "Reading a loss", reading_a_loss),
)


def chapter_name(number: str) -> str:
    """Return what the menu calls a chapter: "2 Split"."""
    return f"{number} {CHAPTERS[int(number) - 1].name}"
