# SPDX-License-Identifier: Apache-2.0
# verify_gpu without a card: what it judges of rows and outputs, and that it ends with one line and exit code 4.
from __future__ import annotations

import csv
import os
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path

from gpu import judge
from peers.card import folder_name
from gpu.command_line import run, write_summary
from gpu.steps import STEPS, Context, Step, named
from gpu.verdict import MISSED, NOT_RUN, REACHED, at_least, exit_code, missed, not_run, reached

ROOT = Path(__file__).resolve().parents[2]
MIB = 1 << 20


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


def place_program(path: Path, line: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
    path.chmod(0o755)


class Judging(unittest.TestCase):
    def test_the_smallest_decides(self) -> None:
        self.assertEqual(at_least(0.9, {"a": 0.95, "b": 0.9}).status, REACHED)
        verdict = at_least(0.9, {"a": 0.95, "b": 0.8999})
        self.assertEqual((verdict.status, "b 0.8999" in verdict.detail), (MISSED, True))
        self.assertEqual(at_least(0.9, {}).status, NOT_RUN)

    def test_tests_that_skip_have_not_run(self) -> None:
        passed = "[  PASSED  ] 40 tests.\n[  SKIPPED ] 1 test, listed below:\n[exit code 0]\n"
        self.assertEqual(judge.tests(passed).line(), "reached: 40 tests passed, 1 skipped, 1 programs")
        self.assertEqual(judge.tests(passed + "[  FAILED  ] 2 tests, listed below:\n[exit code 1]\n").status, MISSED)
        self.assertEqual(judge.tests(passed + "terminated\n[exit code -6]\n").status, MISSED, "no summary at all")
        for skip in ("skipped: no CUDA device\n[exit code 0]\n", "kernels/testing.hpp:36: Skipped\nno CUDA device\n"):
            self.assertRegex(judge.tests(skip).line(), r"^not run: 0 tests passed, .*: no CUDA device$")

    def test_a_card_is_fact_enough(self) -> None:
        card = "NVIDIA H200, 580.1, 143771 MiB\n"
        self.assertEqual(judge.facts(card).line(), "reached: NVIDIA H200, 580.1, 143771 MiB; no PyTorch in python3")
        self.assertIn("; PyTorch 2.11", judge.facts(card + "PyTorch 2.11.0 CUDA 13.0").detail)
        self.assertIn("H200, 580.1, 143771 MiB; NVIDIA L4, 580.1, 23034 MiB; no", judge.facts(2 * card + "NVIDIA L4, 580.1, 23034 MiB\n").detail)
        self.assertEqual(judge.facts("No devices were found\n").status, NOT_RUN)

    def test_findings_are_summed_over_processes(self) -> None:
        clean = "========= ERROR SUMMARY: 0 errors\n========= ERROR SUMMARY: 0 errors\n"
        ended = "due: 2 processes\n[exit code 0]\n"
        self.assertEqual(judge.sanitizer(clean + ended).line(), "reached: 0 findings in 2 of 2 processes")
        self.assertEqual(judge.sanitizer(clean + "========= ERROR SUMMARY: 3 errors").status, MISSED)
        self.assertEqual(judge.sanitizer("skipped: no card").line(), "not run: no card")
        raced = clean + "========= RACECHECK SUMMARY: {} displayed ({} errors, 0 warnings)\n" + ended.replace("2", "3")
        self.assertEqual(judge.sanitizer(raced.format("0 hazards", 0)).line(), "reached: 0 findings in 3 of 3 processes")
        self.assertEqual(judge.sanitizer(raced.format("1 hazard", 0)).line(), "missed: 1 findings in 3 of 3 processes")

    def test_a_process_without_a_summary_is_not_clean(self) -> None:
        clean = "========= ERROR SUMMARY: 0 errors\n"
        died = "========= Error: Target application terminated before first instrumented API call\n"
        self.assertEqual(judge.sanitizer(clean + died + "due: 2 processes\n[exit code 1]\n").line(),
                         "not run: 0 findings in 1 of 2 processes")  # fmt: skip
        self.assertEqual(judge.sanitizer(clean).line(), "not run: 0 findings in 1 processes", "cut off")
        self.assertEqual(judge.sanitizer(clean + "due: 1 processes\n[exit code 1]\n").line(),
                         "missed: 0 findings in 1 of 1 processes; exit code 1", "a test failed")  # fmt: skip
        refused = "========= Error: Device not supported\n========= ERROR SUMMARY: 1 error\n"
        self.assertEqual(judge.sanitizer(refused).line(), "not run: Device not supported")

    def test_kernels_are_held_against_the_faster_copy(self) -> None:
        rows = [kernel("copy", 3000), kernel("memcpy", 4000), kernel("add", 3700, 768), kernel("pack", 3650)]
        self.assertEqual(judge.kernels(rows).status, REACHED)
        self.assertIn("pack float 0.9125", judge.kernels(rows).detail)
        self.assertEqual(judge.kernels([*rows, kernel("add", 3500, dtype="half")]).status, MISSED)
        self.assertEqual(judge.kernels([*rows, kernel("add", 9, mib=8)]).status, REACHED, "too small to count")
        self.assertEqual(judge.kernels([*rows, kernel("unpack", 0, status="wrong")]).status, MISSED)
        self.assertEqual(judge.kernels([kernel("add", 3700)]).status, NOT_RUN)
        self.assertEqual(judge.copy_rate(rows), 4000)

    def test_the_fastest_way_counts_over_all_ranks(self) -> None:
        rows = [step_row(2900, step="eager"), step_row(3200), step_row(9999, rank="0")]
        verdict = judge.images(rows, 3079)
        self.assertEqual(verdict.status, REACHED)
        self.assertIn("graph batch 256 3 200 images/s", verdict.detail)
        self.assertEqual(judge.images(rows[:1], 3079).status, MISSED)
        why = judge.images([step_row(0, status="skipped", note="no CUDA")], 3079)
        self.assertEqual(why.line(), "not run: no CUDA")

    def test_starts_stay_together(self) -> None:
        rows = [step_row(8600, joules=joules) for joules in ("0.0790", "0.0800", "0.0795")]
        self.assertEqual(judge.steady(rows, "joules", 0.02, "J").line(), "reached: 3 starts of 0.0795 J, 1.3 % apart; target 2 %")
        self.assertEqual(judge.steady(rows, "joules", 0.01, "J").status, MISSED)
        self.assertEqual(judge.steady(rows[:1], "joules", 0.02, "J").status, NOT_RUN)
        why = judge.steady([step_row(0, status="failed", note="out of memory")], "joules", 0.02, "J")
        self.assertEqual(why.line(), "not run: out of memory")

    def test_a_sweep_may_skip_but_not_fail(self) -> None:
        rows = [step_row(1), step_row(0, status="skipped", note="no TF32")]
        self.assertEqual(judge.complete(rows).line(), "reached: 1 of 2 cases measured")
        self.assertEqual(judge.complete([*rows, step_row(0, status="failed", note="out of memory")]).status, MISSED)
        self.assertEqual(judge.complete(rows[1:]).line(), "not run: no TF32")

    def test_a_ring_is_held_against_what_its_bytes_take(self) -> None:
        # 2 ranks with 64 MiB: 5 * 64 MiB at 4 TB/s are 83.9 us; 4 ranks move three times as much.
        rows = [ring(2, 64, 100e-6), ring(4, 64, 300e-6), ring(2, 1, 1.0), ring(2, 64, 1.0, transport="nccl")]
        self.assertEqual(judge.shared(rows, 4000).line(), "reached: ring, 2 ranks, 64 MiB: 0.8389, the smallest of 2; no target")
        self.assertIn("copy was not measured", judge.shared(rows, None).line())
        skipped = [ring(2, 64, 1, status="skipped", note="no peers")]
        for rate in (4000, None):
            self.assertEqual(judge.shared(skipped, rate).line(), "not run: no peers")
        # direct moves four times 64 MiB between 2 ranks: 67.1 us.
        self.assertEqual(judge.shared([ring(2, 64, 80e-6, algorithm="direct")], 4000).line(),
                         "reached: direct, 2 ranks, 64 MiB: 0.8389; no target")  # fmt: skip

    def test_ranks_with_a_card_each_share_none(self) -> None:
        """Two cards joined by NVLink are held against no bound of one card's memory."""
        apart = [ring(2, 256, 700e-6, origin="measured")]
        self.assertEqual(judge.shared(apart, 4000).line(), "not run: the ranks had a card each")

    def test_the_comparison_with_pytorch_judges_itself(self) -> None:
        row = {"case": "mlp", "ratio": "3.400", "against": "eager", "target": "3", "verdict": "reached"}
        self.assertEqual(judge.comparison([row]).line(), "reached: mlp 3.400 of eager (reached)")
        self.assertEqual(judge.comparison([row, {**row, "verdict": "missed"}]).status, MISSED)
        self.assertEqual(judge.comparison([{**row, "target": ""}]).status, NOT_RUN)
        said = "compare_with: mlp ours: no CUDA device\n"
        self.assertEqual(judge.comparison([], said).line(), "not run: mlp ours: no CUDA device")
        fused = {**row, "case": "resnet50_fused", "ratio": "1.020", "target": "1"}
        beside = {**fused, "against": "graph", "ratio": "1.200", "target": "", "verdict": "no target"}
        self.assertEqual(judge.comparison([beside, {**fused, "against": "compile"}]).line(),
                         "reached: resnet50_fused 1.200 of graph (no target); resnet50_fused 1.020 of compile (reached)")  # fmt: skip

    def test_a_comparison_that_was_cut_off_names_what_is_missing(self) -> None:
        row = {"case": "resnet50_fused", "ratio": "1.020", "against": "compile", "target": "1", "verdict": "reached"}
        nothing = {**row, "ratio": "", "ours_seconds": "", "theirs_seconds": "", "verdict": "not measured"}
        tuned = {**nothing, "against": "max-autotune", "ours_seconds": "0.07"}
        here = "resnet50_fused 1.020 of compile (reached); not measured: resnet50_fused max-autotune"
        self.assertEqual(judge.comparison([row, tuned], "[ended after 100 s]\n").line(), f"reached: {here}")
        missed_too = judge.comparison([{**row, "verdict": "missed"}, tuned], "[ended after 100 s]\n")
        self.assertEqual(missed_too.status, MISSED)
        # A leg that failed is no leg that reached its target.
        said = "compare_with: resnet50_fused max-autotune: out of memory\n[exit code 3]\n"
        self.assertEqual(judge.comparison([row, tuned], said).line(),
                         f"not run: {here}; resnet50_fused max-autotune: out of memory")  # fmt: skip
        self.assertEqual(judge.comparison([nothing], "[ended after 100 s]\n").line(),
                         "not run: not measured: resnet50_fused ours, resnet50_fused compile")  # fmt: skip

    def test_the_worst_step_is_the_exit_code(self) -> None:
        self.assertEqual(exit_code([reached("")]), 0)
        self.assertEqual(exit_code([reached(""), not_run("")]), 3)
        self.assertEqual(exit_code([not_run(""), missed(""), reached("")]), 1)

    def test_the_folder_is_the_cards(self) -> None:
        self.assertEqual(folder_name("NVIDIA H200"), "nvidia-h200")
        self.assertEqual(folder_name("NVIDIA A100-SXM4-40GB"), "nvidia-a100-sxm4-40gb")


class Steps(unittest.TestCase):
    def setUp(self) -> None:
        self.here = Context(Path("build/release"), Path(self.enterContext(tempfile.TemporaryDirectory())))

    def step(self, *words: str) -> Step:
        return Step("one", "exit", 9, lambda here: [list(words)], lambda here, output: judge.tests(output))

    def test_what_cannot_start_or_is_refused_is_not_run(self) -> None:
        self.assertEqual(run(self.step("no-such-program"), self.here, 9).line(), "not run: no program no-such-program")
        refused = run(self.step("sh", "-c", "echo bad option; exit 2"), self.here, 9)
        self.assertEqual(refused.line(), "not run: exit code 2: bad option")
        self.assertEqual(run(self.step("sh", "-c", "exit 2"), self.here, 9).line(), "not run: exit code 2: nothing")
        line = "-" * 74
        below_mpirun = f"echo 'rank 0 vm: bad option'; printf '%s\\n' {line} 'MPI_ABORT was invoked' '' '[a note]' {line}; exit 2"
        self.assertEqual(run(self.step("sh", "-c", below_mpirun), self.here, 9).line(), "not run: exit code 2: rank 0 vm: bad option")
        said = run(self.step("echo", "[  PASSED  ] 2 tests."), self.here, 9)
        self.assertEqual(said.status, REACHED)
        self.assertIn("2 tests", (self.here.out / "logs/one.txt").read_text(encoding="utf-8"))

    def test_a_step_that_is_cut_off_leaves_what_it_had(self) -> None:
        said = run(self.step("sh", "-c", "echo '[  PASSED  ] 7 tests.'; sleep 60 & wait"), self.here, 10)
        self.assertEqual(said.line(), "not run: not done after 10 s; so far reached: 7 tests passed, 0 skipped, 0 programs")
        log = (self.here.out / "logs/one.txt").read_text(encoding="utf-8")
        self.assertIn("7 tests.\n[ended after 10 s]", log)

    def test_rows_that_are_torn_end_the_step_alone(self) -> None:
        """A program that was cut off within a row, and one whose rows lack a column."""
        path = self.here.out / "one" / "kernels.csv"
        for text, why in (("status,note,kernel,device,dtype,bytes,gb_per_s\nok,,copy,H200,flo", "TypeError"),
                          ("kernel\ncopy\n", "KeyError: 'status'")):  # fmt: skip
            for end, seconds, front in (("", 60, ""), ("; sleep 60 & wait", 10, "not done after 10 s; so far ")):
                made = f"mkdir -p {path.parent}; printf '{text}' >{path}{end}"
                step = Step("one", "rows", 9, lambda here, made=made: [["sh", "-c", made]],
                            lambda here, output: judge.kernels(here.rows("one", "kernels.csv")))  # fmt: skip
                self.assertIn(f"not run: {front}rows unreadable: {why}", run(step, self.here, seconds).line())

    def test_each_tool_of_the_sanitizer_looks_at_what_it_can(self) -> None:
        """Racecheck and synccheck at the kernels that share memory in a block, memcheck at all; one that finds something fails."""
        bundle = self.here.out / "bundle"
        said = """echo "$2 on $*"
        [ "$2" = racecheck ] || exec echo "ERROR SUMMARY: 0 errors"
        echo "RACECHECK SUMMARY: ${HAZARDS:-0} hazards displayed"
        [ -z "$HAZARDS" ] || exit 86"""
        for name, line in (("compute-sanitizer", said), ("mpirun", 'shift 3; "$@"; exec "$@"'), ("kernels_device_test", "exit 0"),
                           ("device_transports_test", "exit 0"), ("device_processes_test", "echo tested")):  # fmt: skip
            place_program(bundle / "bin" / name, line)
        words = [str(ROOT / "scripts/sanitize_device"), "--bundle", str(bundle)]
        for hazards, code in (("", 0), ("2", 1)):
            environment = {**os.environ, "PATH": f"{bundle}/bin:/usr/bin:/bin", "HAZARDS": hazards}
            done = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
            self.assertEqual(done.returncode, code, done.stderr)
            said = judge.sanitizer(f"{done.stdout}[exit code {code}]\n").line()
            self.assertEqual(said, "missed: 2 findings in 6 of 6 processes" if hazards else "reached: 0 findings in 6 of 6 processes")
            tools = [line for line in done.stdout.splitlines() if line.endswith("--gtest_filter=*DeviceLayer*") and " on " in line]
            self.assertEqual([line.split()[0] for line in tools], ["racecheck", "synccheck"])

    def test_the_summary_keeps_the_steps_of_earlier_runs(self) -> None:
        write_summary(self.here.out, "A card", [(named(["tests"])[0], reached("3 of 3"), 1.0)], self.here)
        write_summary(self.here.out, "A card", [(named(["kernels"])[0], missed("0.8"), 2.0)], self.here)
        with (self.here.out / "verify.csv").open(newline="", encoding="utf-8") as lines:
            rows = list(csv.DictReader(lines))
        self.assertEqual([(row["step"], row["status"]) for row in rows], [("tests", REACHED), ("kernels", MISSED)])
        self.assertIn("| kernels | add, cast", (self.here.out / "verify.md").read_text(encoding="utf-8"))

    def test_names_are_known_and_unique(self) -> None:
        self.assertEqual(len({step.name for step in STEPS}), len(STEPS))
        self.assertEqual([step.name for step in named(["ring", "tests"])], ["tests", "ring"])
        with self.assertRaisesRegex(ValueError, "unknown step 'rign'; valid: facts, tests"):
            named(["rign"])

    def test_ranks_that_share_a_card_are_told_which(self) -> None:
        """Each would have a card of its own where there are two."""
        for step in STEPS:
            for command in step.commands(self.here):
                if "--share-devices" in command:
                    self.assertIn("--devices 0 --share-devices", " ".join(command), step.name)

    def test_programs_are_the_builds_or_the_bundles(self) -> None:
        bundled = Context(Path("build/release"), Path("out"), Path("there"))
        for step in STEPS:
            words = [word for command in step.commands(bundled) for word in command]
            self.assertFalse([word for word in words if word.startswith("build/") or word == "mpirun"], step.name)
        self.assertEqual(self.here.test("device_processes_test"), "build/release/collectives/transport/device_processes_test")
        self.assertEqual(bundled.test("device_processes_test"), "there/bin/device_processes_test")

    def verify(self, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PATH": "/usr/bin:/bin" if not Path("/usr/bin/nvidia-smi").exists() else ""}
        python = ["/usr/bin/python3", str(ROOT / "scripts/verify_gpu")]
        return subprocess.run([*python, *words], capture_output=True, text=True, env=environment, check=False, cwd=cwd)

    def test_folders_are_those_of_where_it_was_typed(self) -> None:
        build = self.here.out / "my_build"
        for given, shown in (([], "build/release"), (["--build", "my_build"], os.path.relpath(build, ROOT))):
            said = self.verify("--list", "--only", "resnet50", *given, cwd=self.here.out).stdout
            self.assertIn(f"$ {shown}/bin/bench_throughput ", said)

    def test_without_a_card_it_says_so_in_one_line(self) -> None:
        done = self.verify("--out", str(self.here.out / "none"))
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual(done.stderr, "verify_gpu: no card here: no nvidia-smi on the PATH, so no NVIDIA driver\n")
        self.assertFalse((self.here.out / "none").exists())

    def test_lists_without_a_card(self) -> None:
        done = self.verify("--list", "--only", "resnet50")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("--precision bfloat16 --channels-last yes --step graph --batch-per-rank 256", done.stdout)
        fused = self.verify("--list", "--only", "fused,compile").stdout
        self.assertIn("--channels-last yes --step fused --batch-per-rank 256", fused)
        self.assertIn("--legs graph,compile --models resnet50_fused", fused)
        # Tuning takes longer than what ten minutes hold.
        self.assertIn("--legs max-autotune --models resnet50_fused", self.verify("--list", "--deep").stdout)
        quick = self.verify("--list", "--quick").stdout
        self.assertNotIn("max-autotune", quick)
        self.assertNotIn("sanitizer", quick)
        self.assertIn("'--benchmark_filter=^(gemm)/.*/8192 x 8192/device/'", quick)
        self.assertNotIn("resnet50 as fast as torch.compile", self.verify("--list", "--deep", "--only", "ring").stdout)
        for words in (["--only", "rign"], ["--budget", "0"], ["--quick", "--deep"], ["--deep", "--only", "tests"],
                      ["--bundle", "/nowhere"]):  # fmt: skip
            self.assertEqual(self.verify(*words).returncode, 2, words)

    def test_the_card_is_the_one_that_the_programs_use(self) -> None:
        bundle, out = self.here.out / "bundle", self.here.out / "card"
        cards = "printf 'Small card, 580.1, 10 MiB\\nLarge card, 580.1, 1000 MiB\\n'"
        for name, line in (("nvidia-smi", cards), ("scalebench", "echo 1"), ("python3", "exit 1")):
            place_program(bundle / "bin" / name, line)
        words = ["/usr/bin/python3", ROOT / "scripts/verify_gpu", "--only", "facts", "--bundle", bundle, "--out", out]

        def done() -> subprocess.CompletedProcess[str]:
            return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False,
                                  env={**os.environ, "PATH": f"{bundle}/bin:/usr/bin:/bin"})  # fmt: skip

        self.assertEqual(done().returncode, 4)
        self.assertRegex(done().stderr, "no card here: nvidia-smi names Small card, .* and Large card, .* does not say which it uses")
        place_program(bundle / "bin/bench_kernels", "echo '# device: Large card'")
        self.assertEqual(done().returncode, 0)
        self.assertTrue((out / "verify.md").read_text(encoding="utf-8").startswith("# Large card\n"))

    def test_a_budget_ends_with_what_there_was_packed(self) -> None:
        """A machine with a driver and programs that say little: each step, and the archive after it."""
        bundle, out = self.here.out / "bundle", self.here.out / "card"
        for name, line in (("nvidia-smi", "echo Some card, 580.1, 1000 MiB"), ("scalebench", "echo 1"), ("mpirun", "true"),
                           ("kernels_device_test", "echo '[  PASSED  ] 3 tests.'; sleep 60"), ("python3", "exit 1")):  # fmt: skip
            place_program(bundle / "bin" / name, line)
        words = ["/usr/bin/python3", ROOT / "scripts/verify_gpu", "--quick", "--bundle", bundle, "--budget", "15", "--out", out]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False,
                              env={**os.environ, "PATH": f"{bundle}/bin:/usr/bin:/bin"})  # fmt: skip
        self.assertEqual(done.returncode, 3, done.stderr)
        with (out / "verify.csv").open(newline="", encoding="utf-8") as lines:
            rows = {row["step"]: row for row in csv.DictReader(lines)}
        self.assertEqual(rows["facts"]["status"], REACHED)
        self.assertIn("so far reached: 3 tests passed", rows["tests"]["detail"])
        self.assertEqual(rows["compile"]["detail"], "the budget of 15 s is used up")
        with tarfile.open(self.here.out / "card.tar.gz") as archive:
            self.assertLessEqual({"card/verify.md", "card/verify.csv", "card/logs/tests.txt"}, set(archive.getnames()))


if __name__ == "__main__":
    unittest.main()
