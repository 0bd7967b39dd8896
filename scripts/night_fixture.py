# SPDX-License-Identifier: Apache-2.0
# A made-up night for the tests of the reports: results/nightly/<night>/ with gate.csv, history.csv and
# nightly.json, every verdict among its cells, and the runs of tonight, of the night before and of the
# pinned baseline beside it. `scripts/python scripts/night_fixture.py RESULTS` writes one to look at.
from __future__ import annotations

import csv
import json
import random
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import run_fixture

GATE = (
    f"{run_fixture.COMMON} bench family label ranks metric verdict launches nights before after change change_low "
    "change_high score p_value q_value mde floor pinned_before pinned_change drift_change drift_since_run rerun_run"
)
HISTORY = "schema_version run_id case_id origin bench label ranks metric started_utc value accepted segment"
NIGHT, PREVIOUS, PINNED = "20260202T030000Z-nightly-0a1b2c", "20260201T030000Z-nightly-3d4e5f", "20260102T030000Z-nightly-667788"
RERUN = "20260202T034100Z-nightly-rerun-99aabb"
# Verdict: change, p and q, and why. The rest of the cells is OK.
CASES = {
    "REGRESSED": (-0.102, 2e-5, 0.004, "slower tonight and again in the rerun"),
    "CONFIRMED": (-0.071, 1e-4, 0.009, "regressed in 2 of 3 nights; T(N) moved, T(1) did not"),
    "DRIFT": (-0.012, 0.2, 0.8, "2.9 % slower than 31 nights ago"),
    "AMBIGUOUS": (-0.048, 3e-4, 0.02, "signal tonight, but the rerun is as before"),
    "IMPROVED": (0.083, 6e-5, 0.008, "faster tonight and again in the rerun"),
    "MISSING": (None, None, None, "expected from the baseline, not measured: its launch failed"),
    "INVALID": (None, None, None, "wrong sum in 3 elements"),
    "INSUFFICIENT": (None, None, None, "5 accepted nights; 8 are needed"),
    "SKIPPED": (None, None, None, "built without CUDA"),
    "EXCLUDED": (None, None, None, "excluded: network maintenance"),
}
COUNTS = ("expected", "tested", "ok", "regressed", "confirmed", "improved", "ambiguous", "drift", "missing", "invalid",
          "insufficient", "skipped", "excluded")  # fmt: skip
EXIT_CODES = {"PASS": 0, "REGRESSED": 1, "HOST SHIFT": 1, "INCOMPLETE": 3, "NOTHING MEASURED": 4, "INSUFFICIENT": 0, "BLIND": 3}
SUMMARIES = {
    "PASS": "No cell became slower.",
    "REGRESSED": "2 cells are slower tonight and in the rerun; 1 drifts.",
    "HOST SHIFT": "All cells of this host are 6.1 % slower at once.",
    "INCOMPLETE": "2 cells were not measured.",
    "NOTHING MEASURED": "No cell was measured: mpirun is missing.",
    "INSUFFICIENT": "5 nights so far; judging begins with 8.",
    "BLIND": "The injected -10 % was not found in 3 cells where it should have been.",
}
TONIGHTS = {
    "PASS": ["IMPROVED", "SKIPPED", "EXCLUDED"],
    "REGRESSED": list(CASES),
    "HOST SHIFT": ["SKIPPED"],
    "INCOMPLETE": ["MISSING", "INVALID"],
    "NOTHING MEASURED": ["MISSING"],
    "INSUFFICIENT": ["INSUFFICIENT"],
    "BLIND": ["AMBIGUOUS"],
}


