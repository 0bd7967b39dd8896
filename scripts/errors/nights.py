# SPDX-License-Identifier: Apache-2.0
# How often is a night beside the accepted build wrong, on this machine? Real nights, each the first one after a build
# was accepted: with the very same programs, of which none should regress, and with an allreduce and a training that are
# slowed down on purpose, which should both be found and found again. scripts/error_rates nights FOLDER [--nights 20] ...
# What every night costs (sweep, with the accepted build in turns) is told apart from what the rerun of suspects adds.
# It may be ended at any time, or by itself with --minutes, and called again: nights that are complete are kept, and
# night_error.csv holds those that are there.
# Exit: 0 all as it should be, 1 some nights were wrong or too dear, 2 usage, 3 something could not be measured, or not yet.
from __future__ import annotations

import argparse
import csv
import hashlib
import json
import math
import os
import random
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from compare.shared import MPI_AS_ROOT, require_programs, write_rows
from errors.compare import KINDS, Failed, slowed, step_seconds

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
min = "256KiB"
max = "4MiB"
factor = 2
max_seconds = 0.5

[[epoch]]
model = "{model}"
data = "synthetic:1200"
gradient_syncs = ["one_device"]
scaling = "strong"
global_batch = {batch}
samples = {samples}
epochs = {epochs}
evaluate = false
"""
# The training that is slowed down: on one rank, so that it takes longer by just what is put in. Its steps are bound by
# computing: the rounds of resnet20 lie within 1 to 3 % of each other on two cores where those of mlp, bound by memory,
# lie within 4 %.
SLOWED_SYNC = "none"
# Of the sizes of one launch, which are all slowed down, the one that is to be found: a short allreduce waits longer than asked for.
SLOWED_SIZE = " 4 MiB "
MOST_SECONDS = 60  # a cell and night, without the rerun
# A launch on two cores: the start of LibTorch and of the ranks, and what is measured.
LAUNCH_SECONDS = 3.5
LAUNCHES = 3  # of a round: the allreduces, the slowed epochs, their base
CELLS = 7  # five sizes in the one launch, and the two others; ten would be enough to tell what all cells share
ALARMS = ("REGRESSED", "CONFIRMED", "DRIFT", "OPEN")
COLUMNS = ["kind", "night", "word", "label", "metric", "slowed", "verdict", "rounds", "change", "q_value", "mde", "seconds_a_cell", "rerun_seconds"]
# A night that was made with others says nothing of these.
SETTINGS = ("launches", "slower", "model", "batch", "samples", "epochs", "programs")


@dataclass
class Judged:
    """One night: its word, its rows of gate.csv, what each cell of times took in it, and the rerun of its suspects."""

    kind: str
    number: int
    word: str
    rows: list[dict[str, str]]
    seconds_a_cell: float
    rerun_seconds: float

    def alarms(self) -> list[dict[str, str]]:
        return [row for row in self.rows if row["verdict"] in ALARMS]

    def untouched(self) -> list[str]:
        """Alarms of cells that nothing was done to."""
        return [row["label"] for row in self.alarms() if self.kind == "same" or not is_touched(row)]

    def unfound(self) -> int:
        return sum(is_sought(row) and row["verdict"] not in ALARMS for row in self.rows)

    def wrong(self) -> bool:
        """`same`: anything but a pass; `slow`: one of the two was not found, or the night does not say so."""
        if self.kind == "same":
            return self.word != "PASS" or bool(self.alarms())
        return self.word != "REGRESSED" or self.unfound() > 0

    def too_dear(self) -> bool:
        return self.seconds_a_cell > MOST_SECONDS


def is_touched(row: dict[str, str]) -> bool:
    # An efficiency is made of times that are.
    return row["bench"] == "allreduce" or f" {SLOWED_SYNC} " in row["label"] or row["metric"] != "seconds"


def is_sought(row: dict[str, str]) -> bool:
    if row["metric"] != "seconds":
        return False
    return SLOWED_SIZE in row["label"] if row["bench"] == "allreduce" else f" {SLOWED_SYNC} " in row["label"]


def refused_settings(folder: Path, settings: dict[str, object]) -> list[str]:
    """How the nights that are there were made otherwise; stores the settings of the first ones."""
    stored = folder / "settings.json"
    if not stored.exists():
        stored.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    before = json.loads(stored.read_text(encoding="utf-8"))
    return [f"--{name} {value}, there {before.get(name)}" for name, value in settings.items() if before.get(name) != value]


def settings_of(words: argparse.Namespace) -> dict[str, object]:
    settings = {name: getattr(words, name) for name in SETTINGS if name != "programs"}
    programs = (words.programs / name for name in ("bench_allreduce", "bench_epoch"))
    return settings | {"programs": [hashlib.sha256(program.read_bytes()).hexdigest() for program in programs]}


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
    took = {step["name"]: step["seconds"] or 0 for step in night["steps"]}  # the sweep's holds the accepted build's turns
    cells = sum(row["metric"] == "seconds" for row in rows)
    return Judged(kind, number, night["verdict"], rows, took["sweep"] / cells, took["rerun"])


def accepted(words: argparse.Namespace, study: Path) -> Path:
    """The results of the night whose programs every other night runs beside."""
    base: Path = words.folder / "accepted"
    if not (base / "nightly/accepted").exists():
        shutil.rmtree(base, ignore_errors=True)
        print("night_error: the accepted night", file=sys.stderr, flush=True)
        nightly(words.programs, study, base)
        subprocess.run([words.programs / "scalebench", "nightly", "accept", "--results", base], check=True, capture_output=True)
    return base


def found_night(words: argparse.Namespace, kind: str, number: int) -> Path | None:
    """The analysis of a night that is complete."""
    found = sorted((words.folder / f"{kind}-{number}" / "nightly").glob("*-night_error-*/nightly.json"))
    return found[-1].parent if found else None


def nights_there(words: argparse.Namespace) -> list[Judged]:
    """Both kinds, also where only one is to be measured now."""
    found = [(kind, number, found_night(words, kind, number)) for number in range(1, words.nights + 1) for kind in KINDS]
    return [read_night(kind, number, night) for kind, number, night in found if night is not None]


def make_night(words: argparse.Namespace, study: Path, kind: str, number: int, programs: Path) -> None:
    """A night that is complete is left as it is; half of one is made anew."""
    if found_night(words, kind, number) is not None:
        return
    require_time(words)
    results: Path = words.folder / f"{kind}-{number}"
    shutil.rmtree(results, ignore_errors=True)
    print(f"night_error: {kind} {number}", file=sys.stderr, flush=True)
    shutil.copytree(words.folder / "accepted/nightly/accepted", results / "nightly/accepted")
    nightly(programs, study, results)


def require_time(words: argparse.Namespace) -> None:
    if time.monotonic() < words.until:
        return
    there, all_nights = len(nights_there(words)), len(KINDS) * words.nights
    raise Failed(f"{words.minutes:g} minutes are over, and {there} of {all_nights} nights are there: the same command goes on")


def row_of(night: Judged, row: dict[str, str]) -> dict[str, object]:
    return {name: row[name] for name in COLUMNS if name in row} | {
        "kind": night.kind, "night": night.number, "word": night.word,
        "slowed": int(night.kind == "slow" and is_touched(row)), "seconds_a_cell": f"{night.seconds_a_cell:.1f}",
        "rerun_seconds": f"{night.rerun_seconds:.1f}",
    }  # fmt: skip


def expected_seconds(launches: int) -> float:
    """Of a night without its rerun: each round holds every launch twice, of both builds."""
    return launches * 2 * LAUNCHES * LAUNCH_SECONDS


def summary(nights: list[Judged], slower: float) -> tuple[str, int]:
    """For people, and whether all is as it should be."""
    same, slow = ([night for night in nights if night.kind == kind] for kind in ("same", "slow"))
    clean, both = (sum(not night.wrong() for night in kind) for kind in (same, slow))
    others, dear = sum(bool(night.untouched()) for night in slow), sum(night.too_dear() for night in nights)
    lines = [
        f"the same programs: passed in {clean} of {len(same)} nights",
        f"{slower:g} % put into an allreduce and a training: REGRESSED, both found and found again, in {both} of {len(slow)} nights; "
        f"alarms of other cells in {others}",
    ]
    for kind, of_kind in (("same", same), ("slow", slow)):
        if not of_kind:
            continue
        every, most = (of(night.seconds_a_cell for night in of_kind) for of in (statistics.median, max))
        rerun = statistics.median(night.rerun_seconds for night in of_kind)
        lines.append(f"{kind}: {every:.0f} s a cell (at most {most:.0f}), and {rerun:.0f} s a night for the rerun, medians")
    lines.append(f"over {MOST_SECONDS} s a cell: {dear} nights")
    fine = clean >= 0.95 * len(same) and both >= 0.9 * len(slow) and others <= 0.05 * len(slow) and dear == 0
    return "\n".join(lines), 0 if fine else 1


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/error_rates nights", description="how often a night beside the accepted build is wrong",
                                     epilog=f"20 + 20 nights of 8 rounds take about {40 * expected_seconds(8) / 3600:.1f} hours on two cores, "
                                            "and half as much again for the suspects; it may be ended and taken up again.")
    parser.add_argument("folder", type=Path, help="for the nights; what is complete there is not made again")
    parser.add_argument("--nights", type=int, default=20, help="of each kind")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS), help="to measure now; default: both")
    parser.add_argument("--launches", type=int, default=8, help="rounds of a night")
    parser.add_argument("--slower", type=float, default=5.0, help="per cent of the time that are put in")
    parser.add_argument("--model", default="resnet20")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--samples", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=20, help="of a launch: the two builds take turns of an epoch")
    parser.add_argument("--seed", type=int, default=1, help="of the order of nights")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no night after so many, and exit with 3")
    parser.add_argument("--programs", type=Path, default=ROOT / "build/release/bin")
    words = parser.parse_args(arguments)
    require_programs(parser, words.programs, "scalebench", "bench_epoch", "bench_allreduce")
    words.until = time.monotonic() + 60 * words.minutes
    words.folder, words.programs = words.folder.resolve(), words.programs.resolve()
    words.folder.mkdir(parents=True, exist_ok=True)
    if others := refused_settings(words.folder, settings_of(words)):
        parser.error(f"{words.folder} holds nights of other settings: {'; '.join(others)}; valid: those, or another folder")
    took, missing = expected_seconds(words.launches), len(KINDS) * words.nights - len(nights_there(words))
    print(f"night_error: about {took / CELLS:.0f} s a cell and night, {missing * took / 3600:.1f} h for the {missing} nights that are "
          "missing, and the reruns", file=sys.stderr, flush=True)  # fmt: skip
    study = words.folder / "night_error.toml"
    study.write_text(STUDY.format(launches=words.launches, model=words.model, batch=words.batch, samples=words.samples,
                                  epochs=words.epochs), encoding="utf-8")  # fmt: skip
    order = random.Random(words.seed)
    stopped = False
    try:
        base = accepted(words, study)
        (run,) = [folder for folder in base.glob("*-night_error-*") if folder.is_dir()]
        steps = {SLOWED_SYNC: step_seconds(run)[SLOWED_SYNC]}
        programs = {"same": words.programs, "slow": slowed(words.programs, words.folder / "slowed", words.slower / 100, steps)}
        for number in range(1, words.nights + 1):
            kinds = list(programs)
            order.shuffle(kinds)
            for kind in kinds:
                if kind in words.kinds:
                    make_night(words, study, kind, number, programs[kind])
    except (Failed, OSError, KeyError, ValueError, subprocess.CalledProcessError) as error:
        print(f"error_rates nights: {error}", file=sys.stderr)
        stopped = True
    nights = nights_there(words)
    write_rows(words.folder / "night_error.csv", COLUMNS, [row_of(night, row) for night in nights for row in night.rows])
    text, code = summary(nights, words.slower)
    print(text)
    return 3 if stopped or len(nights) < len(KINDS) * words.nights else code
