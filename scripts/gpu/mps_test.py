# SPDX-License-Identifier: Apache-2.0
# verify_gpu --mps without a card: with a stand-in for nvidia-cuda-mps-control it starts a daemon with folders of its own
# and stops it however a step ends; without one, and beside another daemon, the steps are not run.
from __future__ import annotations

import csv
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any
from unittest.mock import patch

from gpu import command_line, endings, mps
from gpu.steps import STEPS

ROOT = Path(__file__).resolve().parents[2]
# It keeps a book of its calls; each "daemon" is a sleep, whose process id lies where the real one's does.
CONTROL = f"""
pid="$CUDA_MPS_PIPE_DIRECTORY/{mps.CONTROL}.pid"
if [ "$1" = -d ]; then
  echo "start $CUDA_MPS_PIPE_DIRECTORY ${{CUDA_VISIBLE_DEVICES:-all}}" >>"$BOOK"
  [ -z "$REFUSES" ] || {{ echo "$REFUSES"; exit 1; }}
  sleep 600 & echo $! >"$pid"
  echo started >"$CUDA_MPS_LOG_DIRECTORY/control.log"
  exec touch "$CUDA_MPS_PIPE_DIRECTORY/control"
fi
read -r question
echo "$question" >>"$BOOK"
case $question in
  get_server_list) echo "$SERVERS" ;;
  quit) [ -z "$HANGS" ] || exit 1
    kill "$(cat "$pid")" && rm "$CUDA_MPS_PIPE_DIRECTORY/control" ;;
esac
"""
HEAD = "status,note,origin,algorithm,transport,ranks,size_bytes,seconds_median"
MPIRUN = f"""
[ -z "$SLEEPS" ] || {{ echo $$ >"$SLEEPS"; sleep 600; }}
echo "rank $CUDA_MPS_PIPE_DIRECTORY" >>"$BOOK"
while [ "$1" != --out ]; do shift; done
mkdir -p "$2" && printf '{HEAD}\\nok,,emulated,ring,cuda_ipc,2,268435456,0.0004\\n' >"$2/allreduce.csv"
"""
KERNELS = "status,note,kernel,memory,dtype,bytes,gb_per_s\nok,,copy,device,float,536870912,4000\n"


def place_program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


