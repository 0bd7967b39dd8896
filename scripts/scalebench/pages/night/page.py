# SPDX-License-Identifier: Apache-2.0
# A night's page and Markdown: the verdict and its reasons, hosts at fault, what changed since the last good
# night, the cells that need a look with their last nights, and all.
from __future__ import annotations

from scalebench.numbers import percent
from scalebench.pages.night.record import MEANINGS, Night, against, before_after, change, histories, label
from scalebench.pages.night.sparkline import sparkline
from scalebench.pages.render import Column, Section, Toned, pairs, render, section, sections, text, wide
from scalebench.rows import Row

# All others are red: a verdict that is not known must not look like a pass.
TONES = {"PASS": "good", "UNSURE": "odd"}
SIGNS = {"good": "✅", "odd": "⚠️", "bad": "❌"}
BOXES = {"good": "", "odd": " warn", "bad": " stop"}
CELLS = {"SLOWER": "bad", "MACHINE": "bad", "MISSING": "bad", "WATCHED": "odd", "UNDECIDED": "odd", "FASTER": "good",
         "SAME": ""}
MOST_DRAWN, MOST_LISTED = 100, 50


def written(night: Night) -> dict[str, str]:
    """report.html and report.md"""
    tone = TONES.get(night.verdict, "bad")
    words = {
        "title": night.title(), "name": night.name(), "verdict": night.verdict, "meaning": MEANINGS[night.verdict],
        "tone": tone,
        "box": BOXES[tone], "sign": SIGNS[tone], "day": night.text("started_utc")[:10] or "an unknown day",
        "hosts": night.hosts_at_fault()[:MOST_LISTED], "suspect_line": night.text("suspect_line"),
        "doubts": night.doubts,
        "counts": ", ".join(f"{number} {name}" for name, number in night.counts().items()), "build": build(night),
        "accepted": night.text("accepted_now", "reason"), "about": about(night),
        "sections": sections([programs(night), changes(night), to_look_at(night), all_cells(night), provenance(night)]),
        "files": [name for name in ("history.csv", "nightly.json") if (night.folder / name).is_file()],
    }  # fmt: skip
    return {f"report.{kind}": render(f"night.{kind}.j2", **words) for kind in ("html", "md")}


def about(night: Night) -> str:
    return " · ".join(filter(None, [night.text("started_utc"), night.text("host"), f"run {night.text('run')}"]))


def build(night: Night) -> str:
    """What tonight's programs are beside the accepted ones."""
    commits = [night.text(*path, "tool", "commit")[:12] or "unknown" for path in (("accepted",), ())]
    if not night.text("accepted", "run"):
        return "No build was accepted before tonight."
    if night.changed_programs():
        accepted = night.text("accepted", "run")
        return f"The accepted build, of {accepted}, is of commit {commits[0]}, tonight's of {commits[1]}."
    return "The programs are the accepted ones, byte for byte."


def programs(night: Night) -> Section:
    """Programs whose bytes are not those of the accepted build, by their SHA-256."""
    columns = [wide(head, lambda row, place=place: Toned(row[place][:16] or "–", "code"), always=True)
               for place, head in enumerate(("program", "accepted", "tonight"))]  # fmt: skip
    return section("Programs that changed", columns, {"": night.changed_programs()}, "nightly.json")


def changes(night: Night) -> Section:
    columns = [wide(head, lambda row, place=place: row[place] or "–", always=True) for place,
               head in enumerate(("what", "before", "after"))]
    return section("What else changed since the last good night", columns, {"": night.changes()}, "nightly.json")


COLUMNS = [
    text("verdict", lambda cell: Toned(cell["verdict"], CELLS.get(cell["verdict"], "bad")), always=True),
    wide("cell", lambda cell: label(cell), always=True),
    Column("before → after", lambda cell: before_after(cell), always=True),
    Column("change", lambda cell: change(cell), always=True),
    text("against", lambda cell: against(cell), always=True),
]  # fmt: skip
SEES = Column("sees", lambda cell: percent(cell.number("sees")), brief=False)


def to_look_at(night: Night) -> Section:
    past, found = histories(night), night.needing_a_look()
    drawn = {id(cell) for cell in found[:MOST_DRAWN]}

    def nights(cell: Row) -> Toned | str:
        tone = CELLS.get(cell["verdict"], "bad")
        return sparkline(past.get(cell["key"], []), cell.number("before"), tone) if id(cell) in drawn else ""

    columns = [*COLUMNS, SEES, text("its last nights", nights, always=bool(past), brief=False),
               wide("why", lambda cell: cell["note"])]
    words = (
        "Before: the accepted build tonight, or the median of its good nights. The change is relative to that: "
        "positive is slower, with its 95 % interval. Sees: the smallest change that would have shown. The line: the "
        "accepted programs' last nights."
    )
    return section("Cells that need a look", columns, {"": found}, "history.csv", words, most=MOST_DRAWN)


def all_cells(night: Night) -> Section:
    return section("Every cell", [*COLUMNS, SEES], {"": night.cells}, "history.csv", folded=f"{len(night.cells)} cells",
                   brief=False)


def provenance(night: Night) -> Section:
    paths = {"run": ("run",), "started": ("started_utc",), "finished": ("finished_utc",), "exit code": ("exit_code",),
             "accepted build": ("accepted", "run"), "last good night before": ("good_before",)}  # fmt: skip
    facts: list[tuple[str, object]] = [(name, Toned(night.text(*path), "code")) for name, path in paths.items()
                                       if night.text(*path)]
    return pairs("Provenance", ("what", "value"), {"": facts})
