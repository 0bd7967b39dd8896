# SPDX-License-Identifier: Apache-2.0
# How numbers are written wherever they are shown: rounded for reading, with their unit, and nothing
# for what is not known.
from __future__ import annotations

import math
from collections.abc import Callable


def three_digits(value: float, count: int = 3) -> str:
    """30.612 -> '30.6', 9 -> '9.00', 1234.5 -> '1234'; '' for what is no number. Or another count of digits."""
    if not math.isfinite(value):
        return ""
    if value == 0:
        return "0"
    digits = max(0, count - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{digits}f}" if digits < count + 3 else f"{value:.{count - 1}e}"


def five_digits(value: float) -> str:
    """Of times that a reader divides: their ratio is then what stands beside them."""
    return three_digits(value, 5)


def alike(*numbers: float) -> Callable[[float], str]:
    """How numbers are written that stand beside each other: with the decimals that three digits of the largest need."""
    largest = max(map(abs, numbers), default=0)
    digits = max(0, 2 - math.floor(math.log10(largest))) if largest > 0 else 0
    form = f".{digits}f" if digits < 6 else ".2e"
    return lambda number: "" if math.isnan(number) else f"{number:{form}}".replace("-", "−")


def percent(value: float) -> str:
    return "" if math.isnan(value) else f"{100 * value:.1f}\u00a0%"


# The largest unit that a time reaches.
TIMES = (("h", 7200.0, 3600.0), ("min", 120.0, 60.0), ("s", 1.0, 1.0), ("ms", 1e-3, 1e-3), ("µs", 1e-6, 1e-6))


def unit_of_time(seconds: float) -> tuple[str, float]:
    """('min', 60.0): the unit in which a person says such a time, and its seconds."""
    return next(((name, scale) for name, least, scale in TIMES if seconds >= least), ("ns", 1e-9))


def duration(seconds: float, *ends: float) -> str:
    """'16.6 min', and with the ends of an interval that are known '16.6 min [16.5, 16.7]'."""
    if math.isnan(seconds):
        return ""
    unit, scale = unit_of_time(seconds)
    return f"{three_digits(seconds / scale)} {unit}" + bracket(seconds / scale, *(end / scale for end in ends))


def usd(value: float, *ends: float) -> str:
    """'12.24', '0.0975', '345'; with an interval as duration."""
    if math.isnan(value):
        return ""
    shown = f"{value:.2f}" if 1 <= value < 100 or value <= 0 else f"{value:.{decimals(value)}f}"
    return shown + bracket(value, *ends)


def decimals(value: float) -> int:
    """How many three digits of a number above 0 have."""
    return max(0, 2 - math.floor(math.log10(value)))


def count(value: float, *ends: float) -> str:
    """'58 431', '912', '52.4' of things, so many a second; with an interval as duration."""
    if math.isnan(value):
        return ""
    digits = decimals(value) if value > 0 else 0
    shown, *rest = (f"{number:,.{digits}f}".replace(",", " ") for number in (value, *ends) if math.isfinite(number))
    return shown + (f" [{', '.join(rest)}]" if len(rest) == 2 else "")


def bracket(value: float, *ends: float) -> str:
    """' [16.5, 16.7]' with as many decimals as three digits of the value have."""
    if not ends or not math.isfinite(sum(ends)) or value <= 0:
        return ""
    digits = decimals(value)
    return f" [{', '.join(f'{end:.{digits}f}' for end in ends)}]"


def byte_size(size: float) -> str:
    """4096 -> '4 KiB'; '' for what is no number."""
    if math.isnan(size):
        return ""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{size:g} {unit}" if size == int(size) else f"{size:.1f} {unit}"
