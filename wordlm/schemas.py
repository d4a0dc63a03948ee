"""What is read from a file, checked against a type: what is wrong is one sentence that names the field."""

import re
from typing import Annotated, Any, TypeVar

import msgspec
import numpy as np
from msgspec import Meta

T = TypeVar("T")

Count = Annotated[int, Meta(ge=0, lt=2**53)]
"""A whole number that JSON carries exactly to every reader."""
Finite = Annotated[float, Meta(ge=0, le=float(np.finfo(float).max))]
"""A finite number, 0 or more."""
Loss = Annotated[float, Meta(ge=0, lt=100)]
"""A loss in nats per token."""


def checked(value: Any, kind: type[T], where: str = "") -> T:
    """Return `value`, read from JSON, as `kind`; `where` is its field in the file.

    Raises `ValueError` such as "runs.mlp[2].test_loss: expected float, got str".
    """
    try:
        return msgspec.convert(value, kind, dec_hook=_array)
    except msgspec.ValidationError as error:
        reason, _, path = str(error).replace("`", "").partition(" - at $")
        missing = re.fullmatch("Object missing required field (.*)", reason)
        field = f"{where}{path}{f'.{missing[1]}' if missing else ''}".removeprefix(".") or "the file"
        wrong = " is missing" if missing else f": {reason[:1].lower()}{reason[1:]}"
        raise ValueError(field + wrong) from None


def checked_each(values: dict[str, Any], kind: type[T], where: str) -> dict[str, T]:
    """Return every entry of an object as `kind`, as `checked`; msgspec alone would not name the entry."""
    return {name: checked(value, kind, f"{where}.{name}") for name, value in values.items()}


def _array(kind: type, value: Any) -> np.ndarray:
    """Return a list of numbers as an array, null as NaN."""
    if not isinstance(value, list):
        raise ValueError(f"expected array, got {type(value).__name__}")
    try:
        return np.array(value, float)
    except (ValueError, TypeError):
        raise ValueError("expected numbers, in rows of one length") from None
