# SPDX-License-Identifier: Apache-2.0
# scripts/kernel_times, with a program that writes a trace as the library does.
from __future__ import annotations

import csv
import ctypes
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from gpu.kernel_times import ROOT, Kernel, Launch, kernels_of, kernels_of_all, launches_in, short_name

LIBRARY = Path(sys.argv.pop()) if len(sys.argv) > 1 and sys.argv[-1].endswith(".so") else None


class KernelTimes(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.watcher = self.folder / "library.so"
        self.watcher.touch()

    def test_a_step_is_the_median_replay_of_each_node(self) -> None:
        warming = [Launch(0, 9_000_000, 0, "convolution, tried")]
        capture = [Launch(0, 7000, 5, "of another graph")]
        steps = [Launch(at, at + length, node, name) for at, lengths in ((0, (5, 2, 3)), (100, (9, 2, 4)), (200, (4, 2, 3)))
                 for node, name, length in zip((1, 2, 3), ("add", "mul", "add"), lengths, strict=True)]  # fmt: skip
        kernels, replays = kernels_of([*warming, *capture, *steps])
        self.assertEqual(replays, 3)
        self.assertEqual(kernels, [Kernel("add", 2, 8e-9), Kernel("mul", 1, 2e-9)])

    def test_without_replays_all_counts(self) -> None:
        kernels, replays = kernels_of([Launch(0, 5, 0, "a"), Launch(9, 12, 0, "b"), Launch(20, 30, 0, "b")])
        self.assertEqual((replays, [kernel.name for kernel in kernels], kernels[0].launches), (0, ["b", "a"], 2))
        self.assertAlmostEqual(kernels[0].seconds, 13e-9)
        self.assertEqual(kernels_of([]), ([], 0))

    def test_names_may_have_anything_in_them(self) -> None:
        path = self.folder / "trace"
        path.write_text("1\t4\t7\tvoid f<a, b>(int)\tand more\n", encoding="utf-8")
        self.assertEqual(launches_in(path), [Launch(1, 4, 7, "void f<a, b>(int)\tand more")])

    def test_the_name_that_is_shown_is_the_functions(self) -> None:
        long = "void a::(anonymous namespace)::grid<a::body::Sums<a::BFloat16, (a::Mask)2> >(a::body::Sums<a::BFloat16>)"
        self.assertEqual(short_name(long), "grid<Sums<BFloat16, (Mask)2>>")
        self.assertEqual(short_name("nvjet_sm90_TNT"), "nvjet_sm90_TNT")

    def run_it(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(ROOT / "scripts/kernel_times"), "--library", str(self.watcher), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_writes_and_shows_them_and_ends_as_the_program(self) -> None:
        out = self.folder / "out"
        program = 'test -e "$CUDA_INJECTION64_PATH" && printf "0\\t3000000\\t0\\tx\\n0\\t1000000\\t0\\ty\\n" > "$SCALEBENCH_KERNEL_TRACE.$$"; exit 3'
        done = self.run_it("--out", str(out), "--", "sh", "-c", program)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("# 4.000 ms in 2 kernels, copies and fills: all launches", done.stdout)
        self.assertIn(" 75.0%     3.000         1  x", done.stdout)
        with (out / "kernels.csv").open(newline="", encoding="utf-8") as file:
            self.assertEqual(list(csv.DictReader(file))[1],
                             {"kernel": "y", "launches": "1", "seconds": "0.001000000", "share": "0.250000"})  # fmt: skip

    def test_ranks_are_added_up(self) -> None:
        step = [Launch(at, at + 2, 1, "add") for at in (0, 10)]
        self.assertEqual(kernels_of_all([step, step]), ([Kernel("add", 2, 4e-9)], 2))
        self.assertEqual(kernels_of_all([step, [Launch(0, 9, 0, "a server's")]]), ([Kernel("add", 1, 2e-9)], 2))
        self.assertEqual(kernels_of_all([]), ([], 0))
        rank = 'printf "0\t1000000\t0\tx\n0\t1000000\t0\ty$0\n" > "$SCALEBENCH_KERNEL_TRACE.$$"'
        ranks = f"sh -c '{rank}' 0 & sh -c '{rank}' 1 & : > $SCALEBENCH_KERNEL_TRACE.of_mpirun; wait"
        done = self.run_it("--out", str(self.folder / "out"), "--", "sh", "-c", ranks)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("# 4.000 ms in 4 kernels, copies and fills: all launches, 2 processes together", done.stdout)
        self.assertIn(" 50.0%     2.000         2  x", done.stdout)

    def test_says_what_is_wrong(self) -> None:
        nothing = self.run_it("--out", str(self.folder / "out"), "--", "true")
        self.assertEqual((nothing.returncode, nothing.stderr), (4, "kernel_times: nothing ran on a card\n"))
        said = self.run_it("--out", str(self.folder / "out"), "--", "sh", "-c", "echo no card >&2; exit 2")
        self.assertEqual((said.returncode, said.stderr), (2, "no card\n"), "the program's last word stays the last")
        self.assertFalse((self.folder / "out").exists())
        for words in (["--out", "x"], ["--out", str(self.folder), "--", "true"], ["--", "true"]):
            self.assertEqual(self.run_it(*words).returncode, 2, words)
        missing = self.run_it("--out", str(self.folder / "out"), "--", "no-such-program")
        self.assertEqual((missing.returncode, missing.stderr), (2, "kernel_times: no-such-program: No such file or directory\n"))
        self.watcher.unlink()
        self.assertIn("it is built where CUDA 13", self.run_it("--out", "x", "--", "true").stderr)

    @unittest.skipIf(LIBRARY is None, "no CUPTI in this build")
    def test_the_library_loads_and_has_what_the_driver_calls(self) -> None:
        self.assertTrue(hasattr(ctypes.CDLL(str(LIBRARY)), "InitializeInjection"))

    @unittest.skipIf(LIBRARY is None, "no CUPTI in this build")
    def test_each_process_has_a_file_of_its_own(self) -> None:
        """Also one that CUPTI cannot watch; a fork would have the lines of its parent twice."""
        program = "import ctypes, os, sys; ctypes.CDLL(sys.argv[1]).InitializeInjection(); os.fork(); os.write(1, b'x')"
        environment = {**os.environ, "SCALEBENCH_KERNEL_TRACE": str(self.folder / "trace")}
        for _ in range(2):
            done = subprocess.Popen([sys.executable, "-c", program, str(LIBRARY)], env=environment,
                                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # fmt: skip
            said, _ = done.communicate()
            self.assertEqual(said, b"xx")
            self.assertEqual([path.name for path in self.folder.glob("trace*")], [f"trace.{done.pid}"])
            (self.folder / f"trace.{done.pid}").unlink()


if __name__ == "__main__":
    unittest.main()
