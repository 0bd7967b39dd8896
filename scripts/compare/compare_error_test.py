# SPDX-License-Identifier: Apache-2.0
# What compare_error.py makes of verdicts that are known: which cells of a slowed run count, and the worst of a pair.
from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import compare_error
from view.rows import Row


def cell(family: str, verdict: str, label: str = "mirrored", ranks: int = 2) -> Row:
    return Row(family=family, verdict=verdict, label=label, ranks=str(ranks), smallest_effect="0.04")


class CompareErrorTest(unittest.TestCase):
    def test_a_pair_counts_by_its_worst_cell(self) -> None:
        same = [[cell("latency", "SAME"), cell("latency", "SLOWER", "other")], [cell("latency", "AMBIGUOUS")]]
        (row,) = compare_error.table(same, [])
        self.assertEqual((row["family"], row["cells"], row["pairs"], row["injected"]), ("latency", 2, 2, 0))
        self.assertEqual((row["SLOWER"], row["AMBIGUOUS"], row["SAME"]), (1, 1, 0))
        self.assertEqual(row["smallest_effect"], 0.04)

    def test_of_a_slowed_run_only_what_was_slowed_counts(self) -> None:
        slow = [[cell("epoch", "SLOWER"), cell("epoch", "SAME", "one_device", 1), cell("latency", "FASTER")]]
        (row,) = compare_error.table([], slow)
        self.assertEqual((row["family"], row["cells"], row["injected"], row["SLOWER"]), ("epoch", 1, 1, 1))

    def test_a_row_without_a_verdict_is_no_cell(self) -> None:
        self.assertEqual(compare_error.table([[cell("epoch", "")]], []), [])

    def test_a_step_is_that_of_the_epoch_on_two_ranks(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            cells = {"schema_version": 1, "global_batch": 128, "samples": 3840, "rank": "all"}
            rows = [cells | {"gradient_sync": "none", "ranks": 1, "seconds_median": 9.0},
                    cells | {"gradient_sync": "mirrored", "ranks": 2, "seconds_median": 1.5},
                    cells | {"gradient_sync": "mirrored", "ranks": 2, "rank": "0", "seconds_median": 1.4}]  # fmt: skip
            with open(Path(folder, "epoch.csv"), "w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
            self.assertAlmostEqual(compare_error.step_seconds(Path(folder)), 0.05)
            Path(folder, "epoch.csv").write_text("schema_version,rank\n", encoding="utf-8")
            with self.assertRaises(compare_error.Failed):
                compare_error.step_seconds(Path(folder))

    def test_slowed_programs_sleep_in_the_epochs_of_several_ranks_alone(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            programs = Path(folder, "bin")
            programs.mkdir()
            for name in ("bench_epoch", "bench_allreduce"):
                (programs / name).write_text('#!/bin/sh\necho "$0" "$@"\n', encoding="utf-8")
                (programs / name).chmod(0o755)
            slowed = compare_error.slowed(programs, Path(folder, "slowed"), 0.0025)

            def said(name: str, *words: str) -> str:
                return subprocess.run([slowed / name, *words], capture_output=True, text=True, check=True).stdout

            self.assertTrue(os.access(slowed / "bench_allreduce", os.X_OK))
            self.assertIn("--sleep-rank 1:0.002500000", said("bench_epoch", "--gradient-sync", "mirrored", "-q"))
            self.assertIn("bin/bench_epoch --gradient-sync one_device", said("bench_epoch", "--gradient-sync", "one_device"))
            self.assertNotIn("sleep", said("bench_epoch", "--gradient-sync", "one_device"))


if __name__ == "__main__":
    unittest.main()
