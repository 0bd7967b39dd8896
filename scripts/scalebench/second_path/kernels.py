# SPDX-License-Identifier: Apache-2.0
"""kernels.csv, which of all runs only imports have."""
from __future__ import annotations

from statistics import median

from scalebench.second_path.collectives import of_gpus, statistics_of
from scalebench.second_path.columns import COPIED
from scalebench.second_path.numbers import middle
from scalebench.second_path.run import Run, case_of, number


def check_kernels(run: Run) -> None:
    table = "kernels.csv"
    for row in run.measured(table):
        launches = run.launches_of(table, case_of(row))
        run.expect_copy(table, row, next(iter(launches.values())), COPIED[table])
        seconds = median(statistics_of(run, table, row, {one: run.seconds[one, row["case_id"], "", ""] for one in launches}))
        for column, of in (("gb_per_s", "bytes"), ("gflop_per_s", "flops")):
            amount = number(row[of])
            run.expect(table, row, column, amount / seconds / 1e9 if amount else None)
        run.expect(table, row, "enqueue_seconds", middle(run.of_launches(table, case_of(row), "enqueue_seconds")))
        of_gpus(run, table, row)
