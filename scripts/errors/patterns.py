# SPDX-License-Identifier: Apache-2.0
# The nightly gate on somebody else's patterns: the 17 of otava-test-data (PyPI), whose change points are known, as
# cells of made-up nights that `scalebench nightly --analyse` judges night by night; and what Apache Otava makes of the
# same values when it sees them all. scripts/error_rates patterns FOLDER [--seeds 5] [--nights 50]. Installs both from PyPI into
# FOLDER/environment. Exit: 0, 2 usage, 3 something could not be installed or judged.
from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from compare.shared import require_programs, write_rows
from errors.nights import ALARMS
from fixtures.nights import Night, allreduce_case, write_night

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("apache-otava==0.8.0", "otava-test-data==0.1.9")
# Cells in which nothing happens, so that what happens in the others is no shift of all.
CONTROLS = 40
NEAR = 2  # nights by which a change point may be off, and after which a rise is found at once
CLOSES = 10  # nights after a fix in which an alarm should have ended
# Runs in the environment: no word of the packages is here.
GENERATE = """
import inspect, json, sys
from otava.analysis import compute_change_points
import otava_test_data as data
from otava_test_data.generators.advanced import multiple_outliers, multiple_variance_changes
length, seeds = int(sys.argv[1]), int(sys.argv[2])
makers = {name: getattr(data, name) for name in (
    "constant noise_normal noise_uniform outlier step_function regression_fix banding variance_change phase_change "
    "multiple_changes").split()}
makers |= {"multiple_outliers": multiple_outliers, "multiple_variance_changes": multiple_variance_changes}
words = {name: {"sigma": 5.0} if "sigma" in inspect.signature(make).parameters and name != "banding" else {}
         for name, make in makers.items()}
for name in "step_function multiple_changes regression_fix banding outlier".split():
    makers[name + "_clean"], words[name + "_clean"] = makers[name], {"sigma": 0.0}
out = []
for name, make in makers.items():
    for seed in range(1, seeds + 1):
        series = make(length=length, seed=seed, **words[name])
        values = [float(value) for value in series.data]
        points = compute_change_points(values, window_len=50, max_pvalue=0.001)
        points = points[0] if isinstance(points, tuple) else points
        out.append({"pattern": name, "seed": seed, "values": values,
                    "truth": [[int(point.index), point.change_type, float(point.before_value), float(point.after_value)]
                              for point in series.change_points],
                    "otava": [int(point.index) for point in points]})
print(json.dumps(out))
"""
LEVELS = ("step", "regression_start", "regression_end")


class Failed(Exception):
    pass


@dataclass
class Series:
    """One pattern's values, and on which nights what happened to it."""

    pattern: str
    values: list[float]
    truth: list[tuple[int, str, float, float]]
    otava: list[int]
    alarms: list[int] = field(default_factory=list)  # nights in which the gate says that it is slower

    def changes(self) -> list[tuple[int, float, float]]:
        return sorted((at, before, after) for at, kind, before, after in self.truth if kind in LEVELS)

    def rises(self) -> list[int]:
        """From the first level; a further one, while the alarm of the first is on, asks for no new alarm."""
        changes = self.changes()
        return [at for at, before, after in changes if before <= changes[0][1] and after > before]

    def next_change(self, night: int) -> int:
        return min((at for at, *_ in self.changes() if at > night), default=len(self.values))

    def fixes(self) -> list[int]:
        """Nights from which on the level is the first one again, for long enough to tell."""
        ends = [at for at, kind, *_ in self.truth if kind == "regression_end"]
        return [at for at in ends if at + CLOSES < self.next_change(at)]

    def begun(self) -> list[int]:
        return [night for night in self.alarms if night - 1 not in self.alarms]

    def found_after(self) -> list[int]:
        """Of the rises whose alarm began before the next change: in which night from the rise on, its own being the first."""
        begun = {rise: [night for night in self.begun() if rise <= night < self.next_change(rise)] for rise in self.rises()}
        return [min(nights) - rise + 1 for rise, nights in begun.items() if nights]

    def found_near(self) -> int:
        return sum(nights <= NEAR + 1 for nights in self.found_after())

    def still_open(self) -> int:
        return sum(fix + CLOSES in self.alarms for fix in self.fixes())

    def false_alarms(self) -> int:
        """Alarms that begin where the level is not above the first one: it has never risen, or is down again."""
        return sum(not self.is_up(night) for night in self.begun())

    def is_up(self, night: int) -> bool:
        past = [after for at, _, after in self.changes() if at <= night]
        return bool(past) and past[-1] > self.changes()[0][1]

    def otava_near(self) -> int:
        return sum(any(abs(point - rise) <= NEAR for point in self.otava) for rise in self.rises())

    def otava_found(self) -> int:
        return sum(any(rise - NEAR <= point < self.next_change(rise) for point in self.otava) for rise in self.rises())

    def otava_false(self) -> int:
        return sum(all(abs(point - at) > NEAR for at, *_ in self.changes()) for point in self.otava)


