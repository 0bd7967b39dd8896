# SPDX-License-Identifier: Apache-2.0
# The harness on made-up times and programs: the estimate and its interval, ratios within a start, verdicts, the order
# of legs, and what a leg that fails or a comparison that is cut off leaves.
from __future__ import annotations

import contextlib
import csv
import io
import math
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path
from unittest import mock

from peers.harness import (
    MISSED, NO_TARGET, NOT_MEASURED, REACHED, Failed, Kept, Leg, Ratio, Times, compared, estimate, measure, one_row,
    rows_of,
)  # fmt: skip
from peers.testing import HANGS, MadeUp

SCRIPTS = Path(__file__).resolve().parents[1]


def start(**seconds: float) -> Times:
    return Times({("mlp", way): value for way, value in seconds.items()})


class Ratios(unittest.TestCase):
    def test_the_estimate_is_that_of_scalebench_compare(self) -> None:
        """Of Hollander and Wolfe's nine patients R's wilcox.test(conf.int = TRUE) says 0.46, from 0.01 to 0.786."""
        patients = (0.952, -0.147, 1.022, 0.430, 0.620, 0.590, 0.490, -0.080, 0.010)
        made = estimate([math.exp(one) for one in patients])
        self.assertEqual([round(math.log(one), 4) for one in made[:3]], [0.46, 0.01, 0.786])
        self.assertEqual(made.interval, "95%")
        self.assertAlmostEqual(estimate([2, 2, 2, 2, 1000]).ratio, 2)
        self.assertEqual(estimate([2, 3, 4])[1:], (2, 4, "range"))
        self.assertEqual(estimate([1.5]).interval, "")

    def test_ratios_are_of_one_start(self) -> None:
        starts = [start(theirs=6, ours=3), start(theirs=60, ours=30), start(theirs=1), start(ours=9)]  # a slow moment
        row = compared(Ratio("it", ["theirs"], ["ours"], target=2), "mlp", starts)
        self.assertEqual([row[name] for name in ("starts", "ratio", "ratio_low")], ["2", "2.000", "2.000"])
        self.assertEqual(row["verdict"], REACHED)
        self.assertEqual(compared(Ratio("it", ["theirs"], ["ours"], target=2.01), "mlp", starts)["verdict"], MISSED)
        exact = compared(Ratio("it", ["theirs"], ["ours"], target=5), "mlp", [start(theirs=5, ours=1)])
        self.assertEqual(exact["verdict"], REACHED)  # The logarithm of 5 is rounded down.
        halved = compared(Ratio("it", ["theirs"], ["ours"], factor=0.5), "mlp", starts)
        self.assertEqual((halved["ratio"], halved["verdict"]), ("1.000", NO_TARGET))

    def test_of_several_ways_the_fastest_of_the_start_counts(self) -> None:
        starts = [start(theirs=6, a=3, b=2), start(theirs=6, a=1, b=2), start(theirs=6, b=2)]
        row = compared(Ratio("it", ["theirs"], ["a", "b"]), "mlp", starts)
        self.assertEqual((row["ratio_low"], row["ratio_high"], row["ours"]), ("3.000", "6.000", "b"))

    def test_a_side_that_is_missing_is_not_measured(self) -> None:
        alone = compared(Ratio("it", ["theirs"], ["ours"], target=1), "mlp", [start(theirs=1), start(theirs=3)])
        self.assertEqual((alone["theirs_seconds"], alone["ours_seconds"], alone["verdict"]), ("2", "", NOT_MEASURED))
        named = rows_of([Ratio("it", ["theirs"], ["ours"], case="mlp")], [])
        self.assertEqual([row["verdict"] for row in named], [NOT_MEASURED])

    def test_sizes_stand_in_their_order_and_lone_ones_not_at_all(self) -> None:
        both = Times({(size, way): 1.0 for size in ("4096", "16384", "512") for way in ("theirs", "ours")})
        both.seconds["8", "ours"] = 1.0
        rows = rows_of([Ratio("it", ["theirs"], ["ours"])], [both])
        self.assertEqual([row["case"] for row in rows], ["512", "4096", "16384"])


