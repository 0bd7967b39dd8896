# SPDX-License-Identifier: Apache-2.0
# How numbers are written wherever they are shown: rounded for reading, with their unit, and nothing
# for what is not known.
from __future__ import annotations

import math


def three_digits(value: float) -> str:
    """30.612 -> '30.6', 9 -> '9.00', 1234.5 -> '1234'; '' for what is no number."""
    if not math.isfinite(value):
        return ""
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{digits}f}" if digits < 6 else f"{value:.2e}"


def signed(value: float, *ends: float) -> list[str]:
    """['+0.176', '−0.017', '0.211']: a difference and the ends of its interval, all with the decimals
    that three digits of the largest need; empty texts where one is no number."""
    numbers = (value, *ends)
    largest = max(map(abs, numbers))
    if not math.isfinite(sum(numbers)) or largest == 0:
        return ["0" if number == 0 else "" for number in numbers]
    digits = max(0, 2 - math.floor(math.log10(largest)))
    form = f".{digits}f" if digits < 6 else ".2e"
    shown, *rest = (f"{number:{form}}".replace("-", "−") for number in numbers)
    return ["+" + shown if value > 0 else shown, *rest]


def percent(value: float) -> str:
    return "" if math.isnan(value) else f"{100 * value:.1f}\u00a0%"


def duration(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{three_digits(seconds / scale)} {unit}"
    return "" if math.isnan(seconds) else f"{three_digits(seconds * 1e9)} ns"


def byte_size(size: float) -> str:
    """4096 -> '4 KiB'."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{size:g} {unit}" if size == int(size) else f"{size:.1f} {unit}"
