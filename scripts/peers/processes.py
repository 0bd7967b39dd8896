# SPDX-License-Identifier: Apache-2.0
# A program is started in a group of its own, and nothing of the group is left, also when a signal
# ends the script that started it.
from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GRACE = 5.0  # A group has so many seconds to end in.
# mpirun begins a line with host and process; what a step's log adds of its own stands in brackets, too.
NOT_SAID = re.compile(r"\$ |\[[^]\s/]+:\d+\]|\[exit code |\[ended after ")
MPI_AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def stop(number: int, frame: FrameType | None) -> None:
    """A signal becomes an exception, so that what was started is ended, and does so once: ending takes seconds, which
    no other signal cuts short."""
    for each in ENDING:
        signal.signal(each, signal.SIG_IGN)
    raise SystemExit(128 + number)


def listen() -> None:
    for number in ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup ignores one.
            signal.signal(number, stop)


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """A signal that comes in here is heard at the end: an exception amid the start of a process would lose its id, and
    nobody would end it. A mask of signals would be inherited by the process, so there is none."""
    came: list[int] = []
    heard = [number for number in ENDING if signal.getsignal(number) is stop]
    for number in heard:
        signal.signal(number, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, stop)
        if came:
            signal.raise_signal(came[0])


def end(process: subprocess.Popen[str], grace: float) -> None:
    """The process ends, and all that is in its group, also what it left there when it ended by itself."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(grace)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextlib.contextmanager
def running(
    command: list[str], environment: dict[str, str], grace: float = GRACE, **how: Any
) -> Iterator[subprocess.Popen[str]]:
    """The process's group ends with this context. What starts groups of its own needs a longer grace than theirs."""
    process: subprocess.Popen[str] | None = None
    try:
        with held_back():
            process = subprocess.Popen(
                command, env={**MPI_AS_ROOT, **os.environ, **environment}, text=True, errors="replace",
                stdin=subprocess.DEVNULL, start_new_session=True, **how,
            )  # fmt: skip
        yield process
    finally:
        if process is not None:
            end(process, grace)


def last_said(text: str) -> str:
    """A program's last line tells why it failed. mpirun's words behind it stand between dashes, or are NOT_SAID."""
    bare = re.sub(r"^-{20,}\n.*?^-{20,}\n", "", text, flags=re.MULTILINE | re.DOTALL)
    return next((line for line in reversed(bare.splitlines()) if line and not NOT_SAID.match(line)), "nothing")


def say(text: str) -> None:
    """Prints at once. Whoever reads may have had enough: the rest goes nowhere, and files have it all."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
