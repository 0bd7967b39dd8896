# SPDX-License-Identifier: Apache-2.0
"""The programs of the wheel as commands of its Python environment: each of these commands becomes the program of its
name, which finds PyPI's Open MPI and PyTorch beside this package, and mpirun beside the command."""
from __future__ import annotations

import os
import sys
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

HERE = Path(__file__).resolve().parent
SITE = HERE.parent  # what the programs are linked with lies there, as they were told: <site>/torch/lib
OF_TORCH = ("bench_kernels", "bench_throughput", "bench_epoch")  # are linked with it


def needed(name: str) -> str:
    """As the wheel says of what it needs: ==2.15.*"""
    for line in requires("scalebench") or []:
        if line.replace(" ", "").startswith(f"{name}=="):
            return line.replace(" ", "")[len(name) :]
    return ""


def wrong_torch() -> str:
    """Why the programs that are linked with PyTorch cannot start; empty: they can."""
    wanted = needed("torch")
    try:
        there = version("torch")
    except PackageNotFoundError:
        return f"needs PyTorch{wanted}, and none is there: pip install 'torch{wanted}'"
    if wanted and not there.startswith(wanted.strip("=*")):
        return f"is linked with PyTorch{wanted}, and {there} is there: pip install 'torch{wanted}'"
    return ""


def folders_elsewhere() -> list[str]:
    """Of the libraries that lie in another folder than this package: of a user's packages beside a system's, say."""
    folders = []
    for name, inner in (("torch", "lib"), ("nvidia", "nccl/lib"), ("nvidia", "cu13/lib")):
        spec = find_spec(name) if not (SITE / name / inner).is_dir() else None
        places = spec.submodule_search_locations if spec else None
        folders += [str(Path(place) / inner) for place in places or [] if (Path(place) / inner).is_dir()]
    return folders


def start() -> NoReturn:
    command = Path(sys.argv[0])
    program = HERE / "bin" / command.name
    reason = wrong_torch() if command.name in OF_TORCH else ""
    if reason or not program.exists():
        sys.exit(refuse(f"{command.name}: {reason or f'is not among the programs in {program.parent}'}"))
    os.environ["PATH"] = f"{command.resolve().parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    if folders := folders_elsewhere():
        before = os.environ.get("LD_LIBRARY_PATH")
        os.environ["LD_LIBRARY_PATH"] = os.pathsep.join([*folders, *([before] if before else [])])
    os.execv(program, [str(program), *sys.argv[1:]])


def refuse(line: str) -> int:
    print(line, file=sys.stderr)
    return 2
