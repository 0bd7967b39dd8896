# SPDX-License-Identifier: Apache-2.0
# What a signal that ends this program does: what was started is ended with it, also what was only just being started.
from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def stop(number: int, frame: FrameType | None) -> None:
    """As an exception, so that what was started is ended, and once: that takes seconds, and no other signal cuts it short."""
    for each in ENDING:
        signal.signal(each, signal.SIG_IGN)
    raise SystemExit(128 + number)


def listen() -> None:
    for number in ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:  # of nohup
            signal.signal(number, stop)


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """A signal that comes in here is heard at the end: an exception amid the start of a process would lose its id, and
    nobody would end it. Not by a mask, which the process would inherit."""
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
