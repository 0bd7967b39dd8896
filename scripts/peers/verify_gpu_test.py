# SPDX-License-Identifier: Apache-2.0
# verify_gpu without a card: what it judges of rows and outputs, and that it ends with one line and exit code 4.
from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tarfile
import unittest
from pathlib import Path

from peers import judge
from peers.card import folder_name
from peers.harness import MISSED, REACHED, ROOT, Failed, read_rows
from peers.judge import NOT_RUN, Verdict, at_least, worst
from peers.proof import run, write_summary
from peers.proof_steps import STEPS, Context, Step, named
from peers.testing import HANGS, MadeUp

MIB = 1 << 20
VERIFY_GPU = f"/usr/bin/python3 {ROOT}/scripts/verify_gpu"
Done = subprocess.CompletedProcess[str]


def kernel(name: str, gb_per_s: float, mib: int = 512, **more: str) -> dict[str, str]:
    return {"status": "ok", "note": "", "kernel": name, "device": "H200", "dtype": "float",
            "bytes": str(mib * MIB), "gb_per_s": str(gb_per_s), **more}  # fmt: skip


def step_row(images: float, **more: str) -> dict[str, str]:
    return {"status": "ok", "note": "", "rank": "all", "model": "resnet50", "dtype": "bfloat16", "batch": "256",
            "memory_format": "channels_last", "step": "graph", "images_per_s": str(images), "mfu_published": "0.12",
            **more}  # fmt: skip


def ring(ranks: int, mib: int, seconds: float, **more: str) -> dict[str, str]:
    return {"status": "ok", "note": "", "algorithm": "ring", "transport": "cuda_ipc", "ranks": str(ranks),
            "size_bytes": str(mib * MIB), "seconds_median": str(seconds), "origin": "emulated", **more}  # fmt: skip


