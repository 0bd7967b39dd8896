# SPDX-License-Identifier: Apache-2.0
# How often is a night beside the accepted build wrong, on this machine? Real nights, each the first one after a build
# was accepted: with the very same programs, of which none should regress, and with an allreduce and a training that are
# slowed down on purpose, which should both be found and found again. scripts/error_rates nights FOLDER [--nights 20] ...
# Exit: 0 all as it should be, 1 some nights were wrong, 2 usage, 3 something could not be measured.
from __future__ import annotations

import argparse
import csv
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from compare.shared import MPI_AS_ROOT, require_programs, write_rows
from errors.compare import Failed, slowed, step_seconds

ROOT = Path(__file__).resolve().parents[2]
STUDY = """
[study]
name = "night_error"
ranks = [1, 2]
launches = {launches}
monitor = false
record_trace = false

[allreduce]
algorithms = ["direct"]
transport = "shared_memory"
min = "4MiB"
max = "4MiB"
max_seconds = 0.1

[[epoch]]
model = "{model}"
gradient_syncs = ["one_device"]
scaling = "strong"
batch = {batch}
samples = {samples}
epochs = {epochs}
evaluate = false
"""
# The training that is slowed down: on one rank, so that it takes longer by just what its rank sleeps. Its steps are
# long, as a sleep lasts 0.05 ms longer than asked for.
SLOWED_SYNC = "none"
ALARMS = ("REGRESSED", "CONFIRMED", "DRIFT", "OPEN")
COLUMNS = ["kind", "night", "word", "label", "metric", "slowed", "verdict", "rounds", "change", "q_value", "mde", "seconds_a_cell"]


@dataclass
class Judged:
    """One night: its word, its rows of gate.csv, and what it took for each cell of times."""

    kind: str
    number: int
    word: str
    rows: list[dict[str, str]]
    seconds_a_cell: float

    def alarms(self, slowed_cells: bool) -> list[str]:
        return [row["label"] for row in self.rows if row["verdict"] in ALARMS and is_slowed(row) == slowed_cells]

    def wrong(self) -> bool:
        return bool(self.alarms(True) + self.alarms(False)) if self.kind == "same" else self.unfound() > 0

    def unfound(self) -> int:
        times = [row for row in self.rows if is_slowed(row)]
        return len(times) - len(self.alarms(True))


def is_slowed(row: dict[str, str]) -> bool:
    return row["metric"] == "seconds" and (row["bench"] == "allreduce" or f" {SLOWED_SYNC} " in row["label"])


