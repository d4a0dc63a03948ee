import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordlm.loss import (
    TypedProbabilities,
    losses_of_probabilities,
    parse_probabilities,
    perplexity,
    probability_table,
    read_probabilities,
)

probability = st.floats(1e-12, 1)
probabilities = st.lists(probability, min_size=1, max_size=50)


def cross_entropy(values) -> float:
    return float(losses_of_probabilities(values).mean())


def test_the_example_of_the_definition():
    table = probability_table(TypedProbabilities((0.5, 0.25, 0.125)))
    assert table["loss, nats"].round(4).tolist() == [0.6931, 1.3863, 2.0794]
    assert table["loss, bits"].tolist() == pytest.approx([1, 2, 3])
    assert table["running mean, nats"].iloc[-1] == pytest.approx(1.3863, abs=5e-5)
    assert perplexity(table["running mean, nats"].iloc[-1]) == pytest.approx(4)


def test_a_certain_target_has_a_loss_of_zero_without_a_sign():
    for loss in probability_table(TypedProbabilities((1.0,)))[["loss, nats", "loss, bits"]].iloc[0]:
        assert (loss, math.copysign(1, loss)) == (0, 1)


@given(probabilities, st.randoms())
def test_the_order_of_targets_does_not_matter(values, random):
    shuffled = values.copy()
    random.shuffle(shuffled)
    assert cross_entropy(shuffled) == pytest.approx(cross_entropy(values))


@given(probabilities, probabilities)
def test_texts_joined_weigh_by_their_numbers_of_targets(first, second):
    together = (cross_entropy(first) * len(first) + cross_entropy(second) * len(second)) / (len(first) + len(second))
    assert cross_entropy(first + second) == pytest.approx(together)


@given(probabilities)
def test_perplexity_is_one_over_the_geometric_mean(values):
    geometric_mean = math.prod(value ** (1 / len(values)) for value in values)
    assert perplexity(cross_entropy(values)) == pytest.approx(1 / geometric_mean, rel=1e-6)


@given(probability, st.integers(1, 30))
def test_equal_probabilities_give_their_reciprocal(value, count):
    assert perplexity(cross_entropy([value] * count)) == pytest.approx(1 / value)


@given(probabilities)
def test_the_running_mean_ends_at_the_cross_entropy(values):
    table = probability_table(TypedProbabilities(tuple(values)))
    assert table["running mean, nats"].iloc[-1] == pytest.approx(cross_entropy(values))


def test_a_probability_of_zero_makes_the_perplexity_infinite():
    assert losses_of_probabilities([0.5, 0]).tolist() == [pytest.approx(math.log(2)), math.inf]
    assert perplexity(cross_entropy([0.5, 0])) == math.inf
    assert perplexity(1e6) == math.inf


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0.5, 0.25, 0.125", [0.5, 0.25, 0.125]),
        ("0.5 0.25\n0.125", [0.5, 0.25, 0.125]),
        ("50%, 25 %;12.5%", [0.5, 0.25, 0.125]),
        ("1/2 1/4 , 1 / 8", [0.5, 0.25, 0.125]),
        ("1, 0, 1e-3,.5", [1, 0, 0.001, 0.5]),
        ("  ,, 0.5,,", [0.5]),
        ("0%", [0]),
        ("50%25%", [0.5, 0.25]),
    ],
)
def test_probabilities_are_read_as_people_write_them(text, values):
    assert parse_probabilities(text) == pytest.approx(values)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no probability yet: type some, such as 0.5, 25% or 1/8"),
        (" , ", "no probability yet"),
        ("0.5, cat", "entry 2, cat, is not a number"),
        ("0.5 1.5", "entry 2, 1.5, is above 1"),
        ("-0.1", "entry 1, -0.1, is below 0"),
        ("120%", "entry 1, 120%, is above 1"),
        ("1/0", "entry 1, 1/0, is not a number"),
        ("1/", "entry 1, 1/, is not a number"),
        ("nan", "entry 1, nan, is not a finite number"),
        ("0.1 inf", "entry 2, inf, is not a finite number"),
        ("3/2", "entry 1, 3/2, is above 1"),
        ("1/2/3", "entry 1, 1/2/3, is not a number"),
        ("x" * 20, "entry 1, " + "x" * 20 + ", is not a number"),
        ("x" * 21, "entry 1, " + "x" * 19 + "…, is not a number"),
        ("0.5 " * 10_001, "10,001 entries, at most 10,000"),
    ],
)
def test_a_wrong_entry_is_named_with_what_is_wrong(text, message):
    with pytest.raises(ValueError) as error:
        parse_probabilities(text)
    assert message in str(error.value)


