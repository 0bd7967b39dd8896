# SPDX-License-Identifier: Apache-2.0
# compare_torch_steps.py on made-up seconds: ratios within a start, verdicts, commands.
from __future__ import annotations

import argparse
import contextlib
import csv
import io
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

import compare_torch_steps as steps

RESNET50 = steps.CASES["cuda"][1]
MLP = steps.CASES["cuda"][2]
MNIST_FUSED = steps.CASES["cuda"][4]
FUSED = steps.CASES["cuda"][5]
SCRIPT = Path(steps.__file__)
# What stands for the programs and for PyTorch: the step takes so many seconds.
PROGRAM = """#!{python}
import json, sys
if "{name}" == "bench_kernels":
    print("status,note,seconds_median"); print("ok,,0.002")
elif "resnet50" in sys.argv and {skips}:
    print(json.dumps(dict(rank="all", status="skipped", note="no bfloat16 here")))
else:
    print(json.dumps(dict(rank="all", status="ok", note="", seconds_median=0.01)))
"""
PYTHON = """#!{python}
import json, sys, time
if "max-autotune" in sys.argv and {hangs}:
    time.sleep(60)
if sys.argv[1] != "-c":
    print(json.dumps(dict(torch="2.11.0", device="cpu", seconds=[0.05, 0.02, 0.01])))
"""


def start(**seconds: float) -> steps.Start:
    return {leg.replace("_", "-"): steps.Timed(value, 60.0) for leg, value in seconds.items()}


