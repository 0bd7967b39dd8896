# SPDX-License-Identifier: Apache-2.0
# The harness holds this suite against another program. A start runs every leg once, in random order; a ratio is of two
# legs of one start, so that what the machine does to both cancels. Over the starts it is estimated as `scalebench
# compare` does (docs/statistics.md): Hodges and Lehmann's median of pairwise means of its logarithms, with Wilcoxon's
# 95 % interval from six starts on and the range below. All files are written anew after each leg, so whoever is cut off
# keeps the legs before.
from __future__ import annotations

import argparse
import contextlib
import csv
import json
import math
import os
import random
import shlex
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from peers.processes import last_said, running, say

ROOT = Path(__file__).resolve().parents[2]
# An installed tree has its programs beside share/scalebench.
PROGRAMS = ROOT / "build/release/bin" if (ROOT / "CMakeLists.txt").exists() else ROOT.parents[1] / "bin"
FEWEST = 6  # So many starts have a 95 % interval.
REACHED, MISSED, NO_TARGET, NOT_MEASURED = "reached", "missed", "no target", "not measured"
# These stand in a command for the leg's folder and seed.
FOLDER, SEED = "{folder}", "{seed}"
LEGS = "start leg seconds note command".split()
SAMPLES = "start leg case way seconds".split()
COLUMNS = (
    "case against starts theirs theirs_seconds ours ours_seconds ratio ratio_low ratio_high interval target verdict"
).split()
Row = Mapping[str, str]
Rows = Sequence[Row]


class Failed(Exception):
    """One line says why a leg could not be run or read, or why a comparison cannot begin."""


def require_known(what: str, words: Iterable[str], valid: Iterable[str], between: str = ", ") -> None:
    if unknown := [word for word in words if word not in valid]:
        raise Failed(f"unknown {what} {unknown[0]!r}; valid: {between.join(valid)}")


def positive(word: str) -> int:
    if not word.isascii() or not word.isdigit() or int(word) == 0:
        raise argparse.ArgumentTypeError(f"'{word}' is no positive number")
    return int(word)


def words_of(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text}: {error}; write words as for a shell") from None


def started_as(program: Path) -> str:
    """A path without a slash would be a name that is looked up on the PATH."""
    path = os.path.relpath(program)
    return path if "/" in path else os.path.join(".", path)


class Times(NamedTuple):
    seconds: dict[tuple[str, str], float]  # They are by case, such as a size, and by way, such as an algorithm.
    note: str = ""

    def checked(self) -> Times:
        for (case, way), seconds in self.seconds.items():
            if not 0 < seconds < math.inf:
                raise Failed(f"{way} took {seconds:g} s in {case}, which is no time")
        if not self.seconds:
            raise Failed("it measured nothing")
        return self


@dataclass(frozen=True)
class Leg:
    name: str
    command: list[str]
    read: Callable[[str, Path], Times]  # It takes what the command printed, and FOLDER, which it may have made.
    environment: dict[str, str] = field(default_factory=dict)
    ranks: int = 0  # The command is started so many times, as torchrun would; with 0 once and as it is.


@dataclass(frozen=True)
class Ratio:
    """A ratio is seconds of `theirs` over those of `ours`, in one case or, with none named, in each that was measured.
    Above 1, ours is faster. Of several ways the fastest of the start counts."""

    against: str
    theirs: Sequence[str]
    ours: Sequence[str]
    case: str = ""
    factor: float = 1.0
    target: float | None = None


class Estimate(NamedTuple):
    ratio: float
    low: float
    high: float
    interval: str  # It says what low and high are: "95%", "range", or "" for one start.


def estimate(ratios: Sequence[float]) -> Estimate:
    n, logs = len(ratios), [math.log(ratio) for ratio in ratios]
    means = sorted((one + other) / 2 for place, one in enumerate(logs) for other in logs[place:])
    ratio = math.exp(statistics.median(means))
    if n < FEWEST:
        return Estimate(ratio, min(ratios), max(ratios), "range" if n > 1 else "")
    ways = [1]  # By sum of ranks there are so many ways to choose which ranks are in the sum.
    for rank in range(1, n + 1):
        ways = [one + other for one, other in zip(ways + rank * [0], rank * [0] + ways)]
    outside, beyond = 0, 0  # So many means lie outside of each end, and beyond / 2^n is how likely that is.
    while 40 * (beyond + ways[outside]) <= 2**n:
        beyond += ways[outside]
        outside += 1
    return Estimate(ratio, math.exp(means[outside - 1]), math.exp(means[-outside]), "95%")


