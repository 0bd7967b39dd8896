# SPDX-License-Identifier: Apache-2.0
# What cells and rows of the report's tables have in common.
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from scalebench.numbers import three_digits
from scalebench.pages.page import Html, element, joined
from scalebench.rows import Row


def with_interval(
    row: Row, shown: str, low: str, high: str, form: Callable[[float], str] = three_digits
) -> Html | str:
    """'12.3' with its interval in small print, where it has one."""
    if not (row[low] and row[high] and shown):
        return shown
    return joined([shown, element("small", f" [{form(row.number(low))}, {form(row.number(high))}]", css="under")])


def number(row: Row, column: str, form: Callable[[float], str] = three_digits) -> Html | str:
    """The cell of that column with its interval, as COLUMN_ci_low and COLUMN_ci_high hold it."""
    return with_interval(row, form(row.number(column)), f"{column}_ci_low", f"{column}_ci_high", form)


def said_once(
    head: Sequence[str], rows: Sequence[Sequence[object]], fixed: Iterable[str]
) -> tuple[list[int], str]:
    """The places of the columns to show, and a sentence with those that are the same in every row.
    A column without any value goes silently; `fixed` ones and those with intervals stay."""
    kept, once = [], []
    for place, name in enumerate(head):
        values = {str(row[place]) for row in rows}
        if name in fixed or len(values) != 1 or "<" in min(values) or (len(rows) == 1 and values != {""}):
            kept.append(place)
        elif values != {""}:
            once.append(f"{name} {values.pop()}")
    return kept, f"In every row: {', '.join(once)}." if once else ""


def not_measured(rows: list[Row]) -> list[int]:
    """The places of rows that say nothing about what was measured: they are set back."""
    return [place for place, row in enumerate(rows) if row["origin"] != "measured"]
