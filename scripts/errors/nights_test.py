# SPDX-License-Identifier: Apache-2.0
# What errors/nights.py counts as a night that was wrong or too dear, by nights whose answer is known; and what it goes on
# with when it is called again.
from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

from errors.nights import CELLS, MOST_SECONDS, Judged, expected_seconds, main, read_night, refused_settings, summary


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
        blind, missed, other = night("same", "OK", "OK", word="BLIND"), night("slow", "REGRESSED", "OK"), night("slow", "REGRESSED", "REGRESSED", "DRIFT")
        self.assertEqual(summary(same[:-1] + [blind] + slow[:-3] + [missed] * 2 + [other], 5)[1], 0, "as many as there may be")
        self.assertEqual(summary(same[:-2] + [blind] * 2 + slow, 5)[1], 1)
        self.assertEqual(summary(same + slow[:-3] + [missed] * 3, 5)[1], 1)
        self.assertEqual(summary(same + slow[:-2] + [other] * 2, 5)[1], 1)
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
        self.assertLess(expected_seconds(12) / CELLS, MOST_SECONDS)


# A scalebench whose nights are made up. It says in `calls` which folders it was asked for, and of the one that `killed`
# names it leaves half.
SCALEBENCH = """
import json, sys
from pathlib import Path
here, words = Path(__file__).parent, sys.argv[1:]
results = Path(words[words.index("--results") + 1])
if "accept" in words:
    (results / "nightly/accepted").mkdir()
    sys.exit(0)
with open(results.parent / "calls", "a") as calls:
    print(results.name, file=calls)
name = "20260101T000000Z-night_error-000000"
(results / name).mkdir(parents=True)
header = "run_id,rank,ranks,gradient_sync,seconds_median,global_batch,samples"
(results / name / "epoch.csv").write_text(header + "\\n1,all,1,none,1,10,100\\n")
if (here / "killed").exists() and (here / "killed").read_text() == results.name:
    sys.exit(9)
slow = "slowed" in sys.argv[0]
night = results / "nightly" / name
night.mkdir(parents=True)
steps = [{"name": step, "seconds": 7} for step in ("sweep", "rerun")]
(night / "nightly.json").write_text(json.dumps({"verdict": "REGRESSED" if slow else "PASS", "steps": steps}))
verdict = "REGRESSED" if slow else "OK"
(night / "gate.csv").write_text(f"bench,label,metric,verdict\\nallreduce,a 4 MiB b,seconds,{verdict}\\nepoch,e none s,seconds,{verdict}\\n")
"""


class Sittings(unittest.TestCase):
    """What is kept and what is measured when the script is called again."""

    def setUp(self) -> None:
        scratch = self.enterContext(tempfile.TemporaryDirectory())
        self.programs, self.folder = Path(scratch, "programs"), Path(scratch, "nights")
        self.programs.mkdir()
        (self.programs / "program.py").write_text(SCALEBENCH, encoding="utf-8")
        (self.programs / "scalebench").write_text(f'#!/bin/sh\nexec "{sys.executable}" "${{0%/*}}/program.py" "$@"\n', encoding="utf-8")
        (self.programs / "scalebench").chmod(0o755)
        for name in ("bench_epoch", "bench_allreduce"):
            (self.programs / name).touch()

    def sitting(self, *words: object) -> tuple[int, list[str], str]:
        """Its exit code, the folders that were measured in it, and what it said."""
        calls = self.folder / "calls"
        calls.unlink(missing_ok=True)
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            code = main([str(self.folder), "--nights", "2", "--programs", str(self.programs), *map(str, words)])
        return code, sorted(calls.read_text(encoding="utf-8").split()) if calls.exists() else [], said.getvalue()

    def test_nights_that_are_complete_are_kept_and_half_of_one_is_made_anew(self) -> None:
        (self.programs / "killed").write_text("same-2", encoding="utf-8")
        code, first, said = self.sitting()
        self.assertEqual(code, 3, said)
        self.assertIn("same-2", first)
        (self.programs / "killed").unlink()
        kept = {path: path.stat().st_mtime_ns for path in self.folder.glob("*/nightly/*/nightly.json")}
        code, second, said = self.sitting()
        self.assertEqual(code, 0, said)
        measured_before = {path.parents[2].name for path in kept}
        self.assertEqual(len(measured_before), len(first) - 1)
        self.assertEqual(second, sorted({"same-1", "same-2", "slow-1", "slow-2"} - measured_before))
        self.assertEqual({path: path.stat().st_mtime_ns for path in kept}, kept)
        code, third, said = self.sitting()
        self.assertEqual((code, third), (0, []), said)
        self.assertIn("0.0 h for the 0 nights that are missing", said)
        self.assertIn("found again, in 2 of 2 nights", said)

    def test_a_sitting_ends_by_itself(self) -> None:
        code, measured, said = self.sitting("--minutes", 0)
        self.assertEqual((code, measured), (3, ["accepted"]), said)
        self.assertIn("0 minutes are over, and 0 of 4 nights are there: the same command goes on", said)
        code, measured, said = self.sitting("--kinds", "same")
        self.assertEqual((code, measured), (3, ["same-1", "same-2"]), said)
        self.assertIn("passed in 2 of 2 nights", said)
        self.assertIn("in 0 of 0 nights", said)
        table = (self.folder / "night_error.csv").read_text(encoding="utf-8")
        self.assertEqual({line.split(",")[0] for line in table.splitlines()[1:]}, {"same"})
        code, measured, said = self.sitting()
        self.assertEqual((code, measured), (0, ["slow-1", "slow-2"]), said)


if __name__ == "__main__":
    unittest.main()
