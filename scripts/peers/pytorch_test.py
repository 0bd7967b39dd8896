# SPDX-License-Identifier: Apache-2.0
# compare_with torch and steps on made-up programs: commands that do the same work, ratios, targets, and what is
# refused.
from __future__ import annotations

import shlex
import sys
import unittest

from peers import steps
from peers.testing import MadeUp

# What stands for the programs: a product takes 0.002 s, a step 0.01 s, an epoch 1 s on one rank and 0.6 s on two.
PROGRAM = """#!{python}
import json, sys
if "{name}" == "bench_kernels":
    print("status,note,seconds_median"); print("ok,,0.002")
elif "resnet50" in sys.argv and {skips}:
    print(json.dumps(dict(rank="all", status="skipped", note="no bfloat16 here")))
else:
    seconds = 0.9 if "--channels-last" in sys.argv and "{name}" == "bench_epoch" else 1.0
    print(json.dumps(dict(rank="all", status="ok", note="", seconds_median=0.01, seconds=seconds)))
"""
# What stands for PyTorch: steps take 0.02 s in the middle, epochs twice as long as ours where nothing is fused.
PYTHON = """#!{python}
import json, os, sys
if sys.argv[1] != "-c":
    fused = 0.5 if "--fused" in sys.argv else 1.0
    seconds = [2.0 * fused] if "--samples" in sys.argv else [0.05, 0.02, 0.01]
    ranks = [os.environ.get(name) for name in ("WORLD_SIZE", "GLOO_SOCKET_IFNAME")]
    print(json.dumps(dict(torch="2.11.0", device=f"cpu {{ranks}}", seconds=seconds)))
"""