class Judging(unittest.TestCase):
    def says(self, line: str, verdict: Verdict) -> None:
        """The verdict's line, or its status alone."""
        self.assertEqual(line, verdict.line() if ":" in line else verdict.status)

    def test_the_smallest_decides(self) -> None:
        self.says(REACHED, at_least(0.9, {"a": 0.95, "b": 0.9}))
        self.says("missed: b 0.8999, the smallest of 2; target 0.9", at_least(0.9, {"a": 0.95, "b": 0.8999}))
        self.says("reached: a 1 234 GB/s; no target", at_least(None, {"a": 1234}, " GB/s"))
        self.says(NOT_RUN, at_least(0.9, {}))

    def test_tests_that_skip_have_not_run(self) -> None:
        passed = "[  PASSED  ] 40 tests.\n[  SKIPPED ] 1 test, listed below:\n[exit code 0]\n"
        self.says("reached: 40 tests passed, 1 skipped, 1 programs", judge.tests(passed, []))
        self.says(MISSED, judge.tests(passed + "[  FAILED  ] 2 tests, listed below:\n[exit code 1]\n", []))
        self.says(MISSED, judge.tests(passed + "terminated\n[exit code -6]\n", []))  # There is no summary at all.
        for skip in ("skipped: no CUDA device\n[exit code 0]\n", "kernels/testing.hpp:36: Skipped\nno CUDA device\n"):
            self.assertRegex(judge.tests(skip, []).line(), r"^not run: 0 tests passed, .*: no CUDA device$")

    def test_a_card_is_fact_enough(self) -> None:
        card, other = "NVIDIA H200, 580.1, 143771 MiB", "NVIDIA L4, 580.1, 23034 MiB"
        self.says(f"reached: {card}; no PyTorch in python3", judge.facts(card, []))
        self.says(f"reached: {card}; PyTorch 2.11.0 CUDA 13.0", judge.facts(card + "\nPyTorch 2.11.0 CUDA 13.0", []))
        self.says(f"reached: {card}; {other}; no PyTorch in python3", judge.facts(f"{card}\n{card}\n{other}", []))
        self.says(NOT_RUN, judge.facts("No devices were found\n", []))

    def test_findings_are_summed_over_processes_and_one_without_a_summary_is_not_clean(self) -> None:
        clean, due = "========= ERROR SUMMARY: 0 errors\n", "due: {} processes\n[exit code {}]\n"
        raced = 2 * clean + "========= RACECHECK SUMMARY: {} displayed ({} errors, 0 warnings)\n" + due.format(3, 0)
        died = clean + "========= Error: Target application terminated before first instrumented API call\n"
        refused = "========= Error: Device not supported\n========= ERROR SUMMARY: 1 error\n"
        for said, line in (
            (2 * clean + due.format(2, 0), "reached: 0 findings in 2 of 2 processes"),
            (2 * clean + "========= ERROR SUMMARY: 3 errors", MISSED),
            ("skipped: no card", "not run: no card"),
            (raced.format("0 hazards", 0), "reached: 0 findings in 3 of 3 processes"),
            (raced.format("1 hazard", 0), "missed: 1 findings in 3 of 3 processes"),
            (died + due.format(2, 1), "not run: 0 findings in 1 of 2 processes"),
            (clean, "not run: 0 findings in 1 processes"),  # It was cut off.
            (clean + due.format(1, 1), "missed: 0 findings in 1 of 1 processes; exit code 1"),  # A test failed.
            (refused, "not run: Device not supported"),
        ):
            self.says(line, judge.sanitizer(said, []))

    def test_kernels_are_held_against_the_faster_copy(self) -> None:
        rows = [kernel("copy", 3000), kernel("memcpy", 4000), kernel("add", 3700, 768), kernel("pack", 3650)]
        words = "pack float 0.9125, the smallest of 2; target 0.9 of the copy's 4 000 GB/s"
        self.says(f"reached: {words}", judge.kernels("", rows))
        self.says(MISSED, judge.kernels("", [*rows, kernel("add", 3500, dtype="half")]))
        self.says(REACHED, judge.kernels("", [*rows, kernel("add", 9, mib=8)]))  # It is too small to count.
        self.says(MISSED, judge.kernels("", [*rows, kernel("unpack", 0, status="wrong")]))
        self.says(NOT_RUN, judge.kernels("", [kernel("add", 3700)]))

    def test_the_fastest_way_counts_over_all_ranks(self) -> None:
        rows = [step_row(2900, step="eager"), step_row(3200), step_row(9999, rank="0")]
        words = "resnet50 bfloat16 channels_last graph batch 256 3 200 images/s; target 3 079 images/s, mfu 0.12"
        self.says(f"reached: {words}", judge.images("", rows, 3079))
        self.says(MISSED, judge.images("", rows[:1], 3079))
        self.says("not run: no CUDA", judge.images("", [step_row(0, status="skipped", note="no CUDA")], 3079))

    def test_starts_stay_together(self) -> None:
        rows = [step_row(8600, joules=joules) for joules in ("0.0790", "0.0800", "0.0795")]
        steady = lambda rows, spread: judge.steady("", rows, "joules", spread, "J")  # noqa: E731
        self.says("reached: 3 starts of 0.0795 J, 1.3 % apart; target 2 %", steady(rows, 0.02))
        self.says(MISSED, steady(rows, 0.01))
        self.says(NOT_RUN, steady(rows[:1], 0.02))
        self.says("not run: out of memory", steady([step_row(0, status="failed", note="out of memory")], 0.02))

    def test_a_sweep_may_skip_but_not_fail(self) -> None:
        rows = [step_row(1), step_row(0, status="skipped", note="no TF32")]
        self.says("reached: 1 of 2 cases measured", judge.complete("", rows))
        self.says(MISSED, judge.complete("", [*rows, step_row(0, status="failed", note="out of memory")]))
        self.says("not run: no TF32", judge.complete("", rows[1:]))

    def test_an_allreduce_is_held_against_what_its_bytes_take(self) -> None:
        # 2 ranks with 64 MiB: 5 * 64 MiB at 4 TB/s are 83.9 us; 4 ranks move three times as much.
        copies = [kernel("copy", 3000), kernel("memcpy", 4000)]
        rows = [ring(2, 64, 100e-6), ring(4, 64, 300e-6), ring(2, 1, 1.0), ring(2, 64, 1.0, transport="nccl")]
        half = "ring, 2 ranks, 64 MiB: 0.8389, the smallest of 2; no target"
        self.says(f"reached: {half}", judge.shared("", rows + copies))
        self.says("not run: the card's copy was not measured (step kernels)", judge.shared("", rows))
        skipped = [ring(2, 64, 1, status="skipped", note="no peers")]
        for beside in (copies, []):
            self.says("not run: no peers", judge.shared("", skipped + beside))
        # direct moves four times 64 MiB between 2 ranks: 67.1 us.
        direct = ring(2, 64, 80e-6, algorithm="direct")
        self.says("reached: direct, 2 ranks, 64 MiB: 0.8389; no target", judge.shared("", [direct, *copies]))
        # Two cards joined by NVLink are held against no bound of one card's memory.
        apart = [ring(2, 256, 700e-6, origin="measured")]
        self.says("not run: the ranks had a card each", judge.shared("", apart + copies))

    def test_the_comparison_with_pytorch_judges_itself_and_names_what_is_missing(self) -> None:
        row = {"case": "mlp", "ratio": "3.400", "against": "eager", "target": "3", "verdict": "reached"}
        self.says("reached: mlp 3.400 of eager (reached)", judge.comparison("", [row]))
        self.says(MISSED, judge.comparison("", [row, {**row, "verdict": "missed"}]))
        self.says(NOT_RUN, judge.comparison("", [{**row, "target": ""}]))
        self.says("not run: mlp ours: no CUDA device", judge.comparison("compare_with: mlp ours: no CUDA device\n", []))
        graph = {**row, "against": "graph", "ratio": "1.200", "target": "", "verdict": "no target"}
        both = "mlp 1.200 of graph (no target); mlp 3.400 of eager (reached)"
        self.says(f"reached: {both}", judge.comparison("", [graph, row]))
        nothing = {**row, "ratio": "", "ours_seconds": "", "theirs_seconds": "", "verdict": "not measured"}
        tuned, cut = {**nothing, "against": "max-autotune", "ours_seconds": "0.07"}, "[ended after 100 s]\n"
        here = "mlp 3.400 of eager (reached); not measured: mlp max-autotune"
        self.says(f"reached: {here}", judge.comparison(cut, [row, tuned]))
        self.says(MISSED, judge.comparison(cut, [{**row, "verdict": "missed"}, tuned]))
        # A leg that failed is no leg that reached its target.
        said = "compare_with: mlp max-autotune: out of memory\n[exit code 3]\n"
        self.says(f"not run: {here}; mlp max-autotune: out of memory", judge.comparison(said, [row, tuned]))
        for seconds in ("", "0.07"):  # With both there was no start that had both.
            row = {**nothing, "ours_seconds": seconds, "theirs_seconds": seconds}
            self.says("not run: not measured: mlp ours, mlp eager", judge.comparison(cut, [row]))

    def test_the_worst_step_is_the_exit_code(self) -> None:
        reached, missed, not_run = (Verdict(status, "") for status in (REACHED, MISSED, NOT_RUN))
        self.assertEqual([worst([reached]), worst([reached, not_run]), worst([not_run, missed, reached])], [0, 3, 1])

    def test_the_folder_is_the_cards(self) -> None:
        self.assertEqual(folder_name("NVIDIA A100-SXM4-40GB"), "nvidia-a100-sxm4-40gb")


