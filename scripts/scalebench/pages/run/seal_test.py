# SPDX-License-Identifier: Apache-2.0
# What a report says of how its numbers are checked: sealed only where the seal holds, and a command that
# works where the report was made.
from __future__ import annotations

import contextlib
import io
import os
import shlex
import tempfile
import unittest
from pathlib import Path

from fixtures.files import seal
from fixtures.run import write_manifest
from scalebench.pages.report import main
from scalebench.pages.run.seal import typed_here

NAME = "20260102T030405Z-quick-0a1b2c"


class SealTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.addCleanup(os.chdir, Path.cwd())
        os.chdir(folder)
        self.here = Path.cwd()
        self.run_folder = self.here / "results" / NAME
        write_manifest(self.run_folder)

    def report(self, given: str = f"results/{NAME}") -> tuple[int, str, str]:
        """Exit code, what was said, and the last line of report.md, as it reads."""
        said = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
            code = main([given])
        page = self.run_folder / "report.md"
        return code, said.getvalue(), page.read_text(encoding="utf-8").replace("\\", "") if page.is_file() else ""

    def test_sealed_is_what_has_its_hashes(self) -> None:
        self.assertIn(f". scalebench verify results/{NAME} recomputes every number", self.report()[2])
        seal(self.run_folder)
        sealed = f"Complete and sealed: scalebench verify results/{NAME} recomputes every number"
        self.assertIn(sealed, self.report()[2])
        self.assertIn("checks the hash of every file.", self.report()[2])
        self.assertIn(f"<code>scalebench verify results/{NAME}</code>", (self.run_folder / "report.html").read_text(encoding="utf-8"))
        # As the programs write it.
        complete = (self.run_folder / "COMPLETE").read_text(encoding="utf-8").strip()
        (self.run_folder / "COMPLETE").write_text(f"{complete}  SHA256SUMS\n", encoding="utf-8")
        self.assertIn(sealed, self.report()[2])

    def test_what_was_changed_or_lost_behind_the_seal_is_not_sealed(self) -> None:
        changes = {"manifest.json": ["{}", '{"study": "another"}'], "SHA256SUMS": ["", None], "COMPLETE": ["", "0" * 64]}
        for name, texts in changes.items():
            for text in texts:
                write_manifest(self.run_folder)
                seal(self.run_folder)
                if text is None:
                    (self.run_folder / name).unlink()
                else:
                    (self.run_folder / name).write_text(text, encoding="utf-8")
                code, _, page = self.report()
                self.assertEqual(code, 0)
                self.assertNotIn("Complete and sealed", page, (name, text))
                self.assertIn("SHA256SUMS and manifest.json do not agree", page, (name, text))

    def test_a_manifest_that_cannot_be_read_is_refused_in_one_line(self) -> None:
        for text, reason in {"": "Expecting value", "{": "Expecting property name", "[]": "of type list", "3": "of type int"}.items():
            (self.run_folder / "manifest.json").write_text(text, encoding="utf-8")
            code, said, page = self.report()
            self.assertEqual((code, page, said.count("\n")), (2, "", 1), text)
            self.assertIn("report: manifest.json: not the JSON object", said)
            self.assertIn(reason, said)

    def test_the_command_works_where_the_report_was_made(self) -> None:
        odd = "it's `a` folder"
        (self.here / odd).mkdir()
        given = [f"results/{NAME}", f"results/{NAME}/", f"./results/../results/{NAME}", str(self.run_folder), odd, "."]
        for folder in given:
            (typed,) = shlex.split(typed_here(folder))
            self.assertTrue(os.path.samefile(typed, folder), folder)
            self.assertFalse(Path(typed).is_absolute())
        self.assertEqual(typed_here(f"results/{NAME}/"), f"results/{NAME}")
        self.assertEqual(typed_here("-run"), "./-run", "no option")
        os.chdir(self.here / "results" / NAME)
        self.assertEqual(typed_here("../other"), "../other")
        self.assertEqual(typed_here(str(self.here / "elsewhere")), "RUN")


if __name__ == "__main__":
    unittest.main()