def ran(words: list[object]) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"{words[0]} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    return done.stdout


def environment(folder: Path) -> Path:
    python = folder / "environment/bin/python"
    if not python.exists():
        ran([sys.executable, "-m", "venv", folder / "environment"])
    ran([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES])
    return python


def generated(folder: Path, nights: int, seeds: int) -> list[Series]:
    text = ran([environment(folder), "-c", GENERATE, nights, seeds])
    return [Series(one["pattern"], one["values"], [tuple(point) for point in one["truth"]], one["otava"])
            for one in json.loads(text.splitlines()[-1])]  # fmt: skip


def judged(programs: Path, results: Path, series: list[Series], nights: int) -> int:
    """Writes the nights and has each judged when it is the last. Returns alarms that begin in cells without any change."""
    cases = [allreduce_case(f"pattern{i:03}", 1 << 20, 2) for i in range(len(series))]
    cases += [allreduce_case(f"control{i:03}", 1 << 20, 2) for i in range(CONTROLS)]
    before: set[str] = set()
    wrong = 0
    for night in range(nights):
        slow = {case.name: one.values[night] / 100 for case, one in zip(cases, series)}
        run = write_night(results, night, Night(slow=slow, still=tuple(slow)), cases=cases, launches=3)
        done = subprocess.run([str(programs / "scalebench"), "nightly", "--analyse", run, "--results", str(results), "--quiet"],
                              capture_output=True, text=True, check=False)  # fmt: skip
        if done.returncode not in (0, 1, 3):
            raise Failed(f"night {night}: {done.stderr.strip()[-500:]}")
        with open(results / "nightly" / run / "gate.csv", encoding="utf-8", newline="") as file:
            alarmed = {row["label"] for row in csv.DictReader(file) if row["verdict"] in ALARMS}
        for case, one in zip(cases, series):
            if case.name in alarmed:
                one.alarms.append(night)
        controls = {name for name in alarmed if "control" in name}
        wrong += len(controls - before)
        before = controls
    return wrong


def table(series: list[Series]) -> list[dict[str, object]]:
    rows = []
    for pattern in dict.fromkeys(one.pattern for one in series):
        own = [one for one in series if one.pattern == pattern]
        after = sorted(nights for one in own for nights in one.found_after())
        rows.append({"pattern": pattern, "series": len(own), "rises": sum(len(one.rises()) for one in own),
                     "near": sum(one.found_near() for one in own), "found": len(after), "nights": after[len(after) // 2] if after else "",
                     "false": sum(one.false_alarms() for one in own), "fixes": sum(len(one.fixes()) for one in own),
                     "still_open": sum(one.still_open() for one in own), "otava_near": sum(one.otava_near() for one in own),
                     "otava_found": sum(one.otava_found() for one in own), "otava_false": sum(one.otava_false() for one in own)})  # fmt: skip
    return rows


def markdown(rows: list[dict[str, object]]) -> str:
    """As results/README.md has it."""
    lines = [
        f"| pattern | series | rises | found within {NEAR} nights · before the next change · after nights (median) | false alarms "
        f"| still open {CLOSES} nights after the fix | Otava: within {NEAR} nights · before the next change | false change points |",
        "|---" * 8 + "|",
    ]
    for row in rows:
        found = f"{row['near']} · {row['found']} · {row['nights'] or '–'}" if row["rises"] else "–"
        still = f"{row['still_open']} of {row['fixes']}" if row["fixes"] else "–"
        otava = f"{row['otava_near']} · {row['otava_found']}" if row["rises"] else "–"
        lines.append(f"| {row['pattern']} | {row['series']} | {row['rises'] or '–'} | {found} | {row['false']} | {still} | {otava} | {row['otava_false']} |")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/error_rates patterns", description="the nightly gate on otava-test-data's patterns")
    parser.add_argument("folder", type=Path, help="for the environment and the nights; made")
    parser.add_argument("--seeds", type=int, default=5, help="of each pattern")
    parser.add_argument("--nights", type=int, default=50)
    parser.add_argument("--programs", type=Path, default=ROOT / "build/release/bin")
    words = parser.parse_args(arguments)
    require_programs(parser, words.programs, "scalebench")
    if (words.folder / "results").exists():
        parser.error(f"{words.folder / 'results'} exists")
    try:
        series = generated(words.folder, words.nights, words.seeds)
        wrong = 0
        for seed in range(words.seeds):
            wrong += judged(words.programs, words.folder / "results" / str(seed), series[seed :: words.seeds], words.nights)
    except (Failed, OSError, KeyError, ValueError) as error:
        print(f"error_rates patterns: {error}", file=sys.stderr)
        return 3
    rows = table(series)
    write_rows(words.folder / "drift_patterns.csv", list(rows[0]), rows)
    print(markdown(rows))
    print(f"\n{CONTROLS} cells without a change: {wrong} alarms in {words.seeds * words.nights} nights")
    return 0
