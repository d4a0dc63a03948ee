"""Cross-entropy and perplexity, defined once.

A loss is in nats per token: the sum of -ln p(target) over all targets divided by their number. It is never
a mean of batch means, which would weigh the words of a short last batch more. Perplexity is its exponential,
the reciprocal of the geometric mean target probability. Two perplexities can be compared only when tokenizer
and targets are the same.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

MOST_PROBABILITIES = 10_000


def perplexity(cross_entropy: float) -> float:
    """Return exp(cross-entropy in nats): the reciprocal of the geometric mean target probability."""
    try:
        return math.exp(cross_entropy)
    except OverflowError:
        return math.inf


def losses_of_probabilities(probabilities: Sequence[float]) -> np.ndarray:
    """Return -ln p of each target in nats; a probability of 0 gives infinity."""
    values = np.asarray(probabilities, float)
    return -np.log(values, out=np.full(len(values), -math.inf), where=values > 0)


@dataclass(frozen=True)
class TypedProbabilities:
    """What was understood of typed probabilities."""

    values: tuple[float, ...]
    logarithms: bool = False
    """Whether the values are natural logarithms of the probabilities."""
    said: str = ""
    """How the text was read where that is not plain, as a sentence."""

    @property
    def losses(self) -> np.ndarray:
        """-ln p of each target in nats, (n,)."""
        return -np.array(self.values) if self.logarithms else losses_of_probabilities(self.values)


def probability_table(reading: TypedProbabilities) -> pd.DataFrame:
    """Return one row per target: `target`, `probability` or `ln p`, its loss in nats and bits, the running mean."""
    losses = reading.losses + 0.0  # no minus zero
    count = np.arange(1, len(losses) + 1)
    return pd.DataFrame(
        {
            "target": count,
            "ln p" if reading.logarithms else "probability": reading.values,
            "loss, nats": losses,
            "loss, bits": losses / math.log(2),
            "running mean, nats": losses.cumsum() / count,
        }
    )


_DECIMAL_COMMA = re.compile(r"([+-]?\d+),(\d+(?:[eE][+-]?\d+)?%?)")
_BETWEEN_NUMBERS = "write a point, 0.5, or put a space or a semicolon between numbers"


def parse_probabilities(text: str) -> list[float]:
    """Read probabilities as typed or pasted, see `read_probabilities`."""
    return list(read_probabilities(text).values)


def read_probabilities(text: str, *, logarithms: bool = False) -> TypedProbabilities:
    """Read probabilities: commas, spaces, lines, percent signs, fractions such as 1/4, and decimal commas.

    With `logarithms` the entries are natural logarithms of probabilities, as services return them: at most 0.
    A comma inside of "0,5" is a decimal comma where every number is written so and the numbers stand apart, or
    where a list of two would make no sense; "0,1" alone may be either and is refused. Raises `ValueError` that
    says which entry is wrong, counted from 1, and why.
    """
    number = _log_probability if logarithms else _probability
    # A run of spaces is tried from its start alone, else a long one takes a time that grows with its square.
    joined = re.sub(r"(?<!\s)\s*([%/])\s*", r"\1", text.strip().strip("[]").replace("−", "-")).replace("%", "% ")
    apart = [piece for piece in re.split(r"[\s;]+|,(?=[\s;])", joined) if piece.strip(",")]
    pieces = [piece.strip(",") for piece in apart]
    with_comma = [piece for piece in pieces if "," in piece]
    if with_comma and "." not in joined and all(map(_DECIMAL_COMMA.fullmatch, with_comma)):
        return _with_decimal_commas(pieces, with_comma, number, logarithms)
    entries = [entry for piece in pieces for entry in piece.split(",") if entry]
    if not entries:
        example = "-0.69 -1.38" if logarithms else "0.5, 25% or 1/8"
        raise ValueError(f"there is no probability yet: type some, such as {example}")
    try:
        values = tuple(_numbers(entries, number))
        # "0,1,0,1" holds four numbers or two; which was read is said.
        either = any(piece.count(",") % 2 for piece in with_comma) and set(entries) <= {"0", "1"}
        said = f"Read as {len(values)} numbers between commas. A decimal is written 0.1." if either else ""
        return TypedProbabilities(values, logarithms, said)
    except ValueError as error:
        if "." not in joined and any(piece.count(",") % 2 for piece in with_comma):
            raise ValueError(f"{error}; if a comma is a decimal comma, {_BETWEEN_NUMBERS}") from None
        raise


def _with_decimal_commas(
    pieces: list[str], with_comma: list[str], number: Callable[[int, str], float], logarithms: bool
) -> TypedProbabilities:
    if len(pieces) == 1:
        (piece,) = pieces
        try:
            _numbers(piece.split(","), number)
        except ValueError:
            pass  # as two numbers it makes no sense
        else:
            one, two = piece.replace(",", "."), piece.replace(",", " ")
            raise ValueError(f"{piece} may be one number, {one}, or two: write {one} or, with a space, {two}")
    values = _numbers([_DECIMAL_COMMA.sub(r"\1.\2", piece) for piece in pieces], number)
    comma, point = with_comma[0], with_comma[0].replace(",", ".")
    said = f"Read with decimal commas: {comma} is {point}. For two numbers type a space after the comma."
    return TypedProbabilities(tuple(values), logarithms, said)


def _numbers(entries: list[str], number: Callable[[int, str], float]) -> list[float]:
    if len(entries) > MOST_PROBABILITIES:
        raise ValueError(f"there are {len(entries):,} entries, at most {MOST_PROBABILITIES:,} can be read")
    return [number(place, entry) for place, entry in enumerate(entries, 1)]


def _probability(place: int, entry: str) -> float:
    try:
        numerator, _, denominator = entry.removesuffix("%").partition("/")
        value = float(numerator) / (float(denominator) if denominator or "/" in entry else 1)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{_named(place, entry)} is not a number: use forms such as 0.5, 50% or 1/2") from None
    if entry.endswith("%"):
        value /= 100
    if not math.isfinite(value):
        raise ValueError(f"{_named(place, entry)} is not a finite number")
    if not 0 <= value <= 1:
        side = "below 0" if value < 0 else "above 1"
        raise ValueError(f"{_named(place, entry)} is {side}: a probability lies from 0 to 1")
    return value


def _log_probability(place: int, entry: str) -> float:
    try:
        value = float(entry)
    except ValueError:
        raise ValueError(f"{_named(place, entry)} is not a number: use forms such as -0.69") from None
    if math.isnan(value):
        raise ValueError(f"{_named(place, entry)} is not a number")
    if value > 0:
        raise ValueError(f"{_named(place, entry)} is above 0: the logarithm of a probability is at most 0")
    return value


def _named(place: int, entry: str) -> str:
    return f"entry {place}, {entry if len(entry) <= 20 else entry[:19] + '…'},"
