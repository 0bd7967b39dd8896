# SPDX-License-Identifier: Apache-2.0
# A ReFrame check (4.x) of bench_allreduce: every sum is right, and no size is slower than in an earlier run.
#     reframe -C settings.py --system scalebench:local -c scalebench_check.py -r -S ranks=4 -S reference_csv=RUN/allreduce.csv
# RUN is a folder of `bench_allreduce --out RUN` on the same machine, or of a study. Without it nothing is compared.
import csv
import os

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import run_after, run_before, sanity_function, variable

STARTED_IN = os.getcwd()  # a test runs in its stage folder, and paths are typed here
HOW = ("memory", "dtype", "op", "placement", "mode", "cache", "register")
CASE = ("algorithm", "transport", *HOW, "size_bytes", "ranks", "nodes")


def rows_in(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def case_of(row):
    return tuple(row.get(name, "") for name in CASE)


def names_of(rows):
    """By case: algorithm, transport and size, and what of HOW differs between the rows."""
    differ = [name for name in HOW if len({row.get(name, "") for row in rows}) > 1]
    return {case_of(row): "_".join((row["algorithm"], row["transport"], *(row[name] or "none" for name in differ), row["size_bytes"], "bytes"))
            for row in rows}  # fmt: skip


@rfm.simple_test
class scalebench_allreduce(rfm.RunOnlyRegressionTest):
    descr = "allreduce: sums and bus bandwidth"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "bench_allreduce"
    ranks = variable(int, value=2)
    ranks_per_node = variable(int, value=0)  # 0: as the launcher places them
    words = variable(str, value="--algorithm native,ring --transport mpi -b 8 -e 4MiB -f 8")
    reference_csv = variable(str, value="")
    tolerance = variable(float, value=0.15)  # share of the bus bandwidth that a size may lose

    @run_after("init")
    def place(self):
        self.num_tasks = self.ranks
        if self.ranks_per_node:
            self.num_tasks_per_node = self.ranks_per_node
        self.executable_opts = [*self.words.split(), "--format", "csv", "--quiet"]

    def rows(self):
        return rows_in(os.path.join(self.stagedir, self.stdout.evaluate()))

    def known(self):
        """Of the earlier run, by case."""
        if not self.reference_csv:
            return {}
        return {case_of(row): row for row in rows_in(os.path.join(STARTED_IN, self.reference_csv)) if row["status"] == "ok"}

    @sanity_function
    def sums_are_right(self):
        rows = self.rows()
        names, known = names_of(rows), self.known()
        bad = [f"{names[case_of(row)]}: {row['status']} {row['note']}" for row in rows if row["status"] != "ok" or "not checked" in row["note"]]
        found = [row for row in rows if case_of(row) in known]
        return sn.all([
            sn.assert_true(rows, "nothing was measured"),
            sn.assert_false(bad, "; ".join(bad)),
            sn.assert_true(found or not self.reference_csv, f"{self.reference_csv} has none of these cases"),
        ])

    @run_before("performance")
    def compare(self):
        rows, known = self.rows(), self.known()
        names, reference = names_of(rows), {}
        for row in rows:
            name, before = names[case_of(row)], known.get(case_of(row))
            self.perf_variables[name] = sn.make_performance_function(sn.defer(float(row["busbw_gb_per_s"])), "GB/s")
            if before:
                reference[name] = (float(before["busbw_gb_per_s"]), -self.tolerance, None, "GB/s")
        if reference:
            self.reference = {"*": reference}
