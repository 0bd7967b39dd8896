# SPDX-License-Identifier: Apache-2.0
# Is anything ever lost? Commands of scalebench (run, resume, nightly, recover, import) are hit at random moments: SIGKILL of
# the whole, of scalebench, of the launcher or of a rank, SIGTERM, SIGINT twice, a rank stopped, a full disk, a date that is
# set, a cut link. Then they are brought to their end. No flushed row may be lost or count twice, every run must become
# complete, no process, segment or lock may be left, and the rank or host that was hit must be named.
# scripts/error_rates kills FOLDER [--times 1000] ...: a row of kills.csv for each; it may be ended at any time, or by itself
# with --minutes, and called again. Exit: 0 all well, 1 findings, each with its folder kept, 2 usage, 3 not all trials are there.
from __future__ import annotations

import argparse
import contextlib
import csv
import hashlib
import math
import os
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from compare.shared import require_programs
from errors.disturbances import ALL, KINDS, impossible
from errors.nights import refused_settings
from errors.trial import LIMIT, Bench, Drawn, Trial, box, drawn

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ("scalebench", "bench_allreduce", "bench_epoch")
COLUMNS = ["number", "kind", "command", "moment_seconds", "hit", "rank", "exit_code", "rows_flushed", "completed_by", "complete",
           "processes_left", "segments_left", "locks_left", "named", "named_seconds", "seconds", "finding"]  # fmt: skip
NAMED = ("SIGKILL rank", "SIGSTOP rank", "cut link")
Row = dict[str, str]


def read(file: Path) -> list[Row]:
    if not file.exists():
        return []
    with open(file, encoding="utf-8", newline="") as text:
        return sorted(csv.DictReader(text), key=lambda row: int(row["number"]))


def hits(rows: list[Row]) -> list[Row]:
    """Others had come to their end before anybody was hit."""
    return [row for row in rows if row["hit"] == "1"]


def settings_of(words: argparse.Namespace) -> dict[str, object]:
    return {"seed": words.seed, "programs": [hashlib.sha256((words.programs / name).read_bytes()).hexdigest() for name in PROGRAMS]}


# What trials need


def half_run(bench: Bench, study: str, name: str, kind: str) -> None:
    """A run whose first launch has ended and whose second is killed, for `resume`."""
    folder = bench.folder / name
    while not (folder / "run/manifest.json").exists() or (folder / "run/COMPLETE").exists():
        shutil.rmtree(folder, ignore_errors=True)
        trial = Trial(bench, Drawn(0, kind, "run", 0, 0, 0))
        trial.folder.mkdir(exist_ok=True)
        scratch = trial.folder / "scratch"
        (scratch / "segments").mkdir(parents=True, exist_ok=True)
        process = trial.start(bench.words("run", folder, study), scratch)
        while process.poll() is None and not any(folder.glob("run/launches/002-*/command.txt")):
            time.sleep(0.01)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        trial.wait_for_ends()
        shutil.rmtree(trial.folder)


def undisturbed_seconds(bench: Bench, command: str, kind: str) -> float:
    trial = Trial(bench, Drawn(0, kind, command, 0, 0, 0))
    shutil.rmtree(trial.folder, ignore_errors=True)
    trial.results.mkdir(parents=True)
    (trial.folder / "clock").write_bytes(bytes(8))
    scratch = trial.folder / "scratch"
    (scratch / "segments").mkdir(parents=True)
    if command == "resume":
        shutil.copytree(bench.folder / ("half-box" if trial.what.box() else "half") / "run", trial.results / "run", symlinks=True)
    begin = time.monotonic()
    code = trial.ran(trial.words(), scratch)
    took = time.monotonic() - begin
    if code != 0:
        raise OSError(f"{command} ends with {code} also when nothing is done to it: {(trial.folder / 'stderr').read_text(errors='replace')[-500:]}")
    shutil.rmtree(trial.folder)
    return took


def measure(bench: Bench, kinds: set[str]) -> None:
    half_run(bench, "three", "half", "SIGTERM")
    for command in ALL:
        bench.seconds[command] = undisturbed_seconds(bench, command, "SIGTERM")
    if "cut link" in kinds:
        half_run(bench, "box", "half-box", "cut link")
        for command in KINDS["cut link"].commands:
            bench.seconds[f"{command} in the box"] = undisturbed_seconds(bench, command, "cut link")


# The trials


class Table:
    """kills.csv: a row is there as soon as its trial has ended."""

    def __init__(self, file: Path) -> None:
        self.file, self.lock = file, threading.Lock()
        self.rows = read(file)
        if not file.exists():
            with open(file, "w", encoding="utf-8", newline="") as text:
                csv.DictWriter(text, COLUMNS, lineterminator="\n").writeheader()

    def add(self, row: dict[str, object]) -> None:
        with self.lock:
            self.rows.append({name: str(row.get(name, "")) for name in COLUMNS})
            with open(self.file, "a", encoding="utf-8", newline="") as text:
                csv.DictWriter(text, COLUMNS, lineterminator="\n").writerow(self.rows[-1])

    def missing(self, times: int) -> int:
        with self.lock:
            return times - len(hits(self.rows))


def to_do(words: argparse.Namespace, table: Table, kinds: set[str], alone: threading.Lock) -> Iterator[tuple[Drawn, threading.Lock | None]]:
    """What was drawn and is not there yet, in its order; there is one box, so that links are cut one at a time."""
    there = {int(row["number"]) for row in table.rows}
    number = 0
    while table.missing(words.times) > 0 and time.monotonic() < words.until:
        number += 1
        what = drawn(words.seed, number)
        if number not in there and what.kind in kinds:
            yield what, alone if what.box() else None