def lives(process: int) -> bool:
    """Still, after the seconds that a signal may take."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return False
        if state == "Z":
            return False
        time.sleep(0.05)
    return True


class UnderMps(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        if (mps.USUAL / "control").exists():
            self.skipTest(f"an MPS daemon runs here ({mps.USUAL})")
        self.out, self.book, self.tools = (self.folder / name for name in ("out", "book", "bundle/bin"))
        (self.out / "kernels").mkdir(parents=True)
        (self.out / "kernels/kernels.csv").write_text(KERNELS, encoding="utf-8")
        place_program(self.tools / "nvidia-smi", "echo Some card, 580.1, 1000 MiB")
        place_program(self.tools / "scalebench", "true")
        place_program(self.tools / "mpirun", MPIRUN)
        place_program(self.tools / mps.CONTROL, CONTROL)
        self.environment = {**os.environ, "PATH": f"{self.tools}:/usr/bin:/bin", "BOOK": str(self.book), "SERVERS": "4242",
                            "CUDA_VISIBLE_DEVICES": "2"}  # fmt: skip
        self.environment.pop("CUDA_MPS_PIPE_DIRECTORY", None)

    def words(self, *words: str) -> list[str]:
        program = ["/usr/bin/python3", str(ROOT / "scripts/verify_gpu"), "--bundle", str(self.folder / "bundle")]
        return [*program, "--out", str(self.out), *(words or ("--mps", "--only", "shared_mps"))]

    def verify(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.words(*words), capture_output=True, text=True, check=False,
                              env={**self.environment, **environment})  # fmt: skip

    def row(self, step: str = "shared_mps") -> str:
        with (self.out / "verify.csv").open(newline="", encoding="utf-8") as lines:
            row = next(row for row in csv.DictReader(lines) if row["step"] == step)
        return f"{row['status']}: {row['detail']}"

    def calls(self) -> list[str]:
        return self.book.read_text(encoding="utf-8").splitlines() if self.book.exists() else []

    def test_a_daemon_of_its_own_for_as_long_as_the_step_takes(self) -> None:
        done = self.verify()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(self.row(), "reached: ring, 2 ranks, 256 MiB: 0.8389; target 0.8")
        start, rank, *rest = self.calls()
        self.assertRegex(start, r"^start /tmp/mps-\w+/pipe all$")  # short, and with all cards
        self.assertEqual([rank, *rest], [f"rank {start.split()[1]}", "get_server_list", "quit"])
        self.assertFalse(Path(start.split()[1]).parent.exists())
        self.assertEqual((self.out / "logs/shared_mps/control.log").read_text(encoding="utf-8"), "started\n")

    def test_without_it_nothing_is_started_and_turns_have_no_target(self) -> None:
        done = self.verify("--only", "shared")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(self.row("shared"), "reached: ring, 2 ranks, 256 MiB: 0.8389; no target")
        self.assertEqual(self.calls(), ["rank "])
        self.assertNotIn("_mps", self.verify("--list").stdout)
        listed = self.verify("--list", "--mps").stdout
        for step in STEPS:
            self.assertIn(f"{step.name}: ", listed)
        refused = self.verify("--only", "shared,ring_mps")
        self.assertEqual((refused.returncode, "--only ring_mps: needs --mps" in refused.stderr), (2, True), refused.stderr)

    def test_a_machine_without_it(self) -> None:
        (self.tools / mps.CONTROL).unlink()
        if shutil.which(mps.CONTROL, path=self.environment["PATH"]):
            self.skipTest(f"this machine has {mps.CONTROL}")
        self.assertEqual(self.verify().returncode, 3)
        self.assertEqual(self.row(), f"not run: no program {mps.CONTROL}")

    def test_one_that_does_not_start(self) -> None:
        self.assertEqual(self.verify(REFUSES="no card").returncode, 3)
        self.assertEqual(self.row(), f"not run: {mps.CONTROL} -d did not start (exit code 1): no card")
        self.assertEqual(len(self.calls()), 1)

    def test_ranks_that_did_not_reach_it_have_taken_turns(self) -> None:
        self.assertEqual(self.verify(SERVERS="").returncode, 3)
        self.assertIn("not run: the ranks did not reach the MPS daemon; without it reached: ring", self.row())
        self.assertEqual(self.calls()[-1], "quit")

    def test_the_daemon_of_somebody_else_is_left_alone(self) -> None:
        others = self.folder / "others"
        others.mkdir()
        (others / "control").touch()
        said = f"an MPS daemon runs already ({others}/control), which is left alone"
        self.assertEqual(self.verify(CUDA_MPS_PIPE_DIRECTORY=str(others)).returncode, 3)
        self.assertEqual(self.row(), f"not run: {said}")
        with patch.dict(os.environ, {"PATH": self.environment["PATH"]}), self.assertRaises(mps.Unavailable) as refused:
            mps.daemon(self.out / "logs/other", usual=others).__enter__()
        self.assertEqual((str(refused.exception), self.calls()), (said, []))

    def test_it_is_stopped_when_it_does_not_answer(self) -> None:
        """But by its process id."""
        place_program(self.tools / "mpirun", f'cp "$CUDA_MPS_PIPE_DIRECTORY/{mps.CONTROL}.pid" "$BOOK.pid"; {MPIRUN}')
        self.assertEqual(self.verify(HANGS="yes").returncode, 0)
        self.assertFalse(lives(int(Path(f"{self.book}.pid").read_text(encoding="utf-8"))))

    def test_signals_end_the_ranks_and_then_the_daemon(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number.name):
                self.book.unlink(missing_ok=True)
                rank = self.folder / f"rank-{number}"
                process = subprocess.Popen(self.words(), stdout=subprocess.DEVNULL, env={**self.environment, "SLEEPS": str(rank)})
                while not rank.exists() or not rank.read_text(encoding="utf-8"):
                    self.assertIsNone(process.poll())
                    time.sleep(0.05)
                process.send_signal(number)
                self.assertEqual(process.wait(60), 128 + number)
                self.assertEqual([call.split()[0] for call in self.calls()], ["start", "quit"])
                self.assertFalse(lives(int(rank.read_text(encoding="utf-8"))))
                self.assertFalse(Path(self.calls()[0].split()[1]).parent.exists())

    def test_a_signal_amid_a_start_ends_what_was_started(self) -> None:
        """Whatever it is: the ranks, or the daemon, which has no socket yet."""
        first = {number: signal.getsignal(number) for number in endings.ENDING}
        started: list[subprocess.Popen[str]] = []

        class Interrupted(subprocess.Popen):  # type: ignore[type-arg]
            def __init__(self, *words: Any, **options: Any) -> None:
                super().__init__(*words, **options)
                started.append(self)
                signal.raise_signal(signal.SIGTERM)

        try:
            endings.listen()
            log = self.folder / "log"
            with log.open("w", encoding="utf-8") as text, patch("subprocess.Popen", Interrupted):
                with self.assertRaises(SystemExit) as ended:
                    command_line.ended(["sleep", "600"], text, 60, {})
            self.assertEqual((ended.exception.code, started[0].returncode), (128 + signal.SIGTERM, -signal.SIGTERM))
            for number in endings.ENDING:
                signal.signal(number, endings.stop)
            with patch.dict(os.environ, self.environment), patch("subprocess.Popen", Interrupted):
                with self.assertRaises(SystemExit):
                    mps.daemon(self.out / "logs/one", usual=self.folder / "none").__enter__()
            self.assertEqual([call.split()[0] for call in self.calls()], ["start", "quit"])
        finally:
            for number, handler in first.items():
                signal.signal(number, handler)


if __name__ == "__main__":
    unittest.main()
