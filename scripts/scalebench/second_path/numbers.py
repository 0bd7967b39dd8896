# SPDX-License-Identifier: Apache-2.0
"""Statistics from their definitions in results/README.md, by Python's standard library alone."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import ceil, comb, cos, exp, floor, inf, lgamma, pi, sqrt, tan
from operator import mul
from statistics import NormalDist, mean, median, stdev, variance

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


@cache
def of_t(df: float) -> float:
    """The t that 2.5 % exceed. |T| is below sqrt(df) tan(a) in as large a share as cos^(df - 1) has of its area up to a,
    which is summed by Simpson's rule."""
    if df > 100:  # Cornish and Fisher's expansion: Abramowitz and Stegun 26.7.5
        z = NormalDist().inv_cdf(0.975)
        return (z + (z**3 + z) / 4 / df + (5 * z**5 + 16 * z**3 + 3 * z) / 96 / df**2
                + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384 / df**3)  # fmt: skip
    whole = sqrt(pi) / 2 * exp(lgamma(df / 2) - lgamma((df + 1) / 2))
    low, high, steps = 0.0, pi / 2, 1000
    for _ in range(60):
        angle = (low + high) / 2
        heights = [cos(angle * i / steps) ** (df - 1) for i in range(steps + 1)]
        area = angle / steps / 3 * (heights[0] + heights[-1] + 4 * sum(heights[1::2]) + 2 * sum(heights[2:-1:2]))
        low, high = (angle, high) if area < 0.95 * whole else (low, angle)
    return sqrt(df) * tan(low)


def of_mean(values: Iterable[float]) -> Ends | None:
    """Smallest and largest of two to five; from six on Student's interval."""
    known = list(values)
    if len(known) < 6:
        return (min(known), max(known)) if len(known) > 1 else None
    half = of_t(len(known) - 1) * stdev(known) / sqrt(len(known))
    return mean(known) - half, mean(known) + half


def _welch(a: list[float], b: list[float]) -> float | None:
    """Half the interval of a difference of two means that nothing pairs."""
    if min(len(a), len(b)) < 2:
        return None
    parts = [variance(values) / len(values) for values in (a, b)]
    if not sum(parts):
        return 0.0
    df = sum(parts) ** 2 / sum(part**2 / (len(values) - 1) for part, values in zip(parts, (a, b)))
    return of_t(df) * sqrt(sum(parts))


def of_ratio(a: list[float], b: list[float], tied: bool) -> Ends | None:
    """Of mean(a) / mean(b)."""
    ratio, (whole_a, whole_b) = mean(a) / mean(b), (mean(a), mean(b))
    if tied and len(a) < 6:
        return of_mean(one / other for one, other in zip(a, b))
    if tied:
        half: float | None = of_t(len(a) - 1) * stdev(x / whole_a - y / whole_b for x, y in zip(a, b)) / sqrt(len(a))
    else:
        half = _welch([x / whole_a for x in a], [y / whole_b for y in b])
    return None if half is None else (ratio * exp(-half), ratio * exp(half))


def of_difference(a: list[float], b: list[float], tied: bool) -> Ends | None:
    """Of mean(a) - mean(b)."""
    if tied:
        return of_mean(x - y for x, y in zip(a, b))
    half = _welch(a, b)
    return None if half is None else (mean(a) - mean(b) - half, mean(a) - mean(b) + half)


def walsh(values: list[float]) -> list[float]:
    """The means of all pairs, each value with itself too, in order: their median is Hodges and Lehmann's estimate."""
    return sorted((one + other) / 2 for i, one in enumerate(values) for other in values[i:])


def _rank_sums(ranks: list[float]) -> Counter[float]:
    """How many of all 2^n choices of signs have each sum of the ranks that are positive."""
    sums = Counter({0.0: 1})
    for rank in ranks:
        sums = Counter({one: sums[one] + sums[one - rank] for one in {*sums, *(sum + rank for sum in sums)}})
    return sums


def of_rounds(logs: list[float], tail: float) -> Ends | None:
    """The interval of Walsh's means beyond whose ends lies a share `tail` each of Wilcoxon's signed rank sums."""
    sums, k = _rank_sums([float(i + 1) for i in range(len(logs))]), 0
    while sum(sums[i] for i in range(k + 1)) <= tail * 2 ** len(logs):
        k += 1
    means = walsh(logs)
    return (means[k - 1], means[-k]) if k else None