def nightly(programs: Path, study: Path, results: Path) -> Path:
    """Measures a night; the folder of its analysis."""
    words = [programs / "scalebench", "nightly", study, "--results", results, "--aa-launches", 0, "--no-canary", "--quiet"]
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          env=os.environ | MPI_AS_ROOT, check=False)  # fmt: skip
    found = sorted((results / "nightly").glob("*-night_error-*/nightly.json"))
    if done.returncode not in (0, 1, 3) or not found:
        raise Failed(f"{results}: a night ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    return found[-1].parent


def read_night(kind: str, number: int, folder: Path) -> Judged:
    night = json.loads((folder / "nightly.json").read_text(encoding="utf-8"))
    with open(folder / "gate.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    took = sum(step["seconds"] or 0 for step in night["steps"] if step["name"] in ("sweep", "rerun"))
    return Judged(kind, number, night["verdict"], rows, took / sum(row["metric"] == "seconds" for row in rows))


def accepted(words: argparse.Namespace, study: Path) -> Path:
    """The results of the night whose programs every other night runs beside."""
    base: Path = words.folder / "accepted"
    if not (base / "nightly/accepted").exists():
        shutil.rmtree(base, ignore_errors=True)
        print("night_error: the accepted night", file=sys.stderr, flush=True)
        nightly(words.programs, study, base)
        subprocess.run([words.programs / "scalebench", "nightly", "accept", "--results", base], check=True, capture_output=True)
    return base


def night_of(words: argparse.Namespace, study: Path, kind: str, number: int, programs: Path) -> Judged:
    """A night that is complete is used as it is; half of one is made anew."""
    results: Path = words.folder / f"{kind}-{number}"
    done = sorted((results / "nightly").glob("*-night_error-*/nightly.json"))
    if not done:
        shutil.rmtree(results, ignore_errors=True)
        print(f"night_error: {kind} {number}", file=sys.stderr, flush=True)
        shutil.copytree(words.folder / "accepted/nightly/accepted", results / "nightly/accepted")
        return read_night(kind, number, nightly(programs, study, results))
    return read_night(kind, number, done[-1].parent)


def row_of(night: Judged, row: dict[str, str]) -> dict[str, object]:
    return {name: row[name] for name in COLUMNS if name in row} | {
        "kind": night.kind, "night": night.number, "word": night.word,
        "slowed": int(night.kind == "slow" and is_slowed(row)), "seconds_a_cell": f"{night.seconds_a_cell:.1f}",
    }  # fmt: skip


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/error_rates nights", description="how often a night beside the accepted build is wrong")
    parser.add_argument("folder", type=Path, help="for the nights; what is complete there is not made again")
    parser.add_argument("--nights", type=int, default=20, help="of each kind")
    parser.add_argument("--launches", type=int, default=20, help="rounds of a night")
    parser.add_argument("--slower", type=float, default=5.0, help="per cent of the time that are put in")
    parser.add_argument("--model", default="mlp")
    parser.add_argument("--batch", type=int, default=2048)
    parser.add_argument("--samples", type=int, default=20480)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1, help="of the order of nights")
    parser.add_argument("--programs", type=Path, default=ROOT / "build/release/bin")
    words = parser.parse_args(arguments)
    require_programs(parser, words.programs, "scalebench", "bench_epoch", "bench_allreduce")
    words.folder, words.programs = words.folder.resolve(), words.programs.resolve()
    words.folder.mkdir(parents=True, exist_ok=True)
    study = words.folder / "night_error.toml"
    study.write_text(STUDY.format(launches=words.launches, model=words.model, batch=words.batch, samples=words.samples,
                                  epochs=words.epochs), encoding="utf-8")  # fmt: skip
    order = random.Random(words.seed)
    nights: list[Judged] = []
    try:
        base = accepted(words, study)
        (run,) = [folder for folder in base.glob("*-night_error-*") if folder.is_dir()]
        steps = {SLOWED_SYNC: step_seconds(run)[SLOWED_SYNC]}
        programs = {"same": words.programs, "slow": slowed(words.programs, words.folder / "slowed", words.slower / 100, steps)}
        for number in range(1, words.nights + 1):
            kinds = list(programs)
            order.shuffle(kinds)
            nights += [night_of(words, study, kind, number, programs[kind]) for kind in kinds]
    except (Failed, OSError, KeyError, ValueError, subprocess.CalledProcessError) as error:
        print(f"error_rates nights: {error}", file=sys.stderr)
        return 3
    write_rows(words.folder / "night_error.csv", COLUMNS, [row_of(night, row) for night in nights for row in night.rows])
    same = [night for night in nights if night.kind == "same"]
    slow = [night for night in nights if night.kind == "slow"]
    clean, both = (sum(not night.wrong() for night in kind) for kind in (same, slow))
    beside = sum(bool(night.alarms(False)) for night in slow)
    print(f"the same programs: no alarm in {clean} of {len(same)} nights")
    print(f"{words.slower:g} % put into an allreduce and a training: both found, and found again, in {both} of {len(slow)} nights; "
          f"alarms of other cells in {beside}")  # fmt: skip
    for kind, of_kind in (("same", same), ("slow", slow)):
        print(f"{kind}: {statistics.median(night.seconds_a_cell for night in of_kind):.0f} s a cell")
    return 0 if clean >= 0.95 * len(same) and both >= 0.9 * len(slow) else 1
