"""The quiz: questions whose numbers are drawn anew each round, with answers that are calculated.

A choice has a remark for each wrong option, a number a hint; `why` is shown with the right answer. All say what
was calculated from what, so a wrong answer explains itself.
"""

import functools
import math
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeVar

import numpy as np
import pandas as pd

from wordlm import course
from wordlm.loss import losses_of_probabilities, perplexity
from wordlm.models import D_MODEL, head_width, parameter_count
from wordlm.numbers import short

CLEAR = 0.05
"""How far the right answer stands from every other one at least, where numbers are read off a map or a list.

Far more than the two or three decimals that are shown can hide, so that no two answers look alike.
"""

Sort = Literal["choice", "number", "read a heatmap", "predict"]


@dataclass(frozen=True)
class Question:
    """One question with its answer. A number is right within `tolerance`."""

    chapter: int
    sort: Sort
    text: str
    answer: str | float
    why: str
    options: dict[str, str] = field(default_factory=dict)
    """Of a choice: each option and, for a wrong one, what is wrong with it."""
    hint: str = ""
    """Of a number: how to calculate it."""
    tolerance: float = 0.0
    matrix: pd.DataFrame | None = None
    """A small attention map to read: row = query, column = key."""

    def is_right(self, given: str | float) -> bool:
        """Whether `given` is the answer."""
        if isinstance(self.answer, str):
            return given == self.answer
        return isinstance(given, int | float) and abs(given - self.answer) <= self.tolerance

    def remark(self, given: str | float) -> str:
        """Return what helps after a wrong answer."""
        return self.options.get(str(given)) or self.hint


T = TypeVar("T")
Maker = Callable[[random.Random], Question]
MAKERS: list[Maker] = []


def maker(make: Maker) -> Maker:
    """Add a question to the quiz; the order of this file is that of the quiz."""
    MAKERS.append(make)
    return make


@functools.lru_cache(maxsize=16)
def questions(seed: int) -> tuple[Question, ...]:
    """Return the questions of one round; another seed gives other numbers."""
    if seed < 2:
        return tuple(make(random.Random(f"{seed} {make.__name__}")) for make in MAKERS)
    return tuple(_unlike(before, make, seed) for before, make in zip(questions(seed - 1), MAKERS, strict=True))


def _unlike(before: Question, make: Maker, seed: int) -> Question:
    """Make a question until it has another answer than that of the round before."""
    for attempt in range(40):
        asked = make(random.Random(f"{seed} {make.__name__} {attempt}"))
        if asked.answer != before.answer:
            break
    return asked


def question_of(chapter: int, seed: int) -> Question:
    """Return the first question of a chapter."""
    return next(question for question in questions(seed) if question.chapter == chapter)


def _shuffled(rng: random.Random, right: str, wrong: dict[str, str]) -> dict[str, str]:
    options = [(right, ""), *wrong.items()]
    rng.shuffle(options)
    return dict(options)


def _redrawn(draw: Callable[[], T], fits: Callable[[T], bool]) -> T:
    """Draw until it fits."""
    while not fits(drawn := draw()):
        pass
    return drawn


def _is_clear(right: float, others: Iterable[float]) -> bool:
    """Whether no other number could be taken for the right one."""
    return all(abs(right - other) > CLEAR for other in others)


# 1. Why one head is a bottleneck


@maker
def two_wishes_of_one_head(rng: random.Random) -> Question:
    strength = rng.choice([1.0, 2.0, 3.0, 4.0])
    row = course.two_wishes(strength, strength).loc["one head"]
    subject, object_ = (course.WISH_WORDS[place] for place in (course.SUBJECT, course.OBJECT))
    return Question(
        1,
        "choice",
        f"A row has {len(row)} words. One head scores *{subject}* and *{object_}* alike, and the {len(row) - 2} others "
        f"alike, each {strength:g} point{'s' * (strength != 1)} lower. How large are the two weights?",
        f"each about {row[subject]:.2f}",
        f"One softmax makes one distribution. The two share it: {row[subject]:.3f} each, "
        f"and together {row[subject] + row[object_]:.3f}.",
        _shuffled(
            rng,
            f"each about {row[subject]:.2f}",
            {
                f"each about {2 * row[subject]:.2f}": "Then the row would sum to more than 1. A row is one "
                "distribution.",
                f"one {2 * row[subject]:.2f}, the other 0": "The scores are equal, so the softmax treats both alike.",
            },
        ),
    )


