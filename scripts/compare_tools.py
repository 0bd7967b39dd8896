# SPDX-License-Identifier: Apache-2.0
# compare_tools.py: the same allreduce measured by another tool and by this suite, side by side:
# osu_allreduce of the OSU micro-benchmarks over MPI, all_reduce_perf of nccl-tests over NCCL. The
# other tool is built from its source folder, into a folder of its own. Each start runs all of them
# once, in random order; a ratio (theirs over ours: above 1, ours says less time) is taken within a
# start, and the median over the starts is printed with its range. Everything measured stays in --out.
# Exit: 0 done, 2 usage, 3 some runs failed.
from __future__ import annotations

import argparse
import csv
import os
import random
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from compare.shared import MPI_AS_ROOT, ROOT, last_line, require_new, require_programs, write_rows

# By placement and bytes: microseconds of one operation.
Times = dict[tuple[str, int], float]
OUT_OF_PLACE, IN_PLACE = "out_of_place", "in_place"
WITHIN = 0.10
COLUMNS = ("tool", "placement", "size_bytes", "ranks", "starts", "theirs_us", "ours_us", "ratio", "ratio_low", "ratio_high")


class Failed(Exception):
    """Why a tool could not be built or run, in one line."""


@dataclass(frozen=True, eq=False)
class Leg:
    """One program of a start. `tool`: whose numbers it is held against."""

    tool: str
    ours: bool
    command: list[str]
    read: Callable[[str], Times]

    def name(self) -> str:
        return f"bench_allreduce beside {self.tool}" if self.ours else self.tool


def size_of(word: str) -> int:
    """4096, 4K, 16M: powers of 1024, as both tools take them."""
    digits, unit = (word[:-1], word[-1].upper()) if word[-1:].isalpha() else (word, "")
    power = {"": 0, "K": 1, "M": 2, "G": 3}.get(unit)
    if power is None or not digits.isascii() or not digits.isdigit() or int(digits) == 0:
        raise argparse.ArgumentTypeError(f"'{word}' is no size; write 4096, 4K or 16M")
    return int(digits) << (10 * power)


def positive(word: str) -> int:
    if not word.isascii() or not word.isdigit() or int(word) == 0:
        raise argparse.ArgumentTypeError(f"'{word}' is no positive number")
    return int(word)


def arguments_of(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/compare_tools.py",
        description="the same allreduce measured by OSU's or NVIDIA's program and by bench_allreduce",
    )
    parser.add_argument("--osu", type=Path, help="source folder of the OSU micro-benchmarks, 7.0 or later")
    parser.add_argument("--nccl-tests", type=Path, help="source folder of nccl-tests; needs a GPU a rank")
    parser.add_argument("--programs", type=Path, default=ROOT / "build/release/bin")
    parser.add_argument(
        "--build", type=Path, default=ROOT / "build/tools", help="where the other tools are built"
    )
    parser.add_argument("--ranks", type=positive, default=2)
    parser.add_argument("--starts", type=positive, default=5, help="of every program")
    parser.add_argument("-b", type=size_of, default="4K", help="smallest size")
    parser.add_argument("-e", type=size_of, default="16M", help="largest size")
    parser.add_argument(
        "--iterations", type=positive, help="of osu_allreduce at each size; left out: its own number"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, help="a new folder")
    options = parser.parse_args(argv)
    if options.osu is None and options.nccl_tests is None:
        parser.error("give --osu DIR, --nccl-tests DIR or both")
    for name in ("osu", "nccl_tests"):
        folder = getattr(options, name)
        if folder is not None and not folder.is_dir():
            parser.error(f"--{name.replace('_', '-')} {folder}: no such folder")
    if options.b > options.e:
        parser.error(f"-b {options.b} is larger than -e {options.e}")
    if options.osu is not None and options.ranks < 2:
        parser.error("--osu needs --ranks of at least 2")
    if options.nccl_tests is not None and gpus() < options.ranks:
        parser.error(f"--nccl-tests needs a GPU for each of {options.ranks} rank(s); nvidia-smi lists {gpus()}")
    require_new(parser, options.out)
    require_programs(parser, options.programs, "bench_allreduce")
    return options


def gpus() -> int:
    if shutil.which("nvidia-smi") is None:
        return 0
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False)
    return sum(line.startswith("GPU ") for line in listed.stdout.splitlines())


# What the tools print.


def osu_times(text: str) -> Times:
    """osu_allreduce, with or without -f: the mean over ranks behind each size."""
    times: Times = {}
    in_table = False
    for line in text.splitlines():
        words = line.split()
        if line.startswith("#"):
            in_table = line.split(None, 2)[1:2] == ["Size"] and "Avg Latency(us)" in line
        elif in_table and len(words) > 1 and words[0].isdigit():
            times[OUT_OF_PLACE, int(words[0])] = number(words[1], line)
    if not times:
        raise Failed("no line '# Size  Avg Latency(us)' with numbers below it")
    return times


