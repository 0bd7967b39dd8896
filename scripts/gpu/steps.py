# SPDX-License-Identifier: Apache-2.0
# The table of what is run on a card: name, target, command, and who judges it.
from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gpu import judge
from gpu.verdict import Verdict

MPIRUN = ["mpirun", "--oversubscribe"]
WAYS = ["--precision", "float32,tf32,bf16,fp16", "--channels-last", "both", "--step", "eager,graph"]
RESNET50 = ["--model", "resnet50", "--data-dir", "synthetic:2048", "--device", "cuda"]
# The one place that knows the comparison's command line.
PYTORCH = ["python3", "scripts/compare_torch_steps.py", "--device", "cuda"]


@dataclass(frozen=True)
class Context:
    build: Path  # as build/release
    out: Path  # what step NAME measures lies in NAME/

    def program(self, name: str) -> str:
        return str(self.build / "bin" / name)

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
    commands: Callable[[Context], list[list[str]]]
    judge: Callable[[Context, str], Verdict]  # of rows, and of what the commands printed


def kernels_filter(kernels: str) -> str:
    return f"--benchmark_filter=^({kernels})/.*/256 MiB/device$"


def throughput(step: str, *words: str) -> Callable[[Context], list[list[str]]]:
    return lambda here: [[here.program("bench_throughput"), *words, "--out", str(here.out / step)]]


def ring_commands(here: Context) -> list[list[str]]:
    words = ["--transport", "cuda_ipc", "--share-devices", "--algorithm", "ring", "-b", "64MiB", "-e", "256MiB"]
    return [
        [*MPIRUN, "-np", str(ranks), here.program("bench_allreduce"), *words, "--out", str(here.out / "ring" / str(ranks))]
        for ranks in (2, 4)
    ]


STEPS = (
    Step(
        "tests", "every test with the label gpu passes",
        # The sanitizer is a step of its own.
        lambda here: [["ctest", "--test-dir", str(here.build), "-L", "gpu", "-E", "sanitize", "--output-on-failure"]],
        lambda here, output: judge.tests(output),
    ),
    Step(
        "sanitizer", "compute-sanitizer memcheck and racecheck on kernels and transports: 0 findings",
        lambda here: [["scripts/sanitize_device", str(here.build)]],
        lambda here, output: judge.sanitizer(output),
    ),
    Step(
        "kernels", "add, cast and pack at 256 MiB: 90 % of the card's copy",
        lambda here: [
            [here.program("bench_kernels"), "--device", "cuda", "--benchmark_repetitions=5",
             kernels_filter("memcpy|copy|add|cast_to_float|cast_from_float|pack|unpack"),
             "--out", str(here.out / "kernels")]
        ],
        lambda here, output: judge.kernels(here.rows("kernels", "kernels.csv")),
    ),
    Step(
        "gemm", "products of 8192 x 8192 in every dtype, measured (step pytorch holds them against PyTorch)",
        lambda here: [
            [here.program("bench_kernels"), "--device", "cuda", "--benchmark_repetitions=5",
             "--benchmark_filter=^gemm/.*/8192 x 8192/device$", "--out", str(here.out / "gemm")]
        ],
        lambda here, output: judge.complete(here.rows("gemm", "kernels.csv")),
    ),
    Step(
        "resnet50", "resnet50 in bf16 with batch 256: more than 3 079 images/s",
        throughput("resnet50", *RESNET50, "--precision", "bf16", "--channels-last", "yes", "--step", "eager,graph",
                   "--batch", "256", "--max-seconds", "20"),
        lambda here, output: judge.images(here.rows("resnet50", "throughput.csv"), 3079),
    ),
    Step(
        "throughput", "resnet50 in every precision, format and way to launch, up to the largest batch, measured",
        throughput("throughput", *RESNET50, *WAYS, "--batch", "32,64,128,256,largest"),
        lambda here, output: judge.complete(here.rows("throughput", "throughput.csv")),
    ),
    Step(
        "graphs", "mlp and mnist_cnn, eager and as graphs, measured (step pytorch: 3 times eager PyTorch)",
        lambda here: [
            command
            for model in ("mlp", "mnist_cnn")
            for command in throughput(f"graphs/{model}", "--model", model, "--device", "cuda",
                                      "--data-dir", "synthetic:60000", "--step", "eager,graph")(here)
        ],
        lambda here, output: judge.complete(
            here.rows("graphs/mlp", "throughput.csv") + here.rows("graphs/mnist_cnn", "throughput.csv")
        ),
    ),
    Step(
        "ring", "ring over cuda_ipc, 2 and 4 ranks on the card, 64 MiB and more: 80 % of its bound from the copy",
        ring_commands,
        lambda here, output: judge.ring(
            here.rows("ring/2", "allreduce.csv") + here.rows("ring/4", "allreduce.csv"),
            judge.copy_rate(here.rows("kernels", "kernels.csv")),
        ),
    ),
    Step(
        "pytorch", "gemm 97 % of PyTorch's, resnet50 as fast as its eager AMP and torch.compile, graphs 3 times eager",
        lambda here: [[*PYTORCH, "--programs", str(here.build / "bin"), "--out", str(here.out / "pytorch")]],
        lambda here, output: judge.comparison(here.rows("pytorch", "compare_torch_steps.csv")),
    ),
)  # fmt: skip


def named(names: list[str]) -> list[Step]:
    """In the table's order; ValueError for a name that is none."""
    known = {step.name for step in STEPS}
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"unknown step {unknown[0]!r}; valid: {', '.join(step.name for step in STEPS)}")
    return [step for step in STEPS if not names or step.name in names]