@maker
def weights_in_a_row(rng: random.Random) -> Question:
    first, second = rng.randint(20, 45) / 100, rng.randint(10, 35) / 100
    return Question(
        1,
        "number",
        f"A row has three weights. Two are {first:.2f} and {second:.2f}. What is the third?",
        round(1 - first - second, 2),
        f"A row sums to 1, and 1 − {first:.2f} − {second:.2f} = {1 - first - second:.2f}.",
        hint="A row of weights sums to 1.",
        tolerance=0.005,
    )


@maker
def softmax_of_two(rng: random.Random) -> Question:
    gap = rng.choice([1.0, 2.0, 3.0])
    weight = float(course.softmax(np.array([gap, 0.0]))[0])
    return Question(
        1,
        "number",
        f"A row has two keys, with the scores {gap:g} and 0. Which weight does the first get? Two decimals will do.",
        weight,
        f"e^{gap:g} / (e^{gap:g} + e^0) = {math.exp(gap):.3f} / {math.exp(gap) + 1:.3f} = {weight:.3f}.",
        hint=f"The exponentials are {math.exp(gap):.3f} and 1. Divide the first by the sum of both.",
        tolerance=0.006,
    )


# 2. Split, attend, concatenate


@maker
def how_wide_is_a_head(rng: random.Random) -> Question:
    width, heads = rng.choice([(512, 4), (64, 4), (768, 8), (256, 8), (1024, 16), (120, 5), (96, 12), (64, 32)])
    return Question(
        2,
        "number",
        f"The width is {width} and there are {heads} heads. How wide is a head?",
        float(head_width(width, heads)),
        f"The coordinates are shared out: {width} / {heads} = {head_width(width, heads)}.",
        hint="The coordinates are shared out evenly among the heads.",
    )


@maker
def which_heads_divide(rng: random.Random) -> Question:
    width = rng.choice([64, 96, 120])
    wrong_counts = [n for n in range(3, 15) if width % n]
    wrong = rng.choice(wrong_counts)
    right = rng.sample([n for n in range(2, 33) if width % n == 0], 2)
    return Question(
        2,
        "choice",
        f"The width is {width}. Which number of heads can it not have?",
        str(wrong),
        f"{width} / {wrong} = {width / wrong:.2f}, and a head cannot have a part of a coordinate.",
        _shuffled(
            rng, str(wrong), {str(n): f"{width} / {n} = {width // n}, so each head has {width // n}." for n in right}
        ),
    )


@maker
def parameters_of_more_heads(rng: random.Random) -> Question:
    heads, shared = rng.choice([2, 4, 8, 16]), rng.choice([True, False])
    one, matrices = parameter_count("attention"), course.attention_parameters(D_MODEL, 1, D_MODEL)
    grown, whole = course.parameters_with_full_width(heads), heads * one
    remarks = {
        f"{one:,}": f"That is so if the heads share the width. Here the matrices grow {heads} times.",
        f"{grown:,}": f"That is so if each head keeps the full width. Shared out, {heads} heads need no more than one.",
        f"{whole:,}": "Not the whole model grows with the heads: embeddings and later layers stay as they are.",
    }
    right = f"{one if shared else grown:,}"
    del remarks[right]
    way = "They share out the width" if shared else "Each keeps the full width"
    return Question(
        2,
        "predict",
        f"Our model has {one:,} parameters with one head, {matrices:,} of them in the attention matrices. You give it "
        f"{heads} heads. {way}. How many parameters has it then?",
        right,
        f"The same {matrices:,} numbers are split among the heads, so {one:,} it is. The number of patterns grows."
        if shared
        else f"Only the attention matrices grow: {one:,} + {heads - 1} × {matrices:,} = {grown:,}.",
        _shuffled(rng, right, remarks),
    )


@maker
def shape_of_the_weights(rng: random.Random) -> Question:
    # All sizes differ, so that a shape says which axes it has: at width 64 with 64 slots, two would fit.
    slots, width, heads = rng.choice([10, 12, 20, 40]), rng.choice([64, 96, 128]), rng.choice([2, 4])
    shapes = course.split_shapes(width, heads, slots).set_index("tensor")["shape"]
    right = shapes["weights, one map a head"]
    return Question(
        2,
        "choice",
        f"One text, {slots} slots, width {width}, {heads} heads. Which shape do the weights have?",
        right,
        "Each head has one number for each query and each key.",
        _shuffled(
            rng,
            right,
            {
                shapes["embeddings"]: "That is the shape of the embeddings: a vector for each slot.",
                shapes["queries, split among the heads"]: "So are the queries: one vector a head and slot.",
            },
        ),
    )


# 3. Two heads from one vector


