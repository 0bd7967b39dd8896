# SPDX-License-Identifier: Apache-2.0
# A night as gauges for Prometheus' textfile collector. What is not known has no sample; two samples of
# one series would make the collector drop the whole file, so the second is left out.
from __future__ import annotations

import json
import math
from collections.abc import Iterable

from view.manifest import as_text
from view.night import cell_words
from view.night.record import CELL_VERDICTS, TESTED, VERDICTS, Night, believed, seconds_since_1970
from view.plain import plain
from view.rows import read_rows

MOST_CELLS = 200
Sample = tuple[dict[str, str], float]


def write_textfile(night: Night) -> str:
    study = {"study": plain(night.text("study") or "unknown", 80)}
    counts = night.counts()
    finished = seconds_since_1970(night.text("finished_utc"))
    cells = night.cells[:MOST_CELLS]
    values: dict[str, list[Sample]] = {"seconds": [], "efficiency": []}
    for cell in cells:
        names = {**study, "bench": plain(cell["bench"], 40), "case": plain(cell["case_id"], 40),
                 "ranks": plain(cell["ranks"], 20), "origin": plain(cell["origin"], 20), "label": cell_words.label_of_all_metrics(cell)}  # fmt: skip
        if cell["metric"] in values and cell["verdict"] in TESTED:
            values[cell["metric"]].append((names, cell.number("after")))
    verdicts = [({**study, "verdict": verdict}, float(verdict == night.verdict)) for verdict in VERDICTS]
    numbers = [({**study, "verdict": verdict}, float(counts[verdict])) for verdict in CELL_VERDICTS]
    gauges: list[tuple[str, str, Iterable[Sample]]] = [
        ("verdict_code", "How the night ended: " + ", ".join(f"{n} {name}" for n, name in enumerate(VERDICTS)),
         [(study, float(VERDICTS.index(night.verdict)))]),
        ("verdict", "1 for the verdict of the night, 0 for the others", verdicts),
        ("exit_code", "Exit code of scalebench nightly", [(study, night.number("exit_code"))]),
        ("expected_cells", "Cells that should have been tested", [(study, float(night.expected()))]),
        ("tested_cells", "Cells that were tested", [(study, float(night.tested()))]),
        ("cells", "Cells by verdict", numbers),
        ("open_regressions", "Regressions found in any night, neither accepted nor measured away",
         [(study, float(len(night.records("open"))))]),
        ("host_shift_ratio", "Common change of all cells, negative is slower", [(study, night.number("host_shift", "change"))]),
        ("cell_seconds", f"Median of a cell tonight, {MOST_CELLS} cells at most", values["seconds"]),
        ("cell_efficiency_ratio", f"Efficiency of a cell tonight, {MOST_CELLS} cells at most", values["efficiency"]),
        ("cells_left_out", "Cells of the night that are not in this file", [(study, float(len(night.cells) - len(cells)))]),
        ("last_run_timestamp_seconds", "When the last night ended, whatever its verdict", [(study, finished)]),
        ("last_success_timestamp_seconds", "When the last night ended that passed", [(study, last_success(night))]),
    ]  # fmt: skip
    return "".join(gauge(f"scalebench_night_{name}", what, samples) for name, what, samples in gauges)


def gauge(name: str, what: str, samples: Iterable[Sample]) -> str:
    lines = {}
    for labels, value in samples:
        if not math.isnan(value):
            written = ",".join(f'{key}="{quoted(text)}"' for key, text in labels.items())
            lines.setdefault(f"{name}{{{written}}}", repr(value))
    if not lines:
        return ""
    head = f"# HELP {name} {what}\n# TYPE {name} gauge\n"
    return head + "".join(f"{series} {value}\n" for series, value in lines.items())


def quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def last_success(night: Night) -> float:
    """Of this night, else of the latest night of the same study and host that passed before it; NaN
    when none has."""
    mine = seconds_since_1970(night.text("finished_utc"))
    if night.passed():
        return mine
    latest = math.nan
    for path in sorted(night.folder.parent.glob("*/nightly.json"), reverse=True):
        if path.parent.name == night.folder.name:
            continue
        try:
            other = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError):
            continue
        if not isinstance(other, dict) or any(as_text(other.get(name)) != night.text(name) for name in ("study", "host")):
            continue
        when = seconds_since_1970(as_text(other.get("finished_utc")))
        if as_text(other.get("verdict")) != "PASS" or not when < mine or when <= latest:
            continue
        if believed(other, read_rows(path.parent, "gate.csv"))[0] == "PASS":
            latest = when
    return latest
