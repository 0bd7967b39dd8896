# SPDX-License-Identifier: Apache-2.0
# One night as `scalebench nightly` left it: nightly.json, gate.csv, history.csv, and the runs beside
# it. Read defensively: a verdict is believed only as far as the cells bear it out.
from __future__ import annotations

import json
import math
import re
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from view.manifest import as_text
from view.plain import plain
from view.rows import Row, each_row, read_rows, say

# What a night can end with, in the order of the number that monitoring gets, and what that means.
MEANINGS = {
    "PASS": "Every expected cell was measured, and none became slower",
    "REGRESSED": "Cells are slower than they should be, and were so again when measured again",
    "HOST SHIFT": "All cells together became slower or faster, or the accepted build did too: the host, its libraries, or something shared",
    "INCOMPLETE": "Cells have no valid value, or suspects were not measured again: nothing is certain about those",
    "NOTHING MEASURED": "No cell has a value tonight: this is no pass",
    "INSUFFICIENT": "Too few nights to judge by: this is no pass",
    "BLIND": "The gate could not have seen a regression: its silence means nothing",
    "UNKNOWN": "The night's files do not say how it ended: this is no pass",
    "SUSPECT": "No cell became slower, but a host is at fault",
}
VERDICTS = tuple(MEANINGS)
WORSE = ("CONFIRMED", "REGRESSED", "OPEN", "DRIFT")
ABSENT = ("MISSING", "INVALID")
MOST_OF_A_COMMAND = 2000  # cut short it is none; of many hosts it is long
TESTED = (*WORSE, "IMPROVED", "AMBIGUOUS", "OK")
# In the order in which a reader wants them.
CELL_VERDICTS = (*WORSE, "AMBIGUOUS", "IMPROVED", *ABSENT, "UNJUDGED", "INSUFFICIENT", "EXCLUDED", "SKIPPED", "OK")
NIGHTS = 30  # of a cell's past that are shown
RUN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")


class NoNight(Exception):
    """Why a folder is no night's."""


@dataclass(frozen=True)
class Night:
    folder: Path
    content: dict[str, Any]  # of nightly.json
    cells: list[Row]  # of gate.csv, the most urgent first
    verdict: str
    doubts: list[str]  # why the verdict is not the one that nightly.json states

    def text(self, *path: str) -> str:
        """The scalar at path of nightly.json as text, '' when there is none."""
        return as_text(value_at(self.content, path))

    def number(self, *path: str) -> float:
        return as_number(value_at(self.content, path))

    def entries(self, *path: str) -> dict[str, Any]:
        value = value_at(self.content, path)
        return value if isinstance(value, dict) else {}

    def records(self, *path: str) -> list[dict[str, Any]]:
        value = value_at(self.content, path)
        return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []

    def strings(self, *path: str) -> list[str]:
        value = value_at(self.content, path)
        return [as_text(item) for item in value] if isinstance(value, list) else []

    def with_verdict(self, *verdicts: str) -> list[Row]:
        return [cell for cell in self.cells if cell["verdict"] in verdicts]

    def counts(self) -> Counter[str]:
        return Counter(cell["verdict"] for cell in self.cells)

    def expected(self) -> int:
        return len(self.cells) - len(self.with_verdict("SKIPPED"))

    def tested(self) -> int:
        """What is open from an earlier night may be beyond tonight's judgement."""
        return sum(cell["verdict"] not in ("OPEN", "DRIFT") or bool(cell["basis"]) for cell in self.with_verdict(*TESTED))

    def passed(self) -> bool:
        return self.verdict == "PASS"

    def run_folder(self, name: str) -> Path | None:
        """A run beside the nights, when `name` is a plain name and the run is there."""
        folder = self.folder.parent.parent / name
        return folder if RUN_NAME.fullmatch(name) and folder.is_dir() else None


def value_at(content: Any, path: Iterable[str]) -> Any:
    for name in path:
        content = content.get(name) if isinstance(content, dict) else None
    return content


def as_number(value: Any) -> float:
    """NaN for what is no number, or none that a double can hold."""
    try:
        number = float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan
    except OverflowError:
        return math.nan
    return number if math.isfinite(number) else math.nan


def read_night(folder: Path) -> Night:
    """Throws NoNight where there is no nightly.json. One that cannot be read is a night whose verdict
    is UNKNOWN: a report that says so is worth more than none."""
    doubts: list[str] = []
    content: Any = None
    try:
        content = json.loads((folder / "nightly.json").read_bytes())
    except FileNotFoundError as error:
        raise NoNight(f"{folder}: no nightly.json, so this is no night of scalebench nightly") from error
    except (OSError, ValueError, RecursionError) as error:
        doubts.append(f"nightly.json cannot be read: {error}")
    if not isinstance(content, dict) or content.get("schema_version") != 1:
        doubts = doubts or ["nightly.json is not an object of schema_version 1"]
        content = {}
    cells = read_rows(folder, "gate.csv")
    cells.sort(key=urgency)
    verdict, contradiction = believed(content, cells) if not doubts else ("UNKNOWN", "")
    doubts += [contradiction] if contradiction else []
    for doubt in doubts:
        say(f"nightly_report.py: {doubt}")
    return Night(folder, content, cells, verdict, doubts)


