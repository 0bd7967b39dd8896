# SPDX-License-Identifier: Apache-2.0
# scripts/kernel_times: a program under kernels/cuda/kernel_trace.cpp, and what its lines add up to.
from __future__ import annotations

import argparse
import csv
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LIBRARY = "libscalebench_kernel_trace.so"
# Of a build beside the scripts, and of a bundle that they lie in.
PLACES = (ROOT / "build/release/lib" / LIBRARY, ROOT.parent.parent / "lib" / LIBRARY)
COLUMNS = "kernel launches seconds share".split()
SHOWN = 15  # lines on stdout
NOTHING = 4


@dataclass(frozen=True)
class Launch:
    begin: int  # ns
    end: int
    node: int  # of a CUDA graph; 0: launched by itself
    kernel: str


@dataclass(frozen=True)
class Kernel:
    name: str
    launches: int  # of a step, or of all
    seconds: float


def launches_in(path: Path) -> list[Launch]:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    cells = [line.split("\t", 3) for line in lines]
    return [Launch(int(begin), int(end), int(node), name) for begin, end, node, name in cells]


def kernels_of(launches: list[Launch]) -> tuple[list[Kernel], int]:
    """The longest first, and how many replays they are of: of the graph that was replayed most a node counts as the median of
    its replays, and what else ran is left out. 0: of no graph, so all that ran."""
    nodes: dict[int, list[Launch]] = defaultdict(list)
    for launch in launches:
        nodes[launch.node].append(launch)
    alone = nodes.pop(0, [])
    replays = max(map(len, nodes.values()), default=0)
    seconds: dict[str, float] = defaultdict(float)
    counts: dict[str, int] = defaultdict(int)
    if replays > 1:
        for node in nodes.values():
            if len(node) == replays:
                seconds[node[0].kernel] += statistics.median(launch.end - launch.begin for launch in node) / 1e9
                counts[node[0].kernel] += 1
    else:
        replays = 0
        for launch in [*alone, *(launch for node in nodes.values() for launch in node)]:
            seconds[launch.kernel] += (launch.end - launch.begin) / 1e9
            counts[launch.kernel] += 1
    return in_order([Kernel(name, counts[name], seconds[name]) for name in seconds]), replays


def kernels_of_all(processes: list[list[Launch]]) -> tuple[list[Kernel], int]:
    """Of all processes together, as ranks are. Where one replays a graph, those that replay none are left out."""
    apart = [kernels_of(launches) for launches in processes]
    most = max((replays for _, replays in apart), default=0)
    seconds: dict[str, float] = defaultdict(float)
    counts: dict[str, int] = defaultdict(int)
    for kernels, replays in apart:
        for kernel in kernels if replays or not most else []:
            seconds[kernel.name] += kernel.seconds
            counts[kernel.name] += kernel.launches
    return in_order([Kernel(name, counts[name], seconds[name]) for name in seconds]), most


def in_order(kernels: list[Kernel]) -> list[Kernel]:
    return sorted(kernels, key=lambda kernel: (-kernel.seconds, kernel.name))


def write(path: Path, kernels: list[Kernel]) -> None:
    total = sum(kernel.seconds for kernel in kernels)
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(COLUMNS)
        rows.writerows(
            [kernel.name, kernel.launches, f"{kernel.seconds:.9f}", f"{kernel.seconds / total:.6f}"] for kernel in kernels
        )


def short_name(kernel: str) -> str:
    """Of a C++ function: without namespaces, return type and parameters. Others are as they are."""
    bare = re.sub(r"\(anonymous namespace\)::|\b\w+::|^void ", "", kernel)
    return re.sub(r" ?>\(.*", ">", bare)


def show(kernels: list[Kernel], replays: int, processes: int) -> None:
    total = sum(kernel.seconds for kernel in kernels)
    of = f"a step, {replays} of them" if replays else "all launches"
    of += f", {processes} processes together" if processes > 1 else ""
    print(f"# {1e3 * total:.3f} ms in {sum(kernel.launches for kernel in kernels)} kernels, copies and fills: {of}")
    print(f"{'share':>6} {'ms':>9} {'launches':>9}  kernel")
    for kernel in kernels[:SHOWN]:
        print(f"{kernel.seconds / total:6.1%} {1e3 * kernel.seconds:9.3f} {kernel.launches:9}  {short_name(kernel.name)[:110]}")
    if len(kernels) > SHOWN:
        print(f"{len(kernels) - SHOWN} more in kernels.csv")


def arguments_of(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/kernel_times", description="where the time of a program goes on a card")
    parser.add_argument("--library", type=Path, dest="trace_with", help=f"{LIBRARY}; default: of the build or the bundle beside this script")
    parser.add_argument("--out", type=Path, required=True, help="a new folder, for kernels.csv")
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="-- PROGRAM ARG...")
    options = parser.parse_args(argv)
    options.program = options.program[1:] if options.program[:1] == ["--"] else options.program
    if not options.program:
        parser.error("no program; expected -- PROGRAM ARG...")
    if options.trace_with is None:
        options.trace_with = next((place for place in PLACES if place.exists()), PLACES[0])
    if not options.trace_with.exists():
        parser.error(f"{options.trace_with}: not there; it is built where CUDA 13 or newer has CUPTI")
    if options.out.exists():
        parser.error(f"--out {options.out}: is already there")
    return options


def main(argv: list[str]) -> int:
    options = arguments_of(argv)
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace"
        watched = {"CUDA_INJECTION64_PATH": str(options.trace_with.resolve()), "SCALEBENCH_KERNEL_TRACE": str(trace)}
        try:
            code = subprocess.run(options.program, env={**os.environ, **watched}, check=False).returncode
        except OSError as error:
            print(f"kernel_times: {options.program[0]}: {error.strerror}", file=sys.stderr)
            return 2
        processes = [launches for path in sorted(Path(folder).glob("trace.*")) if (launches := launches_in(path))]
        kernels, replays = kernels_of_all(processes)
    if not kernels:
        if code == 0:  # else the program has said why
            print("kernel_times: nothing ran on a card", file=sys.stderr)
        return code or NOTHING
    options.out.mkdir(parents=True)
    write(options.out / "kernels.csv", kernels)
    show(kernels, replays, len(processes))
    return code
