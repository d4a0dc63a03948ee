"""How numbers are written."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordlm.numbers import count, percent, scientific, short, signed, written, written_exp

RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹−", "-0123456789-")


def value_of(text: str) -> float:
    """Read a written number back."""
    plain = text.translate(RAISED).replace(",", "")
    return float(re.sub(r" × 10(-?\d+)$", r"e\1", plain))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.25, "0.2500"),
        (4, "4.0000"),
        (np.float32(51.5909), "51.5909"),
        (1234.5, "1,234.5000"),
        (-0.5, "−0.5000"),
        (0.00123, "0.0012"),
        (0.000123, "0.00012"),
        (1e-5, "1 × 10⁻⁵"),
        (-1.23456e-9, "−1.235 × 10⁻⁹"),
        (1e300, "1 × 10³⁰⁰"),
        (9.9999e-5, "1 × 10⁻⁴"),
        (2_500_000, "2.5 × 10⁶"),
        (0, "0"),
        (-0.0, "0"),
        (math.inf, "infinite"),
        (-math.inf, "minus infinity"),
        (math.nan, "not a number"),
    ],
)
def test_a_number_is_plain_where_it_can_be_read_and_a_power_of_ten_where_not(value, text):
    assert written(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.5, "0.500"), (0.001, "0.001"), (0.0009, "< 0.001"), (1e-300, "< 0.001"), (0, "0")]
)
def test_a_small_weight_is_given_by_a_limit(value, text):
    assert written(value, 3, limit=True) == text


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
    assert [short(v) for v in (0.5, 12, 0.00001, 0, 1200, 1e-9)] == ["0.5", "12", "0.00001", "0", "1,200", "1 × 10⁻⁹"]
    assert [scientific(v) for v in (1.23e-7, 0, 0.5)] == ["1.2 × 10⁻⁷", "0", "5 × 10⁻¹"]


def test_a_change_has_its_sign():
    assert [signed(v) for v in (0.25, -0.25, 0, 1e-9)] == ["+0.2500", "−0.2500", "0", "+1 × 10⁻⁹"]


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
    assert written_exp(exponent) == text


def test_percentages_and_counts():
    assert [percent(v) for v in (1 / 3, 0, 1, 1e-6, -1e-6)] == ["33.3 %", "0 %", "100.0 %", "< 0.1 %", "> −0.1 %"]
    assert percent(0.5, 0) == "50 %"
    assert [count(v) for v in (0, 1234, -1234)] == ["0", "1,234", "−1,234"]
