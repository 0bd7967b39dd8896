# SPDX-License-Identifier: Apache-2.0
# A night as gauges for Prometheus' textfile collector. What is not known has no sample; two samples of
# one series would make the collector drop the whole file, so the second is left out.
from __future__ import annotations

import math
from collections.abc import Iterable

from scalebench.pages.night.record import CELL_VERDICTS, VERDICTS, Night, label, seconds_since_1970
from scalebench.plain import plain

MOST_CELLS = 200
Sample = tuple[dict[str, str], float]


def write_textfile(night: Night) -> str:
    study = {"study": plain(night.text("study") or "unknown", 80)}
    counts = night.counts()
    cells = night.cells[:MOST_CELLS]
    seconds = [({**study, "cell": label(cell)}, cell.number("seconds")) for cell in cells]
    hosts = [({**study, "host": host.split(":")[0]}, 1.0) for host in night.hosts_at_fault()]
    exit_code = night.value("exit_code")
    gauges: list[tuple[str, str, Iterable[Sample]]] = [
        ("verdict", "1 for the verdict of the night, 0 for the others",
         [({**study, "verdict": verdict}, float(verdict == night.verdict)) for verdict in VERDICTS]),
        ("exit_code", "Exit code of scalebench nightly",
         [(study, float(exit_code) if isinstance(exit_code, int) else math.nan)]),
        ("rehearsal", "1 for a night in which something was slowed down on purpose",
         [(study, float(bool(night.text("rehearsal"))))]),
        ("cells", "Cells by verdict",
         [({**study, "verdict": verdict}, float(counts[verdict])) for verdict in CELL_VERDICTS]),
        ("host_at_fault", "1 for each host that is dead or named at fault", hosts),
        ("cell_seconds", f"Median of a cell tonight, {MOST_CELLS} cells at most", seconds),
        ("cells_left_out", "Cells of the night that have no time in this file",
         [(study, float(len(night.cells) - len(cells)))]),
        ("last_run_timestamp_seconds", "When the last night ended, whatever its verdict",
         [(study, seconds_since_1970(night.text("finished_utc")))]),
        ("last_success_timestamp_seconds", "When the last night ended that ended with exit code 0",
         [(study, seconds_since_1970(night.text("last_success", "utc")))]),
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
