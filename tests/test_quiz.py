"""The quiz: right answers are right by an independent calculation, wrong ones explain themselves."""

import functools
import itertools
import math
import random
import re

import pytest
import torch

from wordlm.models import MultiHeadAttentionLM, build_model, count_parameters
from wordlm.quiz import CLEAR, MAKERS, Question, questions

ROUNDS = range(1, 9)
MANY = range(1, 401)
NAMES = [make.__name__ for make in MAKERS]


@functools.cache
def many(name: str) -> list[Question]:
    """The same maker over several hundred rounds, each drawn by itself."""
    make = MAKERS[NAMES.index(name)]
    return [make(random.Random(f"{seed} {name}")) for seed in MANY]


def numbers(text: str) -> list[float]:
    return [float(n.replace(",", "").replace("−", "-")) for n in re.findall(r"[-−]?\d[\d,]*(?:\.\d+)?", text)]


def product(row, x):
    return sum(a * b for a, b in zip(row, x, strict=True))


# From the numbers in a question's text alone.
BY_HAND = {
    "weights_in_a_row": lambda n: 1 - n[0] - n[1],
    "softmax_of_two": lambda n: math.exp(n[0]) / (math.exp(n[0]) + 1),
    "how_wide_is_a_head": lambda n: n[0] / n[1],
    "one_number_of_a_projection": lambda n: product(n[:4], n[4:]),
    "divide_by_what": lambda n: math.sqrt(n[0]),
    "mask_after_the_softmax": lambda n: n[2] / n[0],
    # Of n[0] words, word n[3] scores n[1] for itself and n[2] = 0 for the others that it may see.
    "weight_of_itself": lambda n: math.exp(n[1]) / (math.exp(n[1]) + (n[3] - 1) * math.exp(n[2])),
    "what_the_average_hides": lambda n: (n[2] + (n[0] - 1) * (1 - n[2]) / (n[0] - 1)) / n[0],
    "matrices_of_the_built_in_layer": lambda n: 3 * n[0],
    "score_memory": lambda n: n[0] ** 2 * n[1] * n[2] / 2**20,
    "a_longer_text": lambda n: (n[1] / n[0]) ** 2,
    "smaller_cache": lambda n: n[0] / n[1],
    "perplexity_of_even_chances": lambda n: n[0],
    "mean_of_losses": lambda n: math.prod(n) ** (-1 / 3),
}


def test_there_are_at_least_20_questions_of_several_kinds_over_all_chapters():
    asked = questions(1)
    assert len(asked) >= 20
    assert {q.sort for q in asked} == {"choice", "number", "read a heatmap", "predict"}
    assert {q.chapter for q in asked} == set(range(1, 10))
    assert [q.chapter for q in asked] == sorted(q.chapter for q in asked)


@pytest.mark.parametrize("name", BY_HAND)
def test_a_calculated_answer_is_that_made_by_hand(name):
    place = [make.__name__ for make in MAKERS].index(name)
    for seed in ROUNDS:
        asked = questions(seed)[place]
        by_hand = BY_HAND[name](numbers(asked.text))
        assert asked.is_right(by_hand), (asked.text, asked.answer)
        assert not asked.is_right(by_hand + max(1, 3 * asked.tolerance))


@pytest.mark.parametrize("asked", [q for seed in ROUNDS for q in questions(seed)], ids=lambda q: q.text[:30])
def test_exactly_one_answer_is_right_and_every_other_has_a_remark(asked):
    assert asked.is_right(asked.answer)
    assert asked.why
    if asked.options:
        assert [option for option in asked.options if asked.is_right(option)] == [asked.answer]
        assert len(asked.options) >= 3
        assert not asked.options[asked.answer], "the right option has no remark on what is wrong with it"
        assert all(asked.remark(option) for option in asked.options if option != asked.answer)
    else:
        assert asked.hint
        assert not asked.is_right(asked.answer + 10 * asked.tolerance + 1)


@pytest.mark.parametrize("seed", ROUNDS)
def test_a_map_is_read_as_the_answer_says(seed):
    for asked in questions(seed):
        if asked.sort == "read a heatmap":
            head = re.search(r"head \d", asked.text)[0]
            assert asked.matrix.loc[head].idxmax() == asked.answer
        if "swap their two queries" in asked.text:
            word = re.search(r"\*(\w+)\*", asked.text)[1]
            assert asked.answer == asked.matrix.loc["head 2", word]


def softmax_sharpness(width: int, scaled: bool) -> float:
    """The mean largest of 8 weights, from random queries and keys drawn one by one, on another seed than the app's."""
    generator = torch.Generator().manual_seed(5)
    queries, keys = (torch.randn(2000, n, width, generator=generator) for n in (1, 8))
    dots = (queries * keys).sum(-1)
    return (dots / math.sqrt(width) if scaled else dots).softmax(-1).amax(-1).mean().item()


softmax_sharpness = functools.cache(softmax_sharpness)


def right_after_the_scale(asked: Question) -> list[str]:
    wide = int(re.search(r"(\d+) wide", asked.text)[1])
    before, after = {
        "You leave the scale out": ((wide, True), (wide, False)),
        "You put it in": ((wide, False), (wide, True)),
        "and keep the scale": ((4, True), (wide, True)),
        "There is no scale": ((1, False), (wide, False)),
    }[re.search("You leave the scale out|You put it in|and keep the scale|There is no scale", asked.text)[0]]
    rise = softmax_sharpness(*after) - softmax_sharpness(*before)
    assert abs(rise) < 0.1 or abs(rise) > 0.3, "neither alike nor much different"
    return ["about as sharp as before" if abs(rise) < 0.1 else "much sharper" if rise > 0 else "much more even"]