@maker
def which_head_notices(rng: random.Random) -> Question:
    place = rng.randint(1, 4)
    head = 1 if place <= 2 else 2
    return Question(
        3,
        "predict",
        f"A vector of 4 numbers is sliced: head 1 gets the first two, head 2 the last two. You change number {place}. "
        "Which head notices?",
        f"head {head}",
        f"Number {place} lies in the slice of head {head}. With a projection of its own, each head could read all "
        f"four.",
        _shuffled(
            rng,
            f"head {head}",
            {
                f"head {3 - head}": f"Number {place} is not in its slice.",
                "both": "That could be so with projections, each of which reads the whole vector. A slice does not.",
            },
        ),
    )


@maker
def one_number_of_a_projection(rng: random.Random) -> Question:
    x = np.array([rng.randint(-3, 3) for _ in range(4)], float)
    row = np.array([rng.choice([-1, 0, 1, 2]) for _ in range(4)], float)
    result = float(
        course.two_heads_from(x, np.vstack([row, row]), np.eye(2, 4)).loc["projection, head 1", "coordinate 1"]
    )
    products = " + ".join(f"({short(a)} × {short(b)})" for a, b in zip(row, x, strict=True))
    return Question(
        3,
        "number",
        f"A row of a head's projection is {course.vector_text(row)} and the vector is {course.vector_text(x)}. "
        "Which number does the row give?",
        result,
        f"{products} = {short(result)}.",
        hint="It is their dot product: multiply number by number and add up.",
    )


# 4. Two heads, two patterns


def _random_trio(rng: random.Random) -> pd.DataFrame:
    queries = np.array([[rng.uniform(-2, 2) for _ in range(2)] for _ in range(2)])
    return course.trio_weights(queries)


@maker
def read_a_row(rng: random.Random) -> Question:
    head = rng.choice(["head 1", "head 2"])
    map_ = _redrawn(
        lambda: _random_trio(rng), lambda map_: _is_clear(map_.loc[head].max(), map_.loc[head].nsmallest(2))
    )
    row = map_.loc[head]
    right = str(row.idxmax())
    return Question(
        4,
        "read a heatmap",
        f"At which word does {head} look most?",
        right,
        f"The largest number in the row of {head} is {row.max():.3f}, in the column of {right}.",
        _shuffled(
            rng,
            right,
            {str(w): f"{head} gives it {row[w]:.3f}, which is not the largest." for w in row.index if w != right},
        ),
        matrix=map_,
    )


@maker
def swap_the_queries(rng: random.Random) -> Question:
    word = rng.choice(course.TRIO)
    # No other cell may be read in its place and pass as right.
    map_ = _redrawn(
        lambda: _random_trio(rng),
        lambda map_: _is_clear(map_.loc["head 2", word], map_.stack().drop(("head 2", word))),
    )
    before, after = map_.loc["head 1", word], map_.loc["head 2", word]
    return Question(
        4,
        "predict",
        "These are the rows of two heads that share their keys. You swap their two queries. Which weight does head 1 "
        f"then give to *{word}*? Two decimals will do.",
        float(after),
        f"The query makes the row, so the rows swap with the queries: {before:.3f} becomes {after:.3f}.",
        hint="The keys are the same for both heads. So which row goes with which query?",
        tolerance=0.006,
        matrix=map_,
    )


# 5. From Q, K, V to a message


@maker
def divide_by_what(rng: random.Random) -> Question:
    width = rng.choice([4, 16, 25, 64, 100])
    return Question(
        5,
        "number",
        f"A head is {width} wide. By which number is a dot product divided to make a score?",
        math.sqrt(width),
        f"By the root of the width: √{width} = {math.sqrt(width):g}. That keeps the spread of the scores from "
        "growing with the width.",
        hint="By the square root of the head's width.",
        tolerance=0.01,
    )


@functools.lru_cache(maxsize=16)
def _largest_and_spread(width: int, scaled: bool) -> tuple[float, float]:
    found = course.score_spread(width, scaled)
    return found["largest"], found["spread"]


SHARPER, EVENER, ALIKE = "much sharper", "much more even", "about as sharp as before"


