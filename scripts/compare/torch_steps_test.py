# SPDX-License-Identifier: Apache-2.0
# compare_torch_steps.py on made-up seconds: ratios within a start, verdicts, commands.
from __future__ import annotations

import argparse
import csv
import io
import sys
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

import compare_torch_steps as steps

RESNET50 = steps.CASES["cuda"][1]
MLP = steps.CASES["cuda"][2]
FUSED = steps.CASES["cuda"][4]
# What stands for the programs and for PyTorch: the step takes so many seconds.
PROGRAM = """#!{python}
import json, sys
if "--help-all" in sys.argv:
    print("--step TEXT --channels-last TEXT")
elif "{name}" == "bench_kernels":
    print("status,note,seconds_median"); print("ok,,0.002")
elif "resnet50" in sys.argv and {skips}:
    print(json.dumps(dict(rank="all", status="skipped", note="no bf16 here")))
else:
    print(json.dumps(dict(rank="all", status="ok", note="", seconds_median=0.01)))
"""
PYTHON = """#!{python}
import json, sys
if sys.argv[1] != "-c":
    print(json.dumps(dict(torch="2.11.0", device="cpu", seconds=[0.05, 0.02, 0.01])))
"""


class CompareTorchSteps(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.place(skips=False)

    def place(self, skips: bool) -> None:
        for name in ("bench_kernels", "bench_throughput", "python"):
            text = PYTHON if name == "python" else PROGRAM
            (self.folder / name).write_text(text.format(python=sys.executable, name=name, skips=skips))
            (self.folder / name).chmod(0o755)

    def words(self, *more: str) -> list[str]:
        python = str(self.folder / "python")
        return ["--programs", str(self.folder), "--python", python, "--out", str(self.folder / "out"), *more]

    def run_all(self, *more: str) -> tuple[int, str, str]:
        with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as errors:
            code = steps.main(self.words("--starts", "2", *more))
        return code, out.getvalue(), errors.getvalue()

    def rows(self, name: str) -> list[dict[str, str]]:
        return list(csv.DictReader((self.folder / "out" / name).read_text().splitlines()))

    def test_judges_medians_of_ratios_within_a_start(self) -> None:
        slow = {"ours": 0.3, "eager": 0.33, "compile": 0.27}
        fast = {leg: seconds / 4 for leg, seconds in slow.items()}
        eager, compiled, published = steps.summary_rows(RESNET50, [slow, fast, fast], "2.11.0", "H200")
        self.assertEqual((eager["ratio"], eager["ratio_low"], eager["verdict"]), ("1.100", "1.100", "reached"))
        self.assertEqual((compiled["ratio"], compiled["verdict"]), ("0.900", "missed"))
        self.assertEqual((published["images_per_s"], published["verdict"]), ("3413.3", "reached"))
        [row] = steps.summary_rows(MLP, [{"ours": 1e-4, "eager": 4.9e-4}], "2.11.0", "H200")
        self.assertEqual((row["target"], row["verdict"]), ("5", "missed"))

    def test_both_sides_do_the_same_work(self) -> None:
        options = steps.arguments_of(self.words())
        ours = steps.our_command(options, RESNET50, "--step TEXT")
        theirs = steps.torch_command(options, RESNET50, "compile")
        for command in (ours, theirs):
            for name, value in (("--model", "resnet50"), ("--batch-per-rank", "256"), ("--precision", "bf16")):
                self.assertEqual(command[command.index(name) + 1], value)
        self.assertIn("--step graph --channels-last yes", " ".join(ours))
        self.assertEqual(theirs[-2:], ["--channels-last", "--compile"])
        self.assertEqual(steps.step_words(MLP, "--step-graph"), ["--step-graph"])
        fused = steps.our_command(options, FUSED, "--step TEXT")
        self.assertIn("--model resnet50 --batch-per-rank 256 --precision bf16 --step fused --channels-last yes", " ".join(fused))
        gemm = steps.our_command(options, steps.CASES["cuda"][0], "")[-1]
        self.assertIn("gemm/bfloat16/8192 x 8192/device", gemm)

    def test_says_reached_and_missed(self) -> None:
        code, table, _ = self.run_all()
        verdicts = {(row["model"], row["against"]): row["verdict"] for row in self.rows("compare_torch_steps.csv")}
        # 0.02 s beside 0.002 s for gemm and 0.01 s for a step.
        self.assertEqual(verdicts[("gemm", "eager")], "reached")
        self.assertEqual(verdicts[("resnet50", "compile")], "reached")
        self.assertEqual(verdicts[("mlp", "eager")], "missed")
        self.assertEqual(code, 1)
        self.assertIn("missed", table)
        self.assertEqual(len(self.rows("samples.csv")), 2 * 12)

    def test_fused_steps_stand_beside_our_graph_and_the_compiler(self) -> None:
        code, _, _ = self.run_all("--models", "resnet50_fused", "--legs", "graph,compile")
        rows = {row["against"]: row for row in self.rows("compare_torch_steps.csv")}
        self.assertEqual({row["step"] for row in rows.values()}, {"fused"})
        # The programs here are as fast with any step.
        self.assertEqual((rows["graph"]["ratio"], rows["graph"]["verdict"]), ("1.000", "no target"))
        self.assertEqual((rows["compile"]["target"], rows["compile"]["verdict"]), ("1", "reached"))
        commands = {row["leg"]: row["command"] for row in self.rows("samples.csv")}
        self.assertIn("--step fused", commands["ours"])
        self.assertIn("--step graph", commands["graph"])
        self.assertIn("--compile", commands["compile"])
        self.assertEqual(code, 0)

    def test_our_own_legs_need_nothing_of_pytorchs(self) -> None:
        code, table, _ = self.run_all("--models", "resnet50_fused", "--legs", "graph")
        graph, published = self.rows("compare_torch_steps.csv")
        self.assertEqual((graph["against"], graph["torch"], graph["device"], graph["ratio"]), ("graph", "", "cuda", "1.000"))
        # 256 images in 0.01 s.
        self.assertEqual((published["verdict"], code), ("reached", 0))
        self.assertIn("PyTorch not asked", table)

    def test_each_case_that_is_complete_is_kept(self) -> None:
        """Whoever is cut off in a leg has the cases before it."""
        kept: list[list[str]] = []
        leg = steps.run_leg

        def run_leg(options: argparse.Namespace, case: steps.Case, *more: str) -> dict[str, object]:
            path = self.folder / "out/compare_torch_steps.csv"
            kept.append([row["model"] for row in self.rows(path.name)] if path.exists() else [])
            return leg(options, case, *more)

        with mock.patch.object(steps, "run_leg", run_leg):
            self.run_all("--models", "gemm,mlp,mnist_cnn", "--starts", "1")
        self.assertEqual(kept, [[], [], ["gemm"], ["gemm"], ["gemm", "mlp"], ["gemm", "mlp"]])
        self.assertEqual([path.name for path in (self.folder / "out").glob(".*")], [])

    def test_has_no_targets_on_a_cpu(self) -> None:
        code, table, _ = self.run_all("--device", "cpu")
        self.assertEqual(code, 0)
        self.assertIn("no target", table)

    def test_a_skipped_case_fails_with_its_reason(self) -> None:
        self.place(skips=True)
        code, _, errors = self.run_all("--models", "resnet50,mlp")
        self.assertEqual(code, 3)
        self.assertIn("resnet50 ours: skipped: no bf16 here", errors)
        self.assertEqual({row["model"] for row in self.rows("compare_torch_steps.csv")}, {"mlp"})

    def test_refuses_what_cannot_work(self) -> None:
        for more in (["--models", "vgg"], ["--starts", "0"], ["--out", str(self.folder)], ["--python", "pithon"]):
            with redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit) as end:
                steps.arguments_of(self.words(*more))
            self.assertEqual(end.exception.code, 2)
            self.assertIn(more[-1], said.getvalue())


if __name__ == "__main__":
    unittest.main()
