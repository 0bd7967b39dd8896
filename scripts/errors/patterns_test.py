# SPDX-License-Identifier: Apache-2.0
# What errors/patterns.py counts as found and as a false alarm, by series whose answer is known.
from __future__ import annotations

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from errors.patterns import Series, table


def series(alarms: list[int], otava: list[int], truth: list[tuple[int, str, float, float]] | None = None) -> Series:
    rise = [(10, "step", 100.0, 120.0)]
    return Series("step", [100.0] * 20, rise if truth is None else truth, otava, alarms)


class DriftPatternsTest(unittest.TestCase):
    def test_a_rise_is_found_from_its_night_on(self) -> None:
        self.assertEqual(series([11, 12], []).found_after(), 2)
        self.assertIsNone(series([9], []).found_after())
        self.assertEqual(series([9], []).false_alarms(), 1)
        self.assertEqual(series([3, 4, 7, 12], []).false_alarms(), 2, "each time that one begins")

    def test_what_does_not_rise_cannot_be_found(self) -> None:
        for truth in ([], [(10, "outlier", 100.0, 150.0)], [(10, "step", 120.0, 100.0)], [(10, "variance", 2.0, 10.0)]):
            one = series([11, 12], [10], truth)
            self.assertIsNone(one.found_after())
            self.assertEqual(one.false_alarms(), 1)
            self.assertFalse(one.otava_found())

    def test_a_change_point_may_be_off_by_two_nights(self) -> None:
        self.assertTrue(series([], [12]).otava_found())
        self.assertFalse(series([], [13]).otava_found())
        self.assertEqual(series([], [12, 15]).otava_false(), 1)

    def test_a_fall_is_a_change_point_too(self) -> None:
        fix = [(5, "regression_start", 100.0, 130.0), (12, "regression_end", 130.0, 100.0)]
        self.assertEqual(series([], [5, 12], fix).otava_false(), 0)

    def test_rows_count_over_seeds(self) -> None:
        (row,) = table([series([11], [10]), series([], [3])])
        self.assertEqual((row["series"], row["rising"], row["found"], row["nights"]), (2, 2, 1, 2))
        self.assertEqual((row["false"], row["otava_found"], row["otava_false"]), (0, 1, 1))


if __name__ == "__main__":
    unittest.main()
