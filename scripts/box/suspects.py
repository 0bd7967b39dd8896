# SPDX-License-Identifier: Apache-2.0
# Does the last line name the right host? Four hosts in a cluster in a box, one of them, drawn by the seed, with a fault, or
# none; each trial is one start of bench_allreduce (or a run of scalebench). In the folder scripts: ./python -m box.suspects
# FILE.csv [--seeds 10] [--faults ...] [--by scalebench] writes a row a trial, prints how many were right, and needs root.
# A trial that ends without a last line is a wrong one. Exit: 0 done, 2 usage or cannot be done here.
from __future__ import annotations

import argparse
import csv
import contextlib
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from .description import Cluster
from .faults import half_stopped

SCRIPTS = Path(__file__).resolve().parents[1]
HOSTS, RATE = 4, "1gbit"
# What is done to a host, and the words by which the last line must say what it is.
FAULTS = {
    "link at 1/10": "its link",
    "link at 1/2": "its link",
    "2 % loss": "messages to and from it are lost",
    "processor at half": "its processor",
    "nothing": "no host stands out",
}
NO_LINE = "no last line"
COLUMNS = ("fault", "seed", "host", "right", "seconds", "exit_code", "line")
STUDY = """
[study]
name = "suspects"
launches = 2
layouts = ["4x1"]
device = "cpu"
monitor = false

[allreduce]
algorithms = ["ring"]
transport = "mpi"
min = "64KiB"
max = "64KiB"
max_seconds = 0.2
"""


def cluster(name: str, verb: str, *words: str) -> None:
    done = subprocess.run([str(SCRIPTS / "cluster"), verb, "--name", name, *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stderr, end="", file=sys.stderr)
        sys.exit(2)


def command(words: argparse.Namespace, folder: Path) -> list[str]:
    if words.by == "scalebench":
        config = folder / "suspects.toml"
        config.write_text(STUDY, encoding="utf-8")
        return [str(words.programs / "scalebench"), "run", str(config), "--out", str(folder / "run"), "--no-figures", "-q", "--oversubscribe"]
    return ["mpirun", "-np", str(HOSTS), "--map-by", "node", str(words.programs / "bench_allreduce"), "--transport", "mpi",
            "--algorithm", "ring", "-b", "64K", "-e", "64K", "--max-seconds", "0.2", "--no-bound", "--quiet"]  # fmt: skip


def last_line(stdout: str) -> str:
    line = (stdout.splitlines() or [""])[-1]
    return line if re.match("suspects?: |no host stands out", line) else NO_LINE


def is_right(line: str, fault: str, host: str) -> bool:
    """One suspect, that host, for that fault; or, without a host, none."""
    return line.startswith(f"suspect: {host}, {FAULTS[fault]}" if host else FAULTS[fault])


@contextlib.contextmanager
def with_fault(box: Cluster, fault: str, host: str) -> Iterator[None]:
    if fault.startswith("link"):
        cluster(box.name, "slow", f"{host}={'100mbit' if fault.endswith('10') else '500mbit'}")
    elif fault == "2 % loss":
        cluster(box.name, "lose", f"{host}=2%")
    try:
        if fault == "processor at half":
            with half_stopped(box.namespace(host), "bench_allreduce"):
                yield
        else:
            yield
    finally:
        if fault.startswith("link"):
            cluster(box.name, "slow", f"{host}={RATE}")
        elif fault == "2 % loss":
            cluster(box.name, "lose", f"{host}=0%")


def trial(words: argparse.Namespace, box: Cluster, fault: str, seed: int) -> dict[str, object]:
    host = f"host{random.Random(f'{fault} {seed}').randint(1, HOSTS)}" if fault != "nothing" else ""
    with tempfile.TemporaryDirectory() as folder, with_fault(box, fault, host):
        begin = time.monotonic()
        done = subprocess.run([str(SCRIPTS / "cluster"), "run", "--name", box.name, "--", *command(words, Path(folder))],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)  # fmt: skip
        seconds = time.monotonic() - begin
    line = last_line(done.stdout)
    if line == NO_LINE:
        print(done.stdout, done.stderr, sep="", file=sys.stderr)
    return dict(zip(COLUMNS, (fault, seed, host, int(is_right(line, fault, host)), round(seconds, 1), done.returncode, line), strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(description="Whether the last line names the right host, in a cluster in a box.")
    parser.add_argument("file", type=Path, help="the trials, a row each")
    parser.add_argument("--seeds", type=int, default=10, help="trials of each fault, of nothing twice as many")
    parser.add_argument("--faults", nargs="+", choices=list(FAULTS), default=list(FAULTS))
    parser.add_argument("--by", choices=["bench_allreduce", "scalebench"], default="bench_allreduce")
    parser.add_argument("--programs", type=Path, default=SCRIPTS.parent / "build/release/bin")
    parser.add_argument("--name", default="suspects", help="of the cluster")
    words = parser.parse_args()
    box = Cluster(words.name, HOSTS, 1, 10**9)
    cluster(box.name, "up", "--hosts", str(HOSTS), "--slots", "1", "--rate", RATE)
    right: Counter[str] = Counter()
    trials: Counter[str] = Counter()
    longest: dict[str, float] = {}
    try:
        with words.file.open("w", encoding="utf-8", newline="") as file:
            rows = csv.DictWriter(file, COLUMNS)
            rows.writeheader()
            for seed in range(2 * words.seeds):
                for fault in words.faults:
                    if fault != "nothing" and seed >= words.seeds:
                        continue
                    row = trial(words, box, fault, seed)
                    rows.writerow(row)
                    file.flush()
                    trials[fault] += 1
                    right[fault] += int(str(row["right"]))
                    longest[fault] = max(longest.get(fault, 0.0), float(str(row["seconds"])))
                    print(*(f"{row[name]}" for name in COLUMNS), sep=" · ", file=sys.stderr, flush=True)
    finally:
        cluster(box.name, "down")
    print("| fault | right | longest, s |\n|---|---|---|")
    for fault in words.faults:
        print(f"| {fault} | {right[fault]} of {trials[fault]} | {longest[fault]:.0f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
