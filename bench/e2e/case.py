# SPDX-License-Identifier: Apache-2.0
# What the end-to-end tests share: starting a program on N ranks, a folder for each test, and what a
# refusal looks like. main: FOLDER_OF_PROGRAMS CLASS[.TEST] MPIRUN...; exit 77 (a skip for CTest) when
# nothing could be run.
from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

# Seconds until a test gives up on what should have happened long ago, however busy the machine is.
PATIENCE = 900
LOOK = 30  # seconds between two looks at a program that does not end
# Open MPI 4 removes the folder that all jobs of a user share when the last one ends, and a job that
# is just starting there fails: "ORTE was unable to reliably start one or more daemons".
_OWN_TMPDIR = tempfile.TemporaryDirectory(prefix="sb-", ignore_cleanup_errors=True)
# A user's Python keeps what it prints until it ends; mpirun asks root to confirm twice.
ENVIRONMENT = {**os.environ, "PYTHONUNBUFFERED": "", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "TMPDIR": _OWN_TMPDIR.name}  # fmt: skip

settings = SimpleNamespace(programs=Path("."), mpirun=["mpirun"], launcher="mpirun")  # of the command line

# What a study is given as its launcher: the real one, but where it measures a cell a few operations warm up for it.
# Until they are steady ranks wait for each other busily for 0.2 s in each cell, which is all that a tiny study does;
# that warm-up is looked at where bench_allreduce is started without a study.
LAUNCHER = """#!/bin/sh
case "$* " in *" -w "*) ;; *"/bench_allreduce "*" --launch "*) set -- "$@" -w 5 ;; esac
exec {mpirun} "$@"
"""

# A program that goes over the rows a launch has written: so many seconds, whatever it took, and with NOBODY no host at
# fault. What a study makes of them is then no matter of noise.
MADE_UP = """import csv, os, sys
seconds, out = sys.argv[1], sys.argv[sys.argv.index("--out") + 1]

def rewrite(name, made_up):
    if not os.path.exists(path := f"{out}/{name}"):
        return
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\\n")
        writer.writeheader()
        writer.writerows({**row, **made_up(row)} for row in rows)

rewrite("allreduce.csv", lambda row: {name: seconds for name, value in row.items() if value and name.startswith("seconds_")})
if "NOBODY" in os.environ:
    rewrite("hosts.csv", lambda row: {"verdict": "" if row["to_host"] else "none", "note": "", "accused": "0"})
"""


def cores() -> int:
    """That ranks may have: hardware threads of one core are one."""
    folders = (Path(f"/sys/devices/system/cpu/cpu{cpu}/topology") for cpu in os.sched_getaffinity(0))
    files = (folder / "thread_siblings_list" for folder in folders)
    return len({file.read_text() if file.exists() else str(file) for file in files})


CORES = cores()


def code_said(output: str) -> int | None:
    """The exit code of a rank, or of its MPI_Abort, as Open MPI tells it."""
    said = re.search(r"(?m)^ *(?:Exit code|Errorcode): +(\d+)$", output)
    return int(said[1]) if said else None


def has_children(process: int) -> bool:
    return any(file.read_text() for file in Path(f"/proc/{process}/task").glob("*/children"))