def judged(ratio: float, target: float | None) -> str:
    """A ratio that is its target reaches it, also when a logarithm rounded it."""
    return NO_TARGET if target is None else REACHED if ratio >= target * (1 - 1e-9) else MISSED


def natural(case: str) -> list[tuple[int, str]]:
    """The key puts 4096 before 16384."""
    return [(int(word), "") if word.isdigit() else (0, word) for word in case.split()]


def compared(ratio: Ratio, case: str, starts: Sequence[Times]) -> dict[str, str]:
    """A row of comparison.csv tells what there is of each side, also where no start has both."""

    def fastest(start: Times, ways: Sequence[str]) -> tuple[float, str] | None:
        return min(((start.seconds[case, way], way) for way in ways if (case, way) in start.seconds), default=None)

    pairs = [(fastest(start, ratio.theirs), fastest(start, ratio.ours)) for start in starts]
    both = [(theirs, ours) for theirs, ours in pairs if theirs and ours]
    row = {"case": case, "against": ratio.against, "starts": str(len(both)), "verdict": NOT_MEASURED}
    row["target"] = "" if ratio.target is None else f"{ratio.target:g}"
    for side, name in enumerate(("theirs", "ours")):
        if known := [one for pair in both or pairs if (one := pair[side])]:
            row[name] = statistics.mode(way for _, way in known)
            row[f"{name}_seconds"] = f"{statistics.median(seconds for seconds, _ in known):.6g}"
    if both:
        made = estimate([ratio.factor * theirs / ours for (theirs, _), (ours, _) in both])
        row |= {"ratio": f"{made.ratio:.3f}", "interval": made.interval, "verdict": judged(made.ratio, ratio.target)}
        if made.interval:
            row |= {"ratio_low": f"{made.low:.3f}", "ratio_high": f"{made.high:.3f}"}
    return {column: row.get(column, "") for column in COLUMNS}


def rows_of(ratios: Sequence[Ratio], starts: Sequence[Times]) -> list[dict[str, str]]:
    named = dict.fromkeys(ratio.case for ratio in ratios if ratio.case)
    cases = list(named) or sorted({case for start in starts for case, _ in start.seconds}, key=natural)
    rows = [compared(ratio, case, starts) for case in cases for ratio in ratios if ratio.case in ("", case)]
    return [row for row in rows if named or row["ratio"]]


def shown(seconds: str) -> str:
    value = float(seconds or "nan")
    unit, factor = ("s", 1) if value >= 1 else ("ms", 1e3) if value >= 1e-3 else ("us", 1e6)
    return f"{factor * value:.4g} {unit}" if seconds else "-"


def print_table(rows: Rows) -> None:
    line = "{:>20} {:>28} {:>10} {:>10} {:>6} {:>7} {:>16} {:>6} {:>6}  {}".format
    say(line("case", "against", "it", "ours", "starts", "ratio", "low, high", "", "target", "verdict"))
    for row in rows:
        ends = f"[{row['ratio_low']}, {row['ratio_high']}]" if row["interval"] else "-"
        say(line(row["case"], row["against"], shown(row["theirs_seconds"]), shown(row["ours_seconds"]), row["starts"],
                 row["ratio"] or "-", ends, row["interval"], row["target"] or "-", row["verdict"]))  # fmt: skip
    say("# ratio: its seconds over ours, within a start; above 1, ours is faster" if rows else "# there is no ratio")


