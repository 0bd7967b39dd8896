# SPDX-License-Identifier: Apache-2.0
# plot on made-up rows: its fine print says of the bands what their column does.
from __future__ import annotations

import importlib.util
import tempfile
import unittest
from pathlib import Path

from fixtures.files import write_csv

HAVE_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None
if HAVE_MATPLOTLIB:
    from scalebench.figures import prediction

BAND = "predicted, with 95 % by the errors of each measured N left out"


def rows_of(case_id: str) -> list[dict[str, object]]:
    case = {"case_id": case_id, "model": "mlp", "gradient_sync": "mirrored", "scaling": "weak"}
    cells = {"efficiency": 0.9, "efficiency_low": 0.85, "efficiency_high": 0.95, "network": "model"}
    check = {**case, **cells, "kind": "held_out", "ranks": 4, "error": 0.02, "measured_efficiency": 0.88}
    return [check, {**case, **cells, "kind": "forecast", "ranks": 16}]


@unittest.skipUnless(HAVE_MATPLOTLIB, "no matplotlib: install python3-matplotlib")
class PredictionTest(unittest.TestCase):
    def fine_print(self, rows: list[dict[str, object]]) -> str:
        with tempfile.TemporaryDirectory() as folder:
            write_csv(Path(folder), "prediction.csv", rows)
            return prediction.draw(Path(folder))[1]

    def test_a_band_is_named_where_there_is_one(self) -> None:
        self.assertTrue(self.fine_print(rows_of("a")).endswith(BAND))
        self.assertTrue(self.fine_print([{**row, "efficiency_low": ""} for row in rows_of("a")]).endswith("predicted"))

    def test_a_link_is_named(self) -> None:
        rows = [{**row, "network": "25gbit,10us"} for row in rows_of("a")]
        self.assertTrue(self.fine_print(rows).endswith("predicted for a link of 25gbit,10us"))

    def test_trainings_that_no_word_tells_apart_are_lines_of_their_own(self) -> None:
        def lines(first: str, second: str) -> tuple[list[str], list[list[float]]]:
            with tempfile.TemporaryDirectory() as folder:
                write_csv(Path(folder), "prediction.csv", rows_of(first) + rows_of(second))
                axes = prediction.draw(Path(folder))[0]["prediction"].axes[0]
            ranks = [list(line.get_xdata()) for line in axes.lines if len(line.get_xdata()) > 1]
            return [text.get_text() for text in axes.texts], ranks

        texts, ranks = lines("ab", "cd")
        self.assertLessEqual({"mirrored · case ab", "mirrored · case cd"}, set(texts))
        self.assertEqual(ranks.count([4, 16]), 2, "a line of predictions of each")
        self.assertNotIn("case ab", " ".join(lines("ab", "ab")[0]))


if __name__ == "__main__":
    unittest.main()
