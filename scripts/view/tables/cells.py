# SPDX-License-Identifier: Apache-2.0
# What cells and rows of the report's tables have in common.
from __future__ import annotations

from collections.abc import Callable

from view.numbers import three_digits
from view.page import Html, element, joined
from view.rows import Row


def with_interval(
    row: Row, shown: str, low: str, high: str, form: Callable[[float], str] = three_digits
) -> Html | str:
    """'12.3' with its interval in small print, where it has one."""
    if not (row[low] and row[high] and shown):
        return shown
    return joined([shown, element("small", f" [{form(row.number(low))}, {form(row.number(high))}]")])


def number(row: Row, column: str, form: Callable[[float], str] = three_digits) -> Html | str:
    """The cell of that column with its interval, as COLUMN_ci_low and COLUMN_ci_high hold it."""
    return with_interval(row, form(row.number(column)), f"{column}_ci_low", f"{column}_ci_high", form)


def not_measured(rows: list[Row]) -> list[int]:
    """The places of rows that say nothing about what was measured: they are set back."""
    return [place for place, row in enumerate(rows) if row["origin"] != "measured"]
