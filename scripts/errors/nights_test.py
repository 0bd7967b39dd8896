# SPDX-License-Identifier: Apache-2.0
# What errors/nights.py counts as a night that was wrong, by nights whose answer is known.
from __future__ import annotations

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from errors.nights import Judged


def row(bench: str, label: str, verdict: str, metric: str = "seconds") -> dict[str, str]:
    return {"bench": bench, "label": label, "verdict": verdict, "metric": metric}


def night(kind: str, allreduce: str, none: str, mirrored: str = "OK") -> Judged:
    rows = [row("allreduce", "allreduce direct 1 MiB N=2", allreduce), row("epoch", "epoch mlp none strong N=1", none),
            row("epoch", "epoch mlp mirrored strong N=2", mirrored), row("epoch", "epoch mlp none strong N=2", "OK", "efficiency")]  # fmt: skip
    return Judged(kind, 1, "PASS", rows, 1)


class NightErrorTest(unittest.TestCase):
    def test_the_same_programs_should_raise_no_alarm(self) -> None:
        self.assertFalse(night("same", "OK", "AMBIGUOUS").wrong(), "a suspect that the rerun did not find again")
        for words in (("REGRESSED", "OK"), ("OK", "REGRESSED"), ("OK", "OK", "REGRESSED")):
            self.assertTrue(night("same", *words).wrong())

    def test_what_was_slowed_down_should_be_found_in_both_cells(self) -> None:
        self.assertFalse(night("slow", "REGRESSED", "REGRESSED").wrong())
        self.assertTrue(night("slow", "REGRESSED", "AMBIGUOUS").wrong())
        self.assertTrue(night("slow", "OK", "REGRESSED", "REGRESSED").wrong())

    def test_alarms_of_other_cells_are_told_apart(self) -> None:
        self.assertEqual(night("slow", "REGRESSED", "OK", "REGRESSED").alarms(False), ["epoch mlp mirrored strong N=2"])


if __name__ == "__main__":
    unittest.main()
