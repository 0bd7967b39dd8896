# SPDX-License-Identifier: Apache-2.0
# What a run found, a card for each workload and strategy: green, or amber where its interval is too
# wide to rely on. Strategies that train no common model are diagnostics, and no result.
from __future__ import annotations

from pathlib import Path

from scalebench import intervals
from scalebench.cases import apart
from scalebench.pages.page import Html, element
from scalebench.rows import Row
from scalebench.pages.tables.scaling import answers, sentence

DIAGNOSTIC = ("none", "barrier_only")
TITLE = "Diagnostics: these do not synchronise gradients, so they are no result."
MORE = " Run six launches."


def cards(run: Path) -> list[Html]:
    """The cards, and below them the diagnostics."""
    found = results(run)
    shown = [card(row, apart(found)) for row in found]
    parts = [element("div", *shown, css="cards")] if shown else []
    said = diagnostics(run)
    if said:
        parts.append(element("div", element("p", TITLE), element("ul", *(element("li", text) for text in said)), css="muted"))
    return parts


def results(run: Path) -> list[Row]:
    """The answers of strategies that train one common model."""
    return [row for row in answers(run) if row["gradient_sync"] not in DIAGNOSTIC]


def diagnostics(run: Path) -> list[Html]:
    """A sentence for each of the others."""
    rows = [row for row in answers(run) if row["gradient_sync"] in DIAGNOSTIC]
    return [sentence(row, apart(rows)) for row in rows]


def unsure(run: Path) -> bool:
    """Whether a card is amber."""
    return any(map(amber, results(run)))


def card(row: Row, more: tuple[str, ...]) -> Html:
    remark = remark_of(row)
    parts = [sentence(row, more), *([element("p", remark)] if remark else [])]
    return element("div", *parts, css="card amber" if amber(row) else "card")


def amber(row: Row) -> bool:
    return not row["efficiency_ci_low"] or intervals.wide(row)


def remark_of(row: Row) -> str:
    """What its interval leaves open, and what would help."""
    own = row["origin"] in ("measured", "emulated")
    more = MORE if own and row.integer("rounds") < intervals.FULL else ""
    if not row["efficiency_ci_low"]:
        return "No interval: nothing says what of it is chance." + more
    if intervals.wide(row):
        return "Wide interval: a change of 10\u00a0% could hide in it." + more
    one = row["efficiency_ci_low"] == row["efficiency_ci_high"]  # compared with itself
    if not one and intervals.covers(row, "efficiency", 1):
        return "Not distinguishable from the ideal." + more
    return ""
