# SPDX-License-Identifier: Apache-2.0
# What the tests of the store share: a tiny real study, its resumption, and what a sealed run is.
from __future__ import annotations

import json
import subprocess
from pathlib import Path

from case import Case, run, settings

CONFIG = """
[study]
name = "tiny"
launches = {launches}
ranks = [2]
device = "cpu"
[allreduce]
algorithms = ["ring", "native"]
transport = "mpi"
min = "8"
max = "64"
factor = 8
max_seconds = {seconds}
"""


class Run(Case):
    def setUp(self) -> None:
        super().setUp()
        self.out = self.folder / "run"
        self.scalebench = str(settings.programs / "scalebench")

    def begin(self, launches: int = 2, mpirun: object = "", out: Path | None = None, seconds: float = 0.01) -> list[str]:
        """`seconds`: of a case at most, also where a launcher adds --iters."""
        config = self.write("tiny.toml", CONFIG.format(launches=launches, seconds=seconds))
        return [self.scalebench, "run", str(config), "--out", str(out or self.out), "--no-figures", "-q",
                "--oversubscribe", "--mpirun", str(mpirun or settings.launcher)]  # fmt: skip

    def resume(self, *words: str) -> list[str]:
        return [self.scalebench, "resume", str(self.out), "--no-figures", "-q", *words]

    def verify(self, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
        return run([self.scalebench, "verify", str(folder or self.out)])

    def manifest(self) -> dict:
        return json.loads((self.out / "manifest.json").read_text(encoding="utf-8"))

    def check_seal(self) -> None:
        self.assertTrue((self.out / "COMPLETE").is_file())
        for sums in ("COMPLETE", "SHA256SUMS"):
            self.ok(subprocess.run(["sha256sum", "--check", "--strict", "--quiet", sums], cwd=self.out,
                                   capture_output=True, text=True, check=False))  # fmt: skip

    def check_sealed(self) -> None:
        self.check_seal()
        done = self.verify()
        self.assertIn("; 0 differ: ", self.ok(done))
        self.assertNotIn("note:", done.stdout)
