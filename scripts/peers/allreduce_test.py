# SPDX-License-Identifier: Apache-2.0
# compare_with mpi and tools: what our own rows and those of imports say, on made-up programs, and what is refused.
from __future__ import annotations

import contextlib
import os
import unittest

from peers import compare, mpi, tools
from peers.harness import Failed
from peers.testing import MadeUp

ROWS = """transport,algorithm,size_bytes,status,note,seconds_median,busbw_gb_per_s,bound_busbw_gb_per_s
mpi,native,1048576,ok,,{native},,
shared_memory,native,1048576,skipped,none,,,
shared_memory,direct,1048576,ok,,1e-4,5,10
shared_memory,one_shot,1048576,ok,,2e-4,2.5,10
mpi,ring,1048576,ok,,6e-4,,
"""
# As installed MPI takes 8e-4 s, with any setting 4e-4; the last word of the command is the folder.
WRITES = """#!/bin/sh
for folder; do :; done
native=8e-4
[ -z "$OMPI_MCA_coll_sm_priority$OMPI_MCA_coll_tuned_allreduce_algorithm" ] || native=4e-4
mkdir "$folder" && cat >"$folder/allreduce.csv" <<END
"""
MPI = f"{WRITES}{ROWS.format(native='$native')}END\n"
OURS = """placement,status,note,size_bytes,seconds_median
out_of_place,ok,,4096,1.2e-06
in_place,skipped,none,4096,
"""
IMPORT = """#!/bin/sh
case "$*" in
  "import osu $3 --quiet --out $6 --set ranks=2" | "import nccl-tests $3 --quiet --out $6") ;;
  *) exit 2 ;;
esac
grep -q 1.08 "$3" || { echo "warning: $3: no result in it" >&2; exit 4; }
mkdir "$6" && cat >"$6/allreduce.csv" <<END
placement,status,note,size_bytes,seconds_median
out_of_place,ok,,4096,1.08e-06
END
! grep -q 0.00 "$3" || { echo "warning: average: '0.00' is not a number" >&2; exit 3; }
"""


def printed(text: str, code: int = 0) -> str:
    return f"#!/bin/sh\ncat <<'END'\n{text}END\nexit {code}\n"