def nccl_times(text: str) -> Times:
    """all_reduce_perf: size count type redop root, then time algbw busbw #wrong out of place and in place."""
    times: Times = {}
    for line in text.splitlines():
        words = line.split()
        if line.startswith("#") or len(words) < 13 or not words[0].isdigit():
            continue
        for placement, at in ((OUT_OF_PLACE, 5), (IN_PLACE, 9)):
            if words[at + 3] not in ("0", "N/A"):
                raise Failed(f"{words[0]} bytes {placement}: {words[at + 3]} wrong elements")
            if words[at] != "N/A":
                times[placement, int(words[0])] = number(words[at], line)
    if not times:
        raise Failed("no line with a size and the times of both placements")
    return times


def our_times(text: str) -> Times:
    """bench_allreduce --format csv: the median of a case."""
    rows = list(csv.DictReader(text.splitlines()))
    times: Times = {}
    for row in rows:
        if row["status"] == "wrong":
            raise Failed(f"{row['size_bytes']} bytes {row['placement']}: {row['note']}")
        if row["status"] == "ok":
            times[row["placement"], int(row["size_bytes"])] = 1e6 * number(row["seconds_median"], row["seconds_median"])
    if not times:
        raise Failed(rows[0]["note"] if rows else "no row")
    return times


def number(word: str, line: str) -> float:
    try:
        value = float(word)
    except ValueError:
        raise Failed(f"'{word}' is no time: {line.strip()}") from None
    if not 0 < value < float("inf"):
        raise Failed(f"'{word}' is no time: {line.strip()}")
    return value


# Building.


def run_or_fail(what: str, command: list[str], folder: Path) -> None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Failed(f"{what}: {command[0]}: {error.strerror}") from None
    if done.returncode != 0:
        raise Failed(f"{what}: {command[0]} ended with {done.returncode}: {last_line(done.stderr)}")


def built_osu(source: Path, build: Path) -> Path:
    found = sorted(source.glob("**/osu_allreduce.c"))
    if not found:
        raise Failed(f"no osu_allreduce.c in {source}")
    place = found[0].parent.relative_to(source)
    for folder in (build, source):
        if (program := folder / place / "osu_allreduce").is_file():
            return program
    if not (source / "configure").is_file():
        raise Failed(f"no configure in {source}: take a release, or run autoreconf -i there")
    print(f"compare_tools: building osu_allreduce in {build}", file=sys.stderr)
    build.mkdir(parents=True, exist_ok=True)
    configure = [str(source.resolve() / "configure"), "CC=mpicc", "CXX=mpicxx"]
    run_or_fail("OSU's configure", configure, build)
    run_or_fail("building osu_allreduce", ["make", "-C", str(place), "osu_allreduce"], build)
    return build / place / "osu_allreduce"


def built_nccl_tests(source: Path, build: Path) -> Path:
    for folder in (build, source / "build"):
        if (program := folder / "all_reduce_perf").is_file():
            return program
    if not (source / "Makefile").is_file():
        raise Failed(f"no Makefile in {source}")
    print(f"compare_tools: building all_reduce_perf in {build}", file=sys.stderr)
    build.mkdir(parents=True, exist_ok=True)
    folder = str(build.resolve())
    run_or_fail("building all_reduce_perf", ["make", "MPI=1", f"MPI_HOME={mpi_home()}", f"BUILDDIR={folder}"], source)
    return build / "all_reduce_perf"


def mpi_home() -> str:
    """The folder with include and lib of the MPI behind mpicc."""
    if home := os.environ.get("MPI_HOME"):
        return home
    try:
        shown = subprocess.run(["mpicc", "--showme:incdirs"], capture_output=True, text=True, check=False)
    except OSError as error:
        raise Failed(f"mpicc: {error.strerror}") from None
    for folder in shown.stdout.split():
        if (Path(folder) / "mpi.h").is_file():
            return str(Path(folder).parent)
    raise Failed("where MPI is installed is unknown: set MPI_HOME")


# Running.


