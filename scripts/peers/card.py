# SPDX-License-Identifier: Apache-2.0
# The card that the programs here use is the first that CUDA sees, which on a machine with several need not be its
# driver's first, and of a slice it is the slice.
from __future__ import annotations

import re
import shutil
import subprocess

PATIENCE = 60.0  # seconds for a program's first kernel
SMALLEST = "--benchmark_filter=^copy/float/4 KiB/device/"


def card_of(bench_kernels: str) -> tuple[str | None, str]:
    """Returns the card's name, or None and why there is none."""
    names, why = cards_of_driver()
    if not names:
        return None, why
    said = said_by(bench_kernels)
    if said is None and len(set(names)) > 1:
        cards = " and ".join(dict.fromkeys(names))
        return None, f"nvidia-smi names {cards}, and {bench_kernels} does not say which it uses"
    return said or names[0], ""


def said_by(bench_kernels: str) -> str | None:
    command = [bench_kernels, "--device", "cuda", SMALLEST, "--benchmark_repetitions=1"]
    try:
        asked = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=PATIENCE)
    except (OSError, subprocess.TimeoutExpired):
        return None
    named = re.search(r"^# device: (.+)$", asked.stdout, re.MULTILINE)
    return named[1].strip() if named else None


def cards_of_driver() -> tuple[list[str], str]:
    program = shutil.which("nvidia-smi")
    if program is None:
        return [], "no nvidia-smi on the PATH, so no NVIDIA driver"
    command = [program, "--query-gpu=name", "--format=csv,noheader"]
    asked = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    names = [line.strip() for line in asked.stdout.splitlines() if line.strip()]
    if asked.returncode != 0 or not names:
        return [], f"nvidia-smi: {(asked.stdout + asked.stderr).strip().splitlines()[-1:] or ['no card']}"
    return names, ""


def folder_name(card: str) -> str:
    """ "NVIDIA H100 80GB HBM3" -> "nvidia-h100-80gb-hbm3"."""
    return re.sub(r"[^a-z0-9]+", "-", card.lower()).strip("-")