def output_of(process: subprocess.Popen[str]) -> tuple[str, str, bool]:
    """stdout, stderr, and whether it stood still when it had told the code of a rank and had none left: it is then ended."""
    still = 0  # looks in a row
    for _ in range(PATIENCE // LOOK):
        try:
            return (*process.communicate(timeout=LOOK), False)
        except subprocess.TimeoutExpired as so_far:
            told = ((so_far.stderr or b"") + (so_far.stdout or b"")).decode(errors="replace")
            still = still + 1 if code_said(told) is not None and not has_children(process.pid) else 0
            if still == 2:
                process.kill()
                return (*process.communicate(), True)
    raise AssertionError(f"not ended within {PATIENCE} s: {process.args}")


def ended(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    """Where a rank ends while another is in MPI_Finalize, Open MPI 5.0.7's mpirun may crash, or stand still for ever, once it
    has told how the ranks ended: that is then the code."""
    try:
        stdout, stderr, stood_still = output_of(process)
    except BaseException:
        process.kill()
        raise
    said = (stderr or "") + (stdout or "")
    code = code_said(said)
    crashed = process.returncode == -signal.SIGSEGV and "\nprterun " in said
    told = code is not None and (crashed or stood_still)
    return subprocess.CompletedProcess(process.args, code if told else process.returncode, stdout, stderr)


def run(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    with subprocess.Popen(command, env={**ENVIRONMENT, **environment}, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:  # fmt: skip
        return ended(process)


def wait_until(condition: Callable[[], object], what: str, process: subprocess.Popen[str] | None = None) -> None:
    """Fails when it does not come true, or when the process that should make it true has ended."""
    until = time.monotonic() + PATIENCE
    while not condition():
        if process is not None and process.poll() is not None and not condition():
            raise AssertionError(f"ended with {process.returncode} before: {what}")
        if time.monotonic() > until:
            raise AssertionError(f"not within {PATIENCE} s: {what}")
        time.sleep(0.02)


def own_temporary() -> dict[str, str]:
    """A TMPDIR for one mpirun: two that start at once may both want to make what is missing there, and one of them fails."""
    return {"TMPDIR": tempfile.mkdtemp(dir=_OWN_TMPDIR.name)}


def on_ranks(ranks: int, program: str, *words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [*settings.mpirun, "-np", str(ranks), str(settings.programs / program), *map(str, words)]
    return run(command, **{**own_temporary(), **environment})


def is_open_mpi(launcher: str) -> bool:
    said = run([launcher, "--version"]).stdout
    return "Open MPI" in said or "OpenRTE" in said  # what mpiexec calls it


def open_mpi_major(launcher: str) -> int:
    return int(re.search(r"\) (\d+)\.", run([launcher, "--version"]).stdout)[1])


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def launches_ended(run_folder: Path) -> int:
    """Of a run that goes on; its manifest has each launch that has ended."""
    manifest = run_folder / "manifest.json"
    text = manifest.read_text(encoding="utf-8") if manifest.exists() else ""
    return len(json.loads(text)["launches"]) if text else 0


def read_rows(path: Path) -> list[dict[str, str]]:
    return rows_of(path.read_text(encoding="utf-8"))


def algorithm_names() -> list[str]:
    """Of all allreduce algorithms, in the table's order."""
    listed = run([str(settings.programs / "bench_allreduce"), "--list"]).stdout
    return re.findall(r"(?m)^  (\w+) +p=", listed)


def needs_torch(test: Callable[..., None]) -> Callable[..., None]:
    def wrapped(self: unittest.TestCase) -> None:
        if not (settings.programs / "bench_epoch").exists():
            self.skipTest("built without LibTorch")
        test(self)

    return wrapped


class Case(unittest.TestCase):
    def setUp(self) -> None:
        # Its name is in the command line of everything that is started here.
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="scalebench-e2e-")))

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def program(self, name: str, text: str) -> Path:
        path = self.write(name, text)
        path.chmod(0o755)
        return path

    def ok(self, done: subprocess.CompletedProcess[str]) -> str:
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def refused(self, done: subprocess.CompletedProcess[str], *parts: str) -> str:
        """Exit code 2 and exactly one line of stderr that has all the parts."""
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        lines = [line for line in done.stderr.splitlines() if all(part in line for part in parts)]
        self.assertEqual(len(lines), 1, f"{parts} in one line of:\n{done.stderr}")
        self.assertEqual(done.stdout, "", "a refusal comes before any result")
        return lines[0]


class OtherBuilds(Case):
    def other_build(self, name: str, script: str) -> Path:
        """A folder with these programs, in which bench_allreduce is a shell script."""
        folder = self.folder / name
        folder.mkdir()
        shutil.copy2(settings.programs / "scalebench", folder)
        own = (settings.programs / "bench_allreduce").resolve()
        (folder / "bench_allreduce").write_text(f"#!/bin/sh\n{script}\n".replace("OWN", str(own)), encoding="utf-8")
        (folder / "bench_allreduce").chmod(0o755)
        return folder

    def takes(self, seconds: float | str) -> str:
        """The script of a bench_allreduce that writes so many seconds, whatever it took: no verdict is a matter of noise."""
        program = self.write("takes.py", MADE_UP)
        rank = "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}"
        return f'OWN "$@" || exit\n[ {rank} != 0 ] || exec {sys.executable} -S {program} {seconds} "$@"'


def main(words: list[str]) -> int:
    if len(words) < 3:
        print("usage: FOLDER_OF_PROGRAMS CLASS[.TEST] MPIRUN...", file=sys.stderr)
        return 2
    settings.programs, settings.mpirun = Path(words[0]).resolve(), words[2:]
    launcher = Path(_OWN_TMPDIR.name) / "launcher" / "mpirun"
    launcher.parent.mkdir()
    launcher.write_text(LAUNCHER.format(mpirun=settings.mpirun[0]), encoding="utf-8")
    launcher.chmod(0o755)
    settings.launcher = str(launcher)
    tests = unittest.defaultTestLoader.loadTestsFromName(words[1], sys.modules["__main__"])
    result = unittest.TextTestRunner(verbosity=2).run(tests)
    # A class that is skipped as a whole counts as one that was skipped, and none that was run.
    if not result.wasSuccessful() or result.testsRun + len(result.skipped) == 0:
        return 1
    return 77 if len(result.skipped) >= result.testsRun else 0
