# SPDX-License-Identifier: Apache-2.0
# What may go wrong with a host of a cluster in a box while something runs on it, for experiments and tests:
# its ranks run but half of the time. Links are slowed down, and made to lose, by scripts/cluster itself.
from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

from .network import processes_in


def ranks_in(namespace: str, program: str) -> list[int]:
    """Processes of that program in a host."""
    found = []
    for process in processes_in([namespace]):
        with contextlib.suppress(OSError):
            if Path(f"/proc/{process}/cmdline").read_text(errors="replace").split("\0")[0].endswith(program):
                found.append(process)
    return found


def _tell(processes: list[int], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)


@contextlib.contextmanager
def half_stopped(namespace: str, program: str, period: float = 0.04, share: float = 0.5) -> Iterator[None]:
    """The ranks that come up in that host are stopped for that share of each period, half of it, and go on."""
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            ranks = ranks_in(namespace, program)
            for _ in range(25 if ranks else 1):  # looking through all processes takes a while
                _tell(ranks, signal.SIGSTOP)
                over.wait(period * share)
                _tell(ranks, signal.SIGCONT)
                if over.wait(period * (1 - share)):
                    return

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        _tell(ranks_in(namespace, program), signal.SIGCONT)
