# SPDX-License-Identifier: Apache-2.0
# What errors/nights.py counts as a night that was wrong or too dear, by nights whose answer is known.
from __future__ import annotations

import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from errors.nights import CELLS, MOST_SECONDS, Judged, expected_seconds, read_night, refused_settings, summary


def row(bench: str, label: str, verdict: str, metric: str = "seconds") -> dict[str, str]:
    return {"bench": bench, "label": label, "verdict": verdict, "metric": metric}


def night(kind: str, allreduce: str, none: str, base: str = "OK", *, word: str = "", short: str = "OK", cost: float = 1) -> Judged:
    rows = [row("allreduce", "allreduce direct shared_memory 4 MiB N=2", allreduce), row("allreduce", "allreduce direct 256 KiB N=2", short),
            row("epoch", "epoch mlp none strong N=1", none), row("epoch", "epoch mlp one_device strong N=1", base)]  # fmt: skip
    return Judged(kind, 1, word or ("PASS" if kind == "same" else "REGRESSED"), rows, cost, 100)


class NightErrorTest(unittest.TestCase):
    def test_the_same_programs_should_pass(self) -> None:
        self.assertFalse(night("same", "OK", "AMBIGUOUS").wrong(), "a suspect that the rerun did not find again")
        for words in (("REGRESSED", "OK"), ("OK", "REGRESSED"), ("OK", "OK", "REGRESSED")):
            self.assertTrue(night("same", *words).wrong())
        for word in ("BLIND", "INCOMPLETE", "HOST SHIFT"):
            self.assertTrue(night("same", "OK", "OK", word=word).wrong(), word)

    def test_what_was_slowed_down_should_be_found_in_both_cells(self) -> None:
        self.assertFalse(night("slow", "REGRESSED", "REGRESSED").wrong())
        self.assertTrue(night("slow", "REGRESSED", "AMBIGUOUS").wrong())
        self.assertTrue(night("slow", "OK", "REGRESSED", "REGRESSED", short="REGRESSED").wrong(), "another size is not the one")
        self.assertTrue(night("slow", "REGRESSED", "REGRESSED", word="BLIND").wrong())

    def test_alarms_of_other_cells_are_told_apart(self) -> None:
        one = night("slow", "REGRESSED", "OK", "REGRESSED", short="REGRESSED")
        self.assertEqual(one.untouched(), ["epoch mlp one_device strong N=1"])
        self.assertEqual(len(night("same", "REGRESSED", "OK", "REGRESSED").untouched()), 2)

    def test_the_end_knows_words_untouched_cells_and_cost(self) -> None:
        same, slow = [night("same", "OK", "OK")] * 20, [night("slow", "REGRESSED", "REGRESSED")] * 20
        text, code = summary(same + slow, 5)
        self.assertEqual(code, 0, text)
        self.assertIn("passed in 20 of 20 nights", text)
        self.assertIn("1 s a cell (at most 1), and 100 s a night for the rerun", text)
        self.assertEqual(summary(same[:-2] + [night("same", "OK", "OK", word="BLIND")] * 2 + slow, 5)[1], 1)
        self.assertEqual(summary(same + slow[:-2] + [night("slow", "REGRESSED", "REGRESSED", "DRIFT")] * 2, 5)[1], 1)
        self.assertEqual(summary(same[:-1] + [night("same", "OK", "OK", cost=61)] + slow, 5)[1], 1)

    def test_the_rerun_is_no_part_of_what_every_night_costs(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            steps = [{"name": step, "seconds": seconds} for step, seconds in (("sweep", 120.0), ("beside", None), ("rerun", 60.0))]
            Path(name, "nightly.json").write_text(json.dumps({"verdict": "PASS", "steps": steps}), encoding="utf-8")
            Path(name, "gate.csv").write_text("metric,label\nseconds,a\nseconds,b\nefficiency,b\n", encoding="utf-8")
            one = read_night("same", 1, Path(name))
        self.assertEqual((one.seconds_a_cell, one.rerun_seconds, one.too_dear()), (60, 60, False))

    def test_nights_of_other_settings_are_refused(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            self.assertEqual(refused_settings(Path(name), {"launches": 20, "slower": 5.0}), [])
            self.assertEqual(refused_settings(Path(name), {"launches": 20, "slower": 5.0}), [])
            self.assertEqual(refused_settings(Path(name), {"launches": 20, "slower": 10.0}), ["--slower 10.0, there 5.0"])

    def test_a_night_is_expected_to_cost_less_than_it_may(self) -> None:
        self.assertLess(expected_seconds(20) / CELLS, MOST_SECONDS)


if __name__ == "__main__":
    unittest.main()
