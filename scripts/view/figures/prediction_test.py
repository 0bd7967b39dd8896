# SPDX-License-Identifier: Apache-2.0
# plot_prediction.py on made-up rows: its fine print says of the bands what their column does.
from __future__ import annotations

import importlib.util
import tempfile
import unittest
from pathlib import Path

from fixtures.files import write_csv

HAVE_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None
if HAVE_MATPLOTLIB:
    from view.figures import prediction

DRAWS = "predicted, with 95 % by draws of launches and steps and Student's t"
LEFT_OUT = "95 % by the errors of each measured N left out"


def rows_of(band: str) -> list[dict[str, object]]:
    case = {"model": "mlp", "gradient_sync": "mirrored", "allreduce": "ring", "transport": "mpi", "device": "cpu",
            "dataset": "synthetic", "scaling": "weak", "batch": 32, "band": band}  # fmt: skip
    cells = {"efficiency": 0.9, "efficiency_low": 0.85, "efficiency_high": 0.95}
    check = {**case, **cells, "kind": "check", "ranks": 4, "held_out": 1, "error": 0.02, "measured_efficiency": 0.88}
    return [check, {**case, **cells, "kind": "forecast", "ranks": 16}]


@unittest.skipUnless(HAVE_MATPLOTLIB, "no matplotlib: install python3-matplotlib")
class PredictionTest(unittest.TestCase):
    def fine_print(self, rows: list[dict[str, object]]) -> str:
        with tempfile.TemporaryDirectory() as folder:
            write_csv(Path(folder), "prediction.csv", rows)
            return prediction.draw(Path(folder))[1]

    def test_the_band_is_called_what_its_column_says(self) -> None:
        words = {"measurement": DRAWS, "left_out": f"predicted, with {LEFT_OUT}"}
        for band, said in words.items():
            self.assertTrue(self.fine_print(rows_of(band)).endswith(said), band)
        self.assertTrue(self.fine_print(rows_of("measurement") + rows_of("left_out")).endswith(f"{DRAWS} or {LEFT_OUT}"))

    def test_nothing_is_said_of_a_band_that_is_not_known_or_not_there(self) -> None:
        for band, low in (("of another version", 0.85), ("left_out", "")):
            rows = [{**row, "efficiency_low": low} for row in rows_of(band)]
            self.assertTrue(self.fine_print(rows).endswith("predicted"), band)

    def test_trainings_that_differ_in_their_images_alone_are_lines_of_their_own(self) -> None:
        def lines(first: float, second: float) -> tuple[list[str], list[list[float]]]:
            rows = [{**row, "h_seconds": h, "ranks": ranks} for h in (first, second) for row, ranks in zip(rows_of("left_out"), (4, 16))]
            with tempfile.TemporaryDirectory() as folder:
                write_csv(Path(folder), "prediction.csv", rows)
                axes = prediction.draw(Path(folder))[0]["prediction"].axes[0]
            ranks = [list(line.get_xdata()) for line in axes.lines if len(line.get_xdata()) > 1]
            return [text.get_text() for text in axes.texts], ranks

        for pair, words in (((20.0, 40.0), ("20.0", "40.0")), ((20.01, 20.02), ("20.01", "20.02"))):
            texts, ranks = lines(*pair)
            self.assertLessEqual({f"mirrored · H {word} s" for word in words}, set(texts))
            self.assertEqual(ranks.count([4, 16]), 2, "a line of predictions of each")
        self.assertNotIn("H 20.0 s", " ".join(lines(20.0, 20.0)[0]))


if __name__ == "__main__":
    unittest.main()
