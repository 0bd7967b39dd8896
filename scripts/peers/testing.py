# SPDX-License-Identifier: Apache-2.0
# Tests of the comparisons share a folder with made-up programs, and scripts/compare_with over them.
from __future__ import annotations

import io
import os
import tempfile
import time
import unittest
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from unittest import mock

from peers import compare
from peers.harness import Rows, read_rows

HANGS = """
import sys
from pathlib import Path
from peers.harness import Kept, Leg, Ratio, Times, measure
from peers.processes import listen
listen()
out, fifo, at_term = sys.argv[1:]
hangs = f"exec 9>{fifo}; trap '{at_term}' TERM; echo $$; sleep 60 & wait"
read = lambda text, _: Times({("case", text.split()[0]): float(text.split()[1])})
words = {"a": ["echo", "a", "2"], "b": ["echo", "b", "1"], "c": ["sh", "-c", hangs]}
legs = [[Leg(name, command, read)] for name, command in words.items()]
measure(Kept(Path(out), [Ratio("a", ["a"], ["b"])]), legs, 1, 1)
"""
LAUNCHER = '#!/bin/sh\nwhile [ "$1" != -np ]; do shift; done\nshift 2\nexec "$@"\n'


class MadeUp(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.out = self.folder / "out"
        self.program("path/mpirun", LAUNCHER)
        names = "bench_allreduce bench_epoch bench_kernels bench_throughput all_reduce_perf osu_allreduce scalebench"
        for name in names.split():
            self.program(f"path/{name}", "#!/bin/sh\necho of another build >&2\nexit 9\n")
        self.enterContext(chdir(self.folder))  # Programs here are named without a folder.
        self.enterContext(mock.patch.dict(os.environ, PATH=f"{self.folder}/path:{os.environ['PATH']}"))

    def program(self, name: str, text: str) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return str(path)

    def fifo(self, path: Path) -> int:
        """The end for reading of a FIFO that programs hold open."""
        os.mkfifo(path)
        end = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, end)
        return end

    def assert_let_go(self, end: int) -> None:
        """Nobody is left who holds it open."""
        for _ in range(1000):
            with suppress(BlockingIOError):
                return self.assertEqual(os.read(end, 1), b"")
            time.sleep(0.01)
        self.fail("something is left of the leg")

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
