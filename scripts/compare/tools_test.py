# SPDX-License-Identifier: Apache-2.0
# compare_tools.py on what the tools print, on made-up starts and programs, and its command line.
from __future__ import annotations

import csv
import io
import os
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import compare_tools
from compare_tools import IN_PLACE, OUT_OF_PLACE, Failed, Leg

OSU = """
# OSU MPI Allreduce Latency Test v7.4
# Datatype: MPI_FLOAT.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
4096                    1.08              1.07              1.09        1000
1048576               163.72            161.90            165.54         100
"""
OURS = """placement,status,note,size_bytes,seconds_median
out_of_place,ok,,4096,1.2e-06
in_place,skipped,none,4096,
"""
NCCL = """# nThread 1 nGpus 1 minBytes 4096 maxBytes 8192 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1
#
# Using devices
#  Rank  0 Group  0 Pid   4242 on       host device  0 [0000:01:00] NVIDIA H100 80GB HBM3
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
        4096          1024     float     sum      -1     9.61    0.43    0.43      0     9.37    0.44    0.44      0
        8192          2048     float     sum      -1    10.02    0.82    0.82    N/A      N/A     N/A     N/A    N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 0.63
"""


def leg(ours: bool) -> Leg:
    return Leg("osu_allreduce", ours, [], compare_tools.osu_times)


class WhatToolsPrint(unittest.TestCase):
    def test_times_are_microseconds(self) -> None:
        self.assertEqual(
            compare_tools.osu_times(OSU), {(OUT_OF_PLACE, 4096): 1.08, (OUT_OF_PLACE, 1048576): 163.72}
        )
        self.assertEqual(compare_tools.our_times(OURS), {(OUT_OF_PLACE, 4096): 1.2})
        wrong = OURS.replace("ok,,4096,1.2e-06", "wrong,3 elements,4096,")
        for text, said in (("", "no row"), (wrong, "3 elements"), (OURS.replace("ok,,", "skipped,nobody,"), "nobody")):
            with self.assertRaisesRegex(Failed, said):
                compare_tools.our_times(text)

    def test_only_average_latency_counts(self) -> None:
        other = "# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n4096      812.11\n"
        for text in ("", other, "4096  1.0\n", OSU.replace("Avg Latency(us)", "Avg Latency(ms)")):
            with self.assertRaises(Failed):
                compare_tools.osu_times(text)

    def test_a_word_in_place_of_a_time_is_said(self) -> None:
        for word in ("nan", "-1.08", "0.00", "fast"):
            with self.assertRaisesRegex(Failed, "is no time"):
                compare_tools.osu_times(OSU.replace("1.08", word))

    def test_nccl_tests_has_two_placements(self) -> None:
        expected = {(OUT_OF_PLACE, 4096): 9.61, (IN_PLACE, 4096): 9.37, (OUT_OF_PLACE, 8192): 10.02}
        self.assertEqual(compare_tools.nccl_times(NCCL), expected)

    def test_a_wrong_result_has_no_time(self) -> None:
        wrong = NCCL.replace("0.43      0 ", "0.43      7 ")
        self.assertNotEqual(wrong, NCCL)
        with self.assertRaisesRegex(Failed, "4096 bytes out_of_place: 7 wrong elements"):
            compare_tools.nccl_times(wrong)


class Comparing(unittest.TestCase):
    def test_ratios_are_of_one_start(self) -> None:
        theirs, ours = leg(False), leg(True)
        starts = [
            {theirs: {(OUT_OF_PLACE, 64): a}, ours: {(OUT_OF_PLACE, 64): b}}
            for a, b in ((2.0, 1.0), (3.0, 3.0), (40.0, 10.0))  # in a slow moment, both are slow
        ]
        starts.append({theirs: {(OUT_OF_PLACE, 64): 100.0}})  # ours failed
        (row,) = compare_tools.summary_rows([theirs, ours], starts, 2)
        self.assertEqual((row["ratio"], row["ratio_low"], row["ratio_high"]), ("2.000", "1.000", "4.000"))
        self.assertEqual((row["theirs_us"], row["ours_us"], row["starts"]), ("3.00", "3.00", "3"))

    def test_each_size_has_its_row_and_lone_sizes_none(self) -> None:
        theirs, ours = leg(False), leg(True)
        start = {
            theirs: {(OUT_OF_PLACE, 64): 2.0, (OUT_OF_PLACE, 96): 2.0, (OUT_OF_PLACE, 128): 3.0},
            ours: {(OUT_OF_PLACE, 64): 2.0, (OUT_OF_PLACE, 96): 1.0, (OUT_OF_PLACE, 256): 1.0},
        }
        rows = compare_tools.summary_rows([theirs, ours], [start], 2)
        self.assertEqual([(row["size_bytes"], row["ratio"]) for row in rows], [("64", "1.000"), ("96", "2.000")])
        with redirect_stdout(io.StringIO()) as said:
            compare_tools.print_table(rows)
        self.assertIn("# 1 of 2 medians agree within 10%", said.getvalue())


