# SPDX-License-Identifier: Apache-2.0
"""A run's numbers once more, from samples.csv and what its launches wrote, with nothing but Python's
standard library: it shares no code with what published them. scalebench verify calls it.

  python3 -m scalebench recompute RUN...   # a study's run, an import, one benchmark's --out, or the folder
                                           # of scalebench compare --out

Every statistic of each launch, and every cell of every table, also those that should be empty, and
every row that should be there. Says for each run how many of its numbers it made again, each that
differs by more than 1e-9 of it, and which have no second path and why (second_path/columns.py). A
column that is in neither is a difference. Exit: 0 all equal, 1 some differ, 2 no number was made
again: no run, one that cannot be read, or nothing in it.
"""
from __future__ import annotations

import sys
import zlib
from pathlib import Path

from scalebench.second_path.answers import check_scaling
from scalebench.second_path.collectives import check_allreduce, check_native
from scalebench.second_path.comparison import check_comparison
from scalebench.second_path.fits import check_fits
from scalebench.second_path.launches import check_launches
from scalebench.second_path.run import Run
from scalebench.second_path.training import check_epochs, check_throughput


def recompute(folder: Path) -> Run:
    return checked(Run(folder))


def checked(run: Run) -> Run:
    check_launches(run)
    if run.published:
        _check_tables(run)
    run.finish()
    return run


def _check_tables(run: Run) -> None:
    seconds = check_allreduce(run)
    check_native(run)
    check_throughput(run)
    legs = check_epochs(run)
    check_scaling(run, legs)
    if not run.imported:
        check_fits(run, seconds)


def say(run: Run) -> int:
    """Prints what was found; the exit code."""
    for line in run.differences:
        print(line)
    for reason, columns in sorted(run.left.items()):
        print(f"no second path: {', '.join(sorted(columns))} ({reason})")
    if not run.numbers + run.numbers_of_launches + len(run.differences):
        print(f"nothing to recompute in {run.folder}: no launch has a time")
        return 2
    tables = f"{run.cells} in tables: {run.numbers} made again and {run.copied} parameters found in launches"
    if not run.published:
        tables = "a benchmark by itself has no other tables" if run.alone else "the run has not ended: no table is published yet"
    print(f"{run.numbers_of_launches} numbers of launches recomputed from {run.samples} samples; {tables}; "
          f"{len(run.differences)} differ: {run.folder}")  # fmt: skip
    return 1 if run.differences else 0


def main(folder: list[Path]) -> int:
    codes = set()
    for one in folder:
        if (one / "compare.json").exists():
            numbers, differences = check_comparison(one)
            print("\n".join([*differences, f"{numbers} numbers recomputed; {len(differences)} differ: {one}"]))
            codes.add(1 if differences else 0)
            continue
        if not (one / "manifest.json").exists():
            print(f"recompute: {one}: no manifest.json: no run, no import, and no benchmark's --out", file=sys.stderr)
            return 2
        try:
            codes.add(say(recompute(one)))
        except (ArithmeticError, EOFError, LookupError, OSError, ValueError, zlib.error) as error:  # damaged
            print(f"recompute: {one}: cannot be read: {type(error).__name__}: {error}", file=sys.stderr)
            codes.add(2)
    return 1 if 1 in codes else max(codes)
