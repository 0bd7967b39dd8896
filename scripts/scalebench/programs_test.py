# SPDX-License-Identifier: Apache-2.0
"""Commands of an environment in which the wheel is made up: its package, what it needs, and programs that say how they
were started."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).parent
PROGRAM = '#!/bin/sh\necho "$0 $*"\necho "$PATH"\necho "$LD_LIBRARY_PATH"\n'


class Programs(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()
        self.site = self.root / "site"
        package = self.site / "scalebench"
        (package / "bin").mkdir(parents=True)
        for name in ("__init__.py", "programs.py"):
            shutil.copy(HERE / name, package)
        for name in ("bench_allreduce", "bench_epoch"):
            self.executable(package / "bin" / name, PROGRAM)
        self.distribution("scalebench", "0.1.0", "Requires-Dist: openmpi>=5", "Requires-Dist: torch==2.15.*")
        self.commands = self.root / "bin"
        self.commands.mkdir()
        for name in ("bench_allreduce", "bench_epoch", "bench_nothing"):
            lines = [f"#!{sys.executable}", "from scalebench.programs import start", "start()", ""]
            self.executable(self.commands / name, "\n".join(lines))

    def executable(self, path: Path, text: str) -> None:
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def distribution(self, name: str, version: str, *lines: str, site: Path | None = None) -> None:
        folder = (site or self.site) / f"{name}-{version}.dist-info"
        folder.mkdir(parents=True)
        text = "\n".join(["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *lines, ""])
        (folder / "METADATA").write_text(text, encoding="utf-8")

    def run_command(self, name: str, *words: str, more: tuple[Path, ...] = ()) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": os.pathsep.join(map(str, (self.site, *more)))}
        return subprocess.run(
            [self.commands / name, *words], env=environment, capture_output=True, text=True, check=False
        )

    def refused(self, name: str, text: str) -> None:
        done = self.run_command(name)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(text, done.stderr)

    def test_a_command_becomes_its_program_with_its_words_and_finds_mpirun_beside_itself(self) -> None:
        done = self.run_command("bench_allreduce", "-b", "a b")
        program, path, libraries = done.stdout.splitlines()
        self.assertEqual(program, f"{self.site}/scalebench/bin/bench_allreduce -b a b", done.stderr)
        self.assertEqual(path, f"{self.commands}:/usr/bin:/bin")
        self.assertEqual(libraries, "")

    def test_another_pytorch_or_none_is_said_before_a_loader_fails(self) -> None:
        self.refused("bench_epoch", "bench_epoch: needs PyTorch==2.15.*, and none is there: pip install 'torch==2.15.*'")
        self.distribution("torch", "2.1.0")
        self.refused("bench_epoch", "is linked with PyTorch==2.15.*, and 2.1.0 is there")
        self.assertEqual(self.run_command("bench_allreduce").returncode, 0, "which needs none")

    def test_libraries_that_lie_elsewhere_are_found(self) -> None:
        elsewhere = self.root / "elsewhere"
        self.distribution("torch", "2.15.1", site=elsewhere)
        for folder in ("torch/lib", "nvidia/nccl/lib"):
            (elsewhere / folder).mkdir(parents=True)
        done = self.run_command("bench_epoch", more=(elsewhere,))
        self.assertEqual(
            done.stdout.splitlines()[2], f"{elsewhere}/torch/lib:{elsewhere}/nvidia/nccl/lib", done.stderr
        )

    def test_a_program_that_the_wheel_lacks_is_named(self) -> None:
        self.refused("bench_nothing", "bench_nothing: is not among the programs in ")


if __name__ == "__main__":
    unittest.main()
