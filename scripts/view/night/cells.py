# SPDX-License-Identifier: Apache-2.0
# The cells of a night's page: those that changed with what the verdict rests on and their last
# nights, those without a value with the reason, and all of them in a list that folds.
from __future__ import annotations

from collections.abc import Sequence

from view.night import cell_words
from view.night.record import ABSENT, WORSE, Night, histories, key_of
from view.night.sparkline import sparkline
from view.numbers import percent
from view.page import Html, element, joined, link, section, table
from view.plain import lines, plain
from view.rows import Row, grouped

MOST_CHANGED, MOST_LISTED, MOST_LAUNCHES = 200, 400, 40
COLOURS = {"bad": "var(--bad)", "good": "var(--good)", "odd": "var(--note)"}


def rest_of(night: Night, count: int) -> Html:
    """Where the cells are that a list leaves out."""
    return element("p", f"{count} more in ", link("gate.csv", "gate.csv"), css="muted") if count > 0 else Html("")


def changed(night: Night) -> Html:
    cells = night.with_verdict(*WORSE, "AMBIGUOUS", "IMPROVED")
    if not cells:
        said = f"None of {night.tested()} tested cells." if night.tested() else "No cell was tested."
        return section("Changed cells", element("p", said))
    shown = cells[:MOST_CHANGED]
    past = histories(night, shown)
    words = (
        "Worst first. Δ: positive is better, with its 95 % interval, the shift of the whole host removed. p: how often chance "
        "alone would do this; q: the same over all cells of the night. Finds from: the smallest drop that this night would have found. The line: the last 30 nights as measured, dashed the baseline."
    )
    cards = [card(night, cell, past[key_of(cell)]) for cell in shown]
    return section("Changed cells", element("p", words, css="muted"), element("div", *cards, css="cells"),
                   rest_of(night, len(cells) - len(shown)))  # fmt: skip


def card(night: Night, cell: Row, past: Sequence[Row]) -> Html:
    tone = cell_words.tone(cell["verdict"])
    colour = COLOURS.get(tone, "currentColor")
    evidence = [element("span", f"{name} ", element("b", text)) for name, text in cell_words.evidence(cell)]
    sources = [
        link(f"../../{run}/samples.csv", word)
        for word, run in (("samples", night.text("run")), ("rerun", cell["rerun_run"]))
        if night.run_folder(run)
    ]
    return element(
        "div",
        element("div", element("span", cell["verdict"], css=f"word {tone}"), " ",
                element("bdi", cell_words.label(cell)), css="what"),
        element("div", element("span", cell_words.before_after(cell)), " ",
                element("strong", cell_words.signed_percent(cell.number("change")), css=tone), " ",
                element("small", cell_words.interval(cell)), css="much"),
        element("div", sparkline(past, cell.number("before"), colour, cell_words.form_of(cell)), css="past"),
        element("div", joined(evidence), joined(sources), css="why"),
        *([element("div", plain(cell["note"]), css="note")] if cell["note"] else []),
        css="cell",
    )  # fmt: skip


def without_value(night: Night) -> Html:
    """Cells that were not judged, by reason; failed launches with the end of what they said."""
    parts: list[object] = []
    cells = night.with_verdict(*ABSENT, "INSUFFICIENT", "EXCLUDED", "SKIPPED")
    rows = []
    for (verdict, note), group in list(grouped(cells, ("verdict", "note")).items())[:MOST_LISTED]:
        names = [cell_words.label(cell) for cell in group[:8]]
        more = f" and {len(group) - len(names)} more" if len(group) > len(names) else ""
        rows.append([element("span", verdict, css=cell_words.tone(verdict)), str(len(group)),
                     joined([element("bdi", "; ".join(names) + more), element("div", plain(note), css="muted")])])  # fmt: skip
    if rows:
        head = ["verdict", "cells", "which, and why"]
        parts.append(table(head, rows, numbers=[1], wrap=[2], rest="gate.csv"))
    launches = night.records("failed_launches")
    if launches:
        parts.append(element("h3", "Failed launches"))
    for launch in launches[:MOST_LAUNCHES]:
        name = " ".join(plain(launch.get(key) or "", 80) for key in ("number", "name"))
        parts.append(element("p", element("strong", name), ": ", plain(launch.get("why") or "no reason given")))
        if launch.get("stderr_tail"):
            parts.append(element("pre", lines(launch["stderr_tail"])))
    if len(launches) > MOST_LAUNCHES:
        parts.append(element("p", f"{len(launches) - MOST_LAUNCHES} more in nightly.json", css="muted"))
    return section("Missing and failed", *(parts or [element("p", "None: every expected cell was judged.")]))


def all_cells(night: Night) -> Html:
    if not night.cells:
        return Html("")
    rows = [
        [
            element("span", plain(cell["verdict"], 40), css=cell_words.tone(cell["verdict"])),
            element("bdi", cell_words.label(cell)), cell_words.before_after(cell),
            f"{cell_words.signed_percent(cell.number('change'))} {cell_words.interval(cell)}".strip(),
            percent(cell.number("mde")),
        ]
        for cell in night.cells[:MOST_LISTED]
    ]  # fmt: skip
    head = ["verdict", "cell", "before → after", "Δ [95 %]", "finds from"]
    shown = table(head, rows, numbers=[3, 4], wrap=[1], most=MOST_LISTED, rest="gate.csv")
    summary = element("summary", f"all {len(night.cells)} cells, with the smallest drop that each would have shown")
    return section("Every cell", element("details", summary, shown,
                                         rest_of(night, len(night.cells) - len(rows))))  # fmt: skip
