# SPDX-License-Identifier: Apache-2.0
# What errors/kills.py finds in a scalebench whose flaws are known, and what it goes on with when it is called again.
from __future__ import annotations

import contextlib
import ctypes
import io
import os
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

from errors import disturbances, kept_rows, kills, victims
from errors.trial import Bench, Drawn, Trial, drawn

# A scalebench that flushes rows one by one while a rank beside it lives. `flaws` says what is wrong with it. While there
# is a file `waits` it goes on only when its rank ends.
SCALEBENCH = """
import ctypes, os, signal, subprocess, sys, time
from pathlib import Path

flaws = (Path(__file__).parent / "flaws").read_text().split()
verb, words = sys.argv[1], sys.argv[2:]
if verb == "verify" or "--analyse" in words:
    sys.exit(0)
if verb == "resume":
    run = Path(words[0])
elif verb == "run":
    run = Path(words[words.index("--out") + 1])
else:
    results = Path(words[words.index("--results") + 1])
    run = results / f"made-{len(list(results.iterdir()))}"
(run / "launches/002-made").mkdir(parents=True, exist_ok=True)
(run / "launches/002-made/command.txt").touch()
(run / "manifest.json").write_text("{}")
samples = run / "samples.csv"
if not samples.exists() or samples.stat().st_size == 0 or (verb == "resume" and "loses" in flaws):
    samples.write_text("launch,case_id,rank,repetition,seconds\\n")
done = len(samples.read_text().splitlines()) - 1

own = os.getpid()

def together():
    if "leaves" not in flaws:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        if os.getppid() != own:  # it was killed before its end could be told
            os._exit(0)

environment = {**os.environ, "OMPI_COMM_WORLD_RANK": "1"}
rank = subprocess.Popen(["sleep", "600"], env=environment, preexec_fn=together)

def end(number, _frame):
    rank.kill()
    os._exit(128 + number)

signal.signal(signal.SIGTERM, end)
if "segments" in flaws:
    (Path(os.environ["OMPI_MCA_btl_vader_backing_directory"]) / "vader_segment").touch()
for repetition in range(max(0, done - 1) if "doubles" in flaws else done, 20):
    if rank.poll() is not None:
        print(f"rank {0 if 'accuses' in flaws else 1} on here died; ending all ranks", file=sys.stderr)
        sys.exit(3)
    with samples.open("a") as file:
        file.write(f"1,c,,{repetition},{1e-9 * (time.monotonic_ns() % 10**9 + 1):.9f}\\n")
    while (Path(__file__).parent / "waits").exists() and rank.poll() is None:
        time.sleep(0.01)
(run / "COMPLETE").touch()
if "leaves" not in flaws:
    rank.kill()
    rank.wait()
"""


class WithScalebench(unittest.TestCase):
    def setUp(self) -> None:
        scratch = self.enterContext(tempfile.TemporaryDirectory())
        self.programs, self.folder = Path(scratch, "programs"), Path(scratch, "kills")
        self.programs.mkdir()
        (self.programs / "program.py").write_text(SCALEBENCH, encoding="utf-8")
        (self.programs / "scalebench").write_text(f'#!/bin/sh\nexec "{sys.executable}" "${{0%/*}}/program.py" "$@"\n', encoding="utf-8")
        (self.programs / "scalebench").chmod(0o755)
        for name in ("bench_epoch", "bench_allreduce", "flaws"):
            (self.programs / name).touch()


