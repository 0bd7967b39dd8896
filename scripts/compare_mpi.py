# SPDX-License-Identifier: Apache-2.0
# compare_mpi.py: this suite's shared memory and ring against MPI_Allreduce under every setting that
# might make it faster, and against another MPI. Each start measures the MPI and ours side by side; a
# ratio is taken within a start, and its median over the starts is printed, against the setting that
# is best for the MPI at that size. Everything measured stays in --out.
# Exit: 0 done, 2 usage, 3 some starts failed.
from __future__ import annotations

import argparse
import csv
import os
import random
import shlex
import statistics
import subprocess
import sys
from pathlib import Path

from compare.shared import MPI_AS_ROOT, ROOT, last_line, require_launcher, require_new, require_programs, write_rows

TUNED = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}
NO_FAULTS = {  # large temporaries come from the heap again instead of from fresh pages
    "MALLOC_MMAP_THRESHOLD_": "4294967296",
    "MALLOC_TRIM_THRESHOLD_": "4294967296",
    "MALLOC_TOP_PAD_": "268435456",
}
OPEN_MPI = {
    "as installed": {},
    "coll sm": {"OMPI_MCA_coll_sm_priority": "100"},
    "vader none": {"OMPI_MCA_btl_vader_single_copy_mechanism": "none"},
    "malloc": NO_FAULTS,
    "vader none, malloc": {"OMPI_MCA_btl_vader_single_copy_mechanism": "none", **NO_FAULTS},
}
# Open MPI's own numbers of its algorithms.
OPEN_MPI |= {
    f"tuned {number} {name}": {**TUNED, "OMPI_MCA_coll_tuned_allreduce_algorithm": str(number)}
    for number, name in {
        2: "nonoverlapping",
        3: "recursive doubling",
        4: "ring",
        5: "segmented ring",
        6: "rabenseifner",
    }.items()
}
RING = "tuned 4 ring"
MPICH = "MPICH"
MPICH_LAUNCHER = ["mpiexec.mpich", "-bind-to", "core"]
OURS = "one_shot,direct"


def arguments_of(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/compare_mpi.py",
        description="shared_memory and ring against MPI_Allreduce in its best setting",
    )
    parser.add_argument("--programs", type=Path, default=ROOT / "build/release/bin")
    parser.add_argument(
        "--mpich", type=Path, help="bin folder of a build with MPICH (cmake -DMPI_C_COMPILER=mpicc.mpich)"
    )
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--launcher", default="mpirun --bind-to core", help="of Open MPI, with options")
    parser.add_argument("--algorithms", default=OURS, help="over shared_memory, of which the fastest counts")
    parser.add_argument("--starts", type=int, default=3, help="of every setting")
    parser.add_argument("--settings", help="separated by semicolons, of: " + "; ".join(OPEN_MPI))
    parser.add_argument("-b", default="16")
    parser.add_argument("-e", default="64M")
    parser.add_argument("-f", default="4")
    parser.add_argument("--cache", default="warm")
    parser.add_argument("--placement", default="in_place", choices=("in_place", "out_of_place"))
    parser.add_argument("--max-seconds", default="0.15")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, help="a new folder")
    options = parser.parse_args(argv)
    require_new(parser, options.out)
    require_programs(parser, options.programs, "bench_allreduce")
    require_launcher(parser, (shlex.split(options.launcher) or [""])[0])
    if options.mpich:
        require_programs(parser, options.mpich, "bench_allreduce")
        require_launcher(parser, MPICH_LAUNCHER[0])
    # As typed from here: another machine's absolute path in a manifest helps nobody.
    options.programs, options.mpich, options.out = (
        folder and Path(os.path.relpath(folder)) for folder in (options.programs, options.mpich, options.out)
    )
    return options


def command_of(options: argparse.Namespace, setting: str, folder: Path, seed: int) -> list[str]:
    launcher = MPICH_LAUNCHER if setting == MPICH else shlex.split(options.launcher)
    programs = options.mpich if setting == MPICH else options.programs
    algorithms = f"native,{options.algorithms}" + (",ring" if setting == RING else "")
    return [
        *launcher, "-np", str(options.ranks), str(programs / "bench_allreduce"),
        "--transport", "mpi,shared_memory", "--algorithm", algorithms,
        "-b", options.b, "-e", options.e, "-f", options.f, "--cache", options.cache, "--placement", options.placement,
        "--max-seconds", options.max_seconds, "--order", "shuffled", "--seed", str(seed),
        "--quiet", "--out", str(folder),
    ]  # fmt: skip


def start(options: argparse.Namespace, setting: str, number: int) -> Path | None:
    """One start of the benchmark under a setting; its folder, or None when it failed."""
    name = "".join(c if c.isalnum() else "-" for c in setting)
    folder = options.out / f"{number:03d}-{name}"
    environment = {**MPI_AS_ROOT, **os.environ, **OPEN_MPI.get(setting, {})}
    command = command_of(options, setting, folder, options.seed + number)
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return folder
        why = f"exit {done.returncode}: {last_line(done.stderr)}"
    except OSError as error:  # such as a launcher that is gone by now
        why = str(error)
    print(f"compare_mpi: {setting}: {why}", file=sys.stderr)
    return None