class Steps(MadeUp):
    def setUp(self) -> None:
        super().setUp()
        self.here = Context(Path("build/release"), self.folder)
        self.programs = self.folder / "programs"

    def place(self, **programs: str) -> None:
        for name, line in programs.items():
            self.program(f"programs/{name}", f"#!/bin/sh\n{line}\n")

    def script(self, command: str, words: tuple[object, ...], cwd: Path | None, **environment: str) -> Done:
        argv, whole = [*command.split(), *map(str, words)], {**os.environ, **environment}
        return subprocess.run(argv, capture_output=True, text=True, check=False, cwd=cwd, env=whole)

    def beside_programs(self, command: str, *words: object, **environment: str) -> Done:
        """On a machine where the wheel's programs are what there is."""
        return self.script(command, words, None, PATH=f"{self.programs}:/usr/bin:/bin", **environment)

    def verify(self, *words: str, cwd: Path | None = None) -> Done:
        """On a machine without a card."""
        path = "" if Path("/usr/bin/nvidia-smi").exists() else "/usr/bin:/bin"
        return self.script(VERIFY_GPU, words, cwd, PATH=path)

    def run_line(self, *words: str, seconds: float = 9) -> str:
        return run(Step("one", "exit", 9, [shlex.join(words)], judge.tests), self.here, seconds).line()

    def test_what_cannot_start_or_is_refused_is_not_run(self) -> None:
        self.assertEqual(self.run_line("no-such-program"), "not run: no program no-such-program")
        dashes = "-" * 74
        mpirun = f"printf '%s\\n' {dashes} 'MPI_ABORT was invoked' '' '[a note]' {dashes}"
        torch = "echo '[rank0]: KeyError'; echo '[vm:01234] 1 more process'"
        for line, said in (("echo bad", "bad"), ("true", "nothing"), (f"echo rank 0; {mpirun}", "rank 0"),
                           (torch, "[rank0]: KeyError")):  # fmt: skip
            self.assertEqual(self.run_line("sh", "-c", f"{line}; exit 2"), f"not run: exit code 2: {said}")
        self.assertIn("reached: 2 tests passed", self.run_line("echo", "[  PASSED  ] 2 tests."))
        self.assertIn("2 tests", (self.folder / "logs/one.txt").read_text(encoding="utf-8"))

    def test_a_step_that_is_cut_off_leaves_what_it_had(self) -> None:
        """Also of a comparison whose leg does not end when told to."""
        self.out.mkdir()
        fifo = self.fifo(self.out / "fifo")
        hangs = self.program("hangs", f"#!{sys.executable}\n{HANGS}")
        words = f"echo '[  PASSED  ] 7 tests.'; exec {hangs} {self.out} {self.out}/fifo ''"
        said = self.run_line("sh", "-c", words, seconds=10)
        self.assertEqual(said, "not run: not done after 10 s; so far reached: 7 tests passed, 0 skipped, 0 programs")
        log = (self.folder / "logs/one.txt").read_text(encoding="utf-8")
        self.assertRegex(log, r"7 tests.\n(?s:.*)\n\[ended after 10 s\]\n$")
        self.assertEqual(self.rows("legs.csv")[-1]["note"], "cut off")
        self.assert_let_go(fifo)

    def test_rows_that_are_torn_end_the_step_alone(self) -> None:
        """A program was cut off within a row, or its rows lack a column."""
        path = self.folder / "one" / "kernels.csv"
        torn = "status,note,kernel,device,dtype,bytes,gb_per_s\\nok,,copy,H200,flo"
        for text, end, front, why in (
            (torn, "", "", "TypeError"),
            ("kernel\\ncopy\\n", "", "", "KeyError: 'status'"),
            (torn, "; sleep 60 & wait", "not done after 10 s; so far ", "TypeError"),
        ):
            made = shlex.join(["sh", "-c", f"mkdir -p {path.parent}; printf '{text}' >{path}{end}"])
            step = Step("one", "rows", 9, [made], judge.kernels, ["one/kernels.csv"])
            self.assertIn(f"not run: {front}rows unreadable: {why}", run(step, self.here, 10).line())

    def test_each_tool_of_the_sanitizer_looks_at_what_it_can(self) -> None:
        """Racecheck and synccheck look at the kernels that share memory in a block, memcheck at all."""
        said = """echo "$2 on $*"
        [ "$2" = racecheck ] || exec echo "ERROR SUMMARY: 0 errors"
        echo "RACECHECK SUMMARY: ${HAZARDS:-0} hazards displayed"
        [ -z "$HAZARDS" ] || exit 86"""
        self.place(**{"compute-sanitizer": said}, mpirun='shift 3; "$@"; exec "$@"', kernels_device_test="exit 0",
                   device_transports_test="exit 0", device_processes_test="echo tested")  # fmt: skip
        for hazards, code, line in (("", 0, "reached: 0"), ("2", 1, "missed: 2")):
            done = self.beside_programs(f"{ROOT}/scripts/sanitize_device", "--programs", self.programs, HAZARDS=hazards)
            self.assertEqual(done.returncode, code, done.stderr)
            verdict = judge.sanitizer(f"{done.stdout}[exit code {code}]\n", [])
            self.assertEqual(verdict.line(), f"{line} findings in 6 of 6 processes")
            tools = [line for line in done.stdout.splitlines() if line.endswith("--gtest_filter=*DeviceLayer*")]
            self.assertEqual([line.split()[0] for line in tools if " on " in line], ["racecheck", "synccheck"])

    def test_the_summary_keeps_the_steps_of_earlier_runs(self) -> None:
        write_summary(self.folder, "A card", [(named(["tests"])[0], Verdict(REACHED, "3 of 3"), 1.0)], self.here)
        write_summary(self.folder, "A card", [(named(["kernels"])[0], Verdict(MISSED, "0.8"), 2.0)], self.here)
        rows = [(row["step"], row["status"]) for row in read_rows(self.folder / "verify.csv")]
        self.assertEqual(rows, [("tests", REACHED), ("kernels", MISSED)])
        self.assertIn("| kernels | add, cast", (self.folder / "verify.md").read_text(encoding="utf-8"))

    def test_steps_are_known_by_their_names_and_run_the_builds_programs_or_the_wheels(self) -> None:
        self.assertEqual(len({step.name for step in STEPS}), len(STEPS))
        self.assertEqual([step.name for step in named(["ring", "tests"])], ["tests", "ring"])
        self.assertRaisesRegex(Failed, "unknown step 'rign'; valid: facts, tests", named, ["rign"])
        installed = Context(Path("build/release"), Path("out"), Path("a folder"))
        for command in (command for step in STEPS for command in step.commands(installed)):
            self.assertFalse([word for word in command if word.startswith("build/")], command)
            if "--share-devices" in command:  # Each rank would have a card of its own where there are two.
                self.assertIn("--devices 0 --share-devices", " ".join(command))
        (tests,) = named(["tests"])
        self.assertEqual(tests.commands(self.here)[2], ["build/release/collectives/transport/device_processes_test"])
        self.assertEqual(tests.commands(installed)[2], ["a folder/device_processes_test"])

    def test_folders_are_those_of_where_it_was_typed(self) -> None:
        build = self.folder / "my_build"
        for given, shown in (([], "build/release"), (["--build", "my_build"], os.path.relpath(build, ROOT))):
            said = self.verify("--list", "--only", "resnet50", *given, cwd=self.folder).stdout
            self.assertIn(f"$ {shown}/bin/bench_throughput ", said)

    def test_without_a_card_it_says_so_in_one_line(self) -> None:
        done = self.verify("--out", str(self.out))
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual(done.stderr, "verify_gpu: no card here: no nvidia-smi on the PATH, so no NVIDIA driver\n")
        self.assertFalse(self.out.exists())

    def test_lists_without_a_card(self) -> None:
        quick = self.verify("--list", "--quick").stdout
        self.assertIn("--channels-last yes --batch-per-rank 256", quick)
        self.assertIn("--models resnet50_fused --starts 1 --legs graph,compile", quick)
        self.assertIn("'--benchmark_filter=^(gemm)/.*/8192 x 8192/device/'", quick)
        for step in ("max-autotune", "sanitizer"):  # They take longer than what ten minutes hold.
            self.assertNotIn(step, quick)
            self.assertIn(step, self.verify("--list", "--deep").stdout)
        for words in (["--only", "rign"], ["--budget", "0"], ["--quick", "--deep"], ["--deep", "--only", "tests"],
                      ["--programs", "/nowhere"]):  # fmt: skip
            self.assertEqual(self.verify(*words).returncode, 2, words)

    def test_the_card_is_the_one_that_the_programs_use(self) -> None:
        cards = {"nvidia-smi": "printf 'Small card, 580.1, 10 MiB\\nLarge card, 580.1, 1000 MiB\\n'"}
        self.place(**cards, scalebench="echo 1", python3="exit 1")
        words = ("--only", "facts", "--programs", self.programs, "--out", self.out)
        done = self.beside_programs(VERIFY_GPU, *words)
        self.assertEqual(done.returncode, 4)
        self.assertRegex(done.stderr, "no card here: nvidia-smi names Small card, .* and Large .* does not say which")
        self.place(bench_kernels="echo '# device: Large card'")
        self.assertEqual(self.beside_programs(VERIFY_GPU, *words).returncode, 0)
        self.assertTrue((self.out / "verify.md").read_text(encoding="utf-8").startswith("# Large card\n"))
        nowhere = self.beside_programs(VERIFY_GPU, *words[:4], "--out", "/dev/null/x")
        self.assertEqual((nowhere.returncode, nowhere.stderr.count("\n")), (2, 1), nowhere.stderr)

    def test_a_budget_ends_with_what_there_was_packed(self) -> None:
        """A machine with a driver and programs that say little: each step, and the archive after it."""
        self.place(**{"nvidia-smi": "echo Some card, 580.1, 1000 MiB"}, scalebench="echo 1", mpirun="true",
                   kernels_device_test="echo '[  PASSED  ] 3 tests.'; sleep 60", python3="exit 1")  # fmt: skip
        done = self.beside_programs(VERIFY_GPU, "--quick", "--programs", self.programs, "--budget", "15", "--out", self.out)
        self.assertEqual(done.returncode, 3, done.stderr)
        rows = {row["step"]: row for row in read_rows(self.out / "verify.csv")}
        self.assertEqual(rows["facts"]["status"], REACHED)
        self.assertIn("so far reached: 3 tests passed", rows["tests"]["detail"])
        self.assertEqual(rows["compile"]["detail"], "the budget of 15 s is used up")
        with tarfile.open(self.folder / "out.tar.gz") as archive:
            self.assertLessEqual({"out/verify.md", "out/verify.csv", "out/logs/tests.txt"}, set(archive.getnames()))


if __name__ == "__main__":
    unittest.main()
