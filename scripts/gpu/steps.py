# SPDX-License-Identifier: Apache-2.0
# The table of what is run on a card: name, target, seconds, commands, and who judges it.
from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gpu import judge
from gpu.verdict import Verdict

RESNET50 = ["--model", "resnet50", "--data", "synthetic:1024", "--device", "cuda"]
# Where there are several, ranks that may share a card would take one each.
ONE_CARD = ("--devices", "0", "--share-devices")
STARTS = ("1", "2", "3", "4", "5")
# The one place that knows the comparison's command line.
PYTORCH = ["scripts/compare_with", "steps", "--device", "cuda"]
DEVICE_TESTS = {"kernels_device_test": "kernels", "device_transports_test": "collectives/transport",
                "device_processes_test": "collectives/transport"}  # fmt: skip
# In one line, as verify.md has a line for each step.
LIBRARIES = (
    'import torch as t; print("PyTorch", t.__version__, "CUDA", t.version.cuda, "cuDNN", t.backends.cudnn.version(), '
    '"NCCL", t.cuda.nccl.version())'
)


@dataclass(frozen=True)
class Context:
    build: Path  # as build/release
    out: Path  # what step NAME measures lies in NAME/
    bundle: Path | None = None  # instead of the build: what scripts/bundle --tests made

    def program(self, name: str) -> str:
        return str((self.bundle or self.build) / "bin" / name)

    def test(self, name: str) -> str:
        return self.program(name) if self.bundle else str(self.build / DEVICE_TESTS[name] / name)

    def mpirun(self, ranks: int) -> list[str]:
        return [self.program("mpirun") if self.bundle else "mpirun", "--oversubscribe", "-np", str(ranks)]

    def rows(self, step: str, file: str) -> list[Mapping[str, str]]:
        path = self.out / step / file
        if not path.exists():
            return []
        with path.open(newline="", encoding="utf-8") as lines:
            return list(csv.DictReader(lines))


@dataclass(frozen=True)
class Step:
    name: str
    target: str
    seconds: float  # that it may take: about twice what it should
    commands: Callable[[Context], list[list[str]]]
    judge: Callable[[Context, str], Verdict]  # of rows, and of what the commands printed
    deep: bool = False  # not among what ten minutes hold


def kernels_filter(kernels: str, size: str) -> str:
    return f"--benchmark_filter=^({kernels})/.*/{size}/device/"  # Google Benchmark puts /manual_time behind the name


def throughput(step: str, *words: str) -> Callable[[Context], list[list[str]]]:
    return lambda here: [[here.program("bench_throughput"), *words, "--out", str(here.out / step)]]


def compared(step: str, *words: str) -> Callable[[Context], list[list[str]]]:
    return lambda here: [[*PYTORCH, "--programs", str(Path(here.program("scalebench")).parent), *words,
                          "--out", str(here.out / step)]]  # fmt: skip


def compared_rows(step: str) -> Callable[[Context, str], Verdict]:
    return lambda here, output: judge.comparison(here.rows(step, "comparison.csv"), output)


def shared_ranks(here: Context, step: str, *ranks: int) -> list[list[str]]:
    words = ["--transport", "cuda_ipc", *ONE_CARD, "--algorithm", "ring,direct", "-b", "64MiB", "-e", "256MiB", "-f", "4"]
    return [[*here.mpirun(p), here.program("bench_allreduce"), *words, "--out", str(here.out / step / str(p))] for p in ranks]


def judge_shared(here: Context, step: str, *ranks: int) -> Verdict:
    rows = [row for p in ranks for row in here.rows(f"{step}/{p}", "allreduce.csv")]
    return judge.shared(rows, judge.copy_rate(here.rows("kernels", "kernels.csv")))


