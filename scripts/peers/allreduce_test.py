# SPDX-License-Identifier: Apache-2.0
# compare_with mpi and tools: what the tools and our own rows say, on made-up texts and programs, and what is
# refused.
from __future__ import annotations

import unittest

from peers import mpi, tools
from peers.harness import Failed
from peers.testing import MadeUp
from peers.tools import NCCL, OSU

OSU_TEXT = """
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
NCCL_TEXT = """# nThread 1 nGpus 1 minBytes 4096 maxBytes 8192 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1
#  Rank  0 Group  0 Pid   4242 on       host device  0 [0000:01:00] NVIDIA H100 80GB HBM3
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
        4096          1024     float     sum      -1     9.61    0.43    0.43      0     9.37    0.44    0.44      0
        8192          2048     float     sum      -1    10.02    0.82    0.82    N/A      N/A     N/A     N/A    N/A
# Out of bounds values : 0 OK
"""
ROWS = """transport,algorithm,size_bytes,status,note,seconds_median,busbw_gb_per_s,bound_busbw_gb_per_s
mpi,native,1048576,ok,,{native},,
shared_memory,native,1048576,skipped,none,,,
shared_memory,direct,1048576,ok,,1e-4,5,10
shared_memory,one_shot,1048576,ok,,2e-4,2.5,10
mpi,ring,1048576,ok,,6e-4,,
"""
# As installed MPI takes 8e-4 s, with any setting 4e-4; the last word of the command is the folder.
MPI = f"""#!/bin/sh
for folder; do :; done
native=8e-4
[ -z "$OMPI_MCA_coll_sm_priority$OMPI_MCA_coll_tuned_allreduce_algorithm" ] || native=4e-4
mkdir "$folder" && cat >"$folder/allreduce.csv" <<END
{ROWS.format(native="$native")}END
"""


def printed(text: str, code: int = 0) -> str:
    return f"#!/bin/sh\ncat <<'END'\n{text}END\nexit {code}\n"


class Allreduce(MadeUp):
    def setUp(self) -> None:
        super().setUp()
        self.program("bench_allreduce", MPI)

    def test_settings_of_mpi_stand_beside_ours_of_the_same_start(self) -> None:
        code, table, _ = self.compare("mpi", "--settings", "coll sm; tuned 4 ring", "--starts", "2")
        self.assertEqual(code, 0)
        rows = {row["against"]: (row["ratio"], row["ours"]) for row in self.rows("comparison.csv")}
        self.assertEqual(rows["as installed"], ("8.000", "direct beside as installed"))
        self.assertEqual(rows["coll sm"], ("4.000", "direct beside coll sm"))
        self.assertEqual((rows["memory bound"][0], rows["our ring over MPI"][0]), ("0.500", "0.667"))
        self.assertIn("coll sm", table)
        self.assertNotIn("tuned 4 ring", table)  # It is no closer to ours.
        self.assertEqual(len(self.rows("legs.csv")), 2 * 3)
        self.assertTrue((self.out / self.rows("legs.csv")[0]["command"].rsplit("/", 1)[-1] / "allreduce.csv").exists())

    def test_what_cannot_be_compared_with_mpi_is_refused(self) -> None:
        for words, said in (
            (["--settings", "tuned 9"], "unknown setting 'tuned 9'; valid: as installed; coll sm"),
            (["--mpich", str(self.folder / "path")], "no bench_allreduce in "),
            (["--launcher", "no-such-launcher -x"], "no-such-launcher: no such launcher"),
            (["--out", str(self.folder)], "exists"),
            (["--starts", "0"], "'0' is no positive number"),
            (["--programs", str(self.folder / "path"), "--out", str(self.out)], "no bench_allreduce in"),
        ):  # fmt: skip
            self.assertIn(said, self.refusal("mpi", *words))

    def test_times_of_tools(self) -> None:
        self.assertAlmostEqual(tools.osu_times(OSU_TEXT, self.folder).seconds["out_of_place 1048576", OSU], 163.72e-6)
        of_nccl = tools.nccl_times(NCCL_TEXT, self.folder).seconds
        self.assertEqual([case for case, _ in of_nccl], ["out_of_place 4096", "in_place 4096", "out_of_place 8192"])
        self.assertAlmostEqual(of_nccl["in_place 4096", NCCL], 9.37e-6)
        ours = tools.our_times(OSU, OURS, self.folder).seconds
        self.assertEqual(ours, {("out_of_place 4096", "bench_allreduce beside osu_allreduce"): 1.2e-6})

    def test_what_a_tool_prints_that_is_no_time_is_said(self) -> None:
        other = "# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n4096      812.11\n"
        for text in ("", other, "4096  1.0\n", OSU_TEXT.replace("Avg Latency(us)", "Avg Latency(ms)")):
            self.assertRaisesRegex(Failed, "no line '# Size", tools.osu_times, text, self.folder)
        for word in ("nan", "-1.08", "0.00", "fast"):
            self.assertRaisesRegex(Failed, "is no time", tools.osu_times, OSU_TEXT.replace("1.08", word), self.folder)
        wrong = NCCL_TEXT.replace("0.43      0 ", "0.43      7 ")
        self.assertRaisesRegex(Failed, "4096 bytes out_of_place: 7 wrong", tools.nccl_times, wrong, self.folder)
        here = self.folder
        for row, said in (("wrong,3 elements,4096,", "3 elements"), ("skipped,nobody,4096,", "nobody")):
            self.assertRaisesRegex(Failed, said, tools.our_times, OSU, OURS.replace("ok,,4096,1.2e-06", row), here)
        self.assertRaisesRegex(Failed, "no row", mpi.times_of, "as installed", [])

    def test_a_tool_and_ours_run_side_by_side(self) -> None:
        self.program("c/mpi/osu_allreduce", printed(OSU_TEXT))
        self.program("bench_allreduce", printed(OURS))
        code, table, _ = self.compare("tools", "--osu", str(self.folder), "--starts", "2")
        self.assertEqual(code, 0)
        (row,) = self.rows("comparison.csv")
        self.assertEqual((row["case"], row["ratio"]), ("out_of_place 4096", "0.900"))
        self.assertEqual(len(self.rows("samples.csv")), 2 * (2 + 1))
        self.assertIn("# 1 of 1 ratios agree within 10%", table)
        self.program("bench_allreduce", printed(OURS, code=4))
        self.out = self.folder / "failed"
        code, _, errors = self.compare("tools", "--osu", str(self.folder / "c/mpi/osu_allreduce"), "--starts", "1")
        self.assertEqual(code, 3)
        self.assertIn("compare_with: bench_allreduce beside osu_allreduce: exit code 4", errors)

    def test_what_cannot_be_compared_with_a_tool_is_refused(self) -> None:
        here = str(self.folder)
        for words, said in (
            ([], "give --osu, --nccl-tests or both"),
            (["--osu", here + "/missing"], "no osu_allreduce in"),
            (["--osu", here, "-b", "2M", "-e", "1M"], "is larger than -e"),
            (["--osu", here, "-b", "4X"], "'4X' is no size"),
            (["--osu", here, "--ranks", "1"], "at least 2"),
            (["--nccl-tests", here, "--ranks", "999"], "needs a GPU for each of 999 rank(s)"),
        ):
            self.assertIn(said, self.refusal("tools", *words))


if __name__ == "__main__":
    unittest.main()
