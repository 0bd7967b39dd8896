# SPDX-License-Identifier: Apache-2.0
# What errors/patterns.py counts as found and as a false alarm, by series whose answer is known.
from __future__ import annotations

import unittest

from errors.patterns import Series, markdown, table


def series(alarms: list[int], otava: list[int], truth: list[tuple[int, str, float, float]] | None = None) -> Series:
    rise = [(10, "step", 100.0, 120.0)]
    return Series("step", [100.0] * 20, rise if truth is None else truth, otava, alarms)


FIX = [(5, "regression_start", 100.0, 130.0), (8, "regression_end", 130.0, 100.0)]
TWICE = [(5, "step", 100.0, 110.0), (12, "step", 110.0, 121.0)]


class DriftPatternsTest(unittest.TestCase):
    def test_a_rise_is_found_from_its_night_on(self) -> None:
        self.assertEqual(series([11, 12], []).found_after(), [2])
        self.assertEqual(series([9], []).found_after(), [])
        self.assertEqual(series([9], []).false_alarms(), 1)
        self.assertEqual(series([3, 4, 7, 12], []).false_alarms(), 2, "each time that one begins")
        self.assertEqual(series([9, 10, 11], []).found_after(), [], "it was on before")
        self.assertEqual([series([night], []).found_near() for night in (12, 13)], [1, 0])

    def test_an_alarm_after_the_next_change_is_not_of_this_one(self) -> None:
        self.assertEqual(series([13, 14], [13], TWICE).found_after(), [])
        self.assertEqual(series([13, 14], [13], TWICE).otava_found(), 0)
        self.assertEqual(series([11, 12], [11], TWICE).found_after(), [7])
        self.assertEqual(series([11, 12], [11], TWICE).otava_found(), 1)
        self.assertEqual(series([11, 12], [11], TWICE).otava_near(), 0)
        self.assertEqual(series([13], [], TWICE).false_alarms(), 0, "the level is up")
        self.assertEqual(series([9], [], FIX).found_after(), [], "it was down again")
        self.assertEqual(series([9], [], FIX).false_alarms(), 1)

    def test_an_alarm_that_never_ends_is_counted(self) -> None:
        self.assertEqual(series([6, 7, 8, 9], [], FIX).still_open(), 0)
        self.assertEqual(series(list(range(6, 20)), [], FIX).still_open(), 1)
        self.assertEqual(series([], [], [(12, "regression_end", 130.0, 100.0)]).fixes(), [], "too late to tell")

    def test_what_does_not_rise_cannot_be_found(self) -> None:
        for truth in ([], [(10, "outlier", 100.0, 150.0)], [(10, "step", 120.0, 100.0)], [(10, "variance", 2.0, 10.0)]):
            one = series([11, 12], [10], truth)
            self.assertEqual(one.found_after(), [])
            self.assertEqual(one.false_alarms(), 1)
            self.assertEqual(one.otava_found(), 0)

    def test_a_change_point_may_be_off_by_two_nights(self) -> None:
        for point, near, found in ((7, 0, 0), (8, 1, 1), (12, 1, 1), (13, 0, 1)):
            self.assertEqual((series([], [point]).otava_near(), series([], [point]).otava_found()), (near, found))
        self.assertEqual(series([], [12, 15]).otava_false(), 1)

    def test_a_fall_is_a_change_point_too(self) -> None:
        self.assertEqual(series([], [5, 8], FIX).otava_false(), 0)

    def test_rows_count_over_seeds(self) -> None:
        (row,) = table([series([11], [10]), series([], [3])])
        self.assertEqual((row["series"], row["rises"], row["near"], row["found"], row["nights"]), (2, 2, 1, 1, 2))
        self.assertEqual((row["false"], row["otava_near"], row["otava_found"], row["otava_false"]), (0, 1, 1, 1))
        self.assertIn("| step | 2 | 2 | 1 · 1 · 2 | 0 | – | 1 · 1 | 1 |", markdown([row]))


if __name__ == "__main__":
    unittest.main()
