# SPDX-License-Identifier: Apache-2.0
# What lines of a chart share: colours that colour-blind readers can tell apart (Okabe and Ito), labels
# at their ends that do not overlap, and labels of the axis of N.
from __future__ import annotations

import math
from collections.abc import Sequence

SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#8c6bb1", "#6b7280",
          "#8a5a2b", "#7a9a01", "#1b4965", "#b5179e")  # fmt: skip


def moved_apart(heights: Sequence[float], gap: float) -> list[float]:
    """Ascending heights, moved as little as needed to be `gap` apart; 0 to 1 where they fit."""
    placed = list(heights)
    for _ in range(500):
        overlaps = [gap - (high - low) for low, high in zip(placed, placed[1:])]
        if max(overlaps, default=0) < 1e-4:
            break
        for low, overlap in enumerate(overlaps):
            if overlap > 0:
                placed[low] -= overlap / 2
                placed[low + 1] += overlap / 2
        shift = max(0.0, -placed[0]) - max(0.0, placed[-1] - 1.0)
        if len(placed) * gap <= 1:
            placed = [height + shift for height in placed]
    return placed


def thinned(ticks: Sequence[int], octave: float) -> list[int]:
    """Those of ascending N whose labels do not touch on an axis where N and 2 N are `octave` digits apart: both ends,
    then what is divisible by the most twos, and the larger first."""
    kept: list[int] = []
    for tick in sorted(ticks, key=lambda tick: (tick in (ticks[-1], ticks[0]), tick & -tick, tick), reverse=True):
        if all(abs(math.log2(tick / other)) * octave > digits_apart(tick, other) for other in kept):
            kept.append(tick)
    return sorted(kept)


def digits_apart(*numbers: int) -> float:
    """How far apart the middles of two labels have to be, with a digit between them."""
    return sum(len(str(number)) for number in numbers) / 2 + 1
