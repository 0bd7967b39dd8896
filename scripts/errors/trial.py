# SPDX-License-Identifier: Apache-2.0
# One trial of errors/kills.py: a command of scalebench is started, something is done to it at a moment, it is brought to its
# end by what a user would type then, and everything that it left is looked at.
from __future__ import annotations

import contextlib
import fcntl
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from compare.shared import MPI_AS_ROOT
from errors.disturbances import BOX, COMMANDS, FORCED, KINDS, SCRIPTS, STRIKES, TOLD_TWICE, Scene, Words, cluster, small_disk
from errors.kept_rows import Rows, flushed, lost, twice, whole_rows
from errors.victims import marked

STUDY = """
[study]
name = "kills"
launches = {launches}
{where}
device = "cpu"
monitor = false
[allreduce]
algorithms = ["ring", "native"]
transport = "mpi"
min = "8"
max = "64"
factor = 8
max_seconds = 0.02
"""
HERE, IN_BOX = "ranks = [2]", 'layouts = ["2x1"]'
TRAINING = ["--model", "mlp", "--ranks", "2", "--kill-rank", "1@3", "--epochs", "2", "--deadline", "60", "--oversubscribe"]
MORE = ["--", "--data", "synthetic:256", "--samples", "128", "--global-batch", "64", "--warmup-steps", "0"]
LIMIT = 5  # seconds without a sign of life, while something is done; what goes on afterwards has the usual limit
# The start of mpirun: a watchdog that gives up soon, where SCALEBENCH_KILLS_LIMIT says so.
LAUNCHER = """#!/bin/sh
case " $* " in *bench_*) [ -z "$SCALEBENCH_KILLS_LIMIT" ] || set -- "$@" -T "$SCALEBENCH_KILLS_LIMIT" ;; esac
exec {mpirun} "$@"
"""
NCCL = """# nThread 1 nGpus 1 minBytes 8 maxBytes 8G step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid   1 on  node device  0 [0000:04:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid   2 on  node device  1 [0000:05:00] NVIDIA H100 80GB HBM3
# size count type redop root time algbw busbw #wrong time algbw busbw #wrong
1048576 262144 float sum -1 {0:.1f} {1:.2f} {1:.2f} 0 {0:.1f} {1:.2f} {1:.2f} 0
# Out of bounds values : 0 OK
"""
LONGEST = 240  # seconds until a command that does not end counts as one that never will
LEAST, MOST = 0.0, 60.0  # seconds of a repetition; what lies outside is a step of the date
# What a launch says that nobody watched, as MPI_Init and MPI_Finalize are outside: its own limit ended it, or mpirun, which
# counts a process that was killed before it had said who it is, and names no host that its daemons do not come from.
UNWATCHED = {
    "did not end within": "by the launch's limit",
    "1 process returned": "before MPI_Init",
    "was unable to reliably start one or more daemons": "before its daemons met",
}


@dataclass(frozen=True)
class Drawn:
    number: int
    kind: str
    command: str
    share: float  # of the command's duration
    rank: int
    other: float

    def box(self) -> bool:
        return self.kind == "cut link"


def drawn(seed: int, number: int) -> Drawn:
    of = random.Random(f"{seed} {number}")
    kind = of.choices(list(KINDS), [one.weight for one in KINDS.values()])[0]
    commands = KINDS[kind].commands
    command = of.choices(commands, [COMMANDS[one] for one in commands])[0]
    return Drawn(number, kind, command, of.random(), of.randrange(2), of.random())