def seconds_of(folder: Path) -> dict[tuple[str, str, int], float]:
    """Median seconds by transport, algorithm and bytes."""
    with open(folder / "allreduce.csv", newline="", encoding="utf-8") as file:
        return {
            (row["transport"], row["algorithm"], int(row["size_bytes"])): float(row["seconds_median"])
            for row in csv.DictReader(file)
            if row["status"] == "ok"
        }


def bound_shares(folder: Path) -> dict[tuple[str, int], float]:
    """By algorithm and bytes, over shared memory: the share of the memory bound that was reached."""
    with open(folder / "allreduce.csv", newline="", encoding="utf-8") as file:
        return {
            (row["algorithm"], int(row["size_bytes"])): float(row["busbw_gb_per_s"]) / float(bound)
            for row in csv.DictReader(file)
            if row["transport"] == "shared_memory" and (bound := row["bound_busbw_gb_per_s"])
        }


class Comparison:
    """Ratios within each start, by size and setting: above 1, ours is faster."""

    def __init__(self, algorithms: str = OURS) -> None:
        self.algorithms = algorithms.split(",")
        self.against_native: dict[int, dict[str, list[float]]] = {}
        self.native: dict[int, dict[str, list[float]]] = {}
        self.ours: dict[int, list[float]] = {}
        self.winners: dict[int, list[str]] = {}
        self.ring: dict[int, list[float]] = {}
        self.bound: dict[int, list[float]] = {}

    def add(self, setting: str, folder: Path) -> None:
        seconds = seconds_of(folder)
        shares = bound_shares(folder)
        for size in sorted({b for t, a, b in seconds if (t, a) == ("mpi", "native")}):
            shared = {
                a: s
                for (t, a, b), s in seconds.items()
                if (t, b) == ("shared_memory", size) and a in self.algorithms
            }
            if not shared:
                continue
            winner = min(shared, key=shared.__getitem__)
            best = shared[winner]
            native = seconds["mpi", "native", size]
            self.against_native.setdefault(size, {}).setdefault(setting, []).append(native / best)
            self.native.setdefault(size, {}).setdefault(setting, []).append(native)
            self.ours.setdefault(size, []).append(best)
            self.winners.setdefault(size, []).append(winner)
            if (winner, size) in shares:
                self.bound.setdefault(size, []).append(shares[winner, size])
            if setting == RING:
                self.ring.setdefault(size, []).append(native / seconds["mpi", "ring", size])

    def rows(self) -> list[dict[str, str]]:
        rows = []
        for size, settings in sorted(self.against_native.items()):
            ratios = {name: statistics.median(values) for name, values in settings.items()}
            closest = min(ratios, key=ratios.__getitem__)
            gb = lambda seconds: f"{size / statistics.median(seconds) * 1e-9:.3f}"  # noqa: E731
            installed = "as installed" in ratios  # its starts may all have failed
            rows.append(
                {
                    "size_bytes": str(size),
                    "shared_memory_gb_per_s": gb(self.ours[size]),
                    "algorithm": statistics.mode(self.winners[size]),
                    "as_installed_gb_per_s": gb(self.native[size]["as installed"]) if installed else "",
                    "ratio_as_installed": f"{ratios['as installed']:.2f}" if installed else "",
                    "best_setting": closest,
                    "best_setting_gb_per_s": gb(self.native[size][closest]),
                    "ratio_best_setting": f"{ratios[closest]:.2f}",
                    "bound_share": f"{statistics.median(self.bound[size]):.3f}" if size in self.bound else "",
                    "ratio_ring": f"{statistics.median(self.ring[size]):.2f}" if size in self.ring else "",
                }
            )
        return rows


def print_table(rows: list[dict[str, str]]) -> None:
    columns = list(rows[0])
    widths = {c: max(len(c), *(len(row[c]) for row in rows)) for c in columns}
    for row in [dict(zip(columns, columns)), *rows]:
        print("  ".join(row[c].rjust(widths[c]) for c in columns))


def main(argv: list[str]) -> int:
    options = arguments_of(argv)
    settings = [s.strip() for s in options.settings.split(";")] if options.settings else list(OPEN_MPI)
    if unknown := [s for s in settings if s not in OPEN_MPI]:
        print(f"compare_mpi: unknown setting {unknown[0]!r}; valid: {'; '.join(OPEN_MPI)}", file=sys.stderr)
        return 2
    if "as installed" not in settings:
        settings.insert(0, "as installed")
    if options.mpich:
        settings.append(MPICH)
    options.out.mkdir(parents=True)
    starts = [(setting, i) for i in range(options.starts) for setting in settings]
    shuffled = random.Random(options.seed)
    comparison = Comparison(options.algorithms)
    failed = 0
    shuffled.shuffle(starts)
    for number, (setting, _) in enumerate(starts, 1):
        print(f"[{number}/{len(starts)}] {setting}", file=sys.stderr)
        if folder := start(options, setting, number):
            comparison.add(setting, folder)
        else:
            failed += 1
    rows = comparison.rows()
    if not rows:
        print("compare_mpi: no start measured both", file=sys.stderr)
        return 3
    write_rows(options.out / "compare_mpi.csv", rows[0], rows)
    print_table(rows)
    return 3 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
