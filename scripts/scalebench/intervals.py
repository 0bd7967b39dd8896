# SPDX-License-Identifier: Apache-2.0
# Intervals beside numbers: of what each is, as the files say it, and what it cannot tell apart.
from __future__ import annotations

import math
from collections.abc import Iterable

from scalebench.rows import Row

OF = ("launches", "rounds", "repetitions")
HIDES = 0.10  # the drop that proves a night
FULL = 6  # launches from which on the interval is one of 95 %; of fewer it is the range
# Of E and all beside it in scaling.csv, for told().
EFFICIENCY = ("efficiency_ci_low", "interval")


def words(text: str) -> str:
    """'range of launches' or '95 % interval over rounds' for a cell of a column `interval`."""
    kind, _, of = text.partition(" of ")
    name, link = {"95%": ("95 % interval", "over"), "range": ("range", "of")}.get(kind, ("interval", "over"))
    return f"{name} {link} {of}" if of in OF else name


def of_launches(row: Row) -> str:
    """What the column `interval` says in other files, of a row that has its number of launches alone."""
    launches = row.integer("launches")
    return "95% of repetitions" if launches == 1 else "range of launches" if launches < FULL else "95% of launches"


def told(rows: Iterable[Row], low: str, column: str) -> str:
    """Those words for the rows that have an interval, which begins at the cell `low`. '' where no row
    has one."""
    texts = (of_launches(row) if column == "launches" else row[column] for row in rows if row[low])
    return " or ".join(dict.fromkeys(map(words, texts)))


def of_bandwidth(row: Row) -> tuple[float, float]:
    """The ends of the interval of busbw_gb_per_s, which are those of the time."""
    moved = row.number("busbw_gb_per_s") * row.number("seconds_median")
    low, high = (row.number(f"seconds_ci_{end}") or math.nan for end in ("high", "low"))
    return moved / low, moved / high


def wide(row: Row) -> bool:
    """Whether a change of a tenth, which a night has to find, could hide in the interval of the efficiency."""
    value = row.number("efficiency")
    ends = (row.number("efficiency_ci_low"), row.number("efficiency_ci_high"))
    return any(abs(end - value) > HIDES * abs(value) for end in ends)


def covers(row: Row, number: str, value: float) -> bool:
    """Whether the interval of `number` covers `value`, from which it then cannot be told."""
    return row.number(f"{number}_ci_low") <= value <= row.number(f"{number}_ci_high")
