# SPDX-License-Identifier: Apache-2.0
# One night as `scalebench nightly` left it: nightly.json, its history.csv, and the study's. Read
# defensively: a PASS is believed only as far as the cells bear it out.
from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from datetime import datetime
from pathlib import Path
from typing import Any

from scalebench import Refused
from scalebench.manifest import Document, as_text, read
from scalebench.numbers import duration, percent
from scalebench.plain import plain
from scalebench.rows import Row, each_row, read_rows, say

# What a night can end with, in the order of the number that monitoring gets, and what that means.
MEANINGS = {
    "PASS": "Neither the build nor the machine is shown to be slower",
    "SLOWER": "Cells are slower than with the accepted build, and were so again when measured again",
    "MACHINE": "The accepted programs are slower than on their own earlier nights: libraries, drivers, hosts",
    "UNSURE": "The night cannot tell: this is no pass",
    "NOTHING MEASURED": "No cell has a value tonight: this is no pass",
    "UNKNOWN": "The night's files do not say how it ended: this is no pass",
}
VERDICTS = tuple(MEANINGS)
# In the order in which a reader wants them.
CELL_VERDICTS = ("SLOWER", "MACHINE", "MISSING", "WATCHED", "UNDECIDED", "FASTER", "SAME")
ALARMS = ("SLOWER", "MACHINE")
NIGHTS = 30  # of a cell's past that are shown
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
HISTORY = re.compile(rf"{NAME.pattern}/history\.csv")


Change = tuple[str, str, str]  # what, before, after


def surroundings(night: Document) -> dict[str, str]:
    """Software, libraries and hosts of a night, by name."""
    found = {f"host {one.get('host')}": one.get("found", "") for one in night.records("hosts")}
    known = {**night.entries("software"), **night.entries("libraries"), **found}
    return {name: text for name, text in known.items() if name != "absent"}


def differences(before: dict[str, str], after: dict[str, str], gone: bool = True) -> list[Change]:
    """`gone`: with what is not there any more."""
    names = sorted({*after, *before} if gone else after)
    return [(name, before.get(name, ""), after.get(name, "")) for name in names if before.get(name) != after.get(name)]


class Night(Document):
    def __init__(self, folder: Path, content: dict[str, Any], cells: list[Row], verdict: str,
                 doubts: list[str]) -> None:
        """`content`: of nightly.json; `cells`: of history.csv; `doubts`: why the verdict is not the stated one."""
        super().__init__(content)
        self.folder, self.cells, self.verdict, self.doubts = folder, cells, verdict, doubts

    def hosts_at_fault(self) -> list[str]:
        """Hosts that are dead, or named at fault: 'host3: unreachable: no answer'."""
        return [plain(": ".join(one.get(name, "") for name in ("host", "verdict", "why")))
                for one in self.records("suspects")]

    def changed_programs(self) -> list[Change]:
        """Programs whose bytes are not those of the accepted build, by their SHA-256."""
        return differences(self.entries("accepted", "tool", "binaries"), self.entries("tool", "binaries"), gone=False)

    def changes(self) -> list[Change]:
        """What may have made the machine slower and is not as in the last good night: software, libraries, hosts."""
        before = self.text("good_before")
        if not before or not NAME.fullmatch(before):
            return []
        try:
            content, _ = read(self.folder.parent / before / "nightly.json")
        except (OSError, Refused) as error:
            say(f"report: what changed since {before} cannot be told: {error}")
            return []
        return differences(surroundings(Document(content)), surroundings(self))

    def counts(self) -> Counter[str]:
        return Counter(cell["verdict"] for cell in self.cells)

    def title(self) -> str:
        """The verdict, and in what it rests; a rehearsal says so first."""
        words = plain(self.text("title"), 600) if not self.doubts else self.verdict
        return f"REHEARSAL ({plain(self.text('rehearsal'), 80)}): {words}" if self.text("rehearsal") else words

    def name(self) -> str:
        return plain(self.text("study") or self.folder.name, 80)

    def needing_a_look(self) -> list[Row]:
        return [cell for cell in self.cells if cell["verdict"] != "SAME" and not few_nights(cell)]


