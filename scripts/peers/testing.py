# SPDX-License-Identifier: Apache-2.0
# Tests of the comparisons share a folder with made-up programs, and scripts/compare_with over them.
from __future__ import annotations

import io
import os
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

from peers import compare
from peers.harness import Rows, read_rows


LAUNCHER = '#!/bin/sh\nwhile [ "$1" != -np ]; do shift; done\nshift 2\nexec "$@"\n'


class MadeUp(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.out = self.folder / "out"
        self.program("path/mpirun", LAUNCHER)
        self.enterContext(mock.patch.dict(os.environ, PATH=f"{self.folder}/path:{os.environ['PATH']}"))

    def program(self, name: str, text: str) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return str(path)

    def compare(self, *words: str) -> tuple[int, str, str]:
        """Returns exit code, stdout and stderr."""
        with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as errors:
            code = compare.main([*words, "--programs", str(self.folder), "--out", str(self.out)])
        return code, out.getvalue(), errors.getvalue()

    def refusal(self, *words: str) -> str:
        with redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit) as end:
            compare.main([words[0], "--programs", str(self.folder), "--out", str(self.out), *words[1:]])
        self.assertEqual(end.exception.code, 2)
        self.assertFalse(self.out.exists())
        return said.getvalue()

    def rows(self, name: str) -> Rows:
        return read_rows(self.out / name)