@maker
def what_the_scale_does(rng: random.Random) -> Question:
    wide = rng.choice([64, 256])
    done, before, after = rng.choice(
        [
            (f"The head is {wide} wide. You leave the scale out", (wide, True), (wide, False)),
            (f"The head is {wide} wide and has no scale. You put it in", (wide, False), (wide, True)),
            (f"You make the head {wide} wide, not 4, and keep the scale", (4, True), (wide, True)),
            (f"There is no scale. You make the head {wide} wide, not 1", (1, False), (wide, False)),
        ]
    )
    (largest_before, spread_before), (largest, spread) = _largest_and_spread(*before), _largest_and_spread(*after)
    rise = largest - largest_before
    right = ALIKE if abs(rise) <= CLEAR else SHARPER if rise > 0 else EVENER
    measured = (
        f"What the softmax gets spreads by {spread:.1f}, {spread_before:.1f} before. The largest of "
        f"{course.SPREAD_KEYS} weights is {largest:.2f} on average, {largest_before:.2f} before."
    )
    remarks = {
        SHARPER: "A softmax gets sharper when what it gets spreads more widely. Does it here?",
        EVENER: "A softmax gets more even when what it gets spreads less widely. Does it here?",
        ALIKE: "A softmax sees differences. Do they stay as large here?",
    }
    del remarks[right]
    return Question(
        5,
        "predict",
        f"All numbers of queries and keys are random, independent, with variance 1. A row has {course.SPREAD_KEYS} "
        f"keys. {done}. What do the rows of weights become?",
        right,
        measured,
        _shuffled(rng, right, remarks),
    )


@maker
def mask_after_the_softmax(rng: random.Random) -> Question:
    n = rng.randint(3, 5)
    scores = np.zeros((n, n))
    row = rng.randint(1, n - 1)
    total = float(course.masked_rows(scores, "zero after")[row - 1].sum())
    return Question(
        5,
        "number",
        f"All scores of {n} words are equal. Somebody sets later keys to 0 after the softmax, not to minus infinity "
        f"before it. To what does row {row} then sum? Two decimals will do.",
        total,
        f"The softmax gave 1/{n} to each of {n} keys, and row {row} keeps {row}: {row}/{n} = {total:.3f}. "
        "Minus infinity before the softmax leaves 1.",
        hint=f"Before the zeros each key has 1/{n}. How many keys does row {row} keep?",
        tolerance=0.006,
    )


@maker
def weight_of_itself(rng: random.Random) -> Question:
    words, score = rng.randint(4, 6), rng.choice([1.0, 2.0])
    place = rng.randint(1, words - 1)
    scores = np.where(np.eye(words, dtype=bool), score, 0.0)
    weight = float(course.masked_rows(scores, "minus infinity before")[place - 1, place - 1])
    return Question(
        5,
        "number",
        f"In a text of {words} words each scores {score:g} for itself and 0 for every other. Later keys then get minus "
        f"infinity. Which weight does word {place} give itself? Two decimals will do.",
        weight,
        "It may see nothing else, and a row sums to 1. So the weight is 1, whatever the score."
        if place == 1
        else f"It sees {place} words: e^{score:g} / (e^{score:g} + {place - 1}) = {weight:.3f}.",
        hint=f"Which keys may word {place} see? Each other one that it sees counts e^0 = 1.",
        tolerance=0.006,
    )


# 6. The built-in layer


@maker
def what_the_average_hides(rng: random.Random) -> Question:
    heads, sharp = rng.choice([2, 4, 5, 8]), rng.choice([0.80, 0.90, 0.96])
    rest = (1 - sharp) / (heads - 1)
    rows = np.full((heads, heads), rest)
    np.fill_diagonal(rows, sharp)
    mean = float(rows.mean(0)[0])
    return Question(
        6,
        "number",
        f"There are {heads} heads and {heads} words. Each head gives {sharp:.2f} to a different word and shares out "
        "the rest evenly. The built-in layer returns the average over heads. Which weight does it show for "
        "each word? Two decimals will do.",
        mean,
        f"({sharp:.2f} + {heads - 1} × {rest:.4f}) / {heads} = {mean:.3f}: sharp heads look like none at all.",
        hint="Average one column: one head gives it much, the others give it little.",
        tolerance=0.006,
    )


@maker
def matrices_of_the_built_in_layer(rng: random.Random) -> Question:
    width = rng.choice([64, 96, 128, 256, 512])
    return Question(
        6,
        "number",
        f"PyTorch stacks the three matrices for queries, keys and values into one. At width {width}, how many rows "
        f"has it?",
        float(3 * width),
        f"Three matrices of {width} rows each: 3 × {width} = {3 * width}.",
        hint="Each of the three has as many rows as the width.",
    )


# 7. Heads are not modules


