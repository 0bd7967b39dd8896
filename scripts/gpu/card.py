# SPDX-License-Identifier: Apache-2.0
# Which card this machine has, as its driver says.
from __future__ import annotations

import re
import shutil
import subprocess


def first_card() -> tuple[str | None, str]:
    """Its name, or None and why there is none."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return None, "no nvidia-smi on the PATH, so no NVIDIA driver"
    asked = subprocess.run(
        [program, "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True, check=False
    )
    names = [line.strip() for line in asked.stdout.splitlines() if line.strip()]
    if asked.returncode != 0 or not names:
        return None, f"nvidia-smi: {(asked.stdout + asked.stderr).strip().splitlines()[-1:] or ['no card']}"
    return names[0], ""


def folder_name(card: str) -> str:
    """ "NVIDIA H100 80GB HBM3" -> "nvidia-h100-80gb-hbm3"."""
    return re.sub(r"[^a-z0-9]+", "-", card.lower()).strip("-")
