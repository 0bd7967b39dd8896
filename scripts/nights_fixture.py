#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Made-up nights for the tests of the gate, the report and the comparison: complete run folders as
# `scalebench run` leaves them, of one study, night after night. Times are a simple model times noise
# of night and launch; what happens to a night is said by its Night.
# `nights_fixture.py RESULTS --nights 12 --slow 'allreduce ring*=1.10'` writes some to look at.
from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from fnmatch import fnmatchcase
from pathlib import Path

from run_fixture import Cells, known, write_csv

FIRST = datetime(2026, 1, 1, 3, 0, 0, tzinfo=timezone.utc)
STEPS = ("one_device", "none", "mirrored", "flat")
CONFIG = '[study]\nname = "{study}"\nlaunches = {launches}\nranks = [1, 2]\n\n[allreduce]\nmax = "16MiB"\n'


@dataclass
class Night:
    """What is special about a night; patterns are of fnmatch, over a cell's name."""

    slow: Mapping[str, float] = field(default_factory=dict)  # pattern: times as long
    host: float = 1.0  # all cells: times as long
    gone: Sequence[str] = ()  # cells without any row
    wrong: Sequence[str] = ()  # cells whose first launch found a wrong sum
    failed: Sequence[str] = ()  # cells whose first launch failed, with a row
    skipped: Sequence[str] = ()
    lost: Sequence[str] = ()  # launches ("allreduce-n2") that failed without any row
    text: Mapping[str, str] = field(default_factory=dict)  # pattern: text in place of the time
    key: Mapping[str, object] = field(default_factory=dict)
    treatment: Mapping[str, object] = field(default_factory=dict)
    observation: Mapping[str, object] = field(default_factory=dict)
    status: str = "complete"
    origin: str = "measured"
    commit: str = "0123456789abcdef0123456789abcdef01234567"
    config: str = ""
    warnings: Sequence[str] = ()
    noise: bool = True


@dataclass
class Case:
    """One cell's parameters and the time that it takes when nothing happens."""

    name: str  # as scalebench calls it: "allreduce ring mpi 64 KiB N=2"
    launch: str  # "allreduce-n2"
    file: str
    cells: dict[str, object]
    seconds: float


def size_text(size: int) -> str:
    for power, unit in ((20, "MiB"), (10, "KiB")):
        if size >= 1 << power and size % (1 << power) == 0:
            return f"{size >> power} {unit}"
    return f"{size} B"