# By value: what comes first is what a proof that is cut short has.
STEPS = (
    Step(
        "facts", "the card, its driver, and the versions of what is used", 30,
        lambda here: [["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"],
                      [here.program("scalebench"), "--version"], ["python3", "-c", LIBRARIES]],
        lambda here, output: judge.facts(output),
    ),
    Step(
        "tests", "the tests of kernels and of transports, between threads and between processes, pass", 120,
        lambda here: [[here.test("kernels_device_test")], [here.test("device_transports_test")],
                      [here.test("device_processes_test")], [*here.mpirun(2), here.test("device_processes_test"), "--gtest_color=no"]],  # mpirun's ranks have a terminal
        lambda here, output: judge.tests(output),
    ),
    # configs/published.csv, lambda_h200_amp_resnet50.
    Step(
        "resnet50", "resnet50 in bfloat16 with batch 256 as a graph: more than 3 079 images/s", 120,
        throughput("resnet50", *RESNET50, "--precision", "bfloat16", "--channels-last", "yes", "--step", "graph",
                   "--batch-per-rank", "256", "--max-seconds", "15"),
        lambda here, output: judge.images(here.rows("resnet50", "throughput.csv"), 3079),
    ),
    # Of eight H200 with real input, 63 559.5 together: the last tracked_stats of NVIDIA/results/h200_ngc24.04_mxnet/resnet/result_0.txt
    # in github.com/mlcommons/training_results_v4.0.
    Step(
        "fused", "resnet50 in bfloat16 with batch 256 and fused layers: more than 7 945 images/s", 120,
        throughput("fused", *RESNET50, "--precision", "bfloat16", "--channels-last", "yes", "--step", "fused",
                   "--batch-per-rank", "256", "--max-seconds", "15"),
        lambda here, output: judge.images(here.rows("fused", "throughput.csv"), 7945),
    ),
    Step(
        "eager", "beside eager PyTorch: gemm 97 %, resnet50 as fast, mlp 5 times, mnist_cnn 3 times, as graphs", 200,
        compared("eager", "--legs", "eager", "--starts", "1"), compared_rows("eager"),
    ),
    Step(
        "kernels", "add, cast and pack at 256 MiB: 90 % of the card's copy", 90,
        lambda here: [
            [here.program("bench_kernels"), "--device", "cuda", "--benchmark_repetitions=5",
             kernels_filter("memcpy|copy|add|cast_to_float|cast_from_float|pack|unpack", "256 MiB"),
             "--out", str(here.out / "kernels")]
        ],
        lambda here, output: judge.kernels(here.rows("kernels", "kernels.csv")),
    ),
    Step(
        "gemm", "products of 8192 x 8192 in every dtype, measured", 90,
        lambda here: [
            [here.program("bench_kernels"), "--device", "cuda", "--benchmark_repetitions=5",
             kernels_filter("gemm", "8192 x 8192"), "--out", str(here.out / "gemm")]
        ],
        lambda here, output: judge.complete(here.rows("gemm", "kernels.csv")),
    ),
    Step(
        "nccl", "NCCL with one rank, which copies 64 and 256 MiB, measured", 60,
        lambda here: [[here.program("bench_allreduce"), "--device", "cuda", "--transport", "nccl", "--algorithm", "native", "--placement", "out_of_place",
                       "-b", "64MiB", "-e", "256MiB", "-f", "4", "--out", str(here.out / "nccl")]],
        lambda here, output: judge.complete(here.rows("nccl", "allreduce.csv")),
    ),
    Step(
        "shared", "ring and direct over cuda_ipc, 2 ranks taking turns on the card, 64 MiB and more: share of the bound from the copy, measured", 90,
        lambda here: shared_ranks(here, "shared", 2), lambda here, output: judge_shared(here, "shared", 2),
    ),
    Step(
        "compile", "resnet50 with fused layers as fast as torch.compile, beside the graph without", 270,
        compared("compile", "--legs", "graph,compile", "--models", "resnet50_fused", "--starts", "1"), compared_rows("compile"),
    ),
    Step(
        "joules", "joules an image of resnet50 with fused layers: five starts within 2 %", 180,
        lambda here: [
            command for start in STARTS
            for command in throughput(f"joules/{start}", *RESNET50, "--precision", "bfloat16", "--step", "fused", "--batch-per-rank", "256",
                                      "-n", "200")(here)
        ],
        lambda here, output: judge.steady(
            [row for start in STARTS for row in here.rows(f"joules/{start}", "throughput.csv")], "gpu_joules_per_image", 0.02, "J"
        ),
    ),
    Step(
        "autotune", "resnet50 with fused layers as fast as torch.compile with max-autotune", 1500,
        compared("autotune", "--legs", "max-autotune", "--models", "resnet50_fused", "--starts", "1"), compared_rows("autotune"),
        deep=True,
    ),
    Step(
        "sanitizer", "compute-sanitizer: memcheck on kernels and transports, racecheck and synccheck on layers: 0 findings", 600,
        lambda here: [["scripts/sanitize_device", *(["--bundle", str(here.bundle)] if here.bundle else [str(here.build)])]],
        lambda here, output: judge.sanitizer(output), deep=True,
    ),
    Step(
        "throughput", "resnet50 in bfloat16, both formats and all steps, batches 64, 256 and 512, measured", 650,
        # A capture that fails may leave the process unfit: a process each.
        lambda here: [
            command for way in ("eager", "graph", "fused")
            for command in throughput(f"throughput/{way}", *RESNET50, "--precision", "bfloat16", "--channels-last", "both", "--step", way, "--batch-per-rank", "64,256,512",
                                      "--max-seconds", "5")(here)
        ],
        lambda here, output: judge.complete(
            [row for way in ("eager", "graph", "fused") for row in here.rows(f"throughput/{way}", "throughput.csv")]
        ), deep=True,
    ),
    Step(
        "ring", "ring and direct over cuda_ipc, 2 and 4 ranks taking turns on the card: share of the bound from the copy, measured", 180,
        lambda here: shared_ranks(here, "ring", 2, 4), lambda here, output: judge_shared(here, "ring", 2, 4), deep=True,
    ),
    Step(
        "pytorch", "gemm 97 % of PyTorch's, resnet50 as fast as its eager AMP and both torch.compile, mlp 5 and mnist_cnn 3 times eager", 2400,
        compared("pytorch", "--starts", "3"), compared_rows("pytorch"), deep=True,
    ),
)  # fmt: skip


def named(names: list[str]) -> list[Step]:
    """In the table's order; ValueError for a name that is none."""
    known = {step.name for step in STEPS}
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"unknown step {unknown[0]!r}; valid: {', '.join(step.name for step in STEPS)}")
    return [step for step in STEPS if not names or step.name in names]
