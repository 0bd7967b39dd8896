# SPDX-License-Identifier: Apache-2.0
# The table says what is run on a card: name, target, seconds, commands, and who judges which rows.
from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from peers import judge
from peers.harness import Rows, read_rows, require_known
from peers.judge import Verdict


@dataclass(frozen=True)
class Context:
    build: Path  # such as build/release
    out: Path  # what step NAME measures lies in NAME/
    installed: Path | None = None  # instead of the build: the programs and tests of scripts/wheel --tests

    @property
    def programs(self) -> Path:
        return self.installed or self.build / "bin"

    def places(self, step: str) -> dict[str, str]:
        """These names stand in commands for folders of programs and of tests, the launcher, the step's folder."""
        programs, built = self.programs, self.installed is None
        places = {
            "bin": programs, "out": self.out / step, "mpirun": "mpirun",
            "kernels": self.build / "kernels" if built else programs,
            "transports": self.build / "collectives/transport" if built else programs,
        }  # fmt: skip
        quoted = {name: shlex.quote(str(place)) for name, place in places.items()}
        return quoted | {"device_code": shlex.join([str(self.build)] if built else ["--programs", str(self.installed)])}


@dataclass(frozen=True)
class Step:
    name: str
    target: str
    seconds: float  # The step may take so many, about twice what it should.
    lines: Sequence[str]  # commands, with places in braces
    judge: Callable[[str, Rows], Verdict]  # It sees what the commands printed, and the rows.
    rows: Sequence[str] = ()  # Patterns name the files of rows below the folder of all steps.
    deep: bool = False  # A deep step is not among what ten minutes hold.

    def commands(self, here: Context) -> list[list[str]]:
        return [shlex.split(line.format(**here.places(self.name))) for line in self.lines]

    def judged(self, here: Context, said: str) -> Verdict:
        files = [file for pattern in self.rows for file in sorted(here.out.glob(pattern))]
        return self.judge(said, [row for file in files for row in read_rows(file)])


RESNET50 = "{bin}/bench_throughput --model resnet50 --data synthetic:1024 --device cuda --precision bfloat16"
TIMED = f"{RESNET50} --channels-last yes --batch-per-rank 256 --max-seconds 15 --out {{out}} --step"
# Google Benchmark puts /manual_time behind a name.
KERNELS = "{bin}/bench_kernels --device cuda --benchmark_repetitions=5 --out {out}"
MOVING = "'--benchmark_filter=^(memcpy|copy|add|cast_to_float|cast_from_float|pack|unpack)/.*/256 MiB/device/'"
ALLREDUCE = "{bin}/bench_allreduce -b 64MiB -e 256MiB -f 4"
RANKS = "{mpirun} --oversubscribe -np"
# Where there are several cards, ranks that may share one would take one each.
SHARED = f"{ALLREDUCE} --transport cuda_ipc --devices 0 --share-devices --algorithm ring,direct --out {{out}}"
PYTORCH = "scripts/compare_with steps --device cuda --programs {bin} --out {out}"
TUNED = f"{PYTORCH} --models resnet50_fused --starts 1 --legs"
# The program is one line, as verify.md has a line for each step.
LIBRARIES = (
    'import torch as t; print("PyTorch", t.__version__, "CUDA", t.version.cuda, "cuDNN", t.backends.cudnn.version(), '
    '"NCCL", t.cuda.nccl.version())'
)

