# SPDX-License-Identifier: Apache-2.0
# plot on made-up comparisons: what is drawn, equal bytes for equal data, and that
# rows without a cost, one point or a missing file do no harm.
from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HAVE_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None


def row(instance: str, ranks: int, seconds: float, usd: float, **cells: str) -> dict[str, str]:
    return {"origin": "measured", "status": "ok", "instance": instance, "workload": "resnet20 cifar strong", "ranks": str(ranks),
            "seconds": str(seconds), "usd": str(usd), "seconds_ci_low": "", "seconds_ci_high": "", "best": "yes", **cells}  # fmt: skip


ROWS = [
    row("p3.8xlarge", 1, 100, 0.3, seconds_ci_low="98", seconds_ci_high="103", best="part"),
    row("p3.8xlarge", 4, 28, 0.1),
    row("g2.2xlarge", 1, 640, 0.12, origin="imported"),
    row("p2.xlarge", 1, 300, 0.2, origin="quoted", best="no"),
    {**row("p3.8xlarge", 8, 0, 0), "status": "failed", "seconds": "", "usd": ""},
]
PRICE = {"usd_per_hour": 12.24, "currency": "usd", "price_date": "2026-07-20", "price_source": "list"}
DOCUMENT = {"runs": [{"letter": "A", "run_id": "on_p3"}],
            "instances": [{"name": "p3.8xlarge", **PRICE}, {"name": "g2.2xlarge", **PRICE, "price_source": "given by the user"}]}  # fmt: skip


@unittest.skipUnless(HAVE_MATPLOTLIB, "no matplotlib")
class PlotCompareTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def plot(self, rows: list[dict[str, str]]) -> subprocess.CompletedProcess[str]:
        (self.folder / "compare.json").write_text(json.dumps({**DOCUMENT, "costs": rows}), encoding="utf-8")
        return subprocess.run([sys.executable, "-m", "scalebench", "plot", str(self.folder)],
                              capture_output=True, text=True, timeout=240, check=False)  # fmt: skip

    def test_draws_each_instance_with_its_price(self) -> None:
        done = self.plot(ROWS)
        self.assertEqual(done.returncode, 0, done.stderr)
        svg = (self.folder / "figures" / "cost.svg").read_text(encoding="utf-8")
        for text in ("p3.8xlarge", "p2.xlarge (quoted)", "p3.8xlarge: 12.24 usd/h, 2026-07-20",
                     "g2.2xlarge (imported): 12.24 usd/h, 2026-07-20, given", "by the user",
                     "interval over launches", "minutes", "A: on_p3", "a part of an instance, billed whole"):  # fmt: skip
            self.assertIn(text, svg)
        before = (self.folder / "figures" / "cost.png").read_bytes()
        self.plot(ROWS)
        self.assertEqual((self.folder / "figures" / "cost.png").read_bytes(), before)

    def test_points_over_each_other_have_a_label_that_can_be_read(self) -> None:
        pair = [row("p3.8xlarge", ranks, seconds, usd, best="no") for ranks, seconds, usd in ((1, 100, 0.3), (1, 101, 0.303), (2, 100.5, 0.301))]
        self.plot(pair)
        svg = (self.folder / "figures" / "cost.svg").read_text(encoding="utf-8")
        self.assertEqual([svg.count(f"<!-- N={n} -->") for n in (1, 2)], [1, 1])

    def test_a_line_is_explained_where_there_is_one(self) -> None:
        one = [row("p3.8xlarge", 1, 100, 0.3), row("g2.2xlarge", 1, 90, 0.5, origin="imported")]
        for rows, is_line in ((one, False), ([*one, row("p3.8xlarge", 2, 60, 0.4)], True)):
            self.plot(rows)
            svg = (self.folder / "figures" / "cost.svg").read_text(encoding="utf-8")
            self.assertEqual("nothing of that origin is both" in svg, is_line)

    def test_one_point_is_drawn_and_none_is_said(self) -> None:
        self.assertEqual(self.plot(ROWS[:1]).returncode, 0)
        self.assertTrue((self.folder / "figures" / "cost.png").exists())
        done = self.plot(ROWS[-1:])
        self.assertEqual(done.returncode, 0)
        self.assertIn("nothing with a cost", done.stderr)
        self.assertFalse((self.folder / "figures" / "cost.png").exists(), "an old figure would show other rows")

    def test_each_workload_has_a_panel_and_a_file(self) -> None:
        other = [{**cells, "workload": "mlp training steps"} for cells in ROWS[:2]]
        self.plot(ROWS)
        self.plot([*ROWS, *other])
        titles = ["mlp training steps", "resnet20 cifar strong"]
        files = sorted((self.folder / "figures").glob("*.svg"))
        self.assertEqual([file.stem for file in files], [f"cost-{title.replace(' ', '-')}" for title in titles])
        for file, title in zip(files, titles):
            self.assertIn(f"<!-- {title} -->", file.read_text(encoding="utf-8"))

    def test_an_interval_lies_within_the_axes_and_no_series_is_named_there(self) -> None:
        from scalebench.figures import cost

        self.plot([*ROWS[:2], {**ROWS[2], "seconds_ci_low": "2", "seconds_ci_high": "9000"}])
        figures, _ = cost.draw(self.folder)
        (axes,) = figures["cost"].axes
        low, high = axes.get_ylim()
        self.assertLess(low * 60, 2)
        self.assertGreater(high * 60, 9000)
        self.assertTrue(all(text.get_text().startswith("N=") for text in axes.texts))


if __name__ == "__main__":
    unittest.main()