def legs_of(options: argparse.Namespace) -> list[Leg]:
    launcher = ["mpirun", "--bind-to", "core", "-np", str(options.ranks)]
    ours = [*launcher, str(options.programs / "bench_allreduce"), "--quiet", "--format", "csv", "--algorithm", "native"]
    sizes = ["-b", str(options.b), "-e", str(options.e), "-f", "2"]
    legs: list[Leg] = []
    if options.osu is not None:
        program = built_osu(options.osu, options.build / "osu")
        limit = max(512 << 20, 8 * options.e)
        theirs = [*launcher, str(program), "-T", "mpi_float", "-m", f"{options.b}:{options.e}", "-M", str(limit), "-f"]
        if options.iterations:
            theirs += ["-i", str(options.iterations)]
        legs.append(Leg("osu_allreduce", False, theirs, osu_times))
        command = [*ours, "--transport", "mpi", "--memory", "host", "--placement", OUT_OF_PLACE, *sizes]
        legs.append(Leg("osu_allreduce", True, command, our_times))
    if options.nccl_tests is not None:
        program = built_nccl_tests(options.nccl_tests, options.build / "nccl-tests")
        theirs = [*launcher, str(program), "-g", "1", "-d", "float", "-o", "sum", *sizes]
        legs.append(Leg("all_reduce_perf", False, theirs, nccl_times))
        command = [*ours, "--transport", "nccl", "--mode", "pipelined", "-n", "20", "-w", "1", "--placement", "both", *sizes]
        legs.append(Leg("all_reduce_perf", True, command, our_times))
    return legs


def run(leg: Leg, log: Path) -> Times:
    environment = {**MPI_AS_ROOT, **os.environ}
    try:
        done = subprocess.run(leg.command, env=environment, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Failed(f"{leg.command[0]}: {error.strerror}") from None
    log.write_text(done.stdout, encoding="utf-8")
    if done.returncode != 0:
        raise Failed(f"exit {done.returncode}: {last_line(done.stderr)}")
    return leg.read(done.stdout)


# Comparing.


def summary_rows(legs: list[Leg], starts: list[dict[Leg, Times]], ranks: int) -> list[dict[str, str]]:
    """A row for each of our legs, placement and size that both have: ratios within starts that had both."""
    rows = []
    for ours in (leg for leg in legs if leg.ours):
        theirs = next(leg for leg in legs if leg.tool == ours.tool and not leg.ours)
        both = [(start[theirs], start[ours]) for start in starts if theirs in start and ours in start]
        for placement, size in sorted({key for a, b in both for key in a.keys() & b.keys()}):
            pairs = [(a[placement, size], b[placement, size]) for a, b in both
                     if (placement, size) in a and (placement, size) in b]  # fmt: skip
            ratios = [a / b for a, b in pairs]
            rows.append(
                {
                    "tool": ours.tool,
                    "placement": placement,
                    "size_bytes": str(size),
                    "ranks": str(ranks),
                    "starts": str(len(pairs)),
                    "theirs_us": f"{statistics.median(a for a, _ in pairs):.2f}",
                    "ours_us": f"{statistics.median(b for _, b in pairs):.2f}",
                    "ratio": f"{statistics.median(ratios):.3f}",
                    "ratio_low": f"{min(ratios):.3f}",
                    "ratio_high": f"{max(ratios):.3f}",
                }
            )
    return rows


def print_table(rows: list[dict[str, str]]) -> None:
    widths = {"tool": 15, "placement": 12, "size_bytes": 10, "theirs_us": 12, "ours_us": 12}
    print(*(name.rjust(width) for name, width in widths.items()), "  theirs/ours, median [range]")
    for row in rows:
        cells = (row[name].rjust(width) for name, width in widths.items())
        print(*cells, f"  {row['ratio']} [{row['ratio_low']}, {row['ratio_high']}]")
    apart = [row for row in rows if abs(float(row["ratio"]) - 1) > WITHIN]
    print(f"# {len(rows) - len(apart)} of {len(rows)} medians agree within {WITHIN:.0%}")


def main(argv: list[str]) -> int:
    options = arguments_of(argv)
    try:
        legs = legs_of(options)
    except Failed as error:
        print(f"compare_tools: {error}", file=sys.stderr)
        return 2
    options.out.mkdir(parents=True)
    shuffled = random.Random(options.seed)
    starts: list[dict[Leg, Times]] = []
    failed = 0
    with open(options.out / "samples.csv", "w", newline="", encoding="utf-8") as file:
        samples = csv.writer(file, lineterminator="\n")
        samples.writerow(["start", "tool", "ours", "placement", "size_bytes", "microseconds"])
        for number_of_start in range(1, options.starts + 1):
            start: dict[Leg, Times] = {}
            for place in shuffled.sample(range(len(legs)), len(legs)):
                leg = legs[place]
                print(f"[{number_of_start}/{options.starts}] {leg.name()}", file=sys.stderr)
                try:
                    start[leg] = run(leg, options.out / f"{number_of_start:03d}-{place}.txt")
                except Failed as error:
                    failed += 1
                    print(f"compare_tools: {leg.name()}: {error}", file=sys.stderr)
                    continue
                for (placement, size), time in sorted(start[leg].items()):
                    samples.writerow([number_of_start, leg.tool, int(leg.ours), placement, size, time])
                file.flush()
            starts.append(start)
    rows = summary_rows(legs, starts, options.ranks)
    if not rows:
        print("compare_tools: no start had both tools", file=sys.stderr)
        return 3
    write_rows(options.out / "compare_tools.csv", COLUMNS, rows)
    print_table(rows)
    return 3 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