def case_id(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


def allreduce_case(algorithm: str, size: int, ranks: int) -> Case:
    cells: dict[str, object] = {
        "case_id": case_id(algorithm, size), "algorithm": algorithm, "transport": "mpi", "memory": "host",
        "dtype": "float", "op": "sum", "placement": "in_place", "mode": "isolated", "cache": "warm", "graph": 0,
        "sync": "clock", "size_bytes": size, "count": size // 4, "ranks": ranks, "nodes": 1, "wrong": 0,
    }  # fmt: skip
    seconds = (5e-6 + size / 3e9) * ranks * (1 + len(algorithm) / 10)
    return Case(f"allreduce {algorithm} mpi {size_text(size)} N={ranks}", f"allreduce-n{ranks}", "allreduce.csv",
                cells, seconds)  # fmt: skip


def epoch_case(model: str, sync: str, ranks: int) -> Case:
    cells: dict[str, object] = {
        "case_id": case_id(model, sync), "model": model, "parameters": 100000, "gradient_sync": sync, "device": "cpu",
        "allreduce": "ring" if ranks > 1 else "", "transport": "mpi" if ranks > 1 else "", "dtype": "float",
        "memory_format": "contiguous", "threads": 1, "dataset": "fashion_mnist", "scaling": "strong",
        "global_batch": 64, "batch": 64 // ranks, "optimizer": "sgd", "learning_rate": 0.1, "epochs": 1,
        "ranks": ranks, "workers": ranks, "nodes": 1, "rank": "all", "share_of": 1, "samples": 60000,
    }  # fmt: skip
    words = ["epoch", model, sync, *(["ring", "mpi"] if ranks > 1 else []), "strong", f"batch {64 // ranks}"]
    seconds = 2.0 * len(model) * (1 / ranks + (0.05 if ranks > 1 else 0))
    return Case(f"{' '.join(words)} N={ranks}", f"epoch-{model}-{sync}-strong-n{ranks}", "epoch.csv", cells, seconds)


def cases_of(cells: int, ranks: Sequence[int] = (2,), models: Sequence[str] = ("mlp",)) -> list[Case]:
    """`cells` allreduce cells spread over algorithms, sizes and N, and the epochs of `models`."""
    algorithms = [f"alg{i:02}" for i in range(1000)]
    algorithms[:3] = ["ring", "native", "direct"]
    sizes = [4**power for power in range(5, 13)]
    places = [(a, size, n) for a in algorithms for n in ranks if n > 1 for size in sizes]
    cases = [allreduce_case(*place) for place in places[:cells]]
    for model in models:
        cases += [epoch_case(model, sync, 1) for sync in STEPS[:2]]
        cases += [epoch_case(model, sync, n) for n in ranks if n > 1 for sync in STEPS[2:]]
    return cases


def matches(patterns: Iterable[str], name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def row_of(case: Case, night: Night, launch: int, seconds: float) -> dict[str, object] | None:
    status, note = "ok", ""
    if matches(night.gone, case.name):
        return None
    if matches(night.skipped, case.name):
        status, note = "skipped", "this build has no such transport"
    if launch == 0 and matches(night.wrong, case.name):
        status, note = "wrong", "element 7: 3 instead of 5"
    if launch == 0 and matches(night.failed, case.name):
        status, note = "failed", "rank 1 node0: out of memory"
    row = {**case.cells, "status": status, "note": note, "origin": night.origin}
    if status == "ok":
        text = next((text for pattern, text in night.text.items() if fnmatchcase(case.name, pattern)), None)
        for column in ("seconds_median", "seconds_min", "seconds_max", "seconds_mean"):
            row[column] = f"{seconds:.9g}" if text is None else text
        row |= {"launches": 1, "repetitions": 3, "converged": 1, "outliers": 0}
    return row


def write_manifest(run: Path, study: str, night: Night, launches: list[dict[str, object]], when: datetime,
                   config: str) -> None:  # fmt: skip
    files = {
        path.relative_to(run).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(run.rglob("*"))
        if path.is_file()
    }
    key = {"architecture": "x86_64", "cpu_model": "AMD EPYC", "cores": 2, "memory_gib": 24, "gpus": None,
           "absent": {"gpus": "no CUDA device"}}  # fmt: skip
    treatment = {"commit": night.commit, "dirty": False, "compiler": "GNU 12.2.0", "kernel": "6.1.0-18",
                 "mpi": "Open MPI v4.1.4", "torch": "1.13.0", "absent": {}}  # fmt: skip
    tool = {"version": "0.1.0", "commit": night.commit, "dirty": False, "compiler": "GNU 12.2.0", "flags": "-O3",
            "build_type": "Release", "optimized": True, "sanitized": False,
            "binaries": {"bench_allreduce": hashlib.sha256(night.commit.encode()).hexdigest()}}  # fmt: skip
    manifest = {
        "schema_version": 1, "run_id": run.name, "study": study, "origin": night.origin,
        "started_utc": when.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "finished_utc": (when + timedelta(minutes=7)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "status": night.status, "command": ["scalebench", "run", "nightly.toml"], "seed": 1,
        "config": night.config or config, "tool": tool,
        "environment": {"key": {**key, **night.key}, "treatment": {**treatment, **night.treatment},
                        "observation": {"load_average": 0.1, "absent": {}, **night.observation}},
        "warnings": [{"text": text, "remedy": "use a quiet machine"} for text in night.warnings],
        "launches": launches, "files": files,
    }  # fmt: skip
    (run / "manifest.json").write_text(json.dumps(manifest, indent=2), encoding="utf-8")


def seal(run: Path) -> None:
    """SHA256SUMS and COMPLETE, as a finished run has them."""
    paths = [path for path in sorted(run.rglob("*")) if path.is_file()]
    sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(run).as_posix()}\n"
                   for path in paths)  # fmt: skip
    (run / "SHA256SUMS").write_text(sums, encoding="utf-8")
    (run / "COMPLETE").write_text(hashlib.sha256(sums.encode()).hexdigest() + "\n", encoding="utf-8")


def median(values: Sequence[float]) -> float:
    ordered, n = sorted(values), len(values)
    return (ordered[(n - 1) // 2] + ordered[n // 2]) / 2


def write_night(results: Path, index: int, night: Night | None = None, *, cases: Sequence[Case] | None = None,
                study: str = "nightly", launches: int = 5, seed: int = 1, samples: bool = False,
                name: str = "") -> str:  # fmt: skip
    """Writes night `index` (one a day since FIRST) and returns its run id: `name`, or one like a real one."""
    night, cases = night or Night(), cases_of(24) if cases is None else cases
    dice = random.Random(f"{seed} {index} {study}")
    when = FIRST + timedelta(days=index)
    run = results / (name or f"{when:%Y%m%dT%H%M%SZ}-{study}-{dice.randrange(1 << 24):06x}")
    starts = sorted({(case.launch, case.file) for case in cases})
    of_night = {case.name: dice.gauss(0, 0.01) for case in cases}
    rows: dict[str, dict[str, list[tuple[Case, dict[str, object]]]]] = {}
    records: list[dict[str, object]] = []
    sample_rows: list[Cells] = []
    for launch in range(launches):
        for start, (of, file) in enumerate(starts):
            number = 1 + launch * len(starts) + start
            folder = run / "launches" / f"{number:03}-{of}"
            folder.mkdir(parents=True)
            lost = launch == 0 and matches(night.lost, of)
            program = "bench_" + file.removesuffix(".csv")
            (folder / "stderr.log").write_text("rank 1 node0: killed\n" if lost else "", encoding="utf-8")
            (folder / "command.txt").write_text(f"mpirun {program}\n", encoding="utf-8")
            own: list[dict[str, object]] = []
            for case in cases:
                if lost or (case.launch, case.file) != (of, file):
                    continue
                slow = 1.0
                for pattern, times in night.slow.items():
                    slow *= times if fnmatchcase(case.name, pattern) else 1.0
                late = dice.uniform(0, 0.1) if dice.random() < 0.03 else 0.0
                noise = (1 + of_night[case.name] + dice.gauss(0, 0.01) + late) if night.noise else 1.0
                seconds = case.seconds * night.host * slow * noise
                row = row_of(case, night, launch, seconds)
                if row is None:
                    continue
                own.append({**row, "run_id": run.name})
                rows.setdefault(file, {}).setdefault(case.name, []).append((case, own[-1]))
                if samples and row["status"] == "ok":
                    sample_rows += [
                        {"case_id": case.cells["case_id"], "origin": night.origin, "launch": number, "ranks": case.cells["ranks"],
                         "repetition": i, "seconds": f"{seconds * times:.9g}", "bench": file.removesuffix(".csv")}
                        for i, times in enumerate((1.0, 0.995, 1.005))
                    ]  # fmt: skip
            if own:
                write_csv(folder, file, own)
            ranks = int(of.rsplit("-n", 1)[1])
            records.append({"number": number, "program": program, "ranks": ranks,
                            "command": ["mpirun", "-np", str(ranks), program], "status": "failed" if lost else "ok",
                            "note": "killed by signal Killed: rank 1 node0: killed" if lost else "",
                            "seconds": 1.5})  # fmt: skip
    for file, by_case in rows.items():
        write_csv(run, file, (over_launches([row for _, row in own]) for own in by_case.values()))
    if "epoch.csv" in rows:
        write_csv(run, "scaling.csv", scaling_of([row for own in rows["epoch.csv"].values() for _, row in own]))
    if samples:
        write_samples(run, sample_rows)
    config = CONFIG.format(study=study, launches=launches)
    (run / "config.toml").write_text(night.config or config, encoding="utf-8")
    write_manifest(run, study, night, records, when, config)
    if night.status == "complete":
        seal(run)
    return run.name


def number_of(row: Mapping[str, object]) -> float | None:
    try:
        return float(str(row["seconds_median"]))
    except ValueError:
        return None


def over_launches(rows: Sequence[dict[str, object]]) -> dict[str, object]:
    measured = [row for row in rows if row["status"] == "ok"]
    broken = [row for row in rows if row["status"] == "wrong"]
    if broken or not measured:
        return broken[0] if broken else rows[0]
    seconds = [number for row in measured if (number := number_of(row)) is not None]
    if len(seconds) < len(measured):
        return measured[0]
    return {**measured[0], "seconds_median": f"{median(seconds):.9g}", "seconds_ci_low": f"{min(seconds):.9g}",
            "seconds_ci_high": f"{max(seconds):.9g}", "interval": "range", "launches": len(seconds),
            "repetitions": 3 * len(seconds)}  # fmt: skip


def scaling_of(rows: Sequence[dict[str, object]]) -> list[Cells]:
    """Every strategy and N against one_device on one rank."""
    seconds: dict[tuple[str, str, int], list[float]] = {}
    first: dict[tuple[str, str, int], dict[str, object]] = {}
    for row in rows:
        case = (str(row["model"]), str(row["gradient_sync"]), int(str(row["ranks"])))
        if row["status"] == "ok" and (number := number_of(row)) is not None:
            seconds.setdefault(case, []).append(number)
            first.setdefault(case, row)
    scaling: list[Cells] = []
    for (model, sync, n), own in seconds.items():
        if (model, "one_device", 1) not in seconds:
            continue
        h, t = median(seconds[model, "one_device", 1]), median(own)
        speedup = h / t
        low, high = h / max(own) / n, h / min(own) / n
        row = {**first[model, sync, n], "baseline": "one_device", "h_seconds": h, "ideal_seconds": h / n, "rho": 1,
               "seconds_median": t, "seconds_ci_low": min(own), "seconds_ci_high": max(own), "interval": "range",
               "launches": len(own), "speedup": speedup, "efficiency": speedup / n, "efficiency_ci_low": low,
               "efficiency_ci_high": high, "lost_seconds": t - h / n}  # fmt: skip
        scaling.append(known("scaling.csv", row))
    return scaling


def write_samples(run: Path, rows: Iterable[Cells]) -> None:
    columns = ("schema_version run_id case_id origin bench launch ranks rank repetition seconds bytes samples "
               "skew_seconds slowest_rank").split()  # fmt: skip
    lines = [",".join(columns)]
    for row in rows:
        full = {"schema_version": 1, "run_id": run.name, **row}
        lines.append(",".join(str(full.get(column, "")) for column in columns))
    (run / "samples.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_nights(results: Path, nights: int, special: Mapping[int, Night] | None = None, **how: object) -> list[str]:
    """Nights 0 .. nights-1, of which `special` says what happened in some. Returns their run ids."""
    special = special or {}
    return [write_night(results, index, special.get(index), **how) for index in range(nights)]  # type: ignore[arg-type]


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="made-up nights in RESULTS")
    parser.add_argument("results", type=Path)
    parser.add_argument("--nights", type=int, default=12)
    parser.add_argument("--cells", type=int, default=24, help="of allreduce; the epochs of one model come on top")
    parser.add_argument("--launches", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--study", default="nightly")
    parser.add_argument("--samples", action="store_true", help="also samples.csv, three repetitions a launch")
    parser.add_argument("--slow", action="append", default=[], metavar="PATTERN=TIMES", help="in the last night")
    given = parser.parse_args(words)
    slow = {pattern: float(times) for pattern, times in (text.rsplit("=", 1) for text in given.slow)}
    runs = write_nights(given.results, given.nights, {given.nights - 1: Night(slow=slow)}, seed=given.seed,
                        cases=cases_of(given.cells), study=given.study, launches=given.launches,
                        samples=given.samples)  # fmt: skip
    print("\n".join(runs))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
