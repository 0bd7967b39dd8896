#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Pages with commands of made-up programs: what exists is let through, what does not is named.
from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from pages import commands

HELP = """#!/bin/sh
case $1 in
run) echo "  --ranks TEXT   numbers"; echo "  -q, --quiet   no progress"
  echo; echo "Examples:"; echo "    scalebench run a.toml --rnk 2"; echo; echo "Exit codes: --never" ;;
*) echo; echo "Verbs:"; echo "  run   measure"; echo "  diff-env   compare" ;;
esac
"""


class Commands(unittest.TestCase):
    def setUp(self) -> None:
        root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (root / "bin").mkdir()
        (root / "scripts").mkdir()
        (root / "scripts" / "box").write_text("case --hosts) ;;", encoding="utf-8")
        (root / "bin" / "scalebench").write_text(HELP, encoding="utf-8")
        (root / "bin" / "scalebench").chmod(0o755)
        self.programs = commands.Programs(root / "bin", root)

    def wrong(self, page: str) -> list[str]:
        found = commands.commands("a.md", page)
        return [f"{one.place}: {what}" for one in found for what in self.programs.wrong_in(one)]

    def test_what_exists_is_let_through(self) -> None:
        page = "# A\n\n    bin/scalebench run a.toml --ranks 2 -q   # --never\n    scripts/box up --hosts=4 && scalebench diff-env A B\n"
        self.assertEqual(self.wrong(page), [])
        self.assertEqual(len(list(commands.commands("a.md", page))), 3)

    def test_an_option_that_is_not_there_is_named(self) -> None:
        self.assertEqual(self.wrong("\n    scalebench run a.toml --rank 2\n"), ["a.md:2: scalebench run has no option --rank"])
        self.assertEqual(self.wrong("Take `scalebench run --rnk=2` then.\n"), ["a.md:1: scalebench run has no option --rnk"])

    def test_a_verb_and_a_script_that_are_not_there_are_named(self) -> None:
        self.assertEqual(self.wrong("`scalebench walk`\n"), ["a.md:1: scalebench has no verb walk"])
        self.assertEqual(self.wrong("    scripts/bax up\n"), ["a.md:1: there is no scripts/bax"])
        self.assertEqual(self.wrong("    scripts/box up --host 4\n    scripts/box --hots\n"), ["a.md:2: scripts/box has no option --hots"])

    def test_examples_of_a_verb_are_commands_too(self) -> None:
        (place, page) = next(one for one in self.programs.examples(["scalebench"]) if one[1])
        (command,) = commands.commands(place, page)
        self.assertEqual(list(self.programs.wrong_in(command)), ["scalebench run has no option --rnk"])
        self.assertEqual(command.place, "scalebench run --help-all:1")

    def test_a_command_of_two_lines_is_one(self) -> None:
        self.assertEqual(self.wrong("    scalebench run \\\n        --rnk 2\n"), ["a.md:1: scalebench run has no option --rnk"])

    def test_behind_two_dashes_are_other_programs_options(self) -> None:
        self.assertEqual(self.wrong("    scalebench run a.toml -- --anything\n"), [])

    def test_a_program_of_another_build_is_not_looked_at(self) -> None:
        self.assertEqual(self.wrong("    bench_epoch --anything\n"), [])


if __name__ == "__main__":
    unittest.main()