class CompareTorchSteps(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.place()

    def place(self, skips: bool = False, hangs: bool = False) -> None:
        for name in ("bench_kernels", "bench_throughput", "python"):
            text = PYTHON if name == "python" else PROGRAM
            (self.folder / name).write_text(text.format(python=sys.executable, name=name, skips=skips, hangs=hangs))
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
        slow = start(ours=0.3, eager=0.33, compile=0.27, max_autotune=0.3)
        fast = start(ours=0.075, eager=0.0825, compile=0.0675, max_autotune=0.075)
        eager, compiled, tuned, published = steps.summary_rows(RESNET50, [slow, fast, fast], "2.11.0", "H200")
        self.assertEqual((eager["ratio"], eager["ratio_low"], eager["verdict"]), ("1.100", "1.100", "reached"))
        self.assertEqual((compiled["ratio"], compiled["verdict"]), ("0.900", "missed"))
        self.assertEqual((tuned["ratio"], tuned["leg_seconds"], tuned["verdict"]), ("1.000", "60", "reached"))
        self.assertEqual((published["images_per_s"], published["verdict"]), ("3413.3", "reached"))
        [row] = steps.summary_rows(MLP, [start(ours=1e-4, eager=4.9e-4)], "2.11.0", "H200")
        self.assertEqual((row["target"], row["verdict"]), ("5", "missed"))

    def test_a_leg_counts_wherever_ours_stands_beside_it(self) -> None:
        starts = [start(ours=0.08, eager=0.09), start(eager=0.01), start(compile=0.07)]
        eager, compiled, tuned, published = steps.summary_rows(RESNET50, starts, "2.11.0", "H200")
        self.assertEqual((eager["starts"], eager["against_seconds"], eager["ratio"]), ("1", "0.09", "1.125"))
        self.assertEqual((compiled["starts"], compiled["against_seconds"], compiled["verdict"]), ("0", "0.07", "not measured"))
        self.assertEqual((tuned["ours_seconds"], tuned["against_seconds"], tuned["verdict"]), ("0.08", "", "not measured"))
        self.assertEqual(published["verdict"], "reached")

    def test_both_sides_do_the_same_work(self) -> None:
        options = steps.arguments_of(self.words())
        ours = steps.our_command(options, RESNET50)
        theirs = steps.torch_command(options, RESNET50, "compile")
        for command in (ours, theirs):
            for name, value in (("--model", "resnet50"), ("--batch-per-rank", "256"), ("--precision", "bfloat16")):
                self.assertEqual(command[command.index(name) + 1], value)
        self.assertIn("--step graph --channels-last yes", " ".join(ours))
        self.assertEqual(theirs[-3:], ["--channels-last", "--compile", "default"])
        self.assertEqual(steps.torch_command(options, RESNET50, "max-autotune")[-2:], ["--compile", "max-autotune"])
        self.assertNotIn("--compile", steps.torch_command(options, RESNET50, "eager"))
        fused = steps.our_command(options, FUSED)
        self.assertIn("--model resnet50 --batch-per-rank 256 --precision bfloat16 --step fused --channels-last yes", " ".join(fused))
        # Beside a fused step of mnist_cnn PyTorch has the format it has by itself.
        self.assertIn("--step fused --channels-last yes", " ".join(steps.our_command(options, MNIST_FUSED)))
        self.assertNotIn("--channels-last", steps.torch_command(options, MNIST_FUSED, "eager"))
        gemm = steps.our_command(options, steps.CASES["cuda"][0])[-1]
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
        self.assertEqual(len(self.rows("samples.csv")), 2 * 16)
        self.assertTrue(all(0 < float(row["leg_seconds"]) < 60 for row in self.rows("samples.csv")))

    def test_fused_steps_stand_beside_our_graph_and_the_compiler(self) -> None:
        code, _, _ = self.run_all("--models", "resnet50_fused", "--legs", "graph,compile,max-autotune")
        rows = {row["against"]: row for row in self.rows("compare_torch_steps.csv")}
        self.assertEqual({row["step"] for row in rows.values()}, {"fused"})
        # The programs here are as fast with any step.
        self.assertEqual((rows["graph"]["ratio"], rows["graph"]["verdict"]), ("1.000", "no target"))
        self.assertEqual((rows["compile"]["target"], rows["compile"]["verdict"]), ("1", "reached"))
        commands = {row["leg"]: row["command"] for row in self.rows("samples.csv")}
        self.assertIn("--step fused", commands["ours"])
        self.assertIn("--step graph", commands["graph"])
        self.assertIn("--compile default", commands["compile"])
        self.assertIn("--compile max-autotune", commands["max-autotune"])
        self.assertEqual((rows["max-autotune"]["target"], rows["max-autotune"]["verdict"]), ("1", "reached"))
        self.assertEqual(code, 0)

    def test_our_own_legs_need_nothing_of_pytorchs(self) -> None:
        code, table, _ = self.run_all("--models", "resnet50_fused", "--legs", "graph")
        graph, published = self.rows("compare_torch_steps.csv")
        self.assertEqual((graph["against"], graph["torch"], graph["device"], graph["ratio"]), ("graph", "", "cuda", "1.000"))
        # 256 images in 0.01 s.
        self.assertEqual((published["verdict"], code), ("reached", 0))
        self.assertIn("PyTorch not asked", table)

    def test_each_leg_is_kept_before_the_next_one_starts(self) -> None:
        """Whoever is cut off in a leg has those before it, as samples and as ratios."""
        kept: list[tuple[int, list[str]]] = []
        leg = steps.run_leg

        def run_leg(options: argparse.Namespace, case: steps.Case, *more: str) -> dict[str, object]:
            ratios = [row["model"] for row in self.rows("compare_torch_steps.csv") if row["ratio"]]
            kept.append((len(self.rows("samples.csv")), ratios))
            return leg(options, case, *more)

        with mock.patch.object(steps, "run_leg", run_leg):
            self.run_all("--models", "gemm,mlp,mnist_cnn", "--starts", "1")
        self.assertEqual([samples for samples, _ in kept], list(range(6)))
        self.assertEqual([models for _, models in kept], [[], [], ["gemm"], ["gemm"], ["gemm", "mlp"], ["gemm", "mlp"]])
        self.assertEqual([path.name for path in (self.folder / "out").glob(".*")], [])

    def end_while_it_hangs(self, number: signal.Signals) -> tuple[int, str]:
        """In the leg that hangs, which is the last one of seed 1; its exit code and table."""
        self.place(hangs=True)
        words = self.words("--models", "resnet50_fused", "--starts", "1")
        process = subprocess.Popen([sys.executable, str(SCRIPT), *words], text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, start_new_session=True)  # fmt: skip
        self.addCleanup(self.end_group, process.pid)
        assert process.stderr is not None
        said = [next(process.stderr) for _ in range(4)]
        self.assertIn("max-autotune", said[-1])
        process.send_signal(number)
        table, _ = process.communicate(timeout=60)
        return process.returncode, table

    def end_group(self, group: int) -> None:
        """What a killed comparison leaves running."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)

    def check_what_a_cut_off_leaves(self) -> None:
        self.assertEqual(len(self.rows("samples.csv")), 3)
        rows = {row["against"]: row["verdict"] for row in self.rows("compare_torch_steps.csv")}
        self.assertEqual(rows, {"graph": "no target", "compile": "reached", "max-autotune": "not measured",
                                "3079 images/s": "reached"})  # fmt: skip

    def test_an_interrupt_ends_with_what_there_is(self) -> None:
        code, table = self.end_while_it_hangs(signal.SIGTERM)
        self.assertEqual(code, 128 + signal.SIGTERM)
        self.check_what_a_cut_off_leaves()
        final = table.partition("# ")[2]
        self.assertRegex(final, r"compile .* reached\n")
        self.assertRegex(final, r"max-autotune .* not measured\n")

    def test_a_kill_leaves_every_leg_before_it(self) -> None:
        code, table = self.end_while_it_hangs(signal.SIGKILL)
        self.assertEqual(code, -signal.SIGKILL)
        self.check_what_a_cut_off_leaves()
        self.assertRegex(table, r"compile .* reached\n")

    def test_has_no_targets_on_a_cpu(self) -> None:
        code, table, _ = self.run_all("--device", "cpu")
        self.assertEqual(code, 0)
        self.assertIn("no target", table)

    def test_a_skipped_case_fails_with_its_reason(self) -> None:
        self.place(skips=True)
        code, _, errors = self.run_all("--models", "resnet50,mlp")
        self.assertEqual(code, 3)
        self.assertIn("resnet50 ours: skipped: no bfloat16 here", errors)
        rows = [(row["model"], row["against"], row["verdict"]) for row in self.rows("compare_torch_steps.csv")]
        self.assertIn(("resnet50", "eager", "not measured"), rows)
        self.assertIn(("mlp", "eager", "missed"), rows)

    def test_refuses_what_cannot_work(self) -> None:
        for more in (["--models", "vgg"], ["--starts", "0"], ["--out", str(self.folder)], ["--python", "pithon"]):
            with redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit) as end:
                steps.arguments_of(self.words(*more))
            self.assertEqual(end.exception.code, 2)
            self.assertIn(more[-1], said.getvalue())


if __name__ == "__main__":
    unittest.main()