# The steps are in order of value: a proof that is cut short has the first ones.
STEPS = (
    Step(
        "facts", "the card, its driver, and the versions of what is used", 30,
        ["nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader", "{bin}/scalebench --version",
         f"python3 -c '{LIBRARIES}'"],
        judge.facts,
    ),
    Step(
        "tests", "the tests of kernels and of transports, between threads and between processes, pass", 120,
        ["{kernels}/kernels_device_test", "{transports}/device_transports_test", "{transports}/device_processes_test",
         f"{RANKS} 2 {{transports}}/device_processes_test --gtest_color=no"],  # mpirun's ranks have a terminal.
        judge.tests,
    ),
    # The target is lambda_h200_amp_resnet50 of configs/published.csv.
    Step(
        "resnet50", "resnet50 in bfloat16 with batch 256 as a graph: more than 3 079 images/s", 120,
        [f"{TIMED} graph"], partial(judge.images, target=3079), ["resnet50/throughput.csv"],
    ),
    # Eight H200 with real input reach 63 559.5 together, says the last tracked_stats of
    # NVIDIA/results/h200_ngc24.04_mxnet/resnet/result_0.txt in github.com/mlcommons/training_results_v4.0.
    Step(
        "fused", "resnet50 in bfloat16 with batch 256 and fused layers: more than 7 945 images/s", 120,
        [f"{TIMED} fused"], partial(judge.images, target=7945), ["fused/throughput.csv"],
    ),
    Step(
        "eager", "beside eager PyTorch: gemm 97 %, resnet50 as fast, mlp 5 times, mnist_cnn 3 times, as graphs", 200,
        [f"{PYTORCH} --legs eager --starts 1"], judge.comparison, ["eager/comparison.csv"],
    ),
    Step(
        "kernels", "add, cast and pack at 256 MiB: 90 % of the card's copy", 90,
        [f"{KERNELS} {MOVING}"], judge.kernels, ["kernels/kernels.csv"],
    ),
    Step(
        "gemm", "products of 8192 x 8192 in every dtype, measured", 90,
        [f"{KERNELS} '--benchmark_filter=^(gemm)/.*/8192 x 8192/device/'"], judge.complete, ["gemm/kernels.csv"],
    ),
    Step(
        "nccl", "NCCL with one rank, which copies 64 and 256 MiB, measured", 60,
        [f"{ALLREDUCE} --device cuda --transport nccl --algorithm native --placement out_of_place --out {{out}}"],
        judge.complete, ["nccl/allreduce.csv"],
    ),
    Step(
        "shared", "ring and direct over cuda_ipc, 2 ranks taking turns on the card, 64 MiB and more: share of the "
        "bound from the copy, measured", 90,
        [f"{RANKS} 2 {SHARED}/2"], judge.shared, ["shared/*/allreduce.csv", "kernels/kernels.csv"],
    ),
    Step(
        "compile", "resnet50 with fused layers as fast as torch.compile, beside the graph without", 270,
        [f"{TUNED} graph,compile"], judge.comparison, ["compile/comparison.csv"],
    ),
    Step(
        "joules", "joules an image of resnet50 with fused layers: five starts within 2 %", 180,
        [f"{RESNET50} --step fused --batch-per-rank 256 -n 200 --out {{out}}/{start}" for start in range(1, 6)],
        partial(judge.steady, column="gpu_joules_per_image", spread=0.02, unit="J"), ["joules/*/throughput.csv"],
    ),
    Step(
        "autotune", "resnet50 with fused layers as fast as torch.compile with max-autotune", 1500,
        [f"{TUNED} max-autotune"], judge.comparison, ["autotune/comparison.csv"], deep=True,
    ),
    Step(
        "sanitizer", "compute-sanitizer: memcheck on kernels and transports, racecheck and synccheck on layers: "
        "0 findings", 600,
        ["scripts/sanitize_device {device_code}"], judge.sanitizer, deep=True,
    ),
    Step(
        "throughput", "resnet50 in bfloat16, both formats and all steps, batches 64, 256 and 512, measured", 650,
        # A capture that fails may leave the process unfit, so each way has one of its own.
        [f"{RESNET50} --channels-last both --step {way} --batch-per-rank 64,256,512 --max-seconds 5 --out {{out}}/{way}"
         for way in ("eager", "graph", "fused")],
        judge.complete, ["throughput/*/throughput.csv"], deep=True,
    ),
    Step(
        "ring", "ring and direct over cuda_ipc, 2 and 4 ranks taking turns on the card: share of the bound from the "
        "copy, measured", 180,
        [f"{RANKS} {ranks} {SHARED}/{ranks}" for ranks in (2, 4)], judge.shared,
        ["ring/*/allreduce.csv", "kernels/kernels.csv"], deep=True,
    ),
    Step(
        "pytorch", "gemm 97 % of PyTorch's, resnet50 as fast as its eager AMP and both torch.compile, mlp 5 and "
        "mnist_cnn 3 times eager", 2400,
        [f"{PYTORCH} --starts 3"], judge.comparison, ["pytorch/comparison.csv"], deep=True,
    ),
)  # fmt: skip


def named(names: list[str]) -> list[Step]:
    """Steps come in the table's order; a name that is none raises Failed."""
    require_known("step", names, [step.name for step in STEPS])
    return [step for step in STEPS if not names or step.name in names]
