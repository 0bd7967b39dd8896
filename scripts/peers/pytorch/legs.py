# SPDX-License-Identifier: Apache-2.0
# A leg of Python's PyTorch is train.py, which prints a line of JSON with seconds.
from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
from pathlib import Path

from peers.harness import Failed, Leg, Times


def require_torch(python: str) -> None:
    if shutil.which(python) is None:
        raise Failed(f"--python {python}: no such program")
    if subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode != 0:
        raise Failed(f"{python} has no torch (Debian: apt install python3-torch)")


def torch_leg(options: argparse.Namespace, case: str, way: str, words: list[str], ranks: int = 1) -> Leg:
    """The median of what rank 0 prints counts. Each rank is a process of its own, which talks over gloo."""

    def read(text: str, folder: Path) -> Times:
        said = json.loads((text.splitlines() or ["{}"])[-1])
        if "seconds" not in said:
            raise Failed("it printed no seconds")
        note = f"PyTorch {said['torch']} on {said['device']}"
        return Times({(case, way): statistics.median(said["seconds"])}, note)

    command = [options.python, os.path.relpath(Path(__file__).with_name("train.py")), *words]
    return Leg(f"{case} {way}", command, read, {"GLOO_SOCKET_IFNAME": "lo"} if ranks > 1 else {}, ranks)