class Trials(WithScalebench):
    def trial(self, kind: str, *flaws: str, command: str = "run") -> dict[str, object]:
        (self.programs / "flaws").write_text(" ".join(flaws), encoding="utf-8")
        bench = Bench(self.folder, self.programs, "mpirun", Path("/nonexistent"), {command: 0.1}, patience=0.5 if "leaves" in flaws else 60)
        bench.prepare()
        # A rank is waited for; a signal that came before there is any row would show nothing.
        trial = Trial(bench, Drawn(1, kind, command, 0, 1, 0.5))
        strike, waits = disturbances.STRIKES[kind], self.programs / "waits"
        waits.touch()

        def after_a_row(scene: disturbances.Scene) -> bool:
            if not any(rows for run in trial.flushed().values() for rows in run.values()):
                return False
            hit = strike(scene)
            if hit or kind == "SIGKILL launcher":  # it has none
                waits.unlink(missing_ok=True)
            return hit

        disturbances.STRIKES[kind] = after_a_row
        self.addCleanup(disturbances.STRIKES.__setitem__, kind, strike)
        return trial.row()

    def test_all_is_well_where_nothing_is_lost(self) -> None:
        for kind, code, how in (("SIGKILL scalebench", -9, "resume"), ("SIGKILL group", -9, "resume"), ("SIGTERM", 143, "resume")):
            row = self.trial(kind)
            self.assertEqual((row["finding"], row["hit"], row["exit_code"], row["completed_by"], row["complete"]), ("", 1, code, how, 1))
            self.assertGreater(row["rows_flushed"], 0)
            self.assertEqual([path.name for path in self.folder.glob("trial-*")], [], "only what shows something is kept")

    def test_a_rank_that_is_hit_is_to_be_named(self) -> None:
        row = self.trial("SIGKILL rank")
        self.assertEqual((row["finding"], row["exit_code"], row["named"]), ("", 3, 1))
        self.assertGreaterEqual(float(str(row["named_seconds"])), 0)
        row = self.trial("SIGKILL rank", "accuses")
        self.assertEqual((row["named"], row["finding"]), (0, "the culprit was not named; named: [0]"))
        self.assertIn("rank 0 on here died", (self.folder / "trial-0001/stderr").read_text(encoding="utf-8"), "it is kept")

    def test_flaws_are_found(self) -> None:
        for flaw, finding in (("loses", "flushed rows lost in the end"), ("doubles", "repetitions twice"), ("leaves", "processes left after it"),
                              ("segments", "segments left: ['vader_segment']")):
            with self.subTest(flaw):
                self.assertIn(finding, str(self.trial("SIGKILL scalebench", flaw)["finding"]))
        row = self.trial("SIGKILL launcher", "segments")
        self.assertEqual((row["segments_left"], row["hit"]), (1, 0))
        self.assertEqual(row["finding"], "", "a launcher that is killed cannot put them away")

    def test_what_has_no_resume_is_done_again(self) -> None:
        row = self.trial("SIGKILL scalebench", command="import")
        self.assertEqual((row["finding"], row["completed_by"], row["complete"]), ("", "same command", 1))


class Sittings(WithScalebench):
    def setUp(self) -> None:
        super().setUp()
        # Quick ones, that need neither root nor a real rank.
        before = dict(disturbances.KINDS)
        self.addCleanup(disturbances.KINDS.update, before)
        self.addCleanup(disturbances.KINDS.clear)  # the last is done first: the order counts in what is drawn
        for kind in set(before) - {"SIGKILL group", "SIGKILL scalebench"}:
            del disturbances.KINDS[kind]

    def sitting(self, *words: object) -> tuple[int, str]:
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            code = kills.main([str(self.folder), "--programs", str(self.programs), *map(str, words)])
        return code, said.getvalue()

    def rows(self) -> list[str]:
        return (self.folder / "kills.csv").read_text(encoding="utf-8").splitlines()[1:]

    def test_the_same_command_goes_on(self) -> None:
        code, said = self.sitting("--times", 5, "--minutes", 0)
        self.assertEqual((code, self.rows()), (3, []), said)
        code, said = self.sitting("--times", 2)
        self.assertEqual(code, 0, said)
        first = self.rows()
        code, said = self.sitting("--times", 4, "--jobs", 2)
        self.assertEqual(code, 0, said)
        self.assertEqual(self.rows()[: len(first)], first)
        self.assertEqual(len({row.split(",")[0] for row in self.rows()}), len(self.rows()), "none is made twice")
        code, again = self.sitting("--times", 4)
        self.assertEqual((code, again.splitlines()[-1]), (0, said.splitlines()[-1]))

    def test_trials_of_another_seed_are_refused(self) -> None:
        self.sitting("--minutes", 0)
        with self.assertRaises(SystemExit) as refused:
            self.sitting("--seed", 2)
        self.assertEqual(refused.exception.code, 2)


