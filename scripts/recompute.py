#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A run's published tables once more, from samples.csv and what its launches wrote, with nothing but
Python's standard library: a second path to the numbers, which shares no code with the first.

  scripts/recompute.py RUN...        # or folders of scalebench compare --out

Every cell of every table, also those that should be empty, and every row that should be there. Says
for each run how many of its numbers it made again, each that differs by more than 1e-9 of it, and
which have no second path and why (second_path/columns.py). A column that is in neither is a
difference. Exit: 0 all equal, 1 some differ, 2 no run, or one that has
not ended or cannot be read.
"""
from __future__ import annotations

import sys
import zlib
from pathlib import Path

from second_path.answers import check_scaling
from second_path.collectives import check_allreduce, check_native
from second_path.comparison import check_comparison
from second_path.fits import check_fits
from second_path.kernels import check_kernels
from second_path.run import Run, has_ended, is_import
from second_path.training import check_epochs, check_throughput


def recompute(folder: Path) -> Run:
    return checked(Run(folder))


def checked(run: Run) -> Run:
    check_kernels(run)
    seconds = check_allreduce(run)
    check_native(run)
    check_throughput(run)
    legs = check_epochs(run)
    check_scaling(run, legs)
    if not run.imported:
        check_fits(run, seconds)
    run.finish()
    return run


def main(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help"):
        print((__doc__ or "").strip())
        return 0 if words else 2
    differ = False
    for folder in map(Path, words):
        if (folder / "compare.json").exists():
            numbers, differences = check_comparison(folder)
            print("\n".join([*differences, f"scripts/recompute.py: {numbers} numbers made again, {len(differences)} differ: {folder}"]))
            differ = differ or bool(differences)
            continue
        if not (folder / "plan.json").exists() and not is_import(folder):
            print(f"recompute: {folder}: no plan.json: not the run of a study, nor an import", file=sys.stderr)
            return 2
        if not has_ended(folder):
            print(f"recompute: {folder}: the run has not ended: nothing is published yet", file=sys.stderr)
            return 2
        try:
            run = recompute(folder)
        except (EOFError, OSError, zlib.error) as error:  # a damaged .gz
            print(f"recompute: {folder}: {error}", file=sys.stderr)
            return 2
        for line in run.differences:
            print(line)
        for reason, columns in sorted(run.left.items()):
            print(f"no second path: {', '.join(sorted(columns))} ({reason})")
        print(f"scripts/recompute.py: {run.cells} numbers: {run.numbers} made again and {run.copied} parameters found "
              f"in launches, {len(run.differences)} differ: {folder}")
        differ = differ or bool(run.differences)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
