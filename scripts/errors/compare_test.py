# SPDX-License-Identifier: Apache-2.0
# What errors/compare.py makes of verdicts that are known: which cells of a slowed run count, and when it was wrong too often.
from __future__ import annotations

import argparse
import csv
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from errors import compare
from view.rows import Row


def cell(family: str, verdict: str, label: str = "one_device") -> Row:
    return Row(family=family, verdict=verdict, label=label, smallest_effect="0.04")


class CompareErrorTest(unittest.TestCase):
    def test_cells_are_counted_by_verdict_over_all_pairs(self) -> None:
        same = [[cell("latency", "SAME"), cell("latency", "SLOWER", "other")], [cell("latency", "AMBIGUOUS")], [cell("epoch", "SAME")]]
        epoch, latency = compare.table(same, [])
        self.assertEqual((latency["family"], latency["cells"], latency["pairs"], latency["injected"]), ("latency", 2, 2, 0))
        self.assertEqual((latency["SLOWER"], latency["AMBIGUOUS"], latency["SAME"]), (1, 1, 1))
        self.assertEqual(latency["smallest_effect"], 0.04)
        self.assertEqual((epoch["family"], epoch["pairs"], epoch["SAME"]), ("epoch", 1, 1))

    def test_a_slowed_run_has_rows_of_its_own(self) -> None:
        (row,) = compare.table([], [[cell("epoch", "SLOWER"), cell("epoch", "AMBIGUOUS", "none")]])
        self.assertEqual((row["injected"], row["cells"], row["SLOWER"], row["AMBIGUOUS"]), (1, 2, 1, 1))

    def test_runs_one_after_the_other_are_of_both_kinds(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for name in ("scalebench", "bench_epoch", "bench_allreduce"):
                (Path(folder) / name).touch(mode=0o755)
            script = Path(compare.__file__).resolve().parents[1] / "error_rates"
            done = subprocess.run([sys.executable, str(script), "compare", folder, "--kinds", "same", "--programs", folder],
                                  capture_output=True, text=True, check=False)  # fmt: skip
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("add --turns", done.stderr)

    def test_a_slowed_program_is_found_whatever_its_folder_is_called(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            programs = Path(folder) / "it's my $bin"
            programs.mkdir()
            for name in ("bench_epoch", "bench_allreduce"):
                (programs / name).write_text('#!/bin/sh\necho "$@"\n', encoding="utf-8")
                (programs / name).chmod(0o755)
            slow = compare.slowed(programs, Path(folder) / "slow", 0.15, {"mirrored": 0.01})
            said = subprocess.run([str(slow / "bench_allreduce"), "-np"], capture_output=True, text=True, check=False)
        self.assertEqual((said.stdout, said.stderr), ("-np --inject slower=0.15\n", ""))

    def test_a_row_without_a_verdict_is_no_cell(self) -> None:
        self.assertEqual(compare.table([[cell("epoch", "")]], []), [])

    def test_a_run_is_compared_with_that_of_the_round_before_and_with_the_other_kind(self) -> None:
        made = {"run_of": lambda _words, _study, _programs, name: name, "programs_of": lambda *_: dict.fromkeys(compare.KINDS),
                "verdicts": lambda _words, a, b: (a, b)}  # fmt: skip
        with mock.patch.multiple(compare, **made):
            same, slow = compare.pairs_of(argparse.Namespace(programs=None, rounds=2), "epoch", random.Random(1))
        self.assertEqual(same, [("same-0", "same-1"), ("same-1", "same-2"), ("slow-1", "slow-2")])
        self.assertEqual(slow, [("same-1", "slow-1"), ("same-2", "slow-2")])

    def test_the_end_knows_false_alarms_and_what_was_not_found(self) -> None:
        quiet, found = [cell("epoch", "SAME"), cell("latency", "AMBIGUOUS")], [cell("epoch", "SLOWER"), cell("latency", "SAME")]
        text, code = compare.outcome([*[quiet] * 19, found], [*[found] * 18, *[quiet] * 2], 5)
        self.assertEqual(text, "no cell different in 19 of 20 pairs; 5 % found in 18 of 20 epochs")
        self.assertEqual(code, 0)
        self.assertEqual(compare.outcome([*[quiet] * 18, found, [cell("latency", "FASTER")]], [found], 5)[1], 1)
        self.assertEqual(compare.outcome([quiet], [*[found] * 17, *[quiet] * 3], 5)[1], 1)

    def test_steps_are_those_of_epochs_on_one_rank(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            cells = {"global_batch": 128, "samples": 3840, "rank": "all"}
            rows = [cells | {"gradient_sync": "none", "ranks": 1, "seconds_median": 1.5},
                    cells | {"gradient_sync": "mirrored", "ranks": 2, "seconds_median": 9.0},
                    cells | {"gradient_sync": "none", "ranks": 1, "rank": "0", "seconds_median": 1.4}]  # fmt: skip
            with open(Path(folder, "epoch.csv"), "w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
            steps = compare.step_seconds(Path(folder))
            self.assertEqual(list(steps), ["none"])
            self.assertAlmostEqual(steps["none"], 0.05)
            Path(folder, "epoch.csv").write_text("run_id,rank\n", encoding="utf-8")
            with self.assertRaises(compare.Failed):
                compare.step_seconds(Path(folder))

    def test_slowed_programs_take_their_share_longer(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            programs = Path(folder, "bin")
            programs.mkdir()
            for name in ("bench_epoch", "bench_allreduce", "bench_kernels"):
                (programs / name).write_text('#!/bin/sh\necho "$0" "$@"\n', encoding="utf-8")
                (programs / name).chmod(0o755)
            slowed = compare.slowed(programs, Path(folder, "slowed"), 0.05, {"none": 0.05, "one_device": 0.04})

            def said(name: str, *words: str) -> str:
                return subprocess.run([slowed / name, *words], capture_output=True, text=True, check=True).stdout

            self.assertTrue(os.access(slowed / "bench_kernels", os.X_OK))
            self.assertIn("--inject sleep=0.002500000:0", said("bench_epoch", "--gradient-sync", "none", "-q"))
            self.assertIn("--inject sleep=0.002000000:0", said("bench_epoch", "--gradient-sync", "one_device", "-q"))
            self.assertNotIn("sleep", said("bench_epoch", "--gradient-sync", "mirrored", "-q"))
            self.assertIn("bin/bench_allreduce -b 8 --inject slower=0.05", said("bench_allreduce", "-b", "8"))


if __name__ == "__main__":
    unittest.main()
