# SPDX-License-Identifier: Apache-2.0
# How often is `scalebench compare` wrong? Rounds of two runs of the same study: one as it is, one in which every cell
# is slowed down on purpose. Runs of one kind should differ in no cell from those of the round before, and in each round
# the slowed run should be SLOWER in every cell. With --turns the two runs of a pair are measured launch by launch in
# turns (compare --build A --build B) and not one after the other. scripts/error_rates compare FOLDER [--rounds 11] [--turns] ...
# Exit: 0 all as it should be, 1 some comparisons were wrong, 2 usage, 3 something could not be measured.
from __future__ import annotations

import argparse
import csv
import io
import os
import random
import shlex
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

from compare.shared import MPI_AS_ROOT, require_programs, write_rows
from view.rows import Row, read_rows

ROOT = Path(__file__).resolve().parents[2]
# Epochs on one rank: a rank that sleeps makes them longer by just that.
STUDIES = {
    "epoch": """
[study]
name = "compare_error_epoch"
ranks = [1]
monitor = false
record_trace = false

[[epoch]]
model = "{model}"
scaling = "strong"
global_batch = 128
samples = {samples}
evaluate = false
""",
    "allreduce": """
[study]
name = "compare_error_allreduce"
ranks = [2]
monitor = false

[allreduce]
algorithms = ["direct"]
transport = "shared_memory"
min = "4KiB"
max = "16MiB"
factor = 16
max_seconds = 0.1
""",
}
KINDS = ("same", "slow")
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


def slowed(programs: Path, folder: Path, share: float, steps: dict[str, float]) -> Path:
    """The programs, but that every allreduce takes so much longer, and each step of an epoch by that share of its own
    time (seconds by gradient sync)."""
    folder.mkdir(parents=True, exist_ok=True)
    for program in programs.iterdir():
        if program.is_file() and not (folder / program.name).exists():
            shutil.copy2(program, folder)
    cases = "".join(
        f'*" --gradient-sync {sync} "*) set -- "$@" --inject sleep={share * seconds:.9f}:0;; ' for sync, seconds in steps.items()
    )
    for name, line in (("bench_allreduce", f'set -- "$@" --inject slower={share:g}'), ("bench_epoch", f'case " $* " in {cases}esac')):
        wrapper = folder / name
        wrapper.write_text(f'#!/bin/sh\n{line}\nexec {shlex.quote(str(programs / name))} "$@"\n', encoding="utf-8")
        wrapper.chmod(0o755)
    return folder


def run_of(words: argparse.Namespace, study: str, programs: Path, name: str) -> Path:
    """A run that is complete is used as it is; half of one is made anew."""
    run: Path = words.folder / study / name
    if (run / "COMPLETE").exists():
        return run
    shutil.rmtree(run, ignore_errors=True)
    print(f"compare_error: {study} {name}", file=sys.stderr, flush=True)
    ran([programs / "scalebench", "run", words.folder / f"{study}.toml", "--launches", words.launches, "--out", run,
         "--no-figures", "--quiet"])  # fmt: skip
    return run


def step_seconds(run: Path) -> dict[str, float]:
    """Of each epoch on one rank, by gradient sync."""
    times = {row["gradient_sync"]: row.number("seconds_median") * row.number("global_batch") / row.number("samples")
             for row in read_rows(run, "epoch.csv") if row["rank"] == "all" and row["ranks"] == "1"}  # fmt: skip
    if not times:
        raise Failed(f"{run}: no epoch of one rank")
    return times


def verdicts(words: argparse.Namespace, a: Path, b: Path) -> list[Row]:
    text = ran([words.programs / "scalebench", "compare", a, b, "--format", "csv"], fine=(0, 1, 3))
    return [Row(row) for row in csv.DictReader(io.StringIO(text))]


def table(same: list[list[Row]], slow: list[list[Row]]) -> list[dict[str, object]]:
    """Cells by what compare said of them, over all pairs of runs; one row a family and kind of pair."""
    found = []
    for injected, pairs in ((False, same), (True, slow)):
        for family in sorted({row["family"] for rows in pairs for row in rows if row["verdict"]}):
            of_pairs = [[row for row in rows if row["family"] == family and row["verdict"]] for rows in pairs]
            mine = [row for rows in of_pairs for row in rows]
            effects = [row.number("smallest_effect") for row in mine if row["smallest_effect"]]
            found.append({"family": family, "cells": len({row["label"] for row in mine}), "pairs": sum(map(bool, of_pairs)), "injected": int(injected),
                          **{verdict: sum(row["verdict"] == verdict for row in mine) for verdict in VERDICTS},
                          "smallest_effect": statistics.median(effects) if effects else ""})  # fmt: skip
    return found


def outcome(same: list[list[Row]], slow: list[list[Row]], slower: float) -> tuple[str, int]:
    """For people, and whether compare is wrong as seldom as it should be."""
    clean = sum(not {"SLOWER", "FASTER"} & {row["verdict"] for row in rows} for rows in same)
    epochs = [row["verdict"] for rows in slow for row in rows if row["family"] == "epoch"]
    caught = epochs.count("SLOWER")
    fine = clean >= 0.95 * len(same) and caught >= 0.9 * len(epochs)
    text = f"no cell different in {clean} of {len(same)} pairs; {slower:g} % found in {caught} of {len(epochs)} epochs"
    return text, 0 if fine else 1


