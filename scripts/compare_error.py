#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# How often is `scalebench compare` wrong? The same study runs again and again: two runs of the same programs
# should differ in no cell, and a run in which one rank sleeps in each step of the epochs should be SLOWER in these.
# Each run is compared with the one of the same programs just before it. compare_error.py FOLDER [--repeats 20] ...
# Exit: 0 all as it should be, 1 some comparisons were wrong, 2 usage, 3 something could not be measured.
from __future__ import annotations

import argparse
import csv
import io
import os
import random
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

from compare.shared import MPI_AS_ROOT, require_programs, write_rows
from view.rows import Row, read_rows

ROOT = Path(__file__).resolve().parents[1]
STUDY = """
[study]
name = "compare_error"
ranks = [1, 2]
monitor = false

[allreduce]
algorithms = ["direct"]
transport = "shared_memory"
min = "64KiB"
max = "1MiB"
factor = 16
max_seconds = 0.1

[[epoch]]
model = "{model}"
gradient_syncs = ["mirrored"]
transport = "shared_memory"
allreduce = "direct"
scaling = "strong"
batch = 128
samples = {samples}
evaluate = false
"""
VERDICTS = ("SAME", "FASTER", "SLOWER", "AMBIGUOUS", "MISSING")
COLUMNS = ["family", "cells", "pairs", "injected", *VERDICTS, "smallest_effect"]


class Failed(Exception):
    pass


