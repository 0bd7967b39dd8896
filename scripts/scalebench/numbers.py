# SPDX-License-Identifier: Apache-2.0
# How numbers are written wherever they are shown: rounded for reading, with their unit, nothing for what is
# not known, and behind a number its interval in brackets, with as many decimals.
from __future__ import annotations

import math


def decimals(value: float, digits: int = 3) -> int:
    """How many that many digits of a number have."""
    return max(0, digits - 1 - math.floor(math.log10(abs(value)))) if value else 0


def written(places: int, value: float, *ends: float, unit: str = "", plus: bool = False) -> str:
    """'1 234.5 s [1 200.1, 1 260.3]'; '' for what is no number."""
    if not math.isfinite(value):
        return ""

    def one(number: float, sign: str) -> str:
        text = f"{abs(number):,.{places}f}" if places < 7 else f"{abs(number):.2e}"
        return (("−" if number < 0 else sign) if float(text.replace(",", "")) else "") + text.replace(",", " ")

    known = len(ends) == 2 and math.isfinite(sum(ends))
    bracket = f" [{one(ends[0], '')}, {one(ends[1], '')}]" if known else ""
    return one(value, "+" if plus else "") + unit + bracket


def three_digits(value: float, *ends: float) -> str:
    """'30.6', '9.00', '1 234'; of a number that is small beside its interval what the interval needs."""
    largest = max((abs(end) for end in ends if math.isfinite(end)), default=0) / 10
    return written(decimals(max(abs(value), largest)) if math.isfinite(value) else 0, value, *ends)


def five_digits(value: float) -> str:
    """Of times that a reader divides: their ratio is then what stands beside them."""
    return written(decimals(value, 5) if math.isfinite(value) else 0, value)


def percent(value: float, *ends: float, plus: bool = False) -> str:
    return written(1, 100 * value, *(100 * end for end in ends), unit="\u00a0%", plus=plus)


# The largest unit that a time reaches.
TIMES = (("h", 7200.0, 3600.0), ("min", 120.0, 60.0), ("s", 1.0, 1.0), ("ms", 1e-3, 1e-3), ("µs", 1e-6, 1e-6))


def unit_of_time(seconds: float) -> tuple[str, float]:
    """('min', 60.0): the unit in which a person says such a time, and its seconds."""
    return next(((name, scale) for name, least, scale in TIMES if seconds >= least), ("ns", 1e-9))


def duration(seconds: float, *ends: float) -> str:
    """'16.6 min [16.5, 16.7]'"""
    if not math.isfinite(seconds):
        return ""
    unit, scale = unit_of_time(seconds)
    return written(decimals(seconds / scale), seconds / scale, *(end / scale for end in ends), unit=f" {unit}")


def byte_size(size: float) -> str:
    """4096 -> '4 KiB'; '' for what is no number."""
    if math.isnan(size):
        return ""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{size:g} {unit}" if size == int(size) else f"{size:.1f} {unit}"