def programs_of(words: argparse.Namespace, study: str, first: Path) -> dict[str, Path]:
    """By kind of run: as they are, and slowed down."""
    steps = step_seconds(first) if study == "epoch" else {}
    return {"same": words.programs, "slow": slowed(words.programs, words.folder / study / "slowed", words.slower / 100, steps)}


def pairs_of(words: argparse.Namespace, study: str, order: random.Random) -> tuple[list[list[Row]], list[list[Row]]]:
    """What compare says of runs of one kind, each with that of the round before; and of both kinds in each round."""
    same, slow = [], []
    before = {"same": run_of(words, study, words.programs, "same-0")}
    programs = programs_of(words, study, before["same"])
    for number in range(1, words.rounds + 1):
        kinds = list(programs)
        order.shuffle(kinds)
        runs = {kind: run_of(words, study, programs[kind], f"{kind}-{number}") for kind in kinds}
        same += [verdicts(words, before[kind], run) for kind, run in sorted(runs.items()) if kind in before]
        slow.append(verdicts(words, runs["same"], runs["slow"]))
        before |= runs
    return same, slow


def turns_of(words: argparse.Namespace, study: str, order: random.Random) -> tuple[list[list[Row]], list[list[Row]]]:
    """What compare says of the programs in turns with themselves, and with the slowed ones."""
    programs = {"same": words.programs}
    if "slow" in words.kinds:
        programs = programs_of(words, study, run_of(words, study, words.programs, "same-0"))
    said: dict[str, list[list[Row]]] = {kind: [] for kind in KINDS}
    for number in range(1, words.rounds + 1):
        kinds = list(words.kinds)
        order.shuffle(kinds)
        for kind in kinds:
            said[kind].append(in_turns(words, study, programs[kind], f"turns-{kind}-{number}"))
    return said["same"], said["slow"]


def in_turns(words: argparse.Namespace, study: str, other: Path, name: str) -> list[Row]:
    out = words.folder / study / name
    if not (out / "compare.csv").exists():
        shutil.rmtree(out, ignore_errors=True)
        print(f"compare_error: {study} {name}", file=sys.stderr, flush=True)
        ran([words.programs / "scalebench", "compare", "--build", words.programs, "--build", other, words.folder / f"{study}.toml",
             "--launches", words.launches, "--out", out], fine=(0, 1, 3))  # fmt: skip
    with open(out / "compare.csv", encoding="utf-8", newline="") as file:
        return [Row(row) for row in csv.DictReader(file)]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/error_rates compare", description="how often scalebench compare is wrong")
    parser.add_argument("folder", type=Path, help="for the runs; what is complete there is not made again")
    parser.add_argument("--rounds", type=int, default=11, help="of a run as it is and a slowed one, after a first run")
    parser.add_argument("--turns", action="store_true", help="the runs of a pair launch by launch in turns")
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS), help="of pairs, with --turns: one of them takes half the time")
    parser.add_argument("--launches", type=int, default=10, help="of each run")
    parser.add_argument("--slower", type=float, default=5.0, help="per cent of the time that are put in")
    parser.add_argument("--studies", nargs="+", choices=list(STUDIES), default=list(STUDIES))
    parser.add_argument("--model", default="mnist_cnn")
    parser.add_argument("--samples", type=int, default=1280)
    parser.add_argument("--seed", type=int, default=1, help="of the order of runs")
    parser.add_argument("--programs", type=Path, default=ROOT / "build/release/bin")
    words = parser.parse_args(arguments)
    require_programs(parser, words.programs, "scalebench", "bench_epoch", "bench_allreduce")
    if set(words.kinds) != set(KINDS) and not words.turns:
        parser.error("--kinds: one after the other needs both; add --turns")
    words.folder, words.programs = words.folder.resolve(), words.programs.resolve()
    words.folder.mkdir(parents=True, exist_ok=True)
    order = random.Random(words.seed)
    same: list[list[Row]] = []
    slow: list[list[Row]] = []
    try:
        for study in words.studies:
            text = STUDIES[study].format(model=words.model, samples=words.samples)
            (words.folder / f"{study}.toml").write_text(text, encoding="utf-8")
            of_study = (turns_of if words.turns else pairs_of)(words, study, order)
            same += of_study[0]
            slow += of_study[1]
    except (Failed, OSError, KeyError, ValueError) as error:
        print(f"error_rates compare: {error}", file=sys.stderr)
        return 3
    rows = table(same, slow)
    write_rows(words.folder / "compare_error.csv", COLUMNS, rows)
    print(f"Runs of {words.launches} launches; cells by verdict\n")
    print("| family | cells | pairs of runs | " + " | ".join(VERDICTS) + " | 80 % power at |\n" + "|---" * 9 + "|")
    for row in rows:
        what = f"{row['pairs']}, one {words.slower:g} % slower" if row["injected"] else f"{row['pairs']} of the same"
        effect = f"{100 * float(str(row['smallest_effect'])):.1f} %" if row["smallest_effect"] != "" else ""
        print(f"| {row['family']} | {row['cells']} | {what} | " + " | ".join(str(row[v]) for v in VERDICTS) + f" | {effect} |")
    text, code = outcome(same, slow, words.slower)
    print(f"\n{text}")
    return code
