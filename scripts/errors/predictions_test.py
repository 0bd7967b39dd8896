# SPDX-License-Identifier: Apache-2.0
# What errors/predictions.py says of errors that are known: coverage and means with intervals from tables,
# and nothing where there is nothing.
from __future__ import annotations

import csv
import math
import tempfile
import unittest
from pathlib import Path

from errors import predictions
from view.rows import Row, read_rows

COLUMNS = ["schema_version", "held_out", "status", "inside", "error", *predictions.PARTS]


class PredictionErrorTest(unittest.TestCase):
    def said(self, cases: list[dict[str, object]]) -> dict[object, dict[str, object]]:
        with tempfile.TemporaryDirectory() as folder:
            with open(Path(folder) / "prediction.csv", "w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, COLUMNS, restval="")
                writer.writeheader()
                writer.writerows({"schema_version": 1, "held_out": 1, "status": "ok", **case} for case in cases)
            return {row["quantity"]: row for row in predictions.summary(read_rows(Path(folder), "prediction.csv"))}

    def test_students_t_is_that_of_tables(self) -> None:
        for degrees, t in {1: 12.706, 2: 4.303, 11: 2.201, 30: 2.042}.items():
            self.assertAlmostEqual(predictions.student_t(degrees), t, places=3)
        self.assertTrue(math.isnan(predictions.student_t(0)))

    def test_coverage_and_mean_have_their_intervals(self) -> None:
        said = self.said([{"inside": int(i < 9), "error": 0.01 * (i - 5)} for i in range(10)])
        self.assertEqual((said["coverage"]["value"], said["coverage"]["cases"]), (0.9, 10))
        # Wilson's interval of 9 of 10, as in Agresti and Coull.
        self.assertAlmostEqual(said["coverage"]["low"], 0.5958, places=4)
        self.assertAlmostEqual(said["coverage"]["high"], 0.9821, places=4)
        self.assertAlmostEqual(said["mean_error"]["value"], -0.005)
        half = 2.2622 * math.sqrt(82.5 / 9) * 0.01 / math.sqrt(10)
        self.assertAlmostEqual(said["mean_error"]["high"], -0.005 + half, places=5)
        self.assertEqual(said["share_below_0"]["value"], 0.5)

    def test_what_is_not_known_is_said(self) -> None:
        one = self.said([{"inside": "", "error": -0.02}])
        self.assertTrue(math.isnan(one["coverage"]["value"]))
        self.assertEqual(one["coverage"]["note"], "no case has it")
        self.assertEqual(one["mean_error"]["note"], "one case has no interval")
        self.assertEqual(one["mean_error_wait"]["note"], "no case has it")

    def test_the_end_knows_errors_and_steps_without_a_prediction(self) -> None:
        def case(error: float, held_out: int = 1, status: str = "ok") -> Row:
            return Row(held_out=str(held_out), status=status, error=str(error))

        near, far = [case(0.1), case(-0.1), case(0.5, held_out=0)], case(-0.11)
        self.assertEqual(predictions.outcome(near, 10), ("2 of 2 held-out steps within 10 %", 0))
        self.assertEqual(predictions.outcome([*near, far], 10), ("2 of 3 held-out steps within 10 %", 1))
        self.assertEqual(predictions.outcome([*near, case(0, status="skipped")], 10), ("2 of 2 held-out steps within 10 %", 3))
        self.assertEqual(predictions.outcome([case(0, held_out=0)], 10)[1], 3)


if __name__ == "__main__":
    unittest.main()
