# SPDX-License-Identifier: Apache-2.0
# A run's page and Markdown where they depend on what the run holds: titles, measurements, panels and what was not drawn.
from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
import tempfile
import unittest
from base64 import b64decode
from pathlib import Path

from fixtures.account import loss_rows
from fixtures.files import write_csv
from fixtures.run import allreduce_rows, scaling_rows, throughput_rows, write_manifest
from scalebench.manifest import Manifest
from scalebench.pages.run.markdown import write_markdown
from scalebench.pages.run.page import FIGURES, of_name, write_page


class PanelsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.run_folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def panels(self, name: str, *panels: str) -> str:
        """The markup of that figure with these panels, and its images as they are."""
        figures = self.run_folder / "figures"
        figures.mkdir(exist_ok=True)
        for panel in panels:
            svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><text>{panel}.</text></svg>'
            (figures / f"{name}-{panel}.svg").write_text(svg, encoding="utf-8")
        shown = str(of_name(self.run_folder, name, FIGURES[name]))
        return re.sub('base64,([^"]*)', lambda data: b64decode(data[1]).decode(), shown)

    def test_panels_are_in_the_order_of_their_numbers(self) -> None:
        shown = self.panels("busbw", *(f"over-{way}-{n}-ranks" for n in (16, 2, 128, 4) for way in ("thread", "mpi")))
        places = [shown.index(f"over-{way}-{n}-ranks.") for way in ("mpi", "thread") for n in (2, 4, 16, 128)]
        self.assertEqual(places, sorted(places))

    def test_the_page_says_that_not_all_accounts_are_drawn(self) -> None:
        rows = scaling_rows(["mlp"], [2, 4, 8], ["flat"], cores=8)
        write_csv(self.run_folder, "scaling.csv", rows)
        write_csv(self.run_folder, "losses.csv", loss_rows(rows))
        self.assertIn("Drawn: 1 of 3, of the largest N those with the most lost; all are in losses.csv.", self.panels("waterfall", "n-8"))
        self.assertNotIn("Drawn:", self.panels("waterfall", "n-2", "n-4"))


class CannotBeWrittenTest(unittest.TestCase):
    def test_a_file_that_cannot_be_written_is_one_line(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            write_csv(Path(folder), "scaling.csv", scaling_rows(["mlp"], [2], ["flat"], cores=2))
            write_manifest(Path(folder))
            # Root may write to what is read-only, and nobody to these.
            (Path(folder) / "report.html").mkdir()
            (Path(folder) / "figures").touch()
            for command in ("report", "plot"):
                done = subprocess.run([sys.executable, "-m", "scalebench", command, folder], capture_output=True, text=True, check=False)
                if done.returncode == 3:
                    continue  # no matplotlib
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertIn("copy the folder to where you may write", done.stderr)


class WithoutAStudyTest(unittest.TestCase):
    def setUp(self) -> None:
        self.run_folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        write_csv(self.run_folder, "allreduce.csv", allreduce_rows(["ring"], ["mpi"], [2], cores=2))
        write_csv(self.run_folder, "throughput.csv", throughput_rows(["mlp"], [1], cores=2))

    def both(self) -> tuple[str, str]:
        manifest, check = Manifest(self.run_folder), ("", "", "")
        return write_page(self.run_folder, manifest, [], check), write_markdown(self.run_folder, manifest, check)

    def test_it_is_called_what_it_is_and_its_measurements_are_in_both(self) -> None:
        write_manifest(self.run_folder, study="import", run_id="nccl", **{"import": {"kind": "nccl-tests"}})
        page, markdown = self.both()
        self.assertIn("<h1>Imported results (nccl-tests): nccl</h1>", page)
        self.assertTrue(markdown.startswith("# Imported results (nccl-tests): nccl\n"))
        write_manifest(self.run_folder)
        self.assertIn("# Measurements: quick\n", self.both()[1])
        for row in ("| ring | mpi | 2 | measured | 1 KiB | ", "| mlp | cpu | float32 |  | 32 | 1 | measured | "):
            self.assertEqual(markdown.count(row), 1, row)
        write_csv(self.run_folder, "scaling.csv", scaling_rows(["mlp"], [2], ["flat"], cores=2))
        self.assertIn("# Scaling efficiency: quick\n", self.both()[1])
        write_manifest(self.run_folder, study="import", run_id="hv", **{"import": {"kind": "log"}})
        self.assertIn("# Scaling efficiency, imported (log): hv\n", self.both()[1])

    def test_an_allreduce_without_a_size_is_left_out_of_the_page_and_named(self) -> None:
        write_manifest(self.run_folder)
        row = {**allreduce_rows(["ring"], ["mpi"], [2], cores=2)[0], "case_id": "aa11"}
        write_csv(self.run_folder, "allreduce.csv", [{**row, "size_bytes": ""}, {**row, "size_bytes": "4 KiB"}, row])
        write_csv(self.run_folder, "kernels.csv", [{"kernel": "add", "status": "ok", "bytes": "many", "seconds_median": 2e-6}])
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.both()
        self.assertEqual(said.getvalue().splitlines(), [f"allreduce.csv: size_bytes of case 'aa11' is '{cell}', no number: left out" for cell in ("", "4 KiB")])

    def test_what_a_launch_printed_is_named_where_it_is(self) -> None:
        write_manifest(self.run_folder)
        self.assertNotIn("stderr.log", self.both()[0])
        log = self.run_folder / "launches" / "002-x" / "stderr.log"
        log.parent.mkdir(parents=True)
        log.touch()
        self.assertIn("stderr.log", self.both()[0])


if __name__ == "__main__":
    unittest.main()
