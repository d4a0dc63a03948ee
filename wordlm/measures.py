"""Cross-entropy and perplexity, defined once.

A loss is in nats per token: the sum of -ln p(target) over all targets divided by their number. It is never
a mean of batch means, which would weigh the words of a short last batch more. Perplexity is its exponential,
the reciprocal of the geometric mean target probability. Two perplexities can be compared only when tokenizer
and targets are the same.
"""

import math
import re
from collections.abc import Sequence

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


def probability_table(probabilities: Sequence[float]) -> pd.DataFrame:
    """Return one row per target: `target`, `probability`, `loss, nats`, `loss, bits`, `running mean, nats`."""
    losses = losses_of_probabilities(probabilities)
    count = np.arange(1, len(losses) + 1)
    return pd.DataFrame(
        {
            "target": count,
            "probability": probabilities,
            "loss, nats": losses,
            "loss, bits": losses / math.log(2),
            "running mean, nats": losses.cumsum() / count,
        }
    )


def parse_probabilities(text: str) -> list[float]:
    """Read probabilities as typed or pasted: commas, spaces, lines, percent signs, fractions such as 1/4.

    Raises `ValueError` that says which entry is wrong, counted from 1, and why.
    """
    joined = re.sub(r"\s*([%/])\s*", r"\1", text).replace("%", "% ")
    entries = [entry for entry in re.split(r"[\s,;]+", joined) if entry]
    if not entries:
        raise ValueError("there is no probability yet: type some, such as 0.5, 25% or 1/8")
    if len(entries) > MOST_PROBABILITIES:
        raise ValueError(f"there are {len(entries):,} entries, at most {MOST_PROBABILITIES:,} can be read")
    return [_probability(place, entry) for place, entry in enumerate(entries, 1)]


def _probability(place: int, entry: str) -> float:
    shown = entry if len(entry) <= 20 else entry[:19] + "…"
    try:
        numerator, _, denominator = entry.removesuffix("%").partition("/")
        value = float(numerator) / (float(denominator) if denominator or "/" in entry else 1)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"entry {place}, {shown}, is not a number: use forms such as 0.5, 50% or 1/2") from None
    if entry.endswith("%"):
        value /= 100
    if not math.isfinite(value):
        raise ValueError(f"entry {place}, {shown}, is not a finite number")
    if not 0 <= value <= 1:
        side = "below 0" if value < 0 else "above 1"
        raise ValueError(f"entry {place}, {shown}, is {side}: a probability lies from 0 to 1")
    return value