def signed_ranks(logs: list[float]) -> float | None:
    """Wilcoxon's two-sided p, ties sharing their ranks; a zero's rank has no sign. None without a round."""
    if not logs:
        return None
    sizes = sorted(map(abs, logs))
    rank = {size: (2 * sizes.index(size) + sizes.count(size) + 1) / 2 for size in sizes}
    sums = _rank_sums([rank[abs(one)] for one in logs if one])
    positive = sum(rank[one] for one in logs if one > 0)
    nearer = min(sum(n for one, n in sums.items() if one <= positive), sum(n for one, n in sums.items() if one >= positive))
    return min(1.0, 2 * nearer / sums.total())


def holm(p_values: list[float | None]) -> list[float]:
    """Corrected over all that are known, in their order; 1 for one that is not."""
    known = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    corrected, least = [1.0] * len(p_values), 0.0
    for place, (p, i) in enumerate(known):
        least = corrected[i] = max(least, min(1.0, p * (len(known) - place)))
    return corrected


def percentile(values: Iterable[float], percent: float) -> float | None:
    """Between the two nearest of the sorted ones; the 99th only of a hundred or more."""
    ordered = sorted(values)
    if percent == 99 and len(ordered) < 100:
        return None
    place = percent / 100 * (len(ordered) - 1)
    below = int(place)
    return ordered[below] + (place - below) * (ordered[min(below + 1, len(ordered) - 1)] - ordered[below])


def _fences(values: list[float]) -> Ends:
    """1.5 interquartile ranges beyond the quartiles: Tukey."""
    low, high = percentile(values, 25), percentile(values, 75)
    assert low is not None and high is not None
    reach = 1.5 * (high - low)
    return low - reach, high + reach


def outliers(values: list[float]) -> int:
    low, high = _fences(values)
    return sum(value < low or value > high for value in values)


@cache
def independent(values: tuple[float, ...]) -> float:
    """As many independent repetitions as these are worth, for their median: docs/statistics.md."""
    n, (low, high) = len(values), _fences(list(values))
    drawn_in = [min(max(value, low), high) for value in values]
    drawn_in = [value - sum(drawn_in) / n for value in drawn_in]
    squares = sum(value * value for value in drawn_in)
    lag_1 = sum(map(mul, drawn_in[1:], drawn_in)) / squares if squares else 0.0
    lag_1 = min(max(lag_1, 0.0), 0.99)
    centre = median(values)
    sides = [(value > centre) - (value < centre) for value in values]
    sides = [side - sum(sides) / n for side in sides]
    squares, stretch, before, lag = sum(map(mul, sides, sides)), -1.0, inf, 0
    if not squares:
        return n * (1 - lag_1) / (1 + lag_1)
    while lag + 1 < n:  # Geyer's initial monotone sequence
        pair = min(sum(sum(map(mul, sides[one:], sides)) for one in (lag, lag + 1)) / squares, before)
        if pair <= 0:
            break
        stretch, before, lag = stretch + 2 * pair, pair, lag + 2
    stretch += 2 * stretch * sqrt(2 * (2 * lag + 1) / n)  # two standard errors: Madras and Sokal
    return n / max((1 + lag_1) / (1 - lag_1), stretch, 1.0)


def of_repetitions(values: list[float]) -> Ends | None:
    """The interval of one launch's median, between two of its values."""
    n, worth, ordered = len(values), independent(tuple(values)), sorted(values)
    if worth < 6:
        return None
    if n <= 100 and worth >= n:  # by the binomial
        low = max(d for d in range(n // 2) if sum(comb(n, k) for k in range(d + 1)) <= 0.025 * 2**n)
        return ordered[low], ordered[n - 1 - low]
    reach = (of_t(max(worth - 1, 1.0)) if worth < n else 1.96) / 2 / sqrt(worth)
    return ordered[max(floor(n * (0.5 - reach)), 1) - 1], ordered[min(ceil(1 + n * (0.5 + reach)), n) - 1]


def most_frequent(words: Iterable[str]) -> str:
    """Of equally frequent ones the first by name, of numbers the least; of none nothing."""
    times = Counter(sorted(words, key=lambda word: (len(word), word)))
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
