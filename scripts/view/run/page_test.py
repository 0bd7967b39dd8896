# SPDX-License-Identifier: Apache-2.0
# Figures on a run's page: their order, and what was not drawn.
from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from fixtures.account import loss_rows
from fixtures.files import write_csv
from fixtures.run import scaling_rows
from view.run.page import FIGURES, of_name


class PanelsTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.run_folder = Path(folder.name)

    def panels(self, name: str, *panels: str) -> str:
        """The markup of that figure with these panels."""
        figures = self.run_folder / "figures"
        figures.mkdir(exist_ok=True)
        for panel in panels:
            svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><text>{panel}.</text></svg>'
            (figures / f"{name}-{panel}.svg").write_text(svg, encoding="utf-8")
        return str(of_name(self.run_folder, name, FIGURES[name]))

    def test_panels_are_in_the_order_of_their_numbers(self) -> None:
        shown = self.panels("busbw", *(f"over-{way}-{n}-ranks" for n in (16, 2, 128, 4) for way in ("thread", "mpi")))
        places = [shown.index(f"over-{way}-{n}-ranks.") for way in ("mpi", "thread") for n in (2, 4, 16, 128)]
        self.assertEqual(places, sorted(places))

    def test_the_page_says_that_not_all_accounts_are_drawn(self) -> None:
        rows = scaling_rows(["mlp"], [2, 4, 8], ["flat"], cores=8)
        write_csv(self.run_folder, "scaling.csv", rows)
        write_csv(self.run_folder, "losses.csv", loss_rows(rows))
        self.assertIn("Drawn: 1 of 3, each strategy at its largest N; all are in losses.csv.", self.panels("waterfall", "n-8"))
        self.assertNotIn("Drawn:", self.panels("waterfall", "n-2", "n-4"))


if __name__ == "__main__":
    unittest.main()
