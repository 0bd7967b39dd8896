# SPDX-License-Identifier: Apache-2.0
# Figures of efficiency and speedup where there are many series.
from __future__ import annotations

import importlib.util
import tempfile
import unittest
from pathlib import Path

from fixtures.files import write_csv
from fixtures.run import scaling_rows

HAVE_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None
if HAVE_MATPLOTLIB:
    from view.figures import scaling


@unittest.skipUnless(HAVE_MATPLOTLIB, "no matplotlib: install python3-matplotlib")
class ScalingTest(unittest.TestCase):
    def test_dots_beside_each_other_stay_within_the_axes(self) -> None:
        for count in (1, 2, 5, 8, 16):
            rows = scaling_rows(["mlp"], [1, 2], [f"sync{n}" for n in range(count)], cores=2)
            with tempfile.TemporaryDirectory() as folder:
                write_csv(Path(folder), "scaling.csv", [{**row, "efficiency_raw": 9} for row in rows])
                (figure,) = scaling.draw(Path(folder)).values()
            axes = figure.axes[0]
            (left, right), (_, top) = axes.get_xlim(), axes.get_ylim()
            at_two = [line.get_xdata()[1] for line in axes.lines if line.get_marker() in ("o", "s", "^", "D", "v", "p", "h", "*")]
            self.assertEqual(len(set(at_two)), count)
            self.assertTrue(all(left < x < right for x in at_two), (count, at_two))
            self.assertLess(top, 2, "E_raw is not drawn")


if __name__ == "__main__":
    unittest.main()