def test_ten_thousand_entries_are_read():
    assert len(parse_probabilities("0.5 " * 10_000)) == 10_000


@pytest.mark.parametrize("unit", [" ", "\n", ",", "%", " / ", "0", "0,5 "])
def test_a_text_of_a_million_characters_is_read_or_refused_in_a_time_that_does_not_grow_with_its_square(unit):
    """A reader that tries each place of a run of spaces anew needs hours for it."""
    text = f"0.5{unit * (1_000_000 // len(unit))}0.25"
    try:
        values = parse_probabilities(text)
    except ValueError as error:
        assert "entr" in str(error)
    else:
        assert values == ([0.5] if unit == "0" else [0.5, 0.25])


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_with_a_sentence(text):
    try:
        values = parse_probabilities(text)
    except ValueError as error:
        assert str(error)
    else:
        assert values and all(0 <= value <= 1 for value in values)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_what_is_written_is_read_back(values):
    np.testing.assert_array_equal(parse_probabilities(", ".join(map(repr, values))), values)


@pytest.mark.parametrize(
    ("text", "values", "example"),
    [
        ("0,5", [0.5], "0,5 is 0.5"),
        ("0,1 0,1", [0.1, 0.1], "0,1 is 0.1"),
        ("0,5; 0,25", [0.5, 0.25], "0,5 is 0.5"),
        ("0,5, 0,25, 1", [0.5, 0.25, 1], "0,5 is 0.5"),
        ("0,5\n0,25\n1/8", [0.5, 0.25, 0.125], "0,5 is 0.5"),
        ("12,5% 50 %", [0.125, 0.5], "12,5% is 12.5%"),
        ("7,5e-3", [0.0075], "7,5e-3 is 7.5e-3"),
    ],
)
def test_decimal_commas_are_read_and_said(text, values, example):
    reading = read_probabilities(text)
    assert reading.values == pytest.approx(values)
    assert example in reading.said


@pytest.mark.parametrize("text", ["0.5,0.25", "1, 0, 0.5", "1,1,0", "0.5, 0.25", "1e-5,1e-6"])
def test_a_list_with_commas_needs_no_word(text):
    assert read_probabilities(text).said == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,1", "0,1 may be one number, 0.1, or two: write 0.1 or, with a space, 0 1"),
        ("1,0", "1,0 may be one number"),
        ("0,5,0,25", "entry 2, 5, is above 1: a probability lies from 0 to 1; if a comma is a decimal comma, write"),
        ("2,5", "entry 1, 2.5, is above 1"),
        ("a,5", "entry 1, a, is not a number: use forms such as 0.5, 50% or 1/2; if a comma is a decimal comma"),
    ],
)
def test_a_comma_that_may_be_either_is_said_to_be(text, message):
    with pytest.raises(ValueError) as error:
        parse_probabilities(text)
    assert message in str(error.value)


@pytest.mark.parametrize("text", ["0.5,cat", "0,5 0.5,cat", "1,2,3"])
def test_where_no_comma_can_be_a_decimal_comma_none_is_spoken_of(text):
    with pytest.raises(ValueError) as error:
        parse_probabilities(text)
    assert "decimal comma" not in str(error.value)


@pytest.mark.parametrize("text", ["-0.69, -1.38", "−0,69 −1,38", "[-0.69, -1.38]", "-0.69\n-1.38"])
def test_log_probabilities_are_read_when_the_reader_says_so(text):
    reading = read_probabilities(text, logarithms=True)
    assert reading.losses.tolist() == [0.69, 1.38]
    with pytest.raises(ValueError, match="is below 0"):
        read_probabilities(text)


def test_log_probabilities_beyond_a_float_keep_their_loss():
    table = probability_table(read_probabilities("-5000 0 -inf", logarithms=True))
    assert table["ln p"].tolist() == [-5000, 0, -math.inf]
    assert table["loss, nats"].tolist() == [5000, 0, math.inf]


@pytest.mark.parametrize(
    ("text", "message"),
    [("-0.5 0.5", "entry 2, 0.5, is above 0"), ("50%", "entry 1, 50%, is not a number"), ("", "such as -0.69 -1.38")],
)
def test_what_is_no_log_probability_is_named(text, message):
    with pytest.raises(ValueError) as error:
        read_probabilities(text, logarithms=True)
    assert message in str(error.value)


@given(st.lists(st.floats(0.001, 0.999), min_size=2, max_size=20))
def test_what_is_written_with_decimal_commas_is_read_back(values):
    text = " ".join(f"{value:.6f}".replace(".", ",") for value in values)
    assert parse_probabilities(text) == [float(f"{value:.6f}") for value in values]
