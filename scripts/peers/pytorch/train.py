# SPDX-License-Identifier: Apache-2.0
# This is what a PyTorch user would run, started by scripts/compare_with: epochs of the suite's networks, alone or as
# DistributedDataParallel over gloo with one core a rank (--samples), or on one device training steps or a matrix
# product for some seconds, eager or through torch.compile, as written or with what makes PyTorch faster. Images lie on
# the device as bytes and are converted a batch at a time, as in bench_epoch and bench_throughput. It prints one line of
# JSON with seconds of an epoch, from barrier to barrier, or per step or product, one number for each group of them. A
# device is waited for after a group only, so that PyTorch may run ahead as it does in use.
from __future__ import annotations

import argparse
import contextlib
import json
import os
import time
from collections.abc import Callable

from networks import MODELS, converted, images_of, optimizer_of  # It sets what torch reads first.

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn

# Precisions have the names of bench_throughput, and "float" of bench_kernels.
DTYPES = {"float": torch.float32, "float32": torch.float32, "bfloat16": torch.bfloat16}
GROUP_SECONDS = 0.2
GROUPS = 9  # at least, as repetitions of bench_kernels


def product(side: int, dtype: torch.dtype, device: str) -> Callable[[], object]:
    """The matrices are those of bench_kernels: what they hold decides a card's power, and so its clock."""
    thirds = (torch.arange(side, device=device) % 3 - 1).to(dtype)
    a = thirds[:, None].expand(side, side).contiguous()
    b = thirds[None, :].expand(side, side).contiguous()
    c = torch.empty_like(a)
    return lambda: torch.mm(a, b, out=c)


def training_step(options: argparse.Namespace, ranks: int) -> tuple[Callable[[Tensor], None], int]:
    """A step takes the places of its images, of which there are so many."""
    kind, channels, side, optimizer_name, rate = MODELS[options.model]
    torch.manual_seed(1)
    model: nn.Module = kind().to(options.device)
    images, labels = (part.to(options.device) for part in images_of(options.data, channels, side))
    layout = torch.channels_last if options.channels_last and channels > 1 else torch.contiguous_format
    model = model.to(memory_format=layout)
    if ranks > 1:
        model = nn.parallel.DistributedDataParallel(
            model, bucket_cap_mb=options.bucket_mb, gradient_as_bucket_view=options.views,
            static_graph=options.static_graph,
        )  # fmt: skip
    optimizer = optimizer_of(optimizer_name, model, rate, options.fused)
    if options.compile:
        model = torch.compile(model, mode=options.compile)
    dtype = DTYPES[options.precision]
    mixed = contextlib.nullcontext() if dtype == torch.float32 else torch.autocast(options.device, dtype=dtype)

    # max-autotune runs CUDA graphs of its own, which write to the same memory in every step. A step therefore keeps no
    # output. Gradients are let go before forward. Forward always has its backward behind it, by which PyTorch knows
    # where a step begins without cudagraph_mark_step_begin().
    def step(chosen: Tensor) -> None:
        inputs = converted(images[chosen], channels, side).contiguous(memory_format=layout)
        targets = labels[chosen]
        optimizer.zero_grad(set_to_none=True)
        with mixed:
            loss = F.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()

    return step, len(labels)


def epoch_seconds(options: argparse.Namespace, rank: int, ranks: int) -> float:
    step, count = training_step(options, ranks)
    steps = options.samples // (options.batch * ranks)

    def run(steps: int) -> float:
        order = torch.randperm(count)
        if ranks > 1:
            dist.broadcast(order, 0)
            dist.barrier()
        begin = time.perf_counter()
        for number in range(steps):
            first = (number * ranks + rank) * options.batch
            step(order[first : first + options.batch])
        if ranks > 1:
            dist.barrier()
        return time.perf_counter() - begin

    run(min(options.warm_up, steps))
    return run(steps)


def seconds_of(call: Callable[[], object], device: str, budget: float) -> list[float]:
    """Returns seconds per call, a number for each group; at least GROUPS of them, then until `budget` seconds."""

    def timed(calls: int) -> float:
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        if device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - begin

    for _ in range(3):  # The first calls compile and choose kernels, record CUDA graphs, if any, and replay them.
        timed(1)
    group = min(GROUP_SECONDS, budget / GROUPS)
    calls = 1
    while (took := timed(calls)) < group:  # This warms up, too.
        calls = max(calls + 1, int(calls * min(10.0, 1.1 * group / took)))
    seconds: list[float] = []
    begin = time.perf_counter()
    while len(seconds) < GROUPS or time.perf_counter() - begin < budget:
        seconds.append(timed(calls) / calls)
    return seconds


def measured(options: argparse.Namespace, rank: int, ranks: int) -> list[float]:
    if options.samples:
        return [epoch_seconds(options, rank, ranks)]
    if options.model == "gemm":
        call = product(options.side, DTYPES[options.precision], options.device)
    else:
        step, count = training_step(options, ranks)
        call = lambda: step(torch.randint(count, (options.batch,), device=options.device))  # noqa: E731
    return seconds_of(call, options.device, options.max_seconds)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=[*MODELS, "gemm"], required=True)
    parser.add_argument("--data", default="fashion-mnist")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--precision", choices=DTYPES, default="float32")
    parser.add_argument("--side", type=int, default=512, help="of the matrices of gemm")
    parser.add_argument("--batch-per-rank", dest="batch", type=int, default=16, help="images per rank and step")
    parser.add_argument("--samples", type=int, help="of all ranks in an epoch; without it steps are timed")
    parser.add_argument("--warm-up", type=int, default=10, help="steps before the clock of an epoch starts")
    parser.add_argument("--max-seconds", type=float, default=5, help="of timed steps")
    parser.add_argument("--fused", action="store_true", help="the optimizer's one kernel")
    parser.add_argument("--compile", choices=["default", "max-autotune"], help="through torch.compile, in this mode")
    parser.add_argument("--channels-last", action="store_true", help="the other layout of images and weights")
    parser.add_argument("--bucket-mb", type=float, default=25, help="of DistributedDataParallel")
    parser.add_argument("--views", action="store_true", help="gradients are views of its buckets")
    parser.add_argument("--static-graph", action="store_true", help="it is told that no step differs")
    options = parser.parse_args()
    rank, ranks = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    if options.device == "cpu":  # A rank has one core, as with mpirun --bind-to core.
        allowed = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {allowed[rank % len(allowed)]})
        torch.set_num_threads(1)
    torch.backends.cudnn.benchmark = True
    # float32 is float32 on both sides.
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    if ranks > 1:
        dist.init_process_group("gloo")
    seconds = measured(options, rank, ranks)
    if rank == 0:
        name = torch.cuda.get_device_name() if options.device == "cuda" else "cpu"
        print(json.dumps({"torch": torch.__version__, "device": name, "seconds": seconds}))
    if ranks > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