def urgency(cell: Row) -> tuple[int, float]:
    verdict, change = cell["verdict"], cell.number("change")
    place = CELL_VERDICTS.index(verdict) if verdict in CELL_VERDICTS else 0
    # Cells that did not change stay in the order of the file, night after night.
    return place, 0.0 if math.isnan(change) or verdict == "OK" else -abs(change)


def believed(content: dict[str, Any], cells: list[Row]) -> tuple[str, str]:
    """The verdict, and what contradicts the stated one. Only a PASS has to be borne out: the other
    verdicts are no reason to go to sleep."""
    stated = as_text(content.get("verdict"))
    if stated not in VERDICTS:
        return "UNKNOWN", f"nightly.json states the verdict '{plain(stated, 40)}', which is none"
    if stated != "PASS":
        return stated, ""
    counts = Counter(cell["verdict"] for cell in cells)
    unknown = [verdict for verdict in counts if verdict not in CELL_VERDICTS]
    if not cells:
        return "NOTHING MEASURED", "nightly.json states PASS, but gate.csv has no cell"
    if unknown:
        return "UNKNOWN", f"gate.csv has cells of the verdict '{plain(unknown[0], 40)}', which is none"
    if not any(counts[verdict] for verdict in TESTED):
        insufficient = counts["INSUFFICIENT"] > 0
        return ("INSUFFICIENT" if insufficient else "NOTHING MEASURED",
                "nightly.json states PASS, but gate.csv has no cell that was tested")  # fmt: skip
    for verdicts, actual in ((WORSE, "REGRESSED"), (ABSENT, "INCOMPLETE")):
        found = sum(counts[verdict] for verdict in verdicts)
        if found:
            return actual, f"nightly.json states PASS, but gate.csv has {found} cells {' or '.join(verdicts)}"
    if content.get("open"):
        return "REGRESSED", "nightly.json states PASS, but lists what is open"
    if content.get("exit_code") != 0:
        return "UNKNOWN", f"nightly.json states PASS with the exit code {plain(content.get('exit_code'), 40)}"
    return "PASS", ""


def canary_words(night: Night) -> str:
    """What came of the slow-down on purpose; '' when there was none."""
    check = night.entries("self_checks", "canary")
    if not check:
        return ""
    if why_not := as_text(check.get("why_not")):
        return f"says nothing: {why_not}"
    low, high = (as_number(check.get(name)) for name in ("drop_low", "drop_high"))
    words = f"{100 * low:.0f} to {100 * high:.0f} % as measured: " if not math.isnan(low + high) else ""
    words += f"{as_text(check.get('caught')) or '?'} of its {as_text(check.get('cells')) or '?'} cells became suspects (without a rerun)"
    expected, beyond = (as_number(check.get(name)) for name in ("expected", "beyond"))
    words += "" if math.isnan(expected) else f", {expected:.1f} expected"
    return words + (f"; {beyond:.0f} more were slowed by too much to tell" if beyond > 0 else "")


def cost_beside(night: Night) -> float:
    """Seconds that the accepted build ran; NaN where that is not known."""
    steps = [step for step in night.records("steps") if step.get("name") == "beside"]
    return as_number(steps[0].get("seconds")) if steps else math.nan


def facts(night: Night, kind: str) -> list[list[str]]:
    """What changed of that kind since the night before: field, before, after."""
    return [
        [plain(as_text(record.get(column))) or "–" for column in ("field", "before", "after")]
        for record in night.records("changes", kind)
    ]


def key_of(row: Row) -> tuple[str, ...]:
    # The label alone says how the ranks lie on hosts: one case on 4 ranks of a host, and on 2 of each of two.
    return tuple(row[column] for column in ("bench", "case_id", "label", "ranks", "origin", "metric"))


def histories(night: Night, cells: Iterable[Row]) -> dict[tuple[str, ...], list[Row]]:
    """The last NIGHTS of these cells, oldest first. history.csv is read once, as a stream: it holds
    every cell of 40 nights."""
    found: dict[tuple[str, ...], deque[Row]] = {key_of(cell): deque(maxlen=NIGHTS) for cell in cells}
    if found:
        for row in each_row(night.folder, "history.csv"):
            kept = found.get(key_of(row))
            if kept is not None:
                kept.append(row)
    return {key: list(rows) for key, rows in found.items()}


def seconds_since_1970(utc: str) -> float:
    """NaN for what is no time in ISO 8601 with its zone."""
    try:
        time = datetime.fromisoformat(utc)
    except ValueError:
        return math.nan
    return time.timestamp() if time.tzinfo else math.nan
