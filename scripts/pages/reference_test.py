#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The page of made-up programs: made anew it is right, and each thing that has changed since is named.
from __future__ import annotations

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from pages import commands

HELP = """#!/bin/sh
case $1 in
run) printf 'measure\\n\\nCommon:\\n  -h, --help   this page\\n  --ranks N    numbers\\n  --help-all   all options\\n\\nExit code: 0 ok\\n' ;;
*) printf 'made up\\n\\nVerbs:\\n  run  measure\\n\\nExit code: 0 ok\\n' ;;
esac
"""


class Reference(unittest.TestCase):
    def setUp(self) -> None:
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.page = self.root / "docs" / "cli.md"
        (self.root / "bin").mkdir()
        self.page.parent.mkdir()
        for name in commands.PROGRAMS:
            self.make(name)

    def make(self, name: str, text: str = HELP) -> None:
        program = self.root / "bin" / name
        program.write_text(text, encoding="utf-8")
        program.chmod(0o755)

    def ask(self, *words: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "pages.reference", str(self.root / "bin"), str(self.root), *words]
        done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[1], check=False)
        return done.returncode, done.stdout + done.stderr

    def test_a_page_made_anew_is_right(self) -> None:
        self.assertEqual(self.ask("--write"), (0, ""))
        self.assertEqual(self.ask(), (0, "6 pages of help\n"))
        self.assertIn("### scalebench run\n\n```text\nmeasure\n\nCommon:\n  --ranks N    numbers\n```\n", self.page.read_text())

    def test_an_option_that_is_new_is_named(self) -> None:
        self.ask("--write")
        self.make("scalebench", HELP.replace("numbers", "how many"))
        code, said = self.ask()
        self.assertEqual(code, 1, said)
        self.assertIn("-  --ranks N    numbers\n+  --ranks N    how many\n", said)

    def test_a_verb_that_is_new_and_one_that_has_gone_are_named(self) -> None:
        self.ask("--write")
        self.make("scalebench", HELP.replace("  run  ", "  resume  ").replace("run)", "resume)"))
        code, said = self.ask()
        self.assertEqual(code, 1, said)
        self.assertIn("no section scalebench resume", said)
        self.assertIn("scalebench run is no program or verb", said)

    def test_what_is_not_built_is_left_out_and_said(self) -> None:
        self.ask("--write")
        (self.root / "bin" / "bench_epoch").unlink()
        code, said = self.ask()
        self.assertEqual(code, 0, said)
        self.assertIn("not looked at: bench_epoch", said)
        self.assertEqual(self.ask("--write")[0], 2)
        for name in commands.PROGRAMS:
            (self.root / "bin" / name).unlink(missing_ok=True)
        self.assertEqual(self.ask()[0], 77)


if __name__ == "__main__":
    unittest.main()
