# SPDX-License-Identifier: Apache-2.0
# What the comparisons with other programs share: where they are, what they ask of their options before
# anything is measured, and how they say and keep what was.
from __future__ import annotations

import argparse
import csv
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MPI_AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def require_models(parser: argparse.ArgumentParser, models: Iterable[str], known: Iterable[str]) -> None:
    if unknown := [model for model in models if model not in known]:
        parser.error(f"unknown model {unknown[0]!r}; valid: {', '.join(known)}")


def require_new(parser: argparse.ArgumentParser, out: Path) -> None:
    if out.exists():
        parser.error(f"--out {out} exists")


def require_programs(parser: argparse.ArgumentParser, folder: Path, *names: str) -> None:
    for name in names:
        if not (folder / name).exists():
            parser.error(f"no {name} in {folder}: build first")


def require_launcher(parser: argparse.ArgumentParser, command: str) -> None:
    if shutil.which(command) is None:
        parser.error(f"{command}: no such launcher")


def require_torch(parser: argparse.ArgumentParser, python: str) -> None:
    if shutil.which(python) is None:
        parser.error(f"--python {python}: no such program")
    has_torch = [python, "-c", "import torch"]
    if subprocess.run(has_torch, capture_output=True, check=False).returncode != 0:
        parser.error(f"{python} has no torch (Debian: apt install python3-torch)")


def last_line(text: str) -> str:
    """What a program said last: why it failed."""
    return (text.strip().splitlines() or ["no message"])[-1]


def write_rows(path: Path, columns: Iterable[str], rows: Iterable[dict[str, str]]) -> None:
    """Beside, and renamed: whoever is killed here keeps the rows that were there."""
    beside = path.with_name(f".{path.name}")
    with open(beside, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(columns), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    beside.replace(path)
