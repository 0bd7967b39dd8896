# SPDX-License-Identifier: Apache-2.0
# CUDA's MPS, under which processes that share a card work at once instead of taking turns: a daemon with folders of its
# own for as long as a step takes. Compute mode, clocks, persistence and MIG stay as they are.
from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from gpu.endings import held_back

CONTROL = "nvidia-cuda-mps-control"
USUAL = Path("/tmp/nvidia-mps")  # where a daemon is when nobody has said otherwise
PATIENCE = 10.0  # seconds for an answer


class Unavailable(Exception):
    """Why there is no MPS, in one line."""


def somebody_elses(usual: Path = USUAL) -> Path | None:
    """The control socket of a daemon that programs here would find by themselves."""
    named = os.environ.get("CUDA_MPS_PIPE_DIRECTORY")
    return next((path / "control" for path in (usual, Path(named or usual)) if (path / "control").exists()), None)


class Daemon:
    def __init__(self, folder: Path) -> None:
        self.pipes = folder / "pipe"
        self.logs = folder / "log"
        self.environment = {"CUDA_MPS_PIPE_DIRECTORY": str(self.pipes), "CUDA_MPS_LOG_DIRECTORY": str(self.logs)}
        self.socket = self.pipes / "control"
        # It would number the cards anew, and programs that name one of them would choose among those.
        self.own = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"} | self.environment

    def start(self) -> None:
        self.pipes.mkdir()
        self.logs.mkdir()
        said = self.logs / "start.log"
        # Not to a pipe, which a daemon that keeps it open would never let end.
        with said.open("w", encoding="utf-8") as output:
            code = subprocess.run([CONTROL, "-d"], env=self.own, stdin=subprocess.DEVNULL, stdout=output,
                                  stderr=subprocess.STDOUT, start_new_session=True, check=False, timeout=PATIENCE).returncode  # fmt: skip
        until = time.monotonic() + PATIENCE
        while code == 0 and not self.socket.exists() and time.monotonic() < until:
            time.sleep(0.05)
        if code != 0 or not self.socket.exists():
            raise Unavailable(f"{CONTROL} -d did not start (exit code {code}): {self.last_words()}")

    def last_words(self) -> str:
        logs = [path for path in (self.logs / "start.log", self.logs / "control.log") if path.exists()]
        lines = [line.strip() for path in logs for line in path.read_text(encoding="utf-8", errors="replace").splitlines()]
        return next((line for line in reversed(lines) if line), "it said nothing")

    def answer(self, question: str) -> str:
        """Raises OSError or subprocess.SubprocessError."""
        return subprocess.run([CONTROL], input=f"{question}\n", env=self.own, text=True, capture_output=True,
                              start_new_session=True, check=True, timeout=PATIENCE).stdout  # fmt: skip

    def has_served(self) -> bool:
        """A program that does not reach the daemon runs without it and says nothing."""
        try:
            return any(line.strip().isdecimal() for line in self.answer("get_server_list").splitlines())
        except (OSError, subprocess.SubprocessError):
            return False

    def stop(self) -> None:
        if not self.socket.exists():
            return
        try:
            self.answer("quit")
        except (OSError, subprocess.SubprocessError):
            # It waits for its clients, however they hang.
            with contextlib.suppress(OSError, ValueError):
                os.kill(int((self.pipes / f"{CONTROL}.pid").read_text(encoding="utf-8")), signal.SIGTERM)


@contextlib.contextmanager
def daemon(keep: Path, usual: Path = USUAL) -> Iterator[Daemon]:
    """Started here and stopped however the step ends; its logs go to the folder `keep`."""
    if shutil.which(CONTROL) is None:
        raise Unavailable(f"no program {CONTROL}")
    if (socket := somebody_elses(usual)) is not None:
        raise Unavailable(f"an MPS daemon runs already ({socket}), which is left alone")
    # Not $TMPDIR, which may be long: the path of a socket has 107 bytes at most.
    try:
        folder = Path(tempfile.mkdtemp(prefix="mps-", dir="/tmp"))
    except OSError as error:
        raise Unavailable(f"no folder for the sockets of {CONTROL}: {error}") from error
    one = Daemon(folder)
    try:
        try:
            with held_back():  # a daemon that is on its way has no socket yet by which to stop it
                one.start()
        except (OSError, subprocess.SubprocessError) as error:
            raise Unavailable(f"{CONTROL} -d: {error}") from error
        yield one
    finally:
        one.stop()
        with contextlib.suppress(OSError):
            shutil.copytree(one.logs, keep, dirs_exist_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
