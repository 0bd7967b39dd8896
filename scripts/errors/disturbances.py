# SPDX-License-Identifier: Apache-2.0
# What is done to a command of scalebench while it runs, each by one function, and whom its files then have to name.
from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import struct
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from errors.victims import marked_launchers, marked_ranks

SCRIPTS = Path(__file__).resolve().parents[1]
BOX = f"kills{os.getpid()}"  # the cluster that links are cut in
DISK_BYTES = 160 * 2**20  # recover asks for 100 MB
STEPS = (-86400, -3600, -1, 1, 3600, 86400)  # seconds by which the date is set


@dataclass(frozen=True)
class Disturbance:
    weight: int  # of the draw
    commands: tuple[str, ...]
    names: str = ""  # whom: "rank", "host"
    needs: str = ""  # "root", "shim"


COMMANDS = {"run": 6, "resume": 6, "nightly": 3, "recover": 1, "import": 4}  # and how often: a training takes long
ALL = tuple(COMMANDS)
OF_RANKS = ("run", "resume", "nightly", "recover")
# mpirun has no time left to remove what Open MPI keeps in /dev/shm: killed, or told to end while it already does, as it may
# also say.
FORCED = ("SIGKILL launcher", "SIGINT twice")
TOLD_TWICE = "abort is already in progress"
KINDS = {
    "SIGKILL group": Disturbance(16, ALL),
    "SIGKILL scalebench": Disturbance(12, ALL),
    "SIGKILL launcher": Disturbance(12, OF_RANKS),
    "SIGKILL rank": Disturbance(18, OF_RANKS, names="rank"),
    "SIGSTOP rank": Disturbance(10, OF_RANKS, names="rank"),
    "SIGTERM": Disturbance(10, ALL),
    "SIGINT twice": Disturbance(8, ALL),
    "full disk": Disturbance(6, ALL, needs="root"),
    "clock stepped": Disturbance(6, ALL, needs="shim"),
    "cut link": Disturbance(2, ("run", "resume"), names="host", needs="root"),
}


def impossible(shim: Path) -> dict[str, str]:
    """Kinds that this machine cannot do, each with the reason."""
    tools = [tool for tool in ("ip", "tc", "nsenter", "unshare") if shutil.which(tool) is None]
    why = {"full disk": "" if os.geteuid() == 0 else "a small file system needs root",
           "cut link": "network namespaces need root" if os.geteuid() else f"no {', '.join(tools)}" if tools else "",
           "clock stepped": "" if shim.exists() else f"no {shim}: build scalebench_stepping"}  # fmt: skip
    return {kind: reason for kind, reason in why.items() if reason}


def cluster(verb: str, *words: str) -> None:
    subprocess.run([str(SCRIPTS / "cluster"), verb, "--name", BOX, *words], check=True, capture_output=True, text=True)


@contextlib.contextmanager
def small_disk(folder: Path):  # type: ignore[no-untyped-def]
    """A file system of DISK_BYTES there."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "none", folder], check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True, capture_output=True)


def fill(folder: Path) -> None:
    """Until not one byte more fits."""
    with open(folder / "filler", "wb", buffering=0) as file, contextlib.suppress(OSError):
        free = shutil.disk_usage(folder).free
        os.posix_fallocate(file.fileno(), 0, max(1, free - 65536))
        file.seek(0, os.SEEK_END)
        while True:
            file.write(bytes(4096))


@dataclass
class Scene:
    """What a disturbance knows: the command's process, the mark of all that it started, and what was drawn."""

    process: subprocess.Popen[bytes]
    mark: str
    results: Path
    clock: Path
    rank: int
    number: float  # 0 to 1, for whatever else is to be drawn

    def step(self) -> int:
        return STEPS[int(self.number * len(STEPS))]


def _killed(process: int, number: signal.Signals) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, number)
        return True
    return False


def _kill_group(scene: Scene) -> bool:
    os.killpg(scene.process.pid, signal.SIGKILL)  # not waited for yet, so that the number is its own
    return True


def _interrupt_twice(scene: Scene) -> bool:
    os.killpg(scene.process.pid, signal.SIGINT)
    time.sleep(0.3 * scene.number)
    os.killpg(scene.process.pid, signal.SIGINT)
    return True


def _signal_rank(number: signal.Signals) -> Callable[[Scene], bool]:
    return lambda scene: any([_killed(one, number) for one in marked_ranks(scene.mark, scene.rank)[:1]])


def _kill_launcher(scene: Scene) -> bool:
    return any([_killed(one, signal.SIGKILL) for one in marked_launchers(scene.mark)[:1]])


def _fill_disk(scene: Scene) -> bool:
    fill(scene.results)
    return True


def _step_clock(scene: Scene) -> bool:
    with open(scene.clock, "r+b") as file:
        file.write(struct.pack("=q", scene.step()))
    return True


def _cut_link(_scene: Scene) -> bool:
    cluster("cut", "host2")
    return True


# True when somebody was hit; whoever is to be hit may not be there yet.
STRIKES: dict[str, Callable[[Scene], bool]] = {
    "SIGKILL group": _kill_group,
    "SIGKILL scalebench": lambda scene: _killed(scene.process.pid, signal.SIGKILL),
    "SIGKILL launcher": _kill_launcher,
    "SIGKILL rank": _signal_rank(signal.SIGKILL),
    "SIGSTOP rank": _signal_rank(signal.SIGSTOP),
    "SIGTERM": lambda scene: _killed(scene.process.pid, signal.SIGTERM),
    "SIGINT twice": _interrupt_twice,
    "full disk": _fill_disk,
    "clock stepped": _step_clock,
    "cut link": _cut_link,
}


class Words:
    """What the command and its launches say on stderr from now on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.seen = {path: path.stat().st_size for path in self._files()}

    def _files(self) -> list[Path]:
        return [self.folder / "stderr", *self.folder.glob("results/*/launches/*/stderr.log")]

    def text(self) -> str:
        found = []
        for path in self._files():
            with contextlib.suppress(OSError), open(path, "rb") as file:
                file.seek(self.seen.get(path, 0))
                found.append(file.read().decode(errors="replace"))
        return "\n".join(found)

    def named_ranks(self) -> set[int]:
        return {int(rank) for rank in re.findall(r"rank (\d+)(?: on \S+|\s+with PID \d+ on node \S+)", self.text())}

    def named_hosts(self) -> set[str]:
        return set(re.findall(r"\b(?:on|of|host|node) (host\d+)\b", self.text()))