def few_nights(cell: Row) -> bool:
    """Undecided for no other reason than that the machine is not yet known."""
    return cell["verdict"] == "UNDECIDED" and cell["question"] == "machine"


def read_night(folder: Path) -> Night:
    """A nightly.json that cannot be read is a night whose verdict is UNKNOWN: a report that says so is worth more
    than none."""
    doubts: list[str] = []
    content: dict[str, Any] = {}
    try:
        content, _ = read(folder / "nightly.json")
    except (OSError, Refused) as error:
        doubts.append(f"nightly.json cannot be read: {error}")
    if content.get("schema_version") != 1:
        doubts = doubts or ["nightly.json is not an object of schema_version 1"]
        content = {}
    cells = [row for row in read_rows(folder, "history.csv") if row["key"] != "*"]
    verdict = as_text(content.get("verdict"))
    if not doubts:
        doubts = contradictions(content, verdict, Counter(cell["verdict"] for cell in cells))
    return Night(folder, content, cells, "UNKNOWN" if doubts else verdict, doubts)


def contradictions(content: dict[str, Any], verdict: str, counts: Counter[str]) -> list[str]:
    """Only a PASS has to be borne out: the other verdicts are no reason to go to sleep."""
    if verdict not in VERDICTS:
        return [f"nightly.json states the verdict '{plain(verdict, 40)}', which is none"]
    if verdict != "PASS":
        return []
    bad = [name for name in counts if name not in CELL_VERDICTS or name in (*ALARMS, "MISSING")]
    if not counts:
        return ["nightly.json states PASS, but history.csv has no cell"]
    return [f"nightly.json states PASS, but history.csv has cells {plain(bad[0], 40)}"] if bad else []


def histories(night: Night) -> dict[str, list[Row]]:
    """The last NIGHTS of each cell, oldest first, by its key; since it was last accepted, no more."""
    name = night.text("history")
    past: dict[str, list[Row]] = defaultdict(list)
    if not HISTORY.fullmatch(name):
        return past
    for row in each_row(night.folder.parent, name):
        if row["machine_verdict"] in ("ACCEPTED", "DROPPED"):
            past[row["key"]].clear()
        if row["machine_verdict"]:
            past[row["key"]].append(row)
    return {key: rows[-NIGHTS:] for key, rows in past.items()}


# The words and numbers of one cell as every report writes them.


def label(cell: Row) -> str:
    origin = "" if cell["origin"] in ("measured", "") else f" · {plain(cell['origin'], 20)}"
    return plain(cell["label"] or cell["key"], 160) + origin


def before_after(cell: Row) -> str:
    """'200 µs → 261 µs'; a side that is not known is a dash."""
    sides = [duration(cell.number(column)) or "–" for column in ("before", "seconds")]
    return " → ".join(sides) if sides != ["–", "–"] else ""


def change(cell: Row) -> str:
    """'+30.2 % [28.1, 32.0]'"""
    return percent(*(cell.number(column) for column in ("change", "change_low", "change_high")), plus=True)


def against(cell: Row) -> str:
    """What the numbers are held against."""
    return "its own good nights" if cell["question"] == "machine" else "the accepted build"


def one_line(cell: Row) -> str:
    said = ", ".join(part for part in (before_after(cell), change(cell), against(cell)) if part)
    return ": ".join(part for part in (label(cell), said, plain(cell["note"])) if part)


def seconds_since_1970(utc: str) -> float:
    """NaN for what is no time in ISO 8601 with its zone."""
    try:
        time = datetime.fromisoformat(utc)
    except ValueError:
        return math.nan
    return time.timestamp() if time.tzinfo else math.nan