class Programs(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.bin = self.program("bin/bench_allreduce", "").parent

    def program(self, name: str, text: str, code: int = 0) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\ncat <<'END'\n{text}END\nexit {code}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    def refusal(self, *argv: str) -> str:
        with redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit) as end:
            compare_tools.main([*argv, "--programs", str(self.bin), "--out", str(self.folder / "out")])
        self.assertEqual(end.exception.code, 2)
        return said.getvalue()

    def test_refuses_in_one_line(self) -> None:
        here = str(self.folder)
        self.assertIn("give --osu DIR", self.refusal())
        self.assertIn("no such folder", self.refusal("--osu", here + "/missing"))
        self.assertIn("is larger than -e", self.refusal("--osu", here, "-b", "2M", "-e", "1M"))
        self.assertIn("'4X' is no size", self.refusal("--osu", here, "-b", "4X"))
        self.assertIn("at least 2", self.refusal("--osu", here, "--ranks", "1"))

    def test_a_folder_without_sources_is_said(self) -> None:
        argv = ["--osu", str(self.folder), "--programs", str(self.bin), "--out", str(self.folder / "out")]
        with redirect_stderr(io.StringIO()) as said:
            self.assertEqual(compare_tools.main(argv), 2)
        self.assertIn("no osu_allreduce.c in", said.getvalue())
        self.assertFalse((self.folder / "out").exists())

    def test_builds_once_in_a_folder_of_its_own(self) -> None:
        source, build = self.folder / "source", self.folder / "build"
        (source / "c/mpi").mkdir(parents=True)
        (source / "c/mpi/osu_allreduce.c").touch()
        with self.assertRaisesRegex(Failed, "no configure"):
            compare_tools.built_osu(source, build)
        configure = source / "configure"
        makefile = "osu_allreduce:\\n\\ttouch osu_allreduce\\n"
        configure.write_text(f"#!/bin/sh\nmkdir -p c/mpi && printf '{makefile}' > c/mpi/Makefile\n", encoding="utf-8")
        configure.chmod(0o755)
        with redirect_stderr(io.StringIO()):
            program = compare_tools.built_osu(source, build)
        self.assertEqual(program, build / "c/mpi/osu_allreduce")
        self.assertTrue(program.is_file())
        configure.write_text("#!/bin/sh\necho no mpicc >&2\nexit 1\n", encoding="utf-8")
        self.assertEqual(compare_tools.built_osu(source, build), program, "not built again")
        with redirect_stderr(io.StringIO()), self.assertRaisesRegex(Failed, "configure.* ended with 1: no mpicc"):
            compare_tools.built_osu(source, self.folder / "another")

    def test_runs_both_side_by_side(self) -> None:
        (self.folder / "source").mkdir()
        (self.folder / "source/osu_allreduce.c").touch()
        self.program("source/osu_allreduce", OSU)
        self.program("bin/bench_allreduce", OURS)
        launcher = self.folder / "path/mpirun"  # --bind-to core -np 2 PROGRAM ...
        launcher.parent.mkdir()
        launcher.write_text('#!/bin/sh\nshift 4\nexec "$@"\n', encoding="utf-8")
        launcher.chmod(0o755)
        path = os.environ["PATH"]
        os.environ["PATH"] = f"{launcher.parent}:{path}"
        self.addCleanup(os.environ.__setitem__, "PATH", path)
        out = self.folder / "out"
        argv = ["--osu", str(self.folder / "source"), "--programs", str(self.bin), "--starts", "2",
                "--build", str(self.folder / "build"), "--out"]  # fmt: skip
        with redirect_stderr(io.StringIO()), redirect_stdout(io.StringIO()):
            self.assertEqual(compare_tools.main([*argv, str(out)]), 0)
        with open(out / "compare_tools.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([(row["size_bytes"], row["ratio"]) for row in rows], [("4096", "0.900")])
        with open(out / "samples.csv", newline="", encoding="utf-8") as file:
            self.assertEqual(len(list(csv.DictReader(file))), 2 * (2 + 1))
        self.program("bin/bench_allreduce", OURS, code=4)
        with redirect_stderr(io.StringIO()) as said, redirect_stdout(io.StringIO()):
            self.assertEqual(compare_tools.main([*argv, str(self.folder / "failed")]), 3)
        self.assertIn("exit 4", said.getvalue())


if __name__ == "__main__":
    unittest.main()
