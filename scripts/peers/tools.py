# SPDX-License-Identifier: Apache-2.0
# The same allreduce measured by another tool and by this suite: osu_allreduce of the OSU micro-benchmarks over MPI,
# all_reduce_perf of nccl-tests over NCCL. docs/allreduce.md says how they are built.
from __future__ import annotations

import argparse
import os
import re
from functools import partial
from pathlib import Path

from peers import harness
from peers.card import cards_of_driver
from peers.harness import Failed, Leg, Ratio, Rows, Times, printed_rows

WHAT = "the same allreduce measured by OSU's or NVIDIA's program and by bench_allreduce"
OURS = ["bench_allreduce"]
OSU, NCCL = "osu_allreduce", "all_reduce_perf"
OUT_OF_PLACE, IN_PLACE = "out_of_place", "in_place"
WITHIN = 0.10


def size_of(word: str) -> int:
    """4096, 4K, 16M: powers of 1024, as both tools take them."""
    size = re.fullmatch(r"([1-9][0-9]*)([KMG]?)", word.upper())
    if size is None:
        raise argparse.ArgumentTypeError(f"'{word}' is no size; write 4096, 4K or 16M")
    return int(size[1]) << 10 * " KMG".index(size[2] or " ")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--osu", type=Path, help="osu_allreduce of version 7.0 or later, or a folder above it")
    parser.add_argument("--nccl-tests", type=Path, help="all_reduce_perf, or a folder above it; needs a GPU a rank")
    parser.add_argument("-b", type=size_of, default="4K", help="smallest size")
    parser.add_argument("-e", type=size_of, default="16M", help="largest size")
    parser.add_argument("--iterations", help="of osu_allreduce at each size; left out: its own number")


# What the tools print, and what ours does.


def seconds_of(microseconds: str, line: str) -> float:
    try:
        value = float(microseconds)
    except ValueError:
        value = 0
    if not 0 < value < float("inf"):
        raise Failed(f"'{microseconds}' is no time: {line.strip()}")
    return value * 1e-6


def osu_times(text: str, folder: Path) -> Times:
    """osu_allreduce prints the mean over ranks behind each size, with or without -f."""
    times: dict[tuple[str, str], float] = {}
    in_table = False
    for line in text.splitlines():
        words = line.split()
        if line.startswith("#"):
            in_table = words[1:2] == ["Size"] and "Avg Latency(us)" in line
        elif in_table and len(words) > 1 and words[0].isdigit():
            times[f"{OUT_OF_PLACE} {words[0]}", OSU] = seconds_of(words[1], line)
    if not times:
        raise Failed("no line '# Size  Avg Latency(us)' with numbers below it")
    return Times(times)


def nccl_times(text: str, folder: Path) -> Times:
    """all_reduce_perf prints size count type redop root, then time algbw busbw #wrong out of place and in place."""
    times: dict[tuple[str, str], float] = {}
    for line in text.splitlines():
        words = line.split()
        if line.startswith("#") or len(words) < 13 or not words[0].isdigit():
            continue
        for placement, at in ((OUT_OF_PLACE, 5), (IN_PLACE, 9)):
            if words[at + 3] not in ("0", "N/A"):
                raise Failed(f"{words[0]} bytes {placement}: {words[at + 3]} wrong elements")
            if words[at] != "N/A":
                times[f"{placement} {words[0]}", NCCL] = seconds_of(words[at], line)
    if not times:
        raise Failed("no line with a size and the times of both placements")
    return Times(times)


def ours_beside(tool: str) -> str:
    return f"bench_allreduce beside {tool}"


def our_times(tool: str, text: str, folder: Path) -> Times:
    times: dict[tuple[str, str], float] = {}
    rows = printed_rows(text)
    for row in rows:
        if row["status"] == "wrong":
            raise Failed(f"{row['size_bytes']} bytes {row['placement']}: {row['note']}")
        if row["status"] == "ok":
            times[f"{row['placement']} {row['size_bytes']}", ours_beside(tool)] = float(row["seconds_median"])
    if not times:
        raise Failed(rows[0]["note"] if rows else "no row")
    return Times(times)


# The legs.


def built(path: Path, name: str) -> str:
    found = [path] if path.is_file() else sorted(one for one in path.glob(f"**/{name}") if one.is_file())
    if not found:
        raise Failed(f"no {name} in {path}: build it as docs/allreduce.md says")
    return os.path.relpath(found[0])


def legs_of(options: argparse.Namespace) -> tuple[list[list[Leg]], list[Ratio]]:
    launcher = ["mpirun", "--bind-to", "core", "-np", str(options.ranks)]
    ours = [*launcher, str(options.programs / "bench_allreduce"), "--quiet", "--format", "csv", "--algorithm", "native"]
    sizes = ["-b", str(options.b), "-e", str(options.e), "-f", "2"]
    pairs = []
    if options.b > options.e:
        raise Failed(f"-b {options.b} is larger than -e {options.e}")
    if options.osu is not None:
        if options.ranks < 2:
            raise Failed("--osu needs --ranks of at least 2")
        limit = max(512 << 20, 8 * options.e)
        theirs = [built(options.osu, OSU), "-T", "mpi_float", "-m", f"{options.b}:{options.e}", "-M", str(limit), "-f"]
        theirs += ["-i", options.iterations] if options.iterations else []
        pairs.append((OSU, theirs, osu_times, ["--transport", "mpi", "--memory", "host", "--placement", OUT_OF_PLACE]))
    if options.nccl_tests is not None:
        if (gpus := len(cards_of_driver()[0])) < options.ranks:
            raise Failed(f"--nccl-tests needs a GPU for each of {options.ranks} rank(s); nvidia-smi lists {gpus}")
        theirs = [built(options.nccl_tests, NCCL), "-g", "1", "-d", "float", "-o", "sum", *sizes]
        beside = "--transport nccl --mode pipelined -n 20 -w 1 --placement both".split()
        pairs.append((NCCL, theirs, nccl_times, beside))
    if not pairs:
        raise Failed("give --osu, --nccl-tests or both")
    groups = []
    for tool, theirs, read, beside in pairs:
        our_leg = Leg(ours_beside(tool), [*ours, *beside, *sizes], partial(our_times, tool))
        groups.append([Leg(tool, [*launcher, *theirs], read), our_leg])
    return groups, [Ratio(tool, [tool], [ours_beside(tool)]) for tool, *_ in pairs]


def print_table(rows: Rows) -> None:
    harness.print_table(rows)
    near = [row for row in rows if abs(float(row["ratio"]) - 1) <= WITHIN]
    print(f"# {len(near)} of {len(rows)} ratios agree within {WITHIN:.0%}")