def ran(words: list[object], fine: tuple[int, ...] = (0,)) -> str:
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          env=os.environ | MPI_AS_ROOT, check=False)  # fmt: skip
    if done.returncode not in fine:
        raise Failed(f"{' '.join(str(word) for word in words)} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    return done.stdout


def slowed(programs: Path, folder: Path, seconds: float) -> Path:
    """The programs, but that rank 1 of an epoch sleeps so long in each step."""
    folder.mkdir(exist_ok=True)
    for program in programs.iterdir():
        if program.is_file() and program.name != "bench_epoch" and not (folder / program.name).exists():
            shutil.copy2(program, folder)
    wrapper = folder / "bench_epoch"
    wrapper.write_text(
        f'#!/bin/sh\ncase " $* " in *" --gradient-sync mirrored "*) set -- "$@" --sleep-rank 1:{seconds:.9f};; esac\n'
        f'exec {programs / "bench_epoch"} "$@"\n', encoding="utf-8")  # fmt: skip
    wrapper.chmod(0o755)
    return folder


def run_of(words: argparse.Namespace, programs: Path, name: str) -> Path:
    """A run that is complete is used as it is; half of one is made anew."""
    run: Path = words.folder / name
    if (run / "COMPLETE").exists():
        return run
    shutil.rmtree(run, ignore_errors=True)
    print(f"compare_error: {name}", file=sys.stderr, flush=True)
    ran([programs / "scalebench", "run", words.folder / "study.toml", "--launches", words.launches, "--out", run,
         "--no-figures", "--quiet"])  # fmt: skip
    return run


def step_seconds(run: Path) -> float:
    """Of the epoch that is going to be slowed down."""
    times = [row.number("seconds_median") * row.number("global_batch") / row.number("samples")
             for row in read_rows(run, "epoch.csv")
             if row["gradient_sync"] == "mirrored" and row["rank"] == "all" and row["ranks"] == "2"]  # fmt: skip
    if len(times) != 1:
        raise Failed(f"{run}: no epoch of two ranks")
    return times[0]


def verdicts(words: argparse.Namespace, a: Path, b: Path) -> list[Row]:
    text = ran([words.programs / "scalebench", "compare", a, b, "--format", "csv"], fine=(0, 1, 3))
    return [Row(row) for row in csv.DictReader(io.StringIO(text))]


def table(same: list[list[Row]], slow: list[list[Row]]) -> list[dict[str, object]]:
    """Pairs of runs by what compare said of their cells: the worst of a family counts."""
    found = []
    for injected, pairs in ((False, same), (True, slow)):
        for family in sorted({row["family"] for rows in pairs for row in rows}):
            worst = {verdict: 0 for verdict in VERDICTS}
            effects = []
            cells: set[str] = set()
            for rows in pairs:
                mine = [row for row in rows if row["family"] == family and is_wanted(row, injected)]
                if not mine:
                    continue
                said = {row["verdict"] for row in mine}
                worst[next(one for one in ("MISSING", "SLOWER", "FASTER", "AMBIGUOUS", "SAME") if one in said)] += 1
                effects += [row.number("smallest_effect") for row in mine if row["smallest_effect"]]
                cells |= {row["label"] for row in mine}
            if cells:
                found.append({"family": family, "cells": len(cells), "pairs": sum(worst.values()), "injected": int(injected),
                              **worst, "smallest_effect": statistics.median(effects) if effects else ""})  # fmt: skip
    return found


def is_wanted(row: Row, injected: bool) -> bool:
    """Of a run that was slowed down only the cells that were."""
    return bool(row["verdict"]) and (not injected or (row["family"] == "epoch" and row["ranks"] == "2"
                                                      and "mirrored" in row["label"]))  # fmt: skip


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/compare_error.py", description="how often scalebench compare is wrong")
    parser.add_argument("folder", type=Path, help="for the runs; what is complete there is not made again")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--launches", type=int, default=10, help="of each run")
    parser.add_argument("--slower", type=float, default=5.0, help="per cent of a step that is slept")
    parser.add_argument("--model", default="mnist_cnn")
    parser.add_argument("--samples", type=int, default=3840)
    parser.add_argument("--seed", type=int, default=1, help="of the order of runs")
    parser.add_argument("--programs", type=Path, default=ROOT / "build/release/bin")
    words = parser.parse_args(arguments)
    require_programs(parser, words.programs, "scalebench", "bench_epoch", "bench_allreduce")
    words.folder, words.programs = words.folder.resolve(), words.programs.resolve()
    words.folder.mkdir(parents=True, exist_ok=True)
    (words.folder / "study.toml").write_text(STUDY.format(model=words.model, samples=words.samples), encoding="utf-8")
    order = random.Random(words.seed)
    try:
        last = run_of(words, words.programs, "same-0")
        slow_programs = slowed(words.programs, words.folder / "slowed", words.slower / 100 * step_seconds(last))
        same, slow = [], []
        for repeat in range(1, words.repeats + 1):
            legs = [("same", words.programs), ("slow", slow_programs)]
            order.shuffle(legs)
            runs = {kind: run_of(words, programs, f"{kind}-{repeat}") for kind, programs in legs}
            same.append(verdicts(words, last, runs["same"]))
            slow.append(verdicts(words, last, runs["slow"]))
            last = runs["same"]
    except (Failed, OSError, KeyError, ValueError) as error:
        print(f"compare_error.py: {error}", file=sys.stderr)
        return 3
    rows = table(same, slow)
    write_rows(words.folder / "compare_error.csv", COLUMNS, rows)
    print(f"{words.repeats} pairs of runs of {words.launches} launches; a pair counts by its worst cell\n")
    print("| family | cells | | " + " | ".join(VERDICTS) + " | 80 % power at |\n" + "|---" * 9 + "|")
    for row in rows:
        what = f"{words.slower:g} % slower" if row["injected"] else "the same programs"
        effect = f"{100 * float(str(row['smallest_effect'])):.1f} %" if row["smallest_effect"] != "" else ""
        print(f"| {row['family']} | {row['cells']} | {what} | " + " | ".join(str(row[v]) for v in VERDICTS) + f" | {effect} |")
    clean = sum(not {"SLOWER", "FASTER"} & {row["verdict"] for row in rows} for rows in same)
    caught = sum("SLOWER" in {row["verdict"] for row in rows if is_wanted(row, True)} for rows in slow)
    print(f"\nno cell different in {clean} of {len(same)}; {words.slower:g} % found in {caught} of {len(slow)}")
    return 0 if clean >= 0.95 * len(same) and caught >= 0.9 * len(slow) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