@dataclass
class Bench:
    """What all trials of a sitting share."""

    folder: Path
    programs: Path
    mpirun: str
    shim: Path
    seconds: dict[str, float] = field(default_factory=dict)  # that a command takes undisturbed
    patience: float = 30  # seconds until a process that is left counts as one that stays

    def prepare(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        launcher = self.folder / "mpirun"
        launcher.write_text(LAUNCHER.format(mpirun=self.mpirun), encoding="utf-8")
        launcher.chmod(0o755)
        for name, where, launches in (("here", HERE, 2), ("three", HERE, 3), ("box", IN_BOX, 2)):
            (self.folder / f"{name}.toml").write_text(STUDY.format(where=where, launches=launches), encoding="utf-8")
        for number in range(3):
            microseconds = 200.0 + number
            text = NCCL.format(microseconds, 1048.576 / microseconds)
            (self.folder / f"nccl-{number}.txt").write_text(text, encoding="utf-8")

    def words(self, command: str, results: Path, study: str = "here") -> list[str]:
        start = ["--oversubscribe", "--mpirun", str(self.folder / "mpirun"), "-q"]
        config = str(self.folder / f"{study}.toml")
        of_command = {
            "run": ["run", config, "--out", str(results / "run"), "--no-figures", *start],
            "resume": ["resume", str(results / "run"), "--no-figures", "-q"],
            "nightly": ["nightly", config, "--results", str(results), "--aa-launches", "0", "--no-canary", *start],
            "recover": ["recover", *TRAINING, "--results", str(results), "--mpirun", str(self.folder / "mpirun"), "-q", *MORE],
            "import": ["import", "nccl-tests", *(str(self.folder / f"nccl-{number}.txt") for number in range(3)),
                       "--results", str(results), "-q"],
        }  # fmt: skip
        return [str(self.programs / "scalebench"), *of_command[command]]


class Trial:
    def __init__(self, bench: Bench, what: Drawn) -> None:
        self.bench, self.what = bench, what
        self.folder = bench.folder / f"trial-{what.number:04}"
        self.results = self.folder / "results"
        self.mark = f"SCALEBENCH_KILLS_TRIAL={self.folder}"
        self.findings: list[str] = []
        self.rows = 0  # that had been flushed

    # How commands are started

    def environment(self, scratch: Path, hit: bool) -> dict[str, str]:
        name, value = self.mark.split("=", 1)
        added = {name: value, "TMPDIR": str(scratch), **MPI_AS_ROOT}
        for component in ("vader", "sm"):  # of Open MPI 4 and 5: where this trial alone has its segments
            added[f"OMPI_MCA_btl_{component}_backing_directory"] = str(scratch / "segments")
        if hit:
            added["SCALEBENCH_KILLS_LIMIT"] = str(LIMIT)
        if self.what.kind == "clock stepped":
            added |= {"LD_PRELOAD": str(self.bench.shim), "SCALEBENCH_TEST_CLOCK": str(self.folder / "clock")}
        return {**os.environ, **added}

    def start(self, words: list[str], scratch: Path, hit: bool = False) -> subprocess.Popen[bytes]:
        inside = [str(SCRIPTS / "cluster"), "run", "--name", BOX, "--"] if self.what.box() else []
        with open(self.folder / "stderr", "ab") as said:
            return subprocess.Popen([*inside, *words], env=self.environment(scratch, hit), stdin=subprocess.DEVNULL,
                                    stdout=said, stderr=said, start_new_session=True)  # fmt: skip

    def ran(self, command: list[str], scratch: Path) -> int:
        process = self.start(command, scratch)
        try:
            return process.wait(LONGEST)
        except subprocess.TimeoutExpired:
            self.findings.append(f"{' '.join(command[1:3])} did not end")
            self.end_all()
            return process.wait()

    def words(self) -> list[str]:
        return self.bench.words(self.what.command, self.results, "box" if self.what.box() else "here")

    # What lies there

    def runs(self) -> list[Path]:
        """Begun: before its manifest stands, a run has measured nothing."""
        found = [path.parent for path in sorted(self.results.glob("*/manifest.json")) if path.stat().st_size > 0]
        return [run for run in found if run.name != "nightly"]

    def flushed(self) -> dict[Path, Rows]:
        return {run: flushed(run) for run in self.runs()}

    def end_all(self) -> None:
        for process in marked(self.mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def wait_for_ends(self) -> int:
        """How many processes stay; they are ended then."""
        until = time.monotonic() + self.bench.patience * (2 if self.what.box() else 1)
        while (left := marked(self.mark)) and time.monotonic() < until:
            time.sleep(0.05)
        self.end_all()
        return len(left)

    def locks_held(self) -> list[str]:
        held = []
        for path in [*self.results.rglob(".lock"), *self.results.rglob(".nightly.lock")]:
            with open(path, "rb") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    held.append(path.name)
        return held + [path.name for path in self.results.rglob(".lock.alone")]

    # The trial

    def row(self) -> dict[str, object]:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.results.mkdir(parents=True)
        (self.folder / "clock").write_bytes(bytes(8))
        with contextlib.ExitStack() as stack:
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sb-", ignore_cleanup_errors=True)))
            (scratch / "segments").mkdir()
            if self.what.kind == "full disk":
                stack.enter_context(small_disk(self.results))
            if self.what.command == "resume":
                half = "half-box" if self.what.box() else "half"
                shutil.copytree(self.bench.folder / half / "run", self.results / "run", symlinks=True)
            begin = time.monotonic()
            row = self.disturbed(scratch)
            row["seconds"] = f"{time.monotonic() - begin:.1f}"
            if self.findings and self.what.kind == "full disk":
                shutil.copytree(self.results, self.folder / "kept")
        row["finding"] = "; ".join(self.findings)
        if not self.findings:
            shutil.rmtree(self.folder)
        return row

    def disturbed(self, scratch: Path) -> dict[str, object]:
        moment = self.what.share * self.bench.seconds[self.name_of_duration()]
        rank = self.what.rank if KINDS[self.what.kind].names == "rank" else ""
        row: dict[str, object] = {"number": self.what.number, "kind": self.what.kind, "command": self.what.command,
                                  "moment_seconds": f"{moment:.3f}", "rank": rank}  # fmt: skip
        process = self.start(self.words(), scratch, hit=True)
        scene = Scene(process, self.mark, self.results, self.folder / "clock", self.what.rank, self.what.other)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(moment)
        before, words = self.flushed(), Words(self.folder)
        struck = self.strike(scene)
        begin = time.monotonic()
        named = self.watch(process, words, begin) if struck else self.watch(process, None, begin)
        row |= {"hit": int(struck), "exit_code": process.returncode, "processes_left": self.wait_for_ends()}
        if self.what.box():
            cluster("heal", "host2")
        (self.results / "filler").unlink(missing_ok=True)
        after = self.flushed()
        self.judge_rows(before, after, "before the end")
        self.rows = sum(len(rows) for run in after.values() for rows in run.values())
        row["rows_flushed"] = self.rows
        row |= self.judge_name(named, words, process.returncode) if struck else {}
        row["completed_by"] = self.complete(process.returncode, scratch)
        self.judge_rows(after, self.flushed(), "in the end")
        row |= self.judge_end(scratch)
        self.judge_code(row)
        return row

    def name_of_duration(self) -> str:
        return f"{self.what.command} in the box" if self.what.box() else self.what.command

    def strike(self, scene: Scene) -> bool:
        """Whether somebody was hit before the command had ended; who is not there yet is waited for."""
        strike = STRIKES[self.what.kind]
        while scene.process.poll() is None:
            if strike(scene):
                return True
            time.sleep(0.002)
        return False

    def watch(self, process: subprocess.Popen[bytes], words: Words | None, begin: float) -> float | None:
        """Waits for the end; after how many seconds the culprit was named."""
        named = None
        while process.poll() is None:
            if named is None and words is not None and self.names_culprit(words):
                named = time.monotonic() - begin
            if time.monotonic() - begin > LONGEST:
                self.findings.append("did not end")
                self.end_all()
                process.wait()
            time.sleep(0.01)
        if named is None and words is not None and self.names_culprit(words):
            named = time.monotonic() - begin
        return named

    def names_culprit(self, words: Words) -> bool:
        whom = KINDS[self.what.kind].names
        return (whom == "rank" and self.what.rank in words.named_ranks()) or (whom == "host" and "host2" in words.named_hosts())

    # What a user would type then

    def complete(self, code: int, scratch: Path) -> str:
        runs = self.runs()
        if code == 0:
            return "itself"
        if self.what.command in ("run", "resume"):
            return self.resumed(runs[0], scratch) if runs else self.again(scratch)
        if self.what.command == "nightly" and runs and not (runs[0] / "COMPLETE").exists():
            how = self.resumed(runs[0], scratch)
            analysed = self.ran([*self.bench.words("nightly", self.results)[:1], "nightly", "--analyse", runs[0].name, "--results",
                                 str(self.results), "-q"], scratch)  # fmt: skip
            self.require(analysed, "nightly --analyse")
            return f"{how}, nightly --analyse"
        return self.again(scratch)  # a night that has its end stays as it is, whatever launch it lacks: the next one is whole

    def resumed(self, run: Path, scratch: Path) -> str:
        self.require(self.ran([*self.bench.words("resume", self.results)[:2], str(run), "--no-figures", "-q"], scratch), "resume")
        return "resume"

    def again(self, scratch: Path) -> str:
        """The same command; where it is refused because of a folder in which nothing was measured, without that."""
        code = self.ran(self.words(), scratch)
        run = self.results / "run"
        if code == 2 and self.what.command == "run" and not (run / "launches").exists():
            shutil.rmtree(run)
            self.require(self.ran(self.words(), scratch), "the same command")
            return "same command, folder removed"
        self.require(code, "the same command")
        return "same command"

    # What is judged

    def require(self, code: int, what: str) -> None:
        if code != 0:
            self.findings.append(f"{what} ended with {code}")

    def judge_rows(self, before: dict[Path, Rows], after: dict[Path, Rows], when: str) -> None:
        for run, rows in before.items():
            if gone := lost(rows, after.get(run, {})):
                self.findings.append(f"{len(gone)} flushed rows lost {when}, as {gone[0]}")

    def judge_name(self, seconds: float | None, words: Words, code: int) -> dict[str, object]:
        """Empty where nothing failed, or there is nobody to name."""
        if not KINDS[self.what.kind].names or (seconds is None and code == 0):
            return {}
        if seconds is not None:
            return {"named": 1, "named_seconds": f"{seconds:.3f}"}
        said = words.text()
        if self.what.command == "recover" and "on purpose" in said:
            return {}  # its own fault was there first
        for words_of_it, how in UNWATCHED.items():
            if words_of_it in " ".join(said.split()):
                return {"named": how}
        self.findings.append(f"the culprit was not named; named: {sorted(words.named_ranks())}")
        return {"named": 0}

    def judge_end(self, scratch: Path) -> dict[str, object]:
        complete = 0
        for run in self.runs():
            doubled = twice(run)
            if doubled:
                self.findings.append(f"{len(doubled)} repetitions twice, as {doubled[0]}")
            seconds = [float(row["seconds"]) for row in whole_rows(run / "samples.csv") if row["seconds"]]
            if not all(LEAST < one < MOST for one in seconds):
                self.findings.append(f"repetitions of {min(seconds)} to {max(seconds)} s")
            if (run / "COMPLETE").exists():
                complete += 1
                self.require(self.ran([str(self.bench.programs / "scalebench"), "verify", str(run)], scratch), f"verify {run.name}")
        wanted = len(self.runs()) if self.what.command not in ("recover", "import") else 1
        if complete < max(1, wanted):
            self.findings.append(f"{complete} complete runs of {wanted}")
        left, locks = self.wait_for_ends(), self.locks_held()
        segments = sorted(path.name for path in (scratch / "segments").iterdir())
        self.findings += [f"{left} processes left at the end"] if left else []
        self.findings += [f"locks held: {locks}"] if locks else []
        self.findings += [f"segments left: {segments}"] if segments and not self.forced() else []
        return {"complete": int(complete >= max(1, wanted)), "segments_left": len(segments), "locks_left": len(locks)}

    def forced(self) -> bool:
        """Whether mpirun had no time to put things away."""
        logs = self.results.glob("*/launches/*/stderr.log")
        return self.what.kind in FORCED or any(TOLD_TWICE in log.read_text(errors="replace") for log in logs)

    def judge_code(self, row: dict[str, object]) -> None:
        if row["processes_left"]:
            self.findings.append(f"{row['processes_left']} processes left after it")
        if self.what.kind == "clock stepped" and row["exit_code"] != 0:
            self.findings.append(f"a date that was set ended it with {row['exit_code']}")


@contextlib.contextmanager
def box() -> Iterator[None]:
    """The hosts whose link is cut, for as long as trials may need them."""
    cluster("up", "--hosts", "2", "--slots", "1")
    try:
        yield
    finally:
        cluster("down")
