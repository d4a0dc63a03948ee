"""How a number is written, decided once for sentences, metrics, tables, charts and reports.

Plain decimals where they can be read; a power of ten where the plain form would hide the number or run to many
digits; a minus sign that is one. What is not 0 is never written as 0, and infinity is a word.
"""

import math

MINUS = "−"
LARGEST_PLAIN = 1e6
SMALLEST_PLAIN = 1e-4
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def written(value: float, decimals: int = 4, *, limit: bool = False) -> str:
    """Return a number as a reader expects it: "0.2500", "1,234.5000", "−0.0012", "1 × 10³⁰⁰", "infinite".

    `decimals` is how many there are unless the number is so small that they would leave fewer than two of its
    digits. Below 0.0001 and from a million on it is a power of ten with four digits. With `limit`, for weights and
    probabilities, a number too small for its decimals is given by a limit: "< 0.001".
    """
    value = float(value)
    if not math.isfinite(value):
        return "not a number" if math.isnan(value) else "infinite" if value > 0 else "minus infinity"
    size = abs(value)
    if size == 0:
        return "0"
    if limit and 0 < value < 10.0**-decimals:
        return f"< {10.0**-decimals:.{decimals}f}"
    if not SMALLEST_PLAIN <= size < LARGEST_PLAIN:
        return scientific(value, 4)
    places = decimals if limit and value > 0 else max(decimals, 1 - math.floor(math.log10(size)))
    return _with_minus(f"{value:,.{places}f}")


def signed(value: float, decimals: int = 4) -> str:
    """Return a change or a difference, with its sign also when it is a gain: "+0.2500", "−0.0012", "0"."""
    return f"+{written(value, decimals)}" if value > 0 else written(value, decimals)


def short(value: float, digits: int = 3) -> str:
    """Return a number with at most so many digits and no idle zeros, for a label: "0.5", "12", "0.00001"."""
    if value == 0 or not math.isfinite(value) or not 1e-6 <= abs(value) < LARGEST_PLAIN:
        return scientific(value, digits) if value and math.isfinite(value) else written(value)
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    plain = f"{value:,.{places}f}"
    return _with_minus(plain.rstrip("0").rstrip(".") if places else plain)


def scientific(value: float, digits: int = 2) -> str:
    """Return a number as a power of ten with at most so many digits: "1.2 × 10⁻⁷"; for errors, always so but for 0."""
    if value == 0 or not math.isfinite(value):
        return written(value)
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
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
    """Return a share as a percentage: "33.3 %", "< 0.1 %" for what is not 0."""
    value, smallest = 100 * share, 10.0**-decimals
    if 0 < abs(value) < smallest:
        side = "< " if value > 0 else f"> {MINUS}"
        return f"{side}{smallest:.{decimals}f} %"
    return f"{written(value, decimals)} %"


def count(number: int) -> str:
    """Return a whole number with separators: "1,234"."""
    return _with_minus(f"{int(number):,}")


def duration(seconds: float) -> str:
    """Return a duration as one reads it: "8 s", "3 min"."""
    return f"{max(1, round(seconds))} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def _as_power(mantissa: str, exponent: int) -> str:
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return _with_minus(f"{mantissa} × 10") + str(exponent).translate(_RAISED)


def _with_minus(plain: str) -> str:
    return plain.replace("-", MINUS)
