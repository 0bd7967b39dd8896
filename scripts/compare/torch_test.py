# SPDX-License-Identifier: Apache-2.0
# compare_torch.py on made-up seconds: ratios within a start, medians over starts, commands.
from __future__ import annotations

import csv
import io
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

import compare_torch

FAST = {"torch": 2.0, "ddp": 1.25, "plain": 1.25, "one_device": 1.0, "together": 0.54, "sync": 0.6}


class CompareTorch(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.folder / "bench_epoch").touch()

    def options(self, *more: str):
        import sys

        # Any interpreter will do to look at commands: a module named torch is all that is asked for.
        (self.folder / "torch.py").touch()
        wrapper = self.folder / "python"
        wrapper.write_text(f'#!/bin/sh\nPYTHONPATH={self.folder} exec {sys.executable} "$@"\n', encoding="utf-8")
        wrapper.chmod(0o755)
        return compare_torch.arguments_of(
            ["--programs", str(self.folder), "--python", str(wrapper), "--out", str(self.folder / "out"), *more]
        )

    def test_takes_ratios_within_a_start(self) -> None:
        ratios = compare_torch.ratios_of(FAST, 2)
        self.assertAlmostEqual(ratios["one_device_vs_torch"], 2.0)
        self.assertAlmostEqual(ratios["plain_vs_torch"], 1.6)
        self.assertAlmostEqual(ratios["efficiency"], 1 / 1.2)
        self.assertAlmostEqual(ratios["efficiency_ddp"], 0.8)
        self.assertAlmostEqual(ratios["vs_unsynchronised"], 0.9)

    def test_a_slow_moment_of_the_machine_changes_no_ratio(self) -> None:
        slow = {leg: 3 * seconds for leg, seconds in FAST.items()}
        row = compare_torch.summary_row("mlp", [FAST, slow, slow], 2)
        self.assertEqual((row["efficiency_low"], row["efficiency_high"]), ("0.833", "0.833"))
        self.assertEqual(row["sync_seconds"], "1.8000")

    def test_every_leg_does_the_same_work(self) -> None:
        options = self.options("--models", "mnist_cnn")
        for leg in compare_torch.LEGS:
            make = compare_torch.torch_command if leg in ("torch", "ddp") else compare_torch.bench_command
            command = make(options, leg, "mnist_cnn")
            self.assertEqual(command[command.index("--samples") + 1], "3840")
        self.assertIn("64", compare_torch.torch_command(options, "ddp", "mnist_cnn"))
        self.assertIn("direct", compare_torch.bench_command(options, "sync", "mnist_cnn"))

    def test_best_tries_every_setting_of_both(self) -> None:
        plain, best = self.options("--models", "mlp"), self.options("--models", "mlp", "--best")
        self.assertEqual(len(compare_torch.trials_of(plain)), len(compare_torch.LEGS))
        trials = compare_torch.trials_of(best)
        self.assertEqual({leg for leg, _ in trials}, set(compare_torch.LEGS))
        self.assertEqual(compare_torch.bench_command(best, "sync", "mlp", "channels last")[-2:], ["--channels-last", "yes"])
        self.assertNotIn("--channels-last", compare_torch.bench_command(plain, "sync", "mlp"))
        for leg, settings in compare_torch.SETTINGS.items():
            self.assertEqual({setting for of, setting in trials if of == leg}, set(settings))
        command = compare_torch.torch_command(best, "ddp", "mlp", "fused, static graph, one bucket")
        self.assertEqual(command[command.index("--bucket-mb") + 1], "1000")

    def test_of_several_settings_the_fastest_of_the_start_counts(self) -> None:
        options = self.options("--models", "mlp", "--best", "--starts", "1")
        slow = lambda _, leg, model, setting: 3.0 if setting == compare_torch.AS_WRITTEN else 2.0 + len(setting) / 100  # noqa: E731
        with (
            mock.patch.object(compare_torch, "arguments_of", return_value=options),
            mock.patch.object(compare_torch, "run_torch", side_effect=slow),
            mock.patch.object(compare_torch, "run_bench", side_effect=slow),
            redirect_stderr(io.StringIO()), redirect_stdout(io.StringIO()),
        ):  # fmt: skip
            self.assertEqual(compare_torch.main([]), 0)
        with open(options.out / "samples.csv", newline="", encoding="utf-8") as file:
            samples = list(csv.DictReader(file))
        with open(options.out / "compare_torch.csv", newline="", encoding="utf-8") as file:
            (row,) = csv.DictReader(file)
        for leg in ("torch", "sync"):
            fastest = min(float(sample["seconds"]) for sample in samples if sample["leg"] == leg)
            self.assertEqual(float(row[f"{leg}_seconds"]), fastest)

    def test_refuses_what_cannot_work(self) -> None:
        for more in (["--models", "vgg"], ["--ranks", "1"], ["--ranks", "3"], ["--out", str(self.folder)]):
            with redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit) as end:
                self.options(*more)
            self.assertEqual(end.exception.code, 2)
            self.assertIn(more[-1], said.getvalue())


if __name__ == "__main__":
    unittest.main()
