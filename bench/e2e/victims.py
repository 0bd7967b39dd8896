# SPDX-License-Identifier: Apache-2.0
# Who is hit: processes found by what stands in their environment, which children inherit, whatever started them and in
# whichever process group they are.
from __future__ import annotations

import os
import time
from pathlib import Path

_RANK = ("OMPI_COMM_WORLD_RANK", "PMI_RANK")


def _status(process: int) -> list[str]:
    """/proc/PID/stat from the state on. The name before it may hold anything, and is cut within a character."""
    return Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()


def _may_have_one(process: int) -> bool:
    """Whether one that was read as empty may be there all the same: in execve(2) it is, until the code's end is noted."""
    exiting, kernel_thread = 0x4, 0x200000
    status = _status(process)
    if status[0] == "Z" or int(status[6]) & (exiting | kernel_thread):
        return False
    return status[24] == "0" or status[47] != status[48]


def _environment(process: int) -> bytes:
    """By one call of read(2), for between two the kernel may take it away."""
    end = time.monotonic() + 1
    while True:
        file = os.open(f"/proc/{process}/environ", os.O_RDONLY)
        try:
            environment = os.read(file, 1 << 23)  # more than execve(2) takes
        finally:
            os.close(file)
        if environment or not _may_have_one(process) or time.monotonic() > end:
            return environment
        time.sleep(0.001)


def _environments() -> dict[int, bytes]:
    """Of all processes that can be read; one that has ended and is not waited for has none."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            environment = _environment(int(entry.name))
        except OSError:
            continue
        if environment:
            found[int(entry.name)] = environment
    return found


def _holds(environment: bytes, word: str) -> bool:
    return f"\0{word}\0".encode() in b"\0" + environment


def _is_rank(environment: bytes, rank: int) -> bool:
    return any(_holds(environment, f"{name}={rank}") for name in _RANK)


def _parent(process: int) -> int:
    try:
        return int(_status(process)[1])
    except OSError:
        return 0


def processes_of(launcher: int, rank: int) -> list[int]:
    """Ranks with that number among the launcher's descendants."""

    def is_ours(process: int) -> bool:
        while process not in (0, launcher):
            process = _parent(process)
        return process == launcher

    return [process for process, environment in _environments().items() if _is_rank(environment, rank) and is_ours(process)]


def marked(mark: str) -> list[int]:
    """Processes with that `NAME=value`."""
    return [process for process, environment in _environments().items() if _holds(environment, mark)]
