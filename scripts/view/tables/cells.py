# SPDX-License-Identifier: Apache-2.0
# What cells and rows of the report's tables have in common.
from __future__ import annotations

from view.numbers import percent, three_digits
from view.page import Html, element, joined
from view.rows import Row


def with_interval(row: Row, column: str, shown: str, low: str, high: str) -> Html | str:
    """'12.3' with its interval in small print, where it has one."""
    if not (row[low] and row[high] and shown):
        return shown
    form = percent if column == "efficiency" else three_digits
    return joined(
        [shown, element("small", f" [{form(row.number(low))}, {form(row.number(high))}]")]
    )


def not_measured(rows: list[Row]) -> list[int]:
    """The places of rows that say nothing about what was measured: they are set back."""
    return [place for place, row in enumerate(rows) if row["origin"] != "measured"]
