# SPDX-License-Identifier: Apache-2.0
# compare_mpi.py on made-up starts: ratios within a start, medians over starts, the setting that is
# best for the MPI at each size, and the command line.
from __future__ import annotations

import io
import tempfile
import unittest
from contextlib import redirect_stderr
from pathlib import Path
from unittest import mock

import compare_mpi

HEADER = "transport,algorithm,size_bytes,status,seconds_median,busbw_gb_per_s,bound_busbw_gb_per_s\n"


def made_start(folder: Path, native: float, direct: float, ring: float = 0.0) -> Path:
    folder.mkdir(parents=True)
    rows = [
        f"mpi,native,1048576,ok,{native},,",
        "shared_memory,native,1048576,skipped,,,",
        f"shared_memory,direct,1048576,ok,{direct},5,10",
        f"shared_memory,one_shot,1048576,ok,{2 * direct},2.5,10",
    ]
    if ring:
        rows.append(f"mpi,ring,1048576,ok,{ring},,")
    (folder / "allreduce.csv").write_text(HEADER + "\n".join(rows) + "\n", encoding="utf-8")
    return folder


class CompareMpi(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_takes_ratios_within_a_start_and_names_the_best_setting(self) -> None:
        comparison = compare_mpi.Comparison()
        for number, (setting, native, direct) in enumerate(
            [
                ("as installed", 8e-4, 1e-4),
                ("as installed", 3e-4, 1e-4),
                ("as installed", 1.2e-3, 2e-4),  # a slow moment of the machine: still six times
                ("coll sm", 4e-4, 1e-4),
            ]
        ):
            comparison.add(setting, made_start(self.folder / str(number), native, direct))
        comparison.add(compare_mpi.RING, made_start(self.folder / "ring", 9e-4, 1e-4, 6e-4))
        (row,) = comparison.rows()
        self.assertEqual(row["algorithm"], "direct")
        self.assertEqual(row["ratio_as_installed"], "6.00")
        self.assertEqual((row["best_setting"], row["ratio_best_setting"]), ("coll sm", "4.00"))
        self.assertEqual(row["bound_share"], "0.500")
        self.assertEqual(row["ratio_ring"], "1.50")
        one_shot = compare_mpi.Comparison("one_shot")
        one_shot.add("as installed", self.folder / "0")
        self.assertEqual(one_shot.rows()[0]["ratio_as_installed"], "4.00")

    def test_refuses_a_folder_that_exists(self) -> None:
        with redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit) as end:
            compare_mpi.arguments_of(["--out", str(self.folder)])
        self.assertEqual(end.exception.code, 2)
        self.assertIn("exists", said.getvalue())

    def test_refuses_an_unknown_setting(self) -> None:
        with redirect_stderr(io.StringIO()) as said:
            code = compare_mpi.main([*self.command(), "--settings", "tuned 9"])
        self.assertEqual(code, 2)
        self.assertIn("unknown setting 'tuned 9'; valid: as installed; coll sm", said.getvalue())

    def command(self) -> list[str]:
        """With a program that is there, and a launcher that every machine has."""
        programs = self.folder / "bin"
        programs.mkdir()
        (programs / "bench_allreduce").touch()
        return ["--programs", str(programs), "--launcher", "true", "--out", str(self.folder / "new")]

    def test_what_is_not_there_is_refused_before_the_first_start(self) -> None:
        words = self.command()
        for more, said_of_it in (
            (["--mpich", str(self.folder)], f"no bench_allreduce in {self.folder}: build first"),
            (["--launcher", "no-such-launcher -x"], "no-such-launcher: no such launcher"),
        ):
            with redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit) as end:
                compare_mpi.main([*words, *more])
            self.assertEqual(end.exception.code, 2)
            self.assertIn(said_of_it, said.getvalue())
        self.assertFalse((self.folder / "new").exists())
        with mock.patch.object(compare_mpi, "MPICH_LAUNCHER", ["no-such-mpiexec"]), redirect_stderr(io.StringIO()) as said:
            self.assertRaises(SystemExit, compare_mpi.main, [*words, "--mpich", str(self.folder / "bin")])
        self.assertIn("no-such-mpiexec: no such launcher", said.getvalue())

    def test_a_launcher_that_cannot_be_started_is_a_failed_start(self) -> None:
        options = compare_mpi.arguments_of(self.command())
        options.launcher = "no-such-launcher"
        with redirect_stderr(io.StringIO()) as said:
            self.assertIsNone(compare_mpi.start(options, "as installed", 1))
        self.assertRegex(said.getvalue(), "^compare_mpi: as installed: .*No such file or directory: 'no-such-launcher'\n$")


if __name__ == "__main__":
    unittest.main()