class Allreduce(MadeUp):
    def setUp(self) -> None:
        super().setUp()
        self.program("bench_allreduce", MPI)
        self.program("scalebench", IMPORT)

    def test_settings_of_mpi_stand_beside_ours_of_the_same_start(self) -> None:
        code, table, _ = self.compare("mpi", "--settings", "coll sm; tuned 4 ring; coll sm", "--starts", "2")
        self.assertEqual(code, 0)
        rows = {row["against"]: (row["ratio"], row["ours"]) for row in self.rows("comparison.csv")}
        self.assertEqual(rows["as installed"], ("8.000", "direct over shared_memory beside as installed"))
        self.assertEqual(rows["coll sm"], ("4.000", "direct over shared_memory beside coll sm"))
        self.assertEqual((rows["memory bound"][0], rows["our ring over MPI"][0]), ("0.500", "0.667"))
        self.assertIn("coll sm", table)
        self.assertNotIn("tuned 4 ring", table)  # It is no closer to ours.
        commands = [row["command"] for row in self.rows("legs.csv")]
        self.assertEqual(len(commands), 2 * 3)
        self.assertEqual(len({command.partition("--seed ")[2].split()[0] for command in commands}), 2 * 3)
        self.assertEqual(sum(command.startswith("env OMPI_MCA_coll_sm_priority=100 mpirun") for command in commands), 2)
        self.assertTrue((self.out / self.rows("legs.csv")[0]["command"].rsplit("/", 1)[-1] / "allreduce.csv").exists())
        self.assertRaisesRegex(Failed, "no row", mpi.times_of, "as installed", [])

    def test_an_algorithm_has_a_time_over_each_transport(self) -> None:
        head, *rows = ROWS.format(native="$native").replace("direct", "ring").splitlines(keepends=True)
        for name, ordered in (("one", rows), ("other", rows[::-1])):
            self.out = self.folder / name
            self.program("bench_allreduce", f"{WRITES}{head}{''.join(ordered)}END\n")
            self.compare("mpi", "--settings", mpi.RING, "--algorithms", "ring", "--starts", "1")
            ratios = {row["against"]: row["ratio"] for row in self.rows("comparison.csv")}
            self.assertEqual((ratios[mpi.RING], ratios[mpi.OUR_RING]), ("4.000", "0.667"))

    def test_a_table_that_nobody_reads_is_no_failure(self) -> None:
        reading, writing = os.pipe()
        os.close(reading)
        words = ["mpi", "--settings", "coll sm", "--starts", "1", "--programs", ".", "--out", "out"]
        with open(writing, "w", encoding="utf-8") as gone, contextlib.redirect_stdout(gone):
            with contextlib.redirect_stderr(None):
                self.assertEqual(compare.main(words), 0)

    def test_a_tool_and_ours_run_side_by_side(self) -> None:
        self.program("c/osu_allreduce", printed("4096   1.08\n"))
        self.program("c/.libs/osu_allreduce", printed("not by itself\n", code=1))
        self.program("bench_allreduce", printed(OURS))
        code, table, _ = self.compare("tools", "--osu", str(self.folder / "c"), "--starts", "2", "--iterations", "7")
        self.assertEqual(code, 0)
        (row,) = self.rows("comparison.csv")
        self.assertEqual((row["case"], row["ratio"]), ("out_of_place 4096", "0.900"))
        self.assertEqual(len(self.rows("samples.csv")), 2 * (1 + 1))
        self.assertIn("# 1 of 1 ratios agree within 10%", table)
        commands = {row["leg"]: row["command"] for row in self.rows("legs.csv")}
        self.assertIn("/osu_allreduce -T mpi_float -m 4096:16777216 ", commands[tools.OSU])
        self.assertTrue(commands[tools.OSU].endswith(" -f -i 7"))
        alike = "--algorithm native --transport mpi --memory host --placement out_of_place -b 4096 -e 16777216 -f 2"
        self.assertIn(alike, commands[tools.ours_beside(tools.OSU)])

    def test_nccl_tests_and_ours_do_the_same(self) -> None:
        self.program("path/nvidia-smi", printed("A card\nA card\n"))
        self.program("all_reduce_perf", printed("4096   1.08\n"))
        self.program("bench_allreduce", printed(OURS))
        self.assertEqual(self.compare("tools", "--nccl-tests", "all_reduce_perf", "--starts", "1")[0], 0)
        self.assertEqual([row["ratio"] for row in self.rows("comparison.csv")], ["0.900"])
        commands = {row["leg"]: row["command"] for row in self.rows("legs.csv")}
        sizes = "-b 4096 -e 16777216 -f 2"
        self.assertTrue(commands[tools.NCCL].endswith(f"./all_reduce_perf -g 1 -d float -o sum {sizes}"))
        ours = f"--algorithm native --transport nccl --mode pipelined -n 20 -w 1 --placement both {sizes}"
        self.assertTrue(commands[tools.ours_beside(tools.NCCL)].endswith(ours))

    def test_a_size_that_cannot_be_read_fails_its_leg(self) -> None:
        self.program("osu_allreduce", printed("4096   1.08\n8192   0.00\n"))
        self.program("bench_allreduce", printed(OURS))
        code, _, errors = self.compare("tools", "--osu", "osu_allreduce", "--starts", "1")
        self.assertEqual(code, 3)
        self.assertIn("compare_with: osu_allreduce: warning: average: '0.00' is not a number", errors)

    def test_a_tool_or_ours_that_fails_is_said(self) -> None:
        self.program("osu_allreduce", printed("mpi.h: no such file\n"))
        self.program("bench_allreduce", printed(OURS, code=4))
        code, _, errors = self.compare("tools", "--osu", str(self.folder / "osu_allreduce"), "--starts", "1")
        self.assertEqual(code, 3)
        self.assertRegex(errors, "compare_with: osu_allreduce: warning: .*-osu-allreduce.txt: no result in it")
        self.assertIn("compare_with: bench_allreduce beside osu_allreduce: exit code 4", errors)
        row = {"status": "wrong", "note": "3 wrong elements", "size_bytes": "4096", "placement": "in_place"}
        self.assertRaisesRegex(Failed, "4096 bytes in_place: 3 wrong elements", tools.times_of, "osu", [row])
        row |= {"status": "skipped", "note": "no GPU"}
        self.assertRaisesRegex(Failed, "no GPU", tools.times_of, "osu", [row])

    def test_what_cannot_be_compared_is_refused(self) -> None:
        here = str(self.folder)
        for name, words, said in (
            ("mpi", ["--settings", "tuned 9"], "unknown setting 'tuned 9'; valid: as installed; coll sm"),
            ("mpi", ["--mpich", f"{here}/nowhere"], "no bench_allreduce in "),
            ("mpi", ["--launcher", "no-such-launcher -x"], "no-such-launcher: no such launcher"),
            ("mpi", ["--launcher", "mpirun 'x"], "--launcher: mpirun 'x: No closing quotation"),
            ("mpi", ["--out", here], "exists"),
            ("mpi", ["--out", "/dev/null/x"], "/dev/null/x: Not a directory"),
            ("mpi", ["--starts", "0"], "'0' is no positive number"),
            ("mpi", ["--programs", f"{here}/nowhere"], "no bench_allreduce in"),
            ("tools", [], "give --osu, --nccl-tests or both"),
            ("tools", ["--osu", f"{here}/missing"], "no osu_allreduce in"),
            ("tools", ["--osu", here, "-b", "2M", "-e", "1M"], "is larger than -e"),
            ("tools", ["--osu", here, "-b", "4X"], "'4X' is no size"),
            ("tools", ["--osu", here, "--ranks", "1"], "at least 2"),
            ("tools", ["--osu", here, "--iterations", "abc"], "'abc' is no positive number"),
            ("tools", ["--nccl-tests", here, "--ranks", "999"], "needs a GPU for each of 999 rank(s)"),
        ):
            self.assertIn(said, self.refusal(name, *words))


if __name__ == "__main__":
    unittest.main()
