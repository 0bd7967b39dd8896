# SPDX-License-Identifier: Apache-2.0
"""Statistics from their definitions in results/README.md, by Python's standard library alone."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import combinations
from math import comb
from statistics import median

Ends = tuple[float, float]


def middle(values: Iterable[float]) -> float | None:
    known = list(values)
    return median(known) if known else None


def interval_of(values: Iterable[float]) -> Ends | None:
    """Smallest and largest of two to five. From six on between the d-th and the next value from either end, which cover
    the median with more and with less than 95 %: Hettmansperger and Sheather 1986."""
    ordered = sorted(values)
    n = len(ordered)
    if n < 6:
        return (ordered[0], ordered[-1]) if n > 1 else None

    def covered(d: int) -> float:
        return 1 - 2 * sum(comb(n, k) for k in range(d)) / 2**n

    d = max(d for d in range(1, n // 2 + 1) if covered(d) >= 0.95)
    part = (covered(d) - 0.95) / (covered(d) - covered(d + 1))
    inward = (n - d) * part / (d + (n - 2 * d) * part)
    low, high = ordered[d - 1], ordered[n - d]
    return low + inward * (ordered[d] - low), high + inward * (ordered[n - d - 1] - high)


def interval_name(values: Iterable[float], of: str) -> str:
    n = len(list(values))
    return "" if n < 2 else f"range of {of}" if n < 6 else f"95% of {of}"


def percentile(values: Iterable[float], percent: float) -> float | None:
    """Between the two nearest of the sorted ones; the 99th only of a hundred or more."""
    ordered = sorted(values)
    if percent == 99 and len(ordered) < 100:
        return None
    place = percent / 100 * (len(ordered) - 1)
    below = int(place)
    return ordered[below] + (place - below) * (ordered[min(below + 1, len(ordered) - 1)] - ordered[below])


def outliers(values: list[float]) -> int:
    """Beyond 1.5 interquartile ranges: Tukey."""
    low, high = percentile(values, 25), percentile(values, 75)
    assert low is not None and high is not None
    reach = 1.5 * (high - low)
    return sum(value < low - reach or value > high + reach for value in values)


def most_frequent(words: Iterable[str]) -> str:
    """Of equally frequent ones the first by name; of none nothing."""
    times = Counter(sorted(words))
    return max(times, key=times.__getitem__, default="")


def both(a: Mapping[int, float], b: Mapping[int, float]) -> list[int]:
    """The rounds that have both."""
    return [one for one in a if one in b]


def least_squares(columns: list[list[float]]) -> list[float] | None:
    """The x with the least squares of sum(x[i] * columns[i]) - 1, by its normal equations in fractions, which nothing
    rounds; None where columns depend on each other."""
    exact = [[Fraction(value) for value in column] for column in columns]
    rows = [[sum(map(lambda x, y: x * y, one, other), Fraction(0)) for other in exact] + [sum(one, Fraction(0))]
            for one in exact]  # fmt: skip
    for i in range(len(rows)):
        if rows[i][i] == 0:
            return None
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for k in range(len(rows)):
            if k != i:
                rows[k] = [x - rows[k][i] * y for x, y in zip(rows[k], rows[i])]
    return [float(row[-1]) for row in rows]


def nonnegative_least_squares(columns: list[list[float]]) -> list[float]:
    """The same with every x >= 0: the best of the solutions on some of the columns."""
    best, least = [0.0] * len(columns), float(len(columns[0]))
    for some in (some for k in range(1, len(columns) + 1) for some in combinations(range(len(columns)), k)):
        x = least_squares([columns[i] for i in some])
        if x is None or min(x) < 0:
            continue
        errors = [sum(a * columns[i][k] for a, i in zip(x, some)) - 1 for k in range(len(columns[0]))]
        if (squares := sum(error * error for error in errors)) < least:
            least, best = squares, [0.0] * len(columns)
            for a, i in zip(x, some):
                best[i] = a
    return best
