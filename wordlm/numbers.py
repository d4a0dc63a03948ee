"""How a number is written, and what is counted and listed, decided once for sentences, metrics, tables and reports.

Plain decimals where they can be read; a power of ten where the plain form would hide the number or run to many
digits; a minus sign that is one. What is not 0 is never written as 0, a probability that is not 1 never as 1, and
infinity is a word. The spaces within a number do not break. A tie is rounded away from 0, as one learns at school.

wordlm/ui/browser/pictures/numbers.js is the twin for the browser; tests/number_cases.json holds the two together.
"""

import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal

MINUS = "−"
SPACE = "\u00a0"  # does not break
LARGEST_PLAIN = 1e6
SMALLEST_PLAIN = 1e-4
_WIDE = Context(prec=400)  # a float has no more than 309 digits before the point
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def written(value: float, decimals: int = 4, *, limit: bool = False) -> str:
    """Return a number as a reader expects it: "0.2500", "1,234.5000", "−0.0012", "1 × 10³⁰⁰", "infinite".

    `decimals` is how many there are unless the number is so small that they would leave fewer than two of its
    digits. Below 0.0001 and from a million on it is a power of ten with four digits. With `limit`, for weights,
    probabilities and their differences, what is nearly 0 or nearly 1 is given by a limit: "< 0.001", "> 0.999".
    """
    value = float(value)
    if not math.isfinite(value):
        return "not a number" if math.isnan(value) else "infinite" if value > 0 else "minus infinity"
    size = abs(value)
    if size == 0:
        return "0"
    if limit:
        return _near_a_limit(value, decimals) or _plain(value, decimals)
    if not SMALLEST_PLAIN <= size < LARGEST_PLAIN:
        return scientific(value, 4)
    return _plain(value, max(decimals, 1 - math.floor(math.log10(size))))


def signed(value: float, decimals: int = 4, *, limit: bool = False) -> str:
    """Return a change or a difference, with its sign also when it is a gain: "+0.2500", "−0.0012", "0"."""
    text = written(value, decimals, limit=limit)
    return f"+{text}" if value > 0 and text[0] not in "<>" else text


def short(value: float, digits: int = 3) -> str:
    """Return a number with at most so many digits and no idle zeros, for a label: "0.5", "12", "0.00001"."""
    if value == 0 or not math.isfinite(value) or not 1e-6 <= abs(value) < LARGEST_PLAIN:
        return scientific(value, digits) if value and math.isfinite(value) else written(value)
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    plain = _plain(value, places)
    return plain.rstrip("0").rstrip(".") if places else plain


def scientific(value: float, digits: int = 2) -> str:
    """Return a number as a power of ten with at most so many digits: "1.2 × 10⁻⁷"; for errors, always so but for 0."""
    if value == 0 or not math.isfinite(value):
        return written(value)
    exact = Decimal(float(value))
    kept = _at(exact, digits - 1 - exact.adjusted())
    mantissa, exponent = f"{kept:.{digits - 1}e}".split("e")
    return _as_power(mantissa, int(exponent))


def written_exp(exponent: float, decimals: int = 4) -> str:
    """Return e to a power as `written` does, also where the result is too large or too small for a float."""
    if -700 < exponent < 700 or not math.isfinite(exponent):
        return written(math.exp(exponent), decimals)
    if abs(exponent) >= 1e15:  # as a power of ten it would have more digits than anybody reads
        return f"e to the power {scientific(exponent, 4)}"
    power = exponent / math.log(10)
    mantissa, shift = f"{10 ** (power - math.floor(power)):.3e}".split("e")  # 9.9996 is 1.000e+01
    return _as_power(mantissa, math.floor(power) + int(shift))


def percent(share: float, decimals: int = 1) -> str:
    """Return a share as a percentage: "33.3 %", "100 %", and for what is nearly 0 or 1 a limit: "< 0.1 %"."""
    if share in (0, 1):
        return f"{int(100 * share)}{SPACE}%"
    return f"{_near_a_limit(share, decimals + 2, 100) or _plain(100 * float(share), decimals)}{SPACE}%"


def count(number: int) -> str:
    """Return a whole number with separators: "1,234"."""
    return _with_minus(f"{int(number):,}")


def counted(number: int, thing: str) -> str:
    """Return "1 update" or "1,200 updates"."""
    return f"{count(number)} {thing}{'' if number == 1 else 's'}"


def listed(items: Iterable[str]) -> str:
    """Return "1", "1 and 2", "1, 2 and 3"."""
    *first, last = [*items] or [""]
    return f"{', '.join(first)} and {last}" if first else last


def numbered(thing: str, numbers: Sequence[int]) -> str:
    """Return "head 2" or "heads 1, 3 and 4"."""
    return f"{thing}{'' if len(numbers) == 1 else 's'} {listed(map(str, numbers))}"


def summands(parts: Sequence[float], decimals: int = 3, sum_: float | None = None) -> tuple[list[float], float]:
    """Return numbers with so many decimals each, and their sum, that add up as they are written.

    Each is the number below or above; those furthest from the one below go up, until the parts are the rounded sum,
    or `sum_` where that was rounded elsewhere.
    """
    unit = 10**decimals
    total = math.floor(unit * (sum(parts) if sum_ is None else sum_) + 0.5)
    down = [math.floor(unit * part) for part in parts]
    order = sorted(range(len(parts)), key=lambda place: (down[place] - unit * parts[place], place))
    for place in order[: max(0, total - sum(down))]:
        down[place] += 1
    return [part / unit for part in down], total / unit


def rounded(value: float, decimals: int = 3) -> str:
    """Return a number with just so many decimals, for a sum that adds up: "0.000"; a zero has no sign."""
    return _plain(value, decimals)


def signed_rounded(value: float, decimals: int = 3) -> str:
    """Return what `rounded` does with a plus where it is above 0: "+0.250", "0.000"."""
    text = _plain(value, decimals)
    return f"+{text}" if value > 0 and _is_not_zero(text) else text


def duration(seconds: float) -> str:
    """Return a duration as one reads it: "8 s", "3 min"."""
    return f"{max(1, round(seconds))}{SPACE}s" if seconds < 90 else f"{seconds / 60:.0f}{SPACE}min"


def _near_a_limit(value: float, decimals: int, times: int = 1) -> str | None:
    """Return the limit for a share that would be written as 0 or 1, `times` as large as it is; None for others."""
    smallest, size = 10.0**-decimals, abs(value)
    places = decimals - round(math.log10(times))
    if 0 < size < smallest:
        return f"{'<' if value > 0 else '>'}{SPACE}{_plain(math.copysign(times * smallest, value), places)}"
    if size < 1 and _at(Decimal(float(size)), decimals) == 1:
        return f"{'>' if value > 0 else '<'}{SPACE}{_plain(math.copysign(times * (1 - smallest), value), places)}"
    return None


def _plain(value: float, decimals: int) -> str:
    text = f"{_at(Decimal(float(value)), decimals):,.{decimals}f}"
    return _with_minus(text) if _is_not_zero(text) else text.removeprefix("-")


def _is_not_zero(text: str) -> bool:
    return any(digit in text for digit in "123456789")


def _at(exact: Decimal, decimals: int) -> Decimal:
    return exact.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP, _WIDE)


def _as_power(mantissa: str, exponent: int) -> str:
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return _with_minus(f"{mantissa}{SPACE}×{SPACE}10") + str(exponent).translate(_RAISED)


def _with_minus(plain: str) -> str:
    return plain.replace("-", MINUS)