class Victims(unittest.TestCase):
    def test_a_process_may_have_any_name(self) -> None:
        prctl, set_name = ctypes.CDLL(None).prctl, 15
        before = Path("/proc/self/comm").read_bytes().strip()
        self.addCleanup(prctl, set_name, before)
        for name in (b"a) Z 1", b"two\nlines) Z 1", ("x" * 14 + "ü").encode()[:15]):
            prctl(set_name, name)
            self.assertEqual(victims._parent(os.getpid()), os.getppid(), name)


class Said(unittest.TestCase):
    def test_every_kind_is_drawn_and_the_same_again(self) -> None:
        all_of_them = [drawn(1, number) for number in range(1000)]
        self.assertEqual(all_of_them, [drawn(1, number) for number in range(1000)])
        self.assertNotEqual(all_of_them, [drawn(2, number) for number in range(1000)])
        count = Counter((one.kind, one.command) for one in all_of_them)
        wanted = {(kind, command) for kind, of in disturbances.KINDS.items() for command in of.commands}
        self.assertEqual(set(count), wanted)

    def test_who_is_named(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "results/run/launches/001-a").mkdir(parents=True)
            (folder / "stderr").write_text("rank 7 on node0 died of something earlier\n", encoding="utf-8")
            words = disturbances.Words(folder)
            self.assertEqual(words.named_ranks(), set())
            with open(folder / "stderr", "a", encoding="utf-8") as file:
                file.write('rank 1 on node0 hangs: no sign of life for 5 s in "a"\nrank 0 node0: a failure of its own\n')
            log = folder / "results/run/launches/001-a/stderr.log"
            log.write_text("process rank 2 with PID 5 on node host2 exited on signal 9\n(all of host3: cut off)\nhost host4 is left out\n", encoding="utf-8")
            self.assertEqual(words.named_ranks(), {1, 2})
            self.assertEqual(words.named_hosts(), {"host2", "host3", "host4"})

    def test_rows_wherever_they_are(self) -> None:
        head = "launch,case_id,rank,repetition,seconds\n"
        with tempfile.TemporaryDirectory() as name:
            run = Path(name)
            (run / "launches/001-a").mkdir(parents=True)
            (run / "launches/001-a/samples.csv").write_text(head + "1,c,,0,0.5\n1,c,,1,0.25\n1,c,,2,0.1", encoding="utf-8")
            before = kept_rows.flushed(run)
            self.assertEqual(len(before["samples"]), 2, "a torn line was not flushed")
            (run / "launches/001-a/samples.csv").unlink()
            (run / "samples.csv").write_text(head + "1,c,,0,0.5\n1,c,,0,0.75\n", encoding="utf-8")
            self.assertEqual(kept_rows.lost(before, kept_rows.flushed(run)), ["samples: 1 c  1 0.25"])
            self.assertEqual(kept_rows.twice(run), ["1 c  0"])

    def test_the_end_says_what_was_done_and_what_was_found(self) -> None:
        well = {name: "" for name in kills.COLUMNS} | {"hit": "1", "complete": "1", "rows_flushed": "10", "processes_left": "0"}
        rows = [{**well, "number": str(number), "kind": "SIGSTOP rank", "command": "run", "named": "1", "named_seconds": str(number)}
                for number in range(1, 21)]  # fmt: skip
        rows.append({**well, "number": "21", "kind": "SIGSTOP rank", "command": "recover", "named": "by the launch's limit"})
        rows.append({**well, "number": "22", "kind": "SIGTERM", "command": "import", "hit": "0"})
        rows.append({**well, "number": "23", "kind": "SIGTERM", "command": "run", "finding": "2 flushed rows lost in the end, as a"})
        text = kills.summary(rows)
        self.assertIn("| SIGSTOP rank | 20 | – | – | 1 | – | 21 |", text)
        self.assertIn("22 hits (1 more commands had ended before): of 220 flushed rows some were lost in 1, counted twice in 0", text)
        self.assertIn("named in 20 (min 1.00 s, median 10.50 s, 95 % within 19.00 s, max 20.00 s), ended by the launch's limit in 1", text)
        self.assertIn("finding: trial 23, SIGTERM, run: 2 flushed rows", text)


if __name__ == "__main__":
    unittest.main()
