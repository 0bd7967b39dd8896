# SPDX-License-Identifier: Apache-2.0
# What a PyTorch user would run on one device: a matrix product, or training steps of the suite's
# networks, eager or through torch.compile. The peer of compare_torch_steps.py, which starts it once
# for each leg; it prints one line of JSON with seconds per call or step, one number for each group of
# them. A device is waited for after a group only, so that PyTorch may run ahead as it does in use.
# Images lie on the device as bytes and are converted a batch at a time, as in bench_throughput.
from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable

from networks import MODELS, converted, images_of, optimizer_of  # sets what torch reads first

import torch
import torch.nn.functional as F

DTYPES = {"float": torch.float32, "bfloat16": torch.bfloat16, "half": torch.float16}
PRECISIONS = {"float32": None, "bfloat16": torch.bfloat16}
GROUP_SECONDS = 0.2
GROUPS = 9  # at least, as repetitions of bench_kernels


def product(side: int, dtype: torch.dtype, device: str) -> Callable[[], None]:
    """The matrices of bench_kernels: what they hold decides a card's power, and so its clock."""
    thirds = (torch.arange(side, device=device) % 3 - 1).to(dtype)
    a = thirds[:, None].expand(side, side).contiguous()
    b = thirds[None, :].expand(side, side).contiguous()
    c = torch.empty_like(a)
    return lambda: torch.mm(a, b, out=c)


def training_step(options: argparse.Namespace) -> Callable[[], None]:
    kind, channels, side, optimizer_name, rate = MODELS[options.model]
    torch.manual_seed(1)
    model = kind().to(options.device)
    layout = torch.channels_last if options.channels_last else torch.contiguous_format
    model = model.to(memory_format=layout)
    optimizer = optimizer_of(optimizer_name, model, rate)
    forward = torch.compile(model, mode=options.compile) if options.compile else model
    count = 4 * options.batch
    images, labels = (part.to(options.device) for part in images_of(f"synthetic:{count}", channels, side))
    dtype = PRECISIONS[options.precision]

    # max-autotune runs CUDA graphs of its own, which write to the same memory in every step. A step therefore keeps no output.
    # Gradients are let go before forward. Forward always has its backward behind it, by which PyTorch knows where a step
    # begins without cudagraph_mark_step_begin().
    def step() -> None:
        chosen = torch.randint(count, (options.batch,), device=options.device)
        inputs = converted(images[chosen], channels, side).contiguous(memory_format=layout)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(options.device, dtype=dtype or torch.bfloat16, enabled=dtype is not None):
            loss = F.cross_entropy(forward(inputs), labels[chosen])
        loss.backward()
        optimizer.step()

    return step


def seconds_of(call: Callable[[], None], device: str, budget: float) -> list[float]:
    """Per call, a number for each group; at least GROUPS of them, then until `budget` seconds."""

    def timed(calls: int) -> float:
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        if device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - begin

    for _ in range(3):  # compiles and chooses kernels; records CUDA graphs, if any; replays them
        timed(1)
    group = min(GROUP_SECONDS, budget / GROUPS)
    calls = 1
    while (took := timed(calls)) < group:  # warms up, too
        calls = max(calls + 1, int(calls * min(10.0, 1.1 * group / took)))
    seconds: list[float] = []
    begin = time.perf_counter()
    while len(seconds) < GROUPS or time.perf_counter() - begin < budget:
        seconds.append(timed(calls) / calls)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=[*MODELS, "gemm"], required=True)
    parser.add_argument("--side", type=int, default=512, help="of the matrices of gemm")
    parser.add_argument("--dtype", choices=DTYPES, default="float", help="of gemm")
    parser.add_argument("--batch-per-rank", dest="batch", type=int, default=16)
    parser.add_argument("--precision", choices=PRECISIONS, default="float32")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--compile", choices=["default", "max-autotune"], help="through torch.compile, in this mode")
    parser.add_argument("--device", choices=["cpu", "cuda"], required=True)
    parser.add_argument("--max-seconds", type=float, default=5)
    options = parser.parse_args()
    if options.device == "cpu":  # as bench_kernels and one rank of bench_throughput: one core
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        torch.set_num_threads(1)
    torch.backends.cudnn.benchmark = True
    # float32 is float32 on both sides.
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    if options.model == "gemm":
        call = product(options.side, DTYPES[options.dtype], options.device)
    else:
        call = training_step(options)
    seconds = seconds_of(call, options.device, options.max_seconds)
    name = torch.cuda.get_device_name() if options.device == "cuda" else "cpu"
    print(json.dumps({"torch": torch.__version__, "device": name, "seconds": seconds}))


if __name__ == "__main__":
    main()
