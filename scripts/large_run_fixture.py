#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# A made-up unfinished run of many rows, all launches of which have ended: `scalebench resume
# --allow-changed` summarises and seals it, `scalebench verify` then recomputes it. To measure how both
# do with 100 000 rows: scripts/large_run_fixture.py FOLDER [LAUNCHES [CASES]], 5 rows for each.
from __future__ import annotations

import argparse
import csv
import hashlib
import json
import random
from pathlib import Path

from run_fixture import COLUMNS

REPETITIONS = 5  # too few for an interval within a launch, which keeps the formulas here simple
SAMPLES = "schema_version run_id case_id origin bench launch ranks rank repetition seconds bytes samples skew_seconds slowest_rank"


def quantile(values: list[float], share: float) -> float:
    position = share * (len(values) - 1)
    below = int(position)
    above = min(below + 1, len(values) - 1)
    return values[below] + (position - below) * (values[above] - values[below])


def case_row(case: dict[str, object], seconds: list[float]) -> dict[str, object]:
    """A row of allreduce.csv for these repetitions."""
    ordered = sorted(seconds)
    median, q1, q3 = (quantile(ordered, share) for share in (0.5, 0.25, 0.75))
    low, high = q1 - 1.5 * (q3 - q1), q3 + 1.5 * (q3 - q1)
    algbw = float(str(case["size_bytes"])) / median * 1e-9
    total = 0.0
    for value in ordered:
        total += value
    return case | {
        "status": "ok", "launches": 1, "repetitions": len(seconds), "seconds_median": median, "interval": "",
        "seconds_min": ordered[0], "seconds_p5": quantile(ordered, 0.05), "seconds_p95": quantile(ordered, 0.95),
        "seconds_max": ordered[-1], "seconds_mean": total / len(seconds), "converged": 1, "warm": 1, "redone": 0,
        "outliers": sum(value < low or value > high for value in seconds), "wrong": 0, "skew_seconds": 0,
        "slowest_rank": 0, "algbw_gb_per_s": algbw, "busbw_gb_per_s": algbw,
    }  # fmt: skip


def write(path: Path, columns: str, rows: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns.split(), restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write_run(run: Path, launches: int, cases: int) -> None:
    randomness = random.Random(1)
    common = {"schema_version": 1, "run_id": run.name, "origin": "measured", "ranks": 2}
    samples, records, plan = [], [], []
    for launch in range(1, launches + 1):
        rows = []
        for index in range(cases):
            name = hashlib.sha256(str(index).encode()).hexdigest()[:12]
            case = common | {
                "case_id": name, "algorithm": "native", "transport": "mpi", "memory": "host", "dtype": "float",
                "op": "sum", "placement": "in_place", "mode": "isolated", "cache": "warm", "graph": 0, "sync": "clock",
                "operations": 1, "size_bytes": 4 * (index + 1), "count": index + 1, "nodes": 1,
            }  # fmt: skip
            level = 1e-6 * (1 + index / 100) * randomness.gauss(1, 0.01)
            seconds = [level * randomness.gauss(1, 0.01) for _ in range(REPETITIONS)]
            rows.append(case_row(case, seconds))
            samples += [
                common | {"case_id": name, "bench": "allreduce", "launch": launch, "repetition": i, "seconds": value,
                          "bytes": case["size_bytes"], "skew_seconds": 0, "slowest_rank": 0}
                for i, value in enumerate(seconds)
            ]  # fmt: skip
        folder = run / "launches" / f"{launch:03}-allreduce-n2"
        write(folder / "allreduce.csv", COLUMNS["allreduce.csv"], rows)
        what = {"number": launch, "program": "bench_allreduce", "ranks": 2, "name": "allreduce-n2"}
        records.append(what | {"command": ["bench_allreduce"], "status": "ok", "note": "", "seconds": 1, "attempt": 1})
        plan.append(what | {"round": launch - 1, "arguments": [], "study": 0, "gradient_sync": "",
                            "skipped_because": "", "guess_seconds": 1})  # fmt: skip
    write(run / "samples.csv", SAMPLES, samples)
    settings = {"mpirun": "mpirun", "oversubscribe": False, "bind_to_core": True, "mpirun_arguments": [], "environment": []}
    inputs = {"plan.json": json.dumps({"schema_version": 1, "settings": settings, "launches": plan}), "config.toml": "\n"}
    for name, text in inputs.items():
        (run / name).write_text(text, encoding="utf-8")
    manifest = {
        "schema_version": 1, "run_id": run.name, "study": "large", "origin": "measured", "finished_utc": None,
        "started_utc": "2026-03-01T04:05:06Z", "status": "partial", "command": ["scalebench", "run"], "seed": 1,
        "config": "", "tool": {"version": "0", "commit": None, "dirty": None, "binaries": {}}, "warnings": [],
        "environment": {part: {"absent": {}} for part in ("key", "treatment", "observation")}, "launches": records,
        "inputs": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in inputs.items()}, "files": {},
    }  # fmt: skip
    (run / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="a made-up run of many rows")
    parser.add_argument("run", type=Path)
    parser.add_argument("launches", type=int, nargs="?", default=20)
    parser.add_argument("cases", type=int, nargs="?", default=1000)
    write_run(**vars(parser.parse_args()))
