# SPDX-License-Identifier: Apache-2.0
"""Statistics from their definitions in results/README.md, by Python's standard library alone."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import combinations
from math import comb, erfc, exp, log, sqrt
from statistics import NormalDist, median

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


def normal_quantile(p: float) -> float:
    """Exceeded with probability p by Student's t of a million degrees of freedom: Cornish and Fisher."""
    z, nu = NormalDist().inv_cdf(1 - p), 1e6
    return z + (z**3 + z) / (4 * nu) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * nu**2)


# Mann and Whitney: in how many of the pairs the first sample's value is the larger, when both are of one distribution.


def _counts(n: int, m: int) -> list[int]:
    """In how many of the orders u pairs are so, for u = 0 .. n*m: coefficients of Gauss' binomial."""
    counts = [1] + [0] * (n * m)
    for i in range(1, n + 1):
        for u in range(n * m, m + i - 1, -1):
            counts[u] -= counts[u - m - i]
        for u in range(i, n * m + 1):
            counts[u] += counts[u - i]
    return counts


def rank_sum_p_value(a: list[float], b: list[float]) -> float:
    """Two-sided. Exact without ties and up to 30 a side; else normal, corrected for ties and continuity, and
    no smaller than that of samples that do not overlap."""
    n, m = len(a), len(b)
    u = sum((x > y) + (x == y) / 2 for x in a for y in b)
    values = a + b
    ties = sum(values.count(value) ** 3 - values.count(value) for value in set(values))
    if ties == 0 and max(n, m) <= 30:
        tail = sum(_counts(n, m)[: int(min(u, n * m - u)) + 1])
        return min(1.0, float(Fraction(2 * tail, comb(n + m, n))))
    variance = n * m / 12 * (n + m + 1 - ties / ((n + m) * (n + m - 1)))
    if variance <= 0:
        return 1.0
    return max(erfc(max(abs(u - n * m / 2) - 0.5, 0) / sqrt(2 * variance)), min(1.0, 2 / comb(n + m, n)))


def ratio_ends(a: list[float], b: list[float]) -> Ends | None:
    """Of all ratios those that the rank-sum test at 5 % just keeps; widened to the ratio of the medians."""
    n, m = len(a), len(b)
    if max(n, m) <= 30:
        counts, cut, tail = _counts(n, m), 0, 0
        while 40 * (tail + counts[cut]) <= comb(n + m, n):
            tail += counts[cut]
            cut += 1
    else:
        cut = int(n * m / 2 - 1.96 * sqrt(n * m * (n + m + 1) / 12))
    if cut < 1:
        return None
    ratios, ratio = sorted(y / x for x in a for y in b), median(b) / median(a)
    return min(ratio, ratios[cut - 1]), max(ratio, ratios[-cut])


def holm(p_values: list[float]) -> list[float]:
    adjusted, largest = [0.0] * len(p_values), 0.0
    for place, i in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[i]))
        adjusted[i] = largest
    return adjusted


def smallest_effect(n: int, m: int, ends: Ends | None, cells: int, floor: float) -> float | None:
    if ends is None or 2 / comb(n + m, n) * cells >= 0.05:
        return None
    half = (log(ends[1]) - log(ends[0])) / 2
    deviation = half / normal_quantile(0.025)
    critical = max(log(1 + floor) + half, normal_quantile(0.025 / cells) * deviation)
    return exp(critical + normal_quantile(0.2) * deviation) - 1


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
