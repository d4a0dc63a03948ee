"""How numbers are written."""

import functools
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.node import run_tests
from wordlm.files import REPOSITORY, read_json
from wordlm.numbers import (
    SPACE,
    count,
    counted,
    duration,
    listed,
    numbered,
    percent,
    rounded,
    scientific,
    short,
    signed,
    signed_rounded,
    summands,
    written,
    written_exp,
)

RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹−", "-0123456789-")


def value_of(text: str) -> float:
    """Read a written number back."""
    plain = plainly_spaced(text).translate(RAISED).replace(",", "")
    return float(re.sub(r" × 10(-?\d+)$", r"e\1", plain))


CASES = read_json(REPOSITORY / "tests" / "number_cases.json")
"""What both languages must write, by function: [arguments, text]. The spaces of these texts are plain ones."""
FUNCTIONS = {
    "written": written,
    "signed": signed,
    "limited": functools.partial(written, limit=True),
    "signed limited": functools.partial(signed, limit=True),
    "percent": percent,
    "count": count,
    "counted": counted,
    "listed": listed,
    "numbered": numbered,
    "rounded": rounded,
    "signed rounded": signed_rounded,
    "summands": summands,
}


def plainly_spaced(text: str) -> str:
    """Return a text with every space a plain one."""
    return text.replace(SPACE, " ")


@pytest.mark.parametrize("name", CASES)
def test_a_number_is_written_as_the_table_says(name):
    for arguments, expected in CASES[name]:
        found = FUNCTIONS[name](*arguments)
        if name == "summands":
            assert [found[0], found[1]] == expected, arguments
        else:
            assert plainly_spaced(found) == expected, arguments


def test_the_browser_writes_numbers_as_the_table_says():
    assert CASES.keys() == FUNCTIONS.keys()
    run_tests("numbers.test.js", REPOSITORY / "tests")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float32(51.5909), "51.5909"),
        (-0.0, "0"),
        (math.inf, "infinite"),
        (-math.inf, "minus infinity"),
        (math.nan, "not a number"),
    ],
)
def test_what_no_table_of_plain_numbers_can_hold_is_written_too(value, text):
    assert written(value) == text


def test_a_number_is_never_broken_over_two_lines():
    texts = [
        written(1e-9), written(1e-9, 3, limit=True), written(0.9999, 3, limit=True), scientific(1e-9), percent(0.5),
        percent(1e-6), duration(5), duration(500), written_exp(-5000),
    ]  # fmt: skip
    assert not [text for text in texts if " " in text]


@given(st.lists(st.floats(-1000, 1000), min_size=1, max_size=64), st.integers(0, 4))
def test_parts_and_their_sum_add_up_as_written_and_each_is_less_than_a_unit_away(parts, decimals):
    shown, total = summands(parts, decimals)
    unit = 10.0**-decimals
    assert round(sum(shown) - total, decimals) == 0
    assert all(abs(one - part) < unit * 1.001 for one, part in zip(shown, parts, strict=True))
    assert abs(total - sum(parts)) <= unit / 2 * 1.001


@given(st.floats(-1e308, 1e308), st.integers(1, 6))
def test_a_written_number_is_short_and_is_the_number_to_two_digits_or_more(value, decimals):
    text = written(value, decimals)
    assert len(text) <= 20
    assert "-" not in text and "e" not in text
    assert value_of(text) == pytest.approx(value, rel=0.05, abs=0)


@given(st.floats(-1e300, 1e300), st.integers(2, 4))
def test_short_forms_keep_their_digits_too(value, digits):
    for text in (short(value, digits), scientific(value, digits)):
        assert value_of(text) == pytest.approx(value, rel=0.05, abs=0)
        assert len(text) <= 16


def test_labels_and_errors_have_no_idle_zeros():
    assert [plainly_spaced(short(v)) for v in (0.5, 12, 0.00001, 0, 1200, 1e-9)] == [
        "0.5",
        "12",
        "0.00001",
        "0",
        "1,200",
        "1 × 10⁻⁹",
    ]
    assert [plainly_spaced(scientific(v)) for v in (1.23e-7, 0, 0.5)] == ["1.2 × 10⁻⁷", "0", "5 × 10⁻¹"]


@pytest.mark.parametrize(
    ("exponent", "text"),
    [
        (math.log(4), "4.0000"),
        (-690.7755279, "1 × 10⁻³⁰⁰"),
        (2302.585093, "1 × 10¹⁰⁰⁰"),
        (-5000, "3.37 × 10⁻²¹⁷²"),
        (math.inf, "infinite"),
        (-math.inf, "0"),
    ],
)
def test_an_exponential_is_written_where_no_float_can_hold_it(exponent, text):
    assert plainly_spaced(written_exp(exponent)) == text
