# SPDX-License-Identifier: Apache-2.0
# How a trial's last line is judged; trials themselves need root and minutes.
from __future__ import annotations

import subprocess
import unittest
from argparse import Namespace
from unittest import mock

from box import suspects
from box.description import Cluster

LINK = "suspect: host3, its link sends 12 % and receives 11 % of the others' median (look at cable, port, driver)"


class Trials(unittest.TestCase):
    def test_the_last_line_is_that_of_the_hosts_or_none(self) -> None:
        self.assertEqual(suspects.last_line(f"# a table\n{LINK}\n"), LINK)
        self.assertEqual(suspects.last_line("no host stands out; host1 sends slowly to host2\n")[:18], "no host stands out")
        for stdout in ("", "\n", f"{LINK}\n# more\n", f"# {LINK}\n"):
            self.assertEqual(suspects.last_line(stdout), suspects.NO_LINE)

    def test_right_is_the_host_and_the_fault(self) -> None:
        self.assertTrue(suspects.is_right(LINK, "link at 1/10", "host3"))
        self.assertFalse(suspects.is_right(LINK, "link at 1/10", "host4"))
        self.assertFalse(suspects.is_right(LINK, "2 % loss", "host3"))
        self.assertFalse(suspects.is_right(LINK, "nothing", ""))
        self.assertFalse(suspects.is_right("suspects" + LINK[7:], "link at 1/10", "host3"), "another one beside it")
        self.assertTrue(suspects.is_right("no host stands out", "nothing", ""))
        for fault in suspects.FAULTS:
            self.assertFalse(suspects.is_right(suspects.NO_LINE, fault, "" if fault == "nothing" else "host1"))

    def test_a_trial_without_a_last_line_is_a_wrong_one(self) -> None:
        ended = subprocess.CompletedProcess([], 134, stdout="# a table\n", stderr="")
        words = Namespace(by="bench_allreduce", programs=suspects.SCRIPTS)
        with mock.patch.object(suspects.subprocess, "run", return_value=ended), mock.patch("builtins.print"):
            row = suspects.trial(words, Cluster("box", 4, 1, 10**9), "nothing", 0)
        self.assertEqual((row["right"], row["exit_code"], row["line"]), (0, 134, suspects.NO_LINE))


if __name__ == "__main__":
    unittest.main()
