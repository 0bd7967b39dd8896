# SPDX-License-Identifier: Apache-2.0
# One device's matrix product and training steps stand beside Python's PyTorch, eager and compiled, with a target each.
# The Python needs torch of the LibTorch that the suite was built with. On a CPU the cases are small and have no
# targets: there it shows that the comparison works.
from __future__ import annotations

import argparse
from dataclasses import dataclass

from peers.harness import Failed, Leg, Ratio, Times, one_row, printed_rows, require_known, started_as
from peers.pytorch.legs import require_torch, torch_leg

WHAT = "products and training steps of this suite beside Python's PyTorch, against targets"
OURS = ["bench_kernels", "bench_throughput"]
# One H200 is published to train so many images/s of resnet50 in bfloat16 with batch 256: that is to be exceeded.
PUBLISHED_RESNET50 = 3079.0


@dataclass(frozen=True)
class Case:
    """Ours is held against each leg of `targets`, which has the smallest ratio that reaches it, if any."""

    name: str  # of --models
    model: str  # or gemm
    batch: int  # side of gemm
    precision: str
    targets: dict[str, float | None]
    step: str = "eager"  # of ours
    channels_last: bool = False  # of both; a fused step of ours always is
    images_per_s: float | None = None  # to be exceeded


CASES = {
    "cuda": [
        Case("gemm", "gemm", 8192, "bfloat16", {"eager": 0.97}),
        Case("resnet50", "resnet50", 256, "bfloat16", {"eager": 1.0, "compile": 1.0, "max-autotune": 1.0},
             "graph", True, PUBLISHED_RESNET50),
        Case("mlp", "mlp", 16, "float32", {"eager": 5.0}, "graph"),
        Case("mnist_cnn", "mnist_cnn", 128, "float32", {"eager": 3.0}, "graph"),
        Case("mnist_cnn_fused", "mnist_cnn", 128, "float32", {"eager": 3.0}, "fused"),
        Case("resnet50_fused", "resnet50", 256, "bfloat16", {"graph": None, "compile": 1.0, "max-autotune": 1.0},
             "fused", True, PUBLISHED_RESNET50),
    ],
    "cpu": [
        Case("gemm", "gemm", 512, "float", {"eager": None}),
        Case("resnet20", "resnet20", 16, "bfloat16", {"eager": None}, channels_last=True),
        Case("mlp", "mlp", 16, "float32", {"eager": None, "compile": None, "max-autotune": None}),
        Case("mnist_cnn", "mnist_cnn", 128, "float32", {"eager": None}),
    ],
}  # fmt: skip
# The legs are PyTorch's ways, and our own step as a graph without fused layers. Two are modes of torch.compile.
LEGS = ("eager", "compile", "max-autotune", "graph")
COMPILED = {"compile": "default", "max-autotune": "max-autotune"}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--python", default="python3", help="interpreter that has torch")
    parser.add_argument("--device", choices=CASES, default="cuda")
    parser.add_argument("--models", help="comma-separated; default: all of the device")
    parser.add_argument("--legs", default=",".join(LEGS), help="comma-separated; PyTorch's, and graph of ours")
    parser.add_argument("--max-seconds", type=float, default=5, help="of timed steps in a leg")


def published(case: Case) -> str:
    return f"{case.images_per_s:g} images/s"


def our_leg(options: argparse.Namespace, case: Case, leg: str) -> Leg:
    step, layout = case.step if leg == "ours" else leg, "no"
    if case.channels_last or step == "fused":
        layout = "yes"
    command = [
        started_as(options.programs / "bench_throughput"), "--model", case.model, "--batch-per-rank", str(case.batch),
        "--precision", case.precision, "--step", step, "--channels-last", layout,
        "--data", f"synthetic:{4 * case.batch}", "--device", options.device, "--max-seconds", str(options.max_seconds),
        "--quiet", "--format", "json",
    ]  # fmt: skip
    if case.model == "gemm":
        memory = "host" if options.device == "cpu" else "device"
        name = f"gemm/{case.precision}/{case.batch} x {case.batch}/{memory}"
        command = [started_as(options.programs / "bench_kernels"), "--device", options.device, "--format", "csv",
                   f"--benchmark_filter=^{name}($|/)"]  # fmt: skip

    def read(text: str, _: object) -> Times:
        times = {(case.name, leg): float(one_row(printed_rows(text))["seconds_median"])}
        if leg == "ours" and case.images_per_s:
            times[case.name, published(case)] = case.batch / case.images_per_s
        return Times(times)

    return Leg(f"{case.name} {leg}", command, read)


def their_leg(options: argparse.Namespace, case: Case, leg: str) -> Leg:
    words = ["--model", case.model, "--device", options.device, "--max-seconds", str(options.max_seconds)]
    words += ["--precision", case.precision]
    if case.model == "gemm":
        return torch_leg(options, case.name, leg, [*words, "--side", str(case.batch)])
    words += ["--batch-per-rank", str(case.batch), "--data", f"synthetic:{4 * case.batch}"]
    words += ["--channels-last"] if case.channels_last else []
    words += ["--compile", COMPILED[leg]] if leg in COMPILED else []
    return torch_leg(options, case.name, leg, words)


def legs_of(options: argparse.Namespace) -> tuple[list[list[Leg]], list[Ratio]]:
    cases, wanted = CASES[options.device], options.legs.split(",")
    models = options.models.split(",") if options.models else [case.name for case in cases]
    require_known("model", models, [case.name for case in cases])
    require_known("leg", wanted, LEGS)
    require_torch(options.python)
    groups, ratios = [], []
    for case in cases:
        legs = [leg for leg in case.targets if leg in wanted and case.name in models]
        if not legs:
            continue
        groups.append([our_leg(options, case, "ours")])
        for leg in legs:
            groups[-1].append((our_leg if leg == "graph" else their_leg)(options, case, leg))
            ratios.append(Ratio(leg, [leg], ["ours"], case.name, target=case.targets[leg]))
        if case.images_per_s:
            ratios.append(Ratio(published(case), [published(case)], ["ours"], case.name, target=1.0))
    if not groups:
        raise Failed(f"--legs {options.legs}: no case of {options.models} has it")
    return groups, ratios
