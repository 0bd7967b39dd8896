# SPDX-License-Identifier: Apache-2.0
# The cells of a night's page: those that changed with what the verdict rests on and their last
# nights, those without a value with the reason, and all of them in a list that folds.
from __future__ import annotations

from collections.abc import Sequence

from view.manifest import as_text
from view.night import cell_words
from view.night.record import ABSENT, MOST_OF_A_COMMAND, WORSE, Night, as_number, histories, key_of
from view.night.sparkline import sparkline
from view.numbers import percent
from view.page import Html, element, joined, link, section, table
from view.plain import lines, plain
from view.rows import Row, grouped

MOST_CHANGED, MOST_LISTED, MOST_LAUNCHES, MOST_OPEN = 200, 400, 40, 50
COLOURS = {"bad": "var(--bad)", "good": "var(--good)", "odd": "var(--note)"}


def rest_of(night: Night, count: int) -> Html:
    """Where the cells are that a list leaves out."""
    return element("p", f"{count} more in ", link("gate.csv", "gate.csv"), css="muted") if count > 0 else Html("")


def open_regressions(night: Night) -> Html:
    """What was found in any night and is neither accepted nor measured away: a line and a half each."""
    entries = night.records("open")
    if not entries:
        return Html("")
    words = (
        "Found, and neither accepted (scalebench annotate accept) nor measured away since. It came with a commit between the "
        "two that are named; what the accepted build shows too came with the machine or its libraries. The command measures it "
        "again: the accepted build and the night's in turns, where both ran; else the last good night's study with the programs "
        "that are there now."
    )
    shown = entries[:MOST_OPEN]
    named = {cell_words.label(cell): cell for cell in night.cells if cell["open_since_run"]}
    past = histories(night, named.values())
    cards = []
    for entry in shown:
        cell = named.get(plain(as_text(entry.get("label")), 160))
        line = sparkline(past[key_of(cell)], cell.number("before"), COLOURS["bad"], cell_words.form_of(cell)) if cell else ""
        cards.append(open_card(entry, line))
    more = element("p", f"{len(entries) - len(shown)} more in nightly.json", css="muted") if len(entries) > len(shown) else ""
    return section("Open regressions", element("p", words, css="muted"), element("div", *cards, css="cells"), more)


def open_card(entry: dict[str, object], line: object) -> Html:
    def said(name: str, most: int = 160) -> str:
        return plain(as_text(entry.get(name)), most)

    def change(name: str) -> str:
        return cell_words.signed_percent(as_number(entry.get(name)))

    within = cell_words.between(as_number(entry.get("change_low")), as_number(entry.get("change_high")))
    rounds = f"{said('rounds', 20)} rounds beside the accepted build" if said("rounds") else "against the nights before it"
    tonight: list[object] = ["not judged tonight"]
    if change("change"):
        tonight = [element("strong", change("change"), css="bad"), " ", element("small", within), " ", element("small", rounds)]
    came: list[object] = ["in the accepted build too: no commit"]
    if entry.get("accepted_too") is not True:
        between = (said(name)[:12] or "unknown" for name in ("good_commit", "bad_commit"))
        came = ["commits ", element("code", " → ".join(between))]
    return element(
        "div",
        element("div", element("bdi", said("label")), element("div", "open since ", element("b", said("since_run")), css="muted"), css="what"),
        element("div", *tonight, css="much"),
        element("div", line, css="past"),
        element("div", element("span", "as found ", element("b", change("found_change"))),
                element("span", "began ", element("b", said("since_utc", 40))),
                element("span", *came),
                element("span", "repeat: ", element("code", said("command", MOST_OF_A_COMMAND))), css="why"),
        css="cell",
    )  # fmt: skip


def changed(night: Night) -> Html:
    cells = night.with_verdict(*WORSE, "AMBIGUOUS", "IMPROVED")
    if not cells:
        said = f"None of {night.tested()} tested cells." if night.tested() else "No cell was tested."
        return section("Changed cells", element("p", said))
    shown = cells[:MOST_CHANGED]
    past = histories(night, shown)
    words = (
        "Worst first. Before: the accepted build tonight, where it ran beside; else the nights before. Δ: positive is better, with "
        "its 95 % interval, what all cells share taken out; as measured: with nothing taken out. p: how often chance alone would do this; "
        "q: the same over all cells of the night. Suspect from: the drop at which a value becomes a suspect. Finds from: the drop that "
        "is found, and found again, four times in five. The line: the last 30 nights as measured, dashed what tonight is held against."
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
                element("small", cell_words.interval(cell)), " ",
                element("small", cell_words.as_measured(cell)), css="much"),
        element("div", sparkline(past, cell.number("before"), colour, cell_words.form_of(cell)), css="past"),
        element("div", joined(evidence), joined(sources), css="why"),
        *([element("div", plain(cell["note"]), css="note")] if cell["note"] else []),
        css="cell",
    )  # fmt: skip


def without_value(night: Night) -> Html:
    """Cells that were not judged, by reason; failed launches with the end of what they said."""
    parts: list[object] = []
    cells = night.with_verdict(*ABSENT, "UNJUDGED", "INSUFFICIENT", "EXCLUDED", "SKIPPED")
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
    return section("Not judged, missing and failed", *(parts or [element("p", "None: every expected cell was judged.")]))


def all_cells(night: Night) -> Html:
    if not night.cells:
        return Html("")
    rows = [
        [
            element("span", plain(cell["verdict"], 40), css=cell_words.tone(cell["verdict"])),
            element("bdi", cell_words.label(cell)), cell_words.before_after(cell),
            cell_words.signed_percent(cell.number("as_measured")),
            f"{cell_words.signed_percent(cell.number('change'))} {cell_words.interval(cell)}".strip(),
            percent(cell.number("mde")),
        ]
        for cell in night.cells[:MOST_LISTED]
    ]  # fmt: skip
    head = ["verdict", "cell", "before → after", "as measured", "Δ [95 %]", "finds from"]
    shown = table(head, rows, numbers=[3, 4, 5], wrap=[1], most=MOST_LISTED, rest="gate.csv")
    summary = element("summary", "what was measured in each, and the smallest drop that it would have shown")
    return section("Every cell", element("details", summary, shown,
                                         rest_of(night, len(night.cells) - len(rows))))  # fmt: skip
