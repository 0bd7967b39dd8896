# SPDX-License-Identifier: Apache-2.0
# compare_torch.py on made-up seconds: ratios within a start, medians over starts, commands.
from __future__ import annotations

import io
import tempfile
import unittest
from contextlib import redirect_stderr
from pathlib import Path

import compare_torch

FAST = {"torch": 2.0, "ddp": 1.25, "plain": 1.25, "one_device": 1.0, "together": 0.54, "sync": 0.6}


class CompareTorch(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
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

    def test_refuses_what_cannot_work(self) -> None:
        for more in (["--models", "vgg"], ["--ranks", "1"], ["--ranks", "3"], ["--out", str(self.folder)]):
            with redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit) as end:
                self.options(*more)
            self.assertEqual(end.exception.code, 2)
            self.assertIn(more[-1], said.getvalue())


if __name__ == "__main__":
    unittest.main()
