"""The quiz: right answers are right by an independent calculation, wrong ones explain themselves."""

import math
import re

import pytest

from wordlm.quiz import MAKERS, questions

ROUNDS = range(1, 9)


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
    "first_row": lambda n: 1.0,
    "what_the_average_hides": lambda n: (n[2] + (n[0] - 1) * (1 - n[2]) / (n[0] - 1)) / n[0],
    "matrices_of_the_built_in_layer": lambda n: 3 * n[0],
    "score_memory": lambda n: n[0] ** 2 * n[1] * n[2] / 2**20,
    "twice_as_long": lambda n: (n[1] / n[0]) ** 2,
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


@pytest.mark.parametrize("seed", ROUNDS)
def test_the_rest_of_the_choices_hold_by_hand(seed):
    asked = {make.__name__: q for make, q in zip(MAKERS, questions(seed), strict=True)}
    width = numbers(asked["which_heads_divide"].text)[0]
    assert [n for n in asked["which_heads_divide"].options if width % int(n)] == [asked["which_heads_divide"].answer]
    place = int(numbers(asked["which_head_notices"].text)[-1])
    assert asked["which_head_notices"].answer == f"head {1 if place <= 2 else 2}"
    strength = numbers(asked["two_wishes_of_one_head"].text)[-1]
    share = math.exp(strength) / (2 * math.exp(strength) + 3)
    assert asked["two_wishes_of_one_head"].answer == f"each about {share:.2f}"
    rises = dict(re.findall(r"without (head \d) by (\d\.\d+)", asked["worth_of_a_head"].text))
    assert asked["worth_of_a_head"].answer == max(rises, key=lambda head: float(rises[head]))
    words = re.search(r"is: ([\w ]+)\.", asked["what_induction_looks_at"].text)[1].split()
    assert words[0] == words[-1]
    assert asked["what_induction_looks_at"].answer == words[1]


def test_no_question_of_a_round_is_that_of_the_round_before():
    for seed in ROUNDS[1:]:
        pairs = zip(questions(seed - 1), questions(seed), strict=True)
        assert not [now.text for before, now in pairs if (before.text, before.answer) == (now.text, now.answer)]