@maker
def worth_of_a_head(rng: random.Random) -> Question:
    heads = [f"head {head}" for head in rng.sample(range(1, 5), 3)]
    losses = _redrawn(
        lambda: {head: rng.randint(1, 50) / 100 for head in heads},
        lambda rises: _is_clear(max(rises.values()), sorted(rises.values())[:-1]),
    )
    right = max(losses, key=losses.__getitem__)
    said = ", ".join(f"without {head} by {rise:.2f}" for head, rise in losses.items())
    return Question(
        7,
        "choice",
        f"One head is switched off at a time. The test loss rises {said}. Which head is the model worst off without?",
        right,
        f"The loss rises most without {right}, by {losses[right]:.2f}. That says what it is worth given the "
        "others, not what it does.",
        _shuffled(
            rng, right, {h: f"Without it the loss rises by {r:.2f} only." for h, r in losses.items() if h != right}
        ),
    )


@maker
def what_induction_looks_at(rng: random.Random) -> Question:
    words = rng.sample(["dog", "cat", "hat", "ball", "tree", "bird"], 4)
    first, then = words[0], words[1]
    return Question(
        7,
        "choice",
        f"The text is: {' '.join(words)} {first}. At which word would an induction head look from the last *{first}*?",
        then,
        f"It finds the earlier {first} and looks at what followed: {then}.",
        _shuffled(
            rng,
            then,
            {
                f"the first {first}": "That finds the same word again. An induction head looks one word further.",
                words[3]: "That is the word just before. An induction head asks what followed last time.",
            },
        ),
    )


# 8. What many heads cost


@maker
def score_memory(rng: random.Random) -> Question:
    length, heads = rng.choice([1024, 2048, 4096]), rng.choice([8, 16, 32])
    mebibytes = course.score_bytes(length, heads, 2, 1) / 2**20
    return Question(
        8,
        "number",
        f"One layer reads one text of {length:,} tokens with {heads} heads. It keeps whole score matrices, masked "
        "cells too, at 2 bytes a number. How many MiB is that?",
        mebibytes,
        f"{length:,}² × {heads} × 2 bytes = {mebibytes:g} MiB.",
        hint=f"Each head has {length:,} × {length:,} numbers of 2 bytes; a MiB is 1,048,576 bytes.",
        tolerance=0.5,
    )


@maker
def a_longer_text(rng: random.Random) -> Question:
    length, heads, longer = rng.choice([256, 512, 1024]), rng.choice([4, 8]), rng.choice([2, 3, 4, 5])
    times = course.score_bytes(longer * length, heads, 4, 1) / course.score_bytes(length, heads, 4, 1)
    return Question(
        8,
        "predict",
        f"The text grows from {length:,} to {longer * length:,} tokens. Whole score matrices are kept, as many as "
        "before. How many times as much memory do they take?",
        times,
        f"Each of {longer * length:,} queries meets {longer * length:,} keys: {longer} × {longer} = {times:g} times as "
        "many numbers.",
        hint=f"There are {longer} times as many rows, and each row is {longer} times as long.",
    )


@maker
def smaller_cache(rng: random.Random) -> Question:
    heads, groups = rng.choice([(32, 16), (16, 4), (32, 4), (64, 4), (8, 1)])
    times = course.cache_bytes(1024, heads, 64, 2, 1) / course.cache_bytes(1024, groups, 64, 2, 1)
    return Question(
        8,
        "number",
        f"{heads} heads share keys and values in {groups} groups, each group one set. How many times smaller is the "
        "key-value cache than with a set for each head?",
        times,
        f"One key and one value a group, not a head: {heads} / {groups} = {times:g} times smaller.",
        hint="How many heads share one key and one value?",
    )


# 9. Reading a loss


@maker
def perplexity_of_even_chances(rng: random.Random) -> Question:
    words = rng.choice([4, 10, 100, 4000])
    loss = float(losses_of_probabilities([1 / words])[0])
    return Question(
        9,
        "number",
        f"A model has a vocabulary of {words:,} words and gives each the same chance. What is its perplexity?",
        perplexity(loss),
        f"The loss is ln {words:,} = {loss:.4f}, and its exponential is {words:,}.",
        hint=f"Each probability is 1/{words:,}. The perplexity is one over their geometric mean.",
        tolerance=0.01 * words,
    )


@maker
def mean_of_losses(rng: random.Random) -> Question:
    probabilities = rng.sample([0.5, 0.25, 0.125, 0.0625], 3)
    loss = float(losses_of_probabilities(probabilities).mean())
    listed = ", ".join(f"{p:g}" for p in probabilities)
    return Question(
        9,
        "number",
        f"The right words had the probabilities {listed}. What is the perplexity? One decimal will do.",
        perplexity(loss),
        f"The mean of the losses is {loss:.4f}, and e^{loss:.4f} = {perplexity(loss):.4f}.",
        hint="Multiply the probabilities, take the third root, and divide 1 by it.",
        tolerance=0.06,
    )
