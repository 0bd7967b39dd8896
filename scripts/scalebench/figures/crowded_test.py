# SPDX-License-Identifier: Apache-2.0
# Figures with more than they have room for: many series, and names as long as imports have them.
from __future__ import annotations

import importlib.util
import tempfile
import unittest
import warnings
from pathlib import Path

from fixtures.account import loss_rows
from fixtures.files import write_csv
from fixtures.run import epoch_rows, scaling_rows

HAVE_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None
if HAVE_MATPLOTLIB:
    import matplotlib

    from scalebench.figures import phases, scaling, theme, waterfall


@unittest.skipUnless(HAVE_MATPLOTLIB, "no matplotlib: install python3-matplotlib")
class CrowdedTest(unittest.TestCase):
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

    def test_long_names_leave_the_bars_their_place(self) -> None:
        models = [f"/data/{'a_folder_within/' * 9}{name}.pt" for name in ("first", "second")]
        syncs = [f"{name}_{'as_long_as_imports_have_them_' * 4}" for name in ("mirrored", "server")]
        with tempfile.TemporaryDirectory() as folder, matplotlib.rc_context({**theme.STYLE, "backend": "agg"}):
            run = Path(folder)
            rows = scaling_rows(models, [2, 4], syncs, cores=4)
            write_csv(run, "scaling.csv", rows)
            write_csv(run, "losses.csv", loss_rows(rows))
            write_csv(run, "epoch.csv", epoch_rows(models, [2, 4], syncs, cores=4))
            for figure in [*phases.draw(run).values(), *waterfall.draw(run).values()]:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")  # of axes that have no place
                    figure.draw_without_rendering()
                axes = figure.axes[0].get_window_extent()
                self.assertGreater(axes.width, 0.4 * figure.bbox.width)
                self.assertGreater(axes.height / len(figure.axes[0].get_yticks()), 15, "pixels of a bar")
                labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
                self.assertEqual(len(set(labels)), len(labels))

    def test_a_legend_names_what_is_drawn_alone(self) -> None:
        rows = scaling_rows(["mlp"], [1, 2, 4], ["flat", "bucketed"], cores=4)
        empty = {"efficiency": "", "efficiency_raw": ""}
        shared = [{**row, **empty, "origin": "emulated"} for row in rows if row["ranks"] == 4]
        raw_alone = [{**row, "efficiency": ""} for row in rows if row["gradient_sync"] == "bucketed"]
        flat = [row for row in rows if row["gradient_sync"] == "flat"]
        with tempfile.TemporaryDirectory() as folder:
            write_csv(Path(folder), "scaling.csv", [*flat, *raw_alone, *shared])
            (figure,) = scaling.draw(Path(folder)).values()
        self.assertEqual([text.get_text() for text in figure.legends[0].get_texts()], ["ideal", "flat", "bucketed"])

    def test_shares_have_their_names_and_each_layout_its_ideal(self) -> None:
        epochs = epoch_rows(["mlp"], [2], ["flat"], cores=2)
        (ideal,) = scaling_rows(["mlp"], [2], ["flat"], cores=2)
        layouts = [{"nodes": 1}, {"nodes": 2}, {"origin": "emulated"}]
        shares = [{**epochs[0], "case_id": f"share{n}", "ranks": 1, "share_of": n} for n in (2, 4)]
        with tempfile.TemporaryDirectory() as folder:
            run = Path(folder)
            write_csv(run, "epoch.csv", [*({**epochs[0], **layout} for layout in layouts), *shares])
            write_csv(run, "scaling.csv", [{**ideal, **layout, "ideal_seconds": 3 + place if place < 2 else ""}
                                           for place, layout in enumerate(layouts)])  # fmt: skip
            (figure,) = phases.draw(run).values()
        labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
        self.assertEqual([label.split(", ")[-1] for label in labels if "share" in label], ["share of 1/2", "share of 1/4"])
        marks = [line.get_xdata()[0] for line in figure.axes[0].lines if line.get_color() == theme.INK]
        self.assertEqual(sorted(marks), [3, 4])


if __name__ == "__main__":
    unittest.main()