class PyTorch(MadeUp):
    def setUp(self) -> None:
        super().setUp()
        self.place()

    def place(self, skips: bool = False) -> None:
        for name in ("bench_kernels", "bench_throughput", "bench_epoch"):
            self.program(name, PROGRAM.format(python=sys.executable, name=name, skips=skips))
        self.python = self.program("python", PYTHON.format(python=sys.executable))

    def run_peer(self, name: str, *words: str) -> tuple[int, str, str]:
        return self.compare(name, "--python", self.python, "--starts", "1", *words)

    def commands(self) -> dict[str, str]:
        return {row["leg"]: row["command"] for row in self.rows("legs.csv")}

    def test_epochs_of_every_leg_do_the_same_work(self) -> None:
        code, table, _ = self.run_peer("torch", "--models", "mnist_cnn,mnist_cnn")
        self.assertEqual(code, 0)
        commands = self.commands()
        self.assertEqual(len(commands), 6)
        for command in commands.values():
            self.assertIn("--model mnist_cnn --data fashion-mnist --samples 3840", command)
        self.assertIn("--batch-per-rank 128 --warm-up 5", commands["mnist_cnn torch"])
        self.assertIn("--batch-per-rank 64 --warm-up 5", commands["mnist_cnn ddp"])
        for leg, ranks in (("plain", 1), ("one_device", 1), ("together", 2), ("sync", 2)):
            self.assertIn(f"-np {ranks} ", commands[f"mnist_cnn {leg}"])
        notes = {row["leg"]: row["note"] for row in self.rows("legs.csv")}
        self.assertEqual(len(self.rows("legs.csv")), 6)
        self.assertIn("on cpu ['2', 'lo']", notes["mnist_cnn ddp"])
        self.assertIn("# efficiency: ", table)
        self.assertIn("--global-batch 128 --warmup-steps 5 --gradient-sync mirrored", commands["mnist_cnn sync"])
        rows = {row["against"]: row["ratio"] for row in self.rows("comparison.csv")}
        expected = {"plain loop beside PyTorch's": "2.000", "one_device beside PyTorch's": "2.000", "DDP": "2.000"}
        expected |= {"efficiency": "0.500", "efficiency of DDP": "0.500", "without synchronisation": "1.000"}
        self.assertEqual(rows, expected)

    def test_of_several_settings_the_fastest_of_the_start_counts(self) -> None:
        self.run_peer("torch", "--models", "mlp", "--best")
        commands = self.commands()
        self.assertEqual(len(commands), 5 + 7 + 4 * 2)
        one_bucket = commands["mlp ddp: fused, static graph, one bucket"]
        self.assertIn("--fused --views --static-graph --bucket-mb 1000", one_bucket)
        self.assertTrue(commands["mlp sync: channels last"].endswith("--channels-last yes"))
        (row,) = (row for row in self.rows("comparison.csv") if row["against"] == "DDP")
        self.assertEqual((row["theirs_seconds"], row["ours_seconds"], row["ours"]), ("1", "0.9", "sync: channels last"))

    def test_steps_of_both_sides_do_the_same_work(self) -> None:
        self.run_peer("steps")
        commands = self.commands()
        ours, theirs = commands["resnet50 ours"], commands["resnet50 compile"]
        for command in (ours, theirs):
            self.assertIn("--model resnet50 ", command)
            for words in ("--batch-per-rank 256", "--precision bfloat16", "--data synthetic:1024", "--device cuda"):
                self.assertIn(words, command)
        self.assertIn("--step graph --channels-last yes", ours)
        self.assertTrue(theirs.endswith("--channels-last --compile default"))
        self.assertTrue(commands["resnet50 max-autotune"].endswith("--compile max-autotune"))
        self.assertNotIn("--compile", commands["resnet50 eager"])
        self.assertIn("--step fused --channels-last yes", commands["resnet50_fused ours"])
        self.assertIn("--step graph --channels-last yes", commands["resnet50_fused graph"])
        # Beside a fused step of mnist_cnn PyTorch has the format it has by itself.
        self.assertIn("--step fused --channels-last yes", commands["mnist_cnn_fused ours"])
        self.assertNotIn("--channels-last", commands["mnist_cnn_fused eager"])
        self.assertIn("gemm/bfloat16/8192 x 8192/device", commands["gemm ours"])
        self.assertEqual(shlex.split(commands["gemm eager"])[-4:], ["--precision", "bfloat16", "--side", "8192"])

    def test_steps_are_held_against_their_targets(self) -> None:
        code, table, _ = self.run_peer("steps")
        verdicts = {(row["case"], row["against"]): row["verdict"] for row in self.rows("comparison.csv")}
        # PyTorch's 0.02 s stand beside 0.002 s for gemm and 0.01 s for a step.
        eager = {row["theirs_seconds"] for row in self.rows("comparison.csv") if row["against"] == "eager"}
        self.assertEqual(eager, {"0.02"})
        self.assertEqual(verdicts["gemm", "eager"], "reached")
        self.assertEqual(verdicts["resnet50", "compile"], "reached")
        self.assertEqual(verdicts["mlp", "eager"], "missed")
        self.assertEqual(verdicts["resnet50_fused", "graph"], "no target")
        self.assertEqual(verdicts["resnet50", "3079 images/s"], "reached")  # 256 images in 0.01 s
        self.assertEqual(code, 1)
        self.assertIn("missed", table)
        self.assertEqual({row["note"] for row in self.rows("legs.csv")}, {"", "PyTorch 2.11.0 on cpu ['1', None]"})

    def test_our_own_legs_need_nothing_of_pytorchs(self) -> None:
        code, _, _ = self.run_peer("steps", "--models", "resnet50_fused", "--legs", "graph")
        self.assertEqual(code, 0)
        self.assertEqual(set(self.commands()), {"resnet50_fused ours", "resnet50_fused graph"})
        self.assertEqual([row["against"] for row in self.rows("comparison.csv")], ["graph", "3079 images/s"])

    def test_there_are_no_targets_on_a_cpu(self) -> None:
        code, _, _ = self.run_peer("steps", "--device", "cpu")
        self.assertEqual((code, {row["verdict"] for row in self.rows("comparison.csv")}), (0, {"no target"}))

    def test_a_skipped_case_fails_with_its_reason(self) -> None:
        self.place(skips=True)
        code, _, errors = self.run_peer("steps", "--models", "resnet50,mlp")
        self.assertEqual(code, 3)
        self.assertIn("compare_with: resnet50 ours: skipped: no bfloat16 here", errors)
        rows = [(row["case"], row["against"], row["verdict"]) for row in self.rows("comparison.csv")]
        self.assertIn(("resnet50", "eager", "not measured"), rows)
        self.assertIn(("mlp", "eager", "missed"), rows)

    def test_what_cannot_be_compared_is_refused(self) -> None:
        known = [case.name for case in steps.CASES["cuda"]]
        for name, words, said in (
            ("torch", ["--models", "vgg"], "unknown model 'vgg'; valid: mlp, mnist_cnn"),
            ("torch", ["--ranks", "1"], "--ranks 1: must be at least 2"),
            ("torch", ["--ranks", "3"], "--ranks 3 does not divide the 256 images of a step of mlp"),
            ("torch", ["--sync", "'x"], "--sync: 'x: No closing quotation"),
            ("torch", ["--python", "pithon"], "--python pithon: no such program"),
            ("torch", ["--python", "false"], "false has no torch"),
            ("steps", ["--models", "vgg"], f"unknown model 'vgg'; valid: {', '.join(known)}"),
            ("steps", ["--legs", "lazy"], "unknown leg 'lazy'; valid: eager"),
            ("steps", ["--legs", "graph", "--models", "mlp"], "--legs graph: no case of mlp has it"),
        ):
            self.assertIn(said, self.refusal(name, "--python", self.python, *words))


if __name__ == "__main__":
    unittest.main()