def work(words: argparse.Namespace, bench: Bench, table: Table, kinds: set[str]) -> None:
    alone, turn = threading.Lock(), threading.Lock()
    queue = to_do(words, table, kinds, alone)

    def trials() -> None:
        while True:
            with turn:
                what, needed = next(queue, (None, None))
            if what is None:
                return
            with needed or contextlib.nullcontext():
                row = Trial(bench, what).row()
            table.add(row)
            print(f"kills: {what.number} {what.kind}, {what.command}: {row['finding'] or 'well'}", file=sys.stderr, flush=True)

    with ThreadPoolExecutor(words.jobs) as pool:
        try:
            for one in [pool.submit(trials) for _ in range(words.jobs)]:
                one.result()
        finally:
            words.until = 0  # who is interrupted waits for the trials that have begun, and no others begin


# What they say


def spread(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    late = ordered[math.ceil(0.95 * len(ordered)) - 1]
    return f"min {ordered[0]:.2f} s, median {statistics.median(ordered):.2f} s, 95 % within {late:.2f} s, max {ordered[-1]:.2f} s"


def summary(rows: list[Row]) -> str:
    """Markdown: hits by kind and command, and what became of them."""
    done = hits(rows)
    lines = ["| | " + " | ".join(ALL) + " | all |\n" + "|---" * (len(ALL) + 2) + "|"]
    for kind in [*KINDS, "all"]:
        of_kind = [row for row in done if kind in (row["kind"], "all")]
        counts = [sum(row["command"] == command for row in of_kind) for command in ALL]
        lines.append(f"| {kind} | " + " | ".join(str(count or "–") for count in counts) + f" | {len(of_kind)} |")

    def count(word: str) -> int:
        return sum(word in row["finding"] for row in done)

    def having(column: str) -> list[Row]:
        return [row for row in done if row[column] not in ("", "0")]

    flushed, segments = sum(int(row["rows_flushed"]) for row in having("rows_flushed")), having("segments_left")
    unforced = sum("segments left" in row["finding"] for row in segments)
    lines.append(f"\n{len(done)} hits ({len(rows) - len(done)} more commands had ended before): of {flushed} flushed rows some were lost in "
                 f"{count('rows lost')}, counted twice in {count('twice')}; {len(done) - len(having('complete'))} runs not complete; "
                 f"processes left in {len(having('processes_left'))}, locks in {len(having('locks_left'))}, segments of Open MPI in "
                 f"{len(segments)} (in {unforced} of these mpirun was neither killed nor told twice to end)")  # fmt: skip
    for kind in NAMED:
        own = [row for row in done if row["kind"] == kind]
        seconds = [float(row["named_seconds"]) for row in own if row["named"] == "1"]
        outside = Counter(row["named"] for row in own if row["named"] not in ("", "0", "1"))
        failed = sum(row["named"] == "0" for row in own)
        line = f"{kind}: named in {len(seconds)}"
        line += f" ({spread(seconds)})" if seconds else ""
        line += "".join(f", ended {how} in {times}" for how, times in sorted(outside.items()))
        lines.append(f"{line}, not named in {failed}, nothing failed in {len(own) - len(seconds) - outside.total() - failed}")
    lines += [f"finding: trial {row['number']}, {row['kind']}, {row['command']}: {row['finding']}" for row in rows if row["finding"]]
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/error_rates kills", description="what is lost when commands are hit at random moments",
                                     epilog=f"A rank that is stopped is named after {LIMIT} s here (-T), and where no watchdog sees it, by its "
                                            "launch after 18 to 27. As root also: full disks, cut links.")  # fmt: skip
    parser.add_argument("folder", type=Path, help="for kills.csv; trials that are there are not made again")
    parser.add_argument("--times", type=int, default=1000, help="hits; a command that ends before counts as none")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, metavar="KIND", default=list(KINDS), help="of what is done; default: all")
    parser.add_argument("--seed", type=int, default=1, help="of what is done to which command, and when")
    parser.add_argument("--jobs", type=int, default=1, help="trials at a time; a rank that is stopped is mostly waited for")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no trial after so many, and exit with 3")
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--programs", type=Path, default=ROOT / "build/release/bin")
    words = parser.parse_args(arguments)
    require_programs(parser, words.programs, *PROGRAMS)
    if words.times < 1 or words.jobs < 1:
        parser.error("--times and --jobs: valid: 1 and more")
    words.until = time.monotonic() + 60 * words.minutes
    words.programs = words.programs.resolve()
    bench = Bench(words.folder.resolve(), words.programs, words.mpirun, words.programs.parent / "bench/e2e/libscalebench_stepping.so")
    bench.prepare()
    if others := refused_settings(bench.folder, settings_of(words)):
        parser.error(f"{bench.folder} holds trials of other settings: {'; '.join(others)}; valid: those, or another folder")
    left_out = impossible(bench.shim)
    for kind, reason in left_out.items():
        print(f"kills: without {kind}: {reason}", file=sys.stderr)
    table = Table(bench.folder / "kills.csv")
    try:
        kinds = set(words.kinds) - set(left_out)
        if table.missing(words.times) > 0 and time.monotonic() < words.until:
            with box() if "cut link" in kinds else contextlib.nullcontext():
                measure(bench, kinds)
                work(words, bench, table, kinds)
    except (OSError, KeyError, ValueError, subprocess.CalledProcessError) as error:
        print(f"error_rates kills: {error}", file=sys.stderr)
        return 3
    print(summary(read(table.file)))
    if any(row["finding"] for row in table.rows):
        return 1
    if missing := max(0, table.missing(words.times)):
        print(f"error_rates kills: {missing} of {words.times} are missing: the same command goes on", file=sys.stderr)
        return 3
    return 0