class Legs(MadeUp):
    def echo(self, name: str, seconds: float) -> Leg:
        return Leg(name, ["echo", str(seconds)], lambda text, _: Times({("case", name): float(text)}, "as told"))

    def measured(self, legs: list[list[Leg]], starts: int = 1) -> tuple[int, str]:
        self.out.mkdir()
        with contextlib.redirect_stderr(io.StringIO()) as said:
            return measure(Kept(self.out, [Ratio("a", ["a"], ["b"])]), legs, starts, 1), said.getvalue()

    def test_every_start_has_each_leg_once_group_by_group(self) -> None:
        failed, _ = self.measured([[self.echo("a", 2), self.echo("b", 1)], [self.echo("c", 1)]], 6)
        self.assertEqual(failed, 0)
        order = [[leg["leg"] for leg in self.rows("legs.csv") if leg["start"] == str(one)] for one in range(1, 7)]
        self.assertEqual({"".join(one) for one in order}, {"abc", "bac"})
        self.assertEqual([(row["ratio"], row["interval"]) for row in self.rows("comparison.csv")], [("2.000", "95%")])
        self.assertEqual((len(self.rows("samples.csv")), self.rows("legs.csv")[0]["note"]), (18, "as told"))

    def test_a_leg_that_fails_is_kept_with_its_reason(self) -> None:
        printed = r"printf '\377 out\n'; printf 'no GPU \377\n' >&2; exit 3"  # One byte is no text.
        broken = Leg("b", ["sh", "-c", printed], lambda *_: Times({}))
        absent = Leg("c", ["no-such-program"], lambda *_: Times({}))
        torn = Leg("d", ["echo", "{1.5"], lambda text, _: Times({("case", "d"): float(text)}))
        failed, said = self.measured([[self.echo("a", 2)], [broken], [absent], [torn]])
        self.assertEqual(failed, 3)
        self.assertIn("compare_with: d: its output is unreadable: ValueError(", said)
        self.assertIn("[1/1] a\n    2 s\n", said)
        self.assertIn("compare_with: b: exit code 3: no GPU \ufffd\n", said)
        self.assertEqual(self.rows("legs.csv")[2]["note"], "no-such-program: No such file or directory")

    def test_what_is_no_time_fails_its_leg_alone(self) -> None:
        def torn(*_: object) -> Times:
            raise csv.Error("line contains NUL")

        legs = [self.echo("b", seconds) for seconds in (0, -1, math.nan, math.inf)]
        legs += [Leg("b", ["true"], read) for read in (torn, lambda *_: Times({}), lambda *_: Times({("", ""): 1 / 0}))]
        failed, said = self.measured([[self.echo("a", 2)], legs, [self.echo("b", 1)]])
        self.assertEqual(failed, len(legs))
        for why in ("took 0 s in case", "took nan s", "took inf s", "measured nothing", "NUL", "ZeroDivisionError"):
            self.assertIn(why, said)
        self.assertEqual([row["ratio"] for row in self.rows("comparison.csv")], ["2.000"])

    def test_nothing_is_left_of_a_leg_that_ends_by_itself(self) -> None:
        fifo = self.fifo(self.folder / "fifo")
        self.measured([[Leg("a", ["sh", "-c", "exec 9>fifo; sleep 60 & exit 3"], lambda *_: Times({}))]])
        self.assert_let_go(fifo)

    def test_a_leg_has_a_folder_and_a_seed_and_its_own_environment(self) -> None:
        words = ["sh", "-c", 'mkdir "$0" && echo "$1 $SETTING" >"$0/file"', "{folder}", "{seed}"]
        read = lambda _, folder: Times({("case", (folder / "file").read_text()): 1.0})  # noqa: E731
        with mock.patch.dict(os.environ, SETTING="of the shell"):
            self.measured([[Leg("a setting", words, read, {"SETTING": "none"})]], 2)
        self.assertTrue(self.rows("legs.csv")[0]["command"].startswith("env SETTING=none sh -c "))
        self.assertEqual([row["way"] for row in self.rows("samples.csv")], ["1 none\n", "2 none\n"])
        self.assertTrue((self.out / "002-a-setting/file").is_file())

    def test_ranks_are_started_as_torchrun_would(self) -> None:
        words = ["sh", "-c", 'echo "$RANK of $WORLD_SIZE" >"$(mktemp -p "$0")"; echo 1.5', str(self.folder)]
        self.measured([[Leg("a", words, lambda text, _: Times({("case", "a"): float(text)}), ranks=2)]])
        said = sorted(path.read_text() for path in self.folder.glob("tmp.*"))
        self.assertEqual(said, ["0 of 2\n", "1 of 2\n"])

    def test_the_first_rank_that_ends_badly_tells_why(self) -> None:
        words = ["sh", "-c", '[ "$RANK" = 1 ] || sleep 20; echo "rank $RANK" >&2; exit 4']
        _, said = self.measured([[Leg("a", words, lambda *_: Times({}), ranks=2)]])
        self.assertIn("compare_with: a: exit code 4: rank 1\n", said)

    def test_an_installed_tree_knows_its_programs(self) -> None:
        tree = self.folder / "share/scalebench/scripts"
        shutil.copytree(SCRIPTS / "peers", tree / "peers")
        ask, path = "from peers.harness import PROGRAMS; print(PROGRAMS)", os.environ | {"PYTHONPATH": str(tree)}
        said = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True, env=path).stdout
        self.assertEqual(said, f"{(self.folder / 'bin').resolve()}\n")

    def test_a_case_has_one_row_that_is_ok(self) -> None:
        row = {"rank": "all", "status": "ok", "note": ""}
        self.assertEqual(one_row([row, {**row, "rank": "0"}]), row)
        skipped = {"rank": "all", "status": "skipped", "note": "no GPU"}
        for rows, why in (([row, row], "2 rows"), ([skipped], "skipped: no GPU")):
            self.assertRaisesRegex(Failed, why, one_row, rows)

    def test_whoever_is_cut_off_keeps_the_legs_before(self) -> None:
        for number, code in ((signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGKILL, -signal.SIGKILL)):
            self.out = self.folder / str(number)
            self.out.mkdir()
            fifo = self.fifo(self.out / "fifo")
            words = [sys.executable, "-c", HANGS, str(self.out), str(self.out / "fifo"), "echo ended; exit"]
            process = subprocess.Popen(words, cwd=SCRIPTS, stderr=subprocess.DEVNULL)
            log = self.out / "003-c.txt"
            while process.poll() is None and not (log.exists() and log.read_text().endswith("\n")):
                time.sleep(0.01)
            process.send_signal(number)
            self.assertEqual(process.wait(60), code)
            self.assertEqual([row["ratio"] for row in self.rows("comparison.csv")], ["2.000"])
            self.assertEqual([path.name for path in self.out.glob(".*")], [])
            notes = [leg["note"] for leg in self.rows("legs.csv")]
            self.assertEqual(notes, ["", "", "cut off"] if number == signal.SIGTERM else ["", ""])
            group, *ended = log.read_text().split()
            self.assertEqual(ended, ["ended"] if number == signal.SIGTERM else [])
            if not ended:  # Nobody but this test is left to end the leg.
                os.killpg(int(group), number)
            self.assert_let_go(fifo)


if __name__ == "__main__":
    unittest.main()
