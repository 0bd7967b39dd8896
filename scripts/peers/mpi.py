# SPDX-License-Identifier: Apache-2.0
# MPI_Allreduce under every setting that might make it faster, and of another MPI, stands beside this suite's shared
# memory and ring. bench_allreduce measures both in one process and in turns, so a leg is a setting and has the times of
# both sides.
from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from peers import harness
from peers.harness import FOLDER, SEED, Failed, Leg, Ratio, Rows, Times, read_rows, require_known, started_as, words_of
from peers.processes import say

WHAT = "shared_memory and ring against MPI_Allreduce in its best setting"
OURS = ["bench_allreduce"]
TUNED = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}
VADER_NONE = {"OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
NO_FAULTS = {  # Large temporaries come from the heap again instead of from fresh pages.
    "MALLOC_MMAP_THRESHOLD_": "4294967296",
    "MALLOC_TRIM_THRESHOLD_": "4294967296",
    "MALLOC_TOP_PAD_": "268435456",
}
# The numbers are those of Open MPI's own algorithms.
ALGORITHMS = {2: "nonoverlapping", 3: "recursive doubling", 4: "ring", 5: "segmented ring", 6: "rabenseifner"}
INSTALLED, RING, MPICH = "as installed", "tuned 4 ring", "MPICH"
OPEN_MPI = {
    INSTALLED: {},
    "coll sm": {"OMPI_MCA_coll_sm_priority": "100"},
    "vader none": VADER_NONE,
    "malloc": NO_FAULTS,
    "vader none, malloc": VADER_NONE | NO_FAULTS,
} | {
    f"tuned {number} {name}": TUNED | {"OMPI_MCA_coll_tuned_allreduce_algorithm": str(number)}
    for number, name in ALGORITHMS.items()
}
MPICH_LAUNCHER = ["mpiexec.mpich", "-bind-to", "core"]
BOUND, OUR_RING = "memory bound", "our ring over MPI"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--mpich", type=Path, help="bin folder of a build with -DMPI_C_COMPILER=mpicc.mpich")
    parser.add_argument("--launcher", type=words_of, default="mpirun --bind-to core", help="of Open MPI, with options")
    parser.add_argument("--algorithms", default="one_shot,direct", help="over shared_memory; the fastest counts")
    known = "; ".join(OPEN_MPI)
    parser.add_argument("--settings", default=known, help=f"separated by semicolons, of: {known}")
    parser.add_argument("-b", default="16")
    parser.add_argument("-e", default="64M")
    parser.add_argument("-f", default="4")
    parser.add_argument("--cache", default="warm")
    parser.add_argument("--placement", default="in_place", choices=("in_place", "out_of_place"))
    parser.add_argument("--max-seconds", default="0.15")


def beside(way: str, setting: str) -> str:
    return f"{way} beside {setting}"


def over(transport: str, algorithm: str, setting: str) -> str:
    return beside(f"{algorithm} over {transport}", setting)


def times_of(setting: str, rows: Rows) -> Times:
    """A size has MPI's time under the name of its setting, ours, and what memory alone would take."""
    times: dict[tuple[str, str], float] = {}
    for row in rows:
        size, seconds = row["size_bytes"], row["seconds_median"]
        if row["status"] != "ok":
            continue
        way = row["transport"], row["algorithm"]
        times[size, setting if way == ("mpi", "native") else over(*way, setting)] = float(seconds)
        if way[0] != "mpi" and (bound := row["bound_busbw_gb_per_s"]):
            times[size, beside(BOUND, setting)] = float(seconds) * float(row["busbw_gb_per_s"]) / float(bound)
    if not times:
        raise Failed(rows[0]["note"] if rows else "no row")
    return Times(times)


def leg_of(options: argparse.Namespace, setting: str, launcher: list[str], programs: Path) -> Leg:
    if not (programs / "bench_allreduce").exists():
        raise Failed(f"no bench_allreduce in {programs}: build first")
    if shutil.which(name := "".join(launcher[:1])) is None:
        raise Failed(f"{name}: no such launcher")
    algorithms = f"native,{options.algorithms}" + (",ring" if setting == RING else "")
    command = [
        *launcher, "-np", str(options.ranks), started_as(programs / "bench_allreduce"),
        "--transport", "mpi,shared_memory", "--algorithm", algorithms,
        "-b", options.b, "-e", options.e, "-f", options.f, "--cache", options.cache, "--placement", options.placement,
        "--max-seconds", options.max_seconds, "--order", "shuffled", "--seed", SEED, "--quiet", "--out", FOLDER,
    ]  # fmt: skip
    read = lambda _, folder: times_of(setting, read_rows(folder / "allreduce.csv"))  # noqa: E731
    return Leg(setting, command, read, OPEN_MPI.get(setting, {}))


def legs_of(options: argparse.Namespace) -> tuple[list[list[Leg]], list[Ratio]]:
    settings = list(dict.fromkeys([INSTALLED, *(word.strip() for word in options.settings.split(";"))]))
    require_known("setting", settings, OPEN_MPI, "; ")
    legs = [leg_of(options, setting, options.launcher, options.programs) for setting in settings]
    if options.mpich:
        legs.append(leg_of(options, MPICH, MPICH_LAUNCHER, options.mpich))

    def ours(setting: str) -> list[str]:
        return [over("shared_memory", algorithm, setting) for algorithm in options.algorithms.split(",")]

    ratios = [Ratio(leg.name, [leg.name], ours(leg.name)) for leg in legs]
    ratios.append(Ratio(BOUND, [beside(BOUND, INSTALLED)], ours(INSTALLED)))
    ratios.append(Ratio(OUR_RING, [RING], [over("mpi", "ring", RING)]))
    return [legs], ratios


def print_table(rows: Rows) -> None:
    """The table has of each size MPI as installed, the setting closest to ours, and what is no setting."""
    told = []
    for case in dict.fromkeys(row["case"] for row in rows):
        settings = [row for row in rows if row["case"] == case and row["against"] not in (BOUND, OUR_RING)]
        closest = min(settings, key=lambda row: float(row["ratio"]), default=None)
        told += [row for row in rows if row["case"] == case
                 and (row["against"] in (INSTALLED, BOUND, OUR_RING) or row is closest)]  # fmt: skip
    harness.print_table(told)
    say("# of each size as installed and the setting that is closest to ours; comparison.csv has all")