def right_wish(asked: Question) -> list[str]:
    words, others, lower = numbers(asked.text)
    share = math.exp(lower) / (2 * math.exp(lower) + others)
    assert words == others + 2
    return [f"each about {share:.2f}"]


def right_parameters(asked: Question) -> list[str]:
    """From models that were built: heads that keep the width are one head as wide as all of them together."""
    heads = int(numbers(asked.text)[2])
    one = build_model("attention")
    if "share out" in asked.text:
        return [f"{count_parameters(build_model('multihead', heads=heads)):,}"]
    wide = sum(4 * 64 * 64 for _ in range(heads))
    return [f"{count_parameters(one) - 4 * one.W_Q.weight.numel() + wide:,}"]


def right_shape(asked: Question) -> list[str]:
    _, *sizes = numbers(asked.text.replace("One text", "1 text"))
    slots, width, heads = map(int, sizes)
    assert len({slots, width, heads, width // heads}) == 4, "two axes are as long, so a shape could mean either"
    model = MultiHeadAttentionLM(9, slots, width, hidden=1, heads=heads)
    with torch.inference_mode():
        return [str(tuple(model.forward_details(torch.ones(1, slots, dtype=torch.int64))["weights"].shape))]


def right_word(asked: Question) -> list[str]:
    words = re.search(r"is: ([\w ]+)\.", asked.text)[1].split()
    assert words[0] == words[-1]
    assert len(set(words)) == len(words) - 1
    return [words[1]]


def right_head(asked: Question) -> list[str]:
    rises = {head: float(rise) for head, rise in re.findall(r"without (head \d) by (\d\.\d+)", asked.text)}
    most, second = sorted(rises.values(), reverse=True)[:2]
    assert most - second > CLEAR
    return [max(rises, key=rises.get)]


def right_cell(asked: Question) -> list[str]:
    row = asked.matrix.loc[re.search(r"head \d", asked.text)[0]].sort_values()
    assert row.iloc[-1] - row.iloc[-2] > CLEAR
    return [row.index[-1]]


# From the text, the map or a model alone: every option that is right.
RIGHT_OPTIONS = {
    "two_wishes_of_one_head": right_wish,
    "which_heads_divide": lambda asked: [n for n in asked.options if numbers(asked.text)[0] % int(n)],
    "parameters_of_more_heads": right_parameters,
    "shape_of_the_weights": right_shape,
    "which_head_notices": lambda asked: [f"head {1 if numbers(asked.text)[-1] <= 2 else 2}"],
    "read_a_row": right_cell,
    "what_the_scale_does": right_after_the_scale,
    "worth_of_a_head": right_head,
    "what_induction_looks_at": right_word,
}


def test_every_question_has_an_independent_answer_in_this_file():
    assert sorted([*BY_HAND, *RIGHT_OPTIONS, "swap_the_queries"]) == sorted(NAMES)


@pytest.mark.parametrize("name", RIGHT_OPTIONS)
def test_no_two_options_are_right_over_hundreds_of_rounds(name):
    # A model is built anew for some; a sample of the rounds is enough for those.
    rounds = many(name)[:40] if name in ("parameters_of_more_heads", "shape_of_the_weights") else many(name)
    for asked in rounds:
        assert RIGHT_OPTIONS[name](asked) == [asked.answer], asked.text
        assert len(asked.options) == 3
        assert asked.answer in asked.options


@pytest.mark.parametrize("name", BY_HAND)
def test_a_number_is_that_made_by_hand_over_hundreds_of_rounds(name):
    for asked in many(name):
        assert asked.is_right(BY_HAND[name](numbers(asked.text))), (asked.text, asked.answer)


def test_another_cell_of_the_map_never_passes_for_the_swapped_weight():
    for asked in many("swap_the_queries"):
        word = re.search(r"\*(\w+)\*", asked.text)[1]
        assert asked.answer == asked.matrix.loc["head 2", word]
        others = [
            asked.matrix.loc[head, column]
            for head, column in itertools.product(asked.matrix.index, asked.matrix.columns)
            if (head, column) != ("head 2", word)
        ]
        assert not [cell for cell in others if asked.is_right(round(cell, 2))]
        assert min(abs(cell - asked.answer) for cell in others) > CLEAR


def test_the_margin_is_more_than_the_shown_decimals_can_hide():
    assert CLEAR > 2 * 0.005, "two decimals round by up to 0.005, each of two numbers"


@pytest.mark.parametrize("name", NAMES)
def test_every_question_has_several_answers_over_the_rounds(name):
    assert len({str(asked.answer) for asked in many(name)}) >= 2


def test_no_question_has_the_same_answer_twice_running():
    for seed in range(2, 60):
        pairs = zip(NAMES, questions(seed - 1), questions(seed), strict=True)
        assert not [name for name, before, now in pairs if before.answer == now.answer]


@pytest.mark.parametrize(
    ("name", "condition"),
    [
        ("two_wishes_of_one_head", r"the 3 others alike, each (1 point|[2-9] points) lower"),
        ("what_the_scale_does", r"random, independent, with variance 1. A row has 8 keys"),
        ("score_memory", r"one text .* whole score matrices, masked cells too"),
        ("a_longer_text", "Whole score matrices are kept"),
        ("smaller_cache", "than with a set for each head"),
    ],
)
def test_a_question_states_what_its_answer_rests_on(name, condition):
    assert all(re.search(condition, asked.text) for asked in many(name))