def write_rows(path: Path, columns: Iterable[str], rows: Iterable[Row]) -> None:
    """Rows are written beside and renamed: whoever is killed here keeps the rows that were there."""
    beside = path.with_name(f".{path.name}")
    with open(beside, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(columns), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    beside.replace(path)


def read_rows(path: Path) -> Rows:
    """A file's rows; a file that is not there has none."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8", errors="replace") as lines:
        return list(csv.DictReader(lines))


def printed_rows(text: str) -> list[Row]:
    """A program of ours prints rows with --format csv or json."""
    objects = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return objects or list(csv.DictReader(text.splitlines()))


def one_row(rows: Rows) -> Row:
    """A case has one row that all ranks share, whose note says why there is no time."""
    rows = [row for row in rows if str(row.get("rank", "all")) == "all"]
    if len(rows) != 1:
        raise Failed(f"{len(rows)} rows instead of one: has this build the case?")
    if rows[0].get("status", "ok") != "ok":
        raise Failed(f"{rows[0]['status']}: {rows[0]['note']}")
    return rows[0]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def run(leg: Leg, command: list[str], log: Path) -> str:
    """Returns what the command printed, and keeps it in `log`; of several ranks the first one counts. The first to end
    badly tells why: the others may wait for it."""
    with contextlib.ExitStack() as stack:
        said = stack.enter_context(log.open("w+", encoding="utf-8"))
        shared = {"WORLD_SIZE": str(leg.ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
        started = {}
        for rank in range(max(1, leg.ranks)):
            errors = stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace"))
            environment = leg.environment | ({"RANK": str(rank), **shared} if leg.ranks else {})
            try:
                one = running(command, environment, stdout=subprocess.DEVNULL if rank else said, stderr=errors)
                process = stack.enter_context(one)
                started[process.pid] = process, errors
            except OSError as error:
                raise Failed(f"{command[0]}: {error.strerror}") from None
        while started:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)  # Asking again and again would disturb the ranks.
            if ended.si_pid not in started:  # It is an orphan, where this is the first process of a container.
                os.waitpid(ended.si_pid, 0)
                continue
            process, errors = started.pop(ended.si_pid)
            if code := process.wait():
                errors.seek(0)
                raise Failed(f"exit code {code}: {last_said(printed(log) + errors.read())}")
    return printed(log)


def printed(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")


class Kept:
    """A comparison keeps files of its legs, their samples, and the ratios."""

    def __init__(self, out: Path, ratios: Sequence[Ratio]) -> None:
        self.out, self.ratios = out, ratios
        self.starts: list[Times] = []
        self.legs: list[Row] = []
        self.samples: list[Row] = []
        self.write()

    def write(self) -> None:
        self.rows = rows_of(self.ratios, self.starts)
        write_rows(self.out / "legs.csv", LEGS, self.legs)
        write_rows(self.out / "samples.csv", SAMPLES, self.samples)
        write_rows(self.out / "comparison.csv", COLUMNS, self.rows)

    def add(self, leg: Leg, seed: int) -> str:
        """Runs a leg of the latest start; returns its times in words. Raises Failed."""
        start = str(len(self.starts))
        name = f"{len(self.legs) + 1:03d}-" + "".join(c if c.isalnum() else "-" for c in leg.name)
        command = [word.replace(FOLDER, str(self.out / name)).replace(SEED, str(seed)) for word in leg.command]
        begin, note = time.monotonic(), "cut off"
        try:
            times = leg.read(run(leg, command, self.out / f"{name}.txt"), self.out / name).checked()
            note = times.note
        except Exception as error:  # noqa: BLE001
            note = str(error) if isinstance(error, Failed) else f"its output is unreadable: {error!r}"
            raise Failed(note) from None
        finally:
            took = f"{time.monotonic() - begin:.2f}"
            settings = [f"{name}={value}" for name, value in leg.environment.items()]
            typed = shlex.join(["env", *settings, *command] if settings else command)
            self.legs.append(dict(zip(LEGS, (start, leg.name, took, note, typed))))
            self.write()
        self.starts[-1].seconds.update(times.seconds)
        for (case, way), seconds in times.seconds.items():
            self.samples.append(dict(zip(SAMPLES, (start, leg.name, case, way, f"{seconds:.9g}"))))
        self.write()
        return shown(str(min(times.seconds.values()))) if len(times.seconds) == 1 else f"{len(times.seconds)} times"


def measure(kept: Kept, groups: Sequence[Sequence[Leg]], starts: int, seed: int) -> int:
    """Runs the legs of each group in random order, group by group, so many times; returns how many legs failed."""
    shuffled, failed = random.Random(seed), 0
    for number in range(1, starts + 1):
        kept.starts.append(Times({}))
        for leg in (leg for group in groups for leg in shuffled.sample(group, len(group))):
            print(f"[{number}/{starts}] {leg.name}", file=sys.stderr)
            try:
                print(f"    {kept.add(leg, seed + len(kept.legs))}", file=sys.stderr)
            except Failed as error:
                failed += 1
                print(f"compare_with: {leg.name}: {error}", file=sys.stderr)
    return failed
