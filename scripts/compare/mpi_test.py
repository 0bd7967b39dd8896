# SPDX-License-Identifier: Apache-2.0
# compare_mpi.py on made-up starts: ratios within a start, medians over starts, the setting that is
# best for the MPI at each size, and the command line.
from __future__ import annotations

import io
import tempfile
import unittest
from contextlib import redirect_stderr
from pathlib import Path

import compare_mpi

HEADER = "transport,algorithm,size_bytes,status,seconds_median\n"


def made_start(folder: Path, native: float, direct: float, ring: float = 0.0) -> Path:
    folder.mkdir(parents=True)
    rows = [
        f"mpi,native,1048576,ok,{native}",
        "shared_memory,native,1048576,skipped,",
        f"shared_memory,direct,1048576,ok,{direct}",
        f"shared_memory,one_shot,1048576,ok,{2 * direct}",
    ]
    if ring:
        rows.append(f"mpi,ring,1048576,ok,{ring}")
    (folder / "allreduce.csv").write_text(HEADER + "\n".join(rows) + "\n", encoding="utf-8")
    (folder / "bound.csv").write_text(f"size_bytes,seconds\n1048576,{direct / 2}\n", encoding="utf-8")
    return folder


class CompareMpi(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

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

    def test_refuses_a_folder_that_exists(self) -> None:
        with redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit) as end:
            compare_mpi.arguments_of(["--out", str(self.folder)])
        self.assertEqual(end.exception.code, 2)
        self.assertIn("exists", said.getvalue())

    def test_refuses_an_unknown_setting(self) -> None:
        programs = self.folder / "bin"
        programs.mkdir()
        (programs / "bench_allreduce").touch()
        with redirect_stderr(io.StringIO()) as said:
            code = compare_mpi.main(
                ["--programs", str(programs), "--out", str(self.folder / "new"), "--settings", "tuned 9"]
            )
        self.assertEqual(code, 2)
        self.assertIn("unknown setting 'tuned 9'; valid: as installed; coll sm", said.getvalue())


if __name__ == "__main__":
    unittest.main()