def labels(cells: int) -> list[tuple[str, str, int, float]]:
    """(bench, label, ranks, seconds)"""
    found = []
    for n in range(cells):
        ranks, size = 2 ** (1 + n % 3), 4 ** (n // 3 % 9)
        algorithm = ("ring", "native", "direct", "recursive_doubling")[n // 27 % 4] + str(n // 108 or "")
        found.append(("allreduce", f"allreduce {algorithm} mpi {size} KiB N={ranks}", ranks, 1e-5 * ranks + size * 3e-7))
    return found


def gate_row(place: int, bench: str, label: str, ranks: int, seconds: float, verdict: str) -> dict[str, object]:
    dice = random.Random(place)
    change, p, q, note = CASES.get(verdict, (dice.gauss(0, 0.006), dice.random(), 0.9, ""))
    row: dict[str, object] = {
        "case_id": f"{place // 3:012x}", "note": note, "bench": bench, "family": f"{bench}/mpi", "label": label,
        "ranks": ranks, "metric": "seconds", "verdict": verdict, "launches": 5, "nights": 20, "floor": 0.03,
    }  # fmt: skip
    if verdict in ("MISSING", "INVALID", "SKIPPED", "EXCLUDED"):
        return row | {"launches": "", "before": seconds if verdict == "MISSING" else ""}
    if change is None:
        return row | {"nights": 5, "before": seconds, "after": seconds}
    row |= {
        "before": f"{seconds:.6g}", "after": f"{seconds / (1 + change):.6g}", "change": f"{change:.5f}",
        "change_low": f"{change - 0.013:.5f}", "change_high": f"{change + 0.012:.5f}", "score": f"{change / 0.011:.3f}",
        "p_value": f"{p:.3g}", "q_value": f"{q:.3g}", "mde": f"{dice.uniform(0.035, 0.06):.4f}",
        "pinned_before": f"{seconds * 1.01:.6g}", "pinned_change": f"{change + 0.01:.4f}",
    }  # fmt: skip
    if verdict == "DRIFT":
        row |= {"drift_change": -0.029, "drift_since_run": PINNED}
    if verdict in ("REGRESSED", "IMPROVED", "AMBIGUOUS"):
        row["rerun_run"] = RERUN
    return row


def history_rows(place: int, gate: Mapping[str, object], seconds: float, nights: int) -> list[dict[str, object]]:
    dice = random.Random(1000 + place)
    shared = {column: gate[column] for column in ("case_id", "bench", "label", "ranks", "metric")}
    rows = []
    for night in range(nights):
        value = seconds * dice.gauss(1, 0.008)
        missing = dice.random() < 0.04 or (night == nights - 1 and not gate.get("after"))
        value = float(str(gate["after"])) if night == nights - 1 and not missing else value
        rows.append({**shared, "started_utc": f"2026-01-{night + 1:02}T03:00:00Z", "run_id": f"night{night:02}",
                     "value": "" if missing else f"{value:.6g}", "accepted": int(not missing), "segment": int(night > 8)})  # fmt: skip
    return rows


def write_table(path: Path, columns: str, rows: Sequence[Mapping[str, object]], run: str) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns.split(), restval="", lineterminator="\n")
        writer.writeheader()
        common = {"schema_version": 1, "run_id": run, "origin": "measured", "status": "ok"}
        writer.writerows({**known(common, columns), **row} for row in rows)


def known(cells: Mapping[str, object], columns: str) -> dict[str, object]:
    return {column: cell for column, cell in cells.items() if column in columns.split()}


def write_scaling(run: Path, better: float) -> None:
    """The same scaling, but with another efficiency at N > 1."""
    rows = run_fixture.scaling_rows(("mnist_cnn", "mlp"), [1, 2, 4, 8], ("flat", "bucketed"), cores=8)
    columns = ("efficiency", "efficiency_ci_low", "efficiency_ci_high")
    run_fixture.write_csv(run, "scaling.csv", [
        {**row, **{column: float(str(row[column])) * (better if row["ranks"] != 1 else 1) for column in columns}}
        for row in rows
    ])  # fmt: skip


def nightly(verdict: str, counts: Mapping[str, int]) -> dict[str, object]:
    exit_code = EXIT_CODES[verdict]
    injected = {"change": -0.10, "tested": counts["tested"], "caught": counts["tested"] - 3 * (verdict == "BLIND"),
                "blind": [f"allreduce blind {n}" for n in range(3 * (verdict == "BLIND"))]}  # fmt: skip
    failed = [{"number": 7, "name": "007-allreduce-n8", "why": "rank 3 was killed by signal 9",
               "stderr_tail": "mpirun noticed that process rank 3 exited on signal 9 (Killed).\n"}]  # fmt: skip
    return {
        "schema_version": 1, "night": NIGHT, "started_utc": "2026-02-02T03:00:00Z", "finished_utc": "2026-02-02T03:49:10Z",
        "scheduled_utc": "2026-02-02T02:55:00Z", "host": "node7: AMD EPYC 7B13, 8 cores", "study": "nightly",
        "verdict": verdict, "exit_code": exit_code, "states": [], "summary": SUMMARIES[verdict], "counts": dict(counts),
        "run": NIGHT, "previous_run": PREVIOUS, "pinned_run": PINNED,
        "baseline_runs": [f"202601{day:02}T030000Z-nightly-aabbcc" for day in range(13, 32)] + [PREVIOUS],
        "host_shift": {"change": -0.061 if verdict == "HOST SHIFT" else -0.002, "cells": counts["tested"],
                       "alarm": verdict == "HOST SHIFT"},
        "changes": {
            "commit": {"before": "0123456789abcdef", "after": "89abcdef01234567", "dirty": False},
            "treatment": [{"field": "mpi", "before": "Open MPI 4.1.4", "after": "Open MPI 4.1.6"}],
            "observation": [{"field": "load", "before": "0.1", "after": "0.4"}],
            "config": ["-launches = 3", "+launches = 5"],
        },
        "self_checks": {
            "aa": {"run": "20260202T025700Z-aa-112233", "cells": 4, "differing": 0, "spread": 0.011, "smallest_effect": 0.034},
            "injected": injected, "flags": {"regressed": counts["regressed"], "improved": counts["improved"],
                                            "jaccard_with_previous": 0.5},
        },
        "steps": [{"name": name, "status": "ok", "seconds": 12.5, "note": ""} for name in
                  ("lock", "doctor", "aa", "sweep", "rerun", "analyse", "report", "publish")],
        "failed_launches": failed if counts["missing"] else [],
        "left_out": [{"run": "20260115T030000Z-nightly-ffeedd", "why": "partial: it was interrupted"}],
        "annotations": [{"kind": "accepted", "run": PINNED, "cells": "allreduce native *", "reason": "new algorithm for small messages"}],
        "doctor": [{"level": "warning", "what": "governor", "text": "powersave on 8 cores", "remedy": "cpupower frequency-set -g performance"}],
    }  # fmt: skip


def write_night(results: Path, verdict: str = "REGRESSED", cells: int = 36, nights: int = 30,
                special: Sequence[str] | None = None, **changes: object) -> Path:  # fmt: skip
    """`special`: verdicts of the first cells, else what goes with the night's; `changes` go into
    nightly.json. Returns the night's folder."""
    folder = results / "nightly" / NIGHT
    folder.mkdir(parents=True)
    special = TONIGHTS[verdict] if special is None else special
    rest = {"NOTHING MEASURED": "MISSING", "INSUFFICIENT": "INSUFFICIENT"}.get(verdict, "OK")
    gate, history = [], []
    for place, (bench, label, ranks, seconds) in enumerate(labels(cells)):
        row = gate_row(place, bench, label, ranks, seconds, special[place] if place < len(special) else rest)
        gate.append(row)
        history += history_rows(place, row, seconds, nights)
    write_table(folder / "gate.csv", GATE, gate, NIGHT)
    write_table(folder / "history.csv", HISTORY, history, NIGHT)
    found = Counter(str(row["verdict"]).lower() for row in gate)
    tested = sum(found[name] for name in ("ok", "regressed", "confirmed", "improved", "ambiguous", "drift"))
    counts = {name: found[name] for name in COUNTS} | {
        "expected": len(gate) - found["skipped"], "tested": tested}  # fmt: skip
    (folder / "nightly.json").write_text(json.dumps({**nightly(verdict, counts), **changes}), encoding="utf-8")
    for run in (NIGHT, PREVIOUS, PINNED):
        run_fixture.write_run(results / run, ranks=[1, 2, 4, 8], cores=8)
        write_scaling(results / run, {NIGHT: 1.0, PREVIOUS: 0.97, PINNED: 1.04}[run])
    return folder


if __name__ == "__main__":
    print(write_night(Path(sys.argv[1]), *sys.argv[2:3]))
