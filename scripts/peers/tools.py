# SPDX-License-Identifier: Apache-2.0
# The same allreduce is measured by another tool and by this suite: osu_allreduce of the OSU micro-benchmarks over MPI,
# all_reduce_perf of nccl-tests over NCCL. docs/allreduce.md says how they are built, `scalebench import`
# reads what they print.
from __future__ import annotations

import argparse
import re
import subprocess
from functools import partial
from pathlib import Path

from peers import harness
from peers.card import cards_of_driver
from peers.harness import Failed, Leg, Ratio, Rows, Times, positive, printed_rows, read_rows, started_as
from peers.processes import last_said, say

WHAT = "the same allreduce measured by OSU's or NVIDIA's program and by bench_allreduce"
OURS = ["bench_allreduce", "scalebench"]
OSU, NCCL = "osu_allreduce", "all_reduce_perf"
WITHIN = 0.10


def size_of(word: str) -> int:
    """4096, 4K and 16M are sizes, in powers of 1024 as both tools take them."""
    size = re.fullmatch(r"([1-9][0-9]*)([KMG]?)", word.upper())
    if size is None:
        raise argparse.ArgumentTypeError(f"'{word}' is no size; write 4096, 4K or 16M")
    return int(size[1]) << 10 * " KMG".index(size[2] or " ")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--osu", type=Path, help="osu_allreduce of version 7.0 or later, or a folder above it")
    parser.add_argument("--nccl-tests", type=Path, help="all_reduce_perf, or a folder above it; needs a GPU a rank")
    parser.add_argument("-b", type=size_of, default="4K", help="smallest size")
    parser.add_argument("-e", type=size_of, default="16M", help="largest size")
    parser.add_argument("--iterations", type=positive, help="of osu_allreduce at each size; left out: its own number")


def times_of(way: str, rows: Rows) -> Times:
    for row in rows:
        if row["status"] == "wrong":
            raise Failed(f"{row['size_bytes']} bytes {row['placement']}: {row['note']}")
    times = {(f"{row['placement']} {row['size_bytes']}", way): float(row["seconds_median"])
             for row in rows if row["status"] == "ok"}  # fmt: skip
    if not times:
        raise Failed(rows[0]["note"] if rows else "no row")
    return Times(times)


def imported(way: str, words: list[str], text: str, folder: Path) -> Times:
    """Our own import reads the tool's times. It warns of a line that is none; where it cannot read one it says so."""
    program, kind, *more = words
    command = [program, "import", kind, f"{folder}.txt", "--quiet", "--out", str(folder), *more]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if not (rows := read_rows(folder / "allreduce.csv")):
        raise Failed(last_said(done.stderr))
    times = times_of(way, rows)._replace(note=" ".join(done.stderr.split()))
    if done.returncode:  # Sizes are missing.
        raise Failed(times.note)
    return times


def ours_beside(tool: str) -> str:
    return f"bench_allreduce beside {tool}"


def built(path: Path, name: str) -> str:
    """The uppermost counts: libtool keeps another below it, which does not start by itself."""
    found = [path] if path.is_file() else [one for one in path.glob(f"**/{name}") if one.is_file()]
    if not found:
        raise Failed(f"no {name} in {path}: build it as docs/allreduce.md says")
    return started_as(min(found, key=lambda one: (len(one.parts), one)))


def legs_of(options: argparse.Namespace) -> tuple[list[list[Leg]], list[Ratio]]:
    launcher = ["mpirun", "--bind-to", "core", "-np", str(options.ranks)]
    program = started_as(options.programs / "bench_allreduce")
    ours = [*launcher, program, "--quiet", "--format", "csv", "--algorithm", "native"]
    reader = started_as(options.programs / "scalebench")
    sizes = ["-b", str(options.b), "-e", str(options.e), "-f", "2"]
    tools: dict[str, tuple[list[str], list[str], str]] = {}  # A tool has its command, what reads it, and ours beside.
    if options.b > options.e:
        raise Failed(f"-b {options.b} is larger than -e {options.e}")
    if options.osu is not None:
        if options.ranks < 2:
            raise Failed("--osu needs --ranks of at least 2")
        limit = max(512 << 20, 8 * options.e)
        words = ["-T", "mpi_float", "-m", f"{options.b}:{options.e}", "-M", str(limit), "-f"]
        words += ["-i", str(options.iterations)] if options.iterations else []
        beside = "--transport mpi --memory host --placement out_of_place"
        tools[OSU] = ([built(options.osu, OSU), *words], [reader, "osu", "--set", f"ranks={options.ranks}"], beside)
    if options.nccl_tests is not None:
        if (gpus := len(cards_of_driver()[0])) < options.ranks:
            raise Failed(f"--nccl-tests needs a GPU for each of {options.ranks} rank(s); nvidia-smi lists {gpus}")
        words = ["-g", "1", "-d", "float", "-o", "sum", *sizes]
        beside = "--transport nccl --mode pipelined -n 20 -w 1 --placement both"
        tools[NCCL] = ([built(options.nccl_tests, NCCL), *words], [reader, "nccl-tests"], beside)
    if not tools:
        raise Failed("give --osu, --nccl-tests or both")
    groups = []
    for tool, (theirs, reads, beside) in tools.items():
        way = ours_beside(tool)
        our_leg = Leg(way, [*ours, *beside.split(), *sizes], lambda text, _, way=way: times_of(way, printed_rows(text)))
        groups.append([Leg(tool, [*launcher, *theirs], partial(imported, tool, reads)), our_leg])
    return groups, [Ratio(tool, [tool], [ours_beside(tool)]) for tool in tools]


def print_table(rows: Rows) -> None:
    harness.print_table(rows)
    near = [row for row in rows if abs(float(row["ratio"]) - 1) <= WITHIN]
    say(f"# {len(near)} of {len(rows)} ratios agree within {WITHIN:.0%}")
