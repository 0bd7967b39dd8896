# SPDX-License-Identifier: Apache-2.0
# What a PyTorch user would run: the suite's networks trained by an ordinary loop in Python, alone or
# as DistributedDataParallel over gloo, one core a rank, as written or with what makes PyTorch faster.
# The peer of compare_torch.py, which starts it once for each rank with RANK, WORLD_SIZE, MASTER_ADDR and
# MASTER_PORT set; rank 0 prints one line of JSON with the seconds of each epoch, from barrier to barrier.
from __future__ import annotations

import argparse
import json
import os
import time

from networks import MODELS, converted, images_of, optimizer_of  # sets what torch reads first

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn


def train(options: argparse.Namespace, rank: int, ranks: int) -> list[float]:
    kind, channels, side, optimizer_name, rate = MODELS[options.model]
    torch.manual_seed(1)
    model: nn.Module = kind()
    images, labels = images_of(options.data, channels, side)
    layout = torch.channels_last if options.channels_last and channels > 1 else torch.contiguous_format
    model = model.to(memory_format=layout)
    if ranks > 1:
        model = nn.parallel.DistributedDataParallel(
            model, bucket_cap_mb=options.bucket_mb, gradient_as_bucket_view=options.views, static_graph=options.static_graph
        )
    optimizer = optimizer_of(optimizer_name, model, rate, options.fused)
    if options.compile:
        model = torch.compile(model)
    batch = options.batch
    steps = options.samples // (batch * ranks)

    def step(order: Tensor, number: int) -> None:
        first = (number * ranks + rank) * batch
        chosen = order[first : first + batch]
        inputs = converted(images[chosen], channels, side).contiguous(memory_format=layout)
        targets = labels[chosen]
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(model(inputs), targets).backward()
        optimizer.step()

    def epoch() -> float:
        order = torch.randperm(len(labels))
        if ranks > 1:
            dist.broadcast(order, 0)
            dist.barrier()
        begin = time.perf_counter()
        for number in range(steps):
            step(order, number)
        if ranks > 1:
            dist.barrier()
        return time.perf_counter() - begin

    order = torch.randperm(len(labels))
    if ranks > 1:
        dist.broadcast(order, 0)
    for number in range(min(options.warm_up, steps)):
        step(order, number)
    return [epoch() for _ in range(options.epochs)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=MODELS, required=True)
    parser.add_argument("--data", default="fashion-mnist")
    parser.add_argument("--batch-per-rank", dest="batch", type=int, required=True, help="images per rank and step")
    parser.add_argument("--samples", type=int, required=True, help="of all ranks in an epoch")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--warm-up", type=int, default=10, help="steps before the clock starts")
    parser.add_argument("--fused", action="store_true", help="the optimizer's one kernel")
    parser.add_argument("--compile", action="store_true", help="torch.compile, while warming up")
    parser.add_argument("--channels-last", action="store_true", help="the other layout of images and weights")
    parser.add_argument("--bucket-mb", type=float, default=25, help="of DistributedDataParallel")
    parser.add_argument("--views", action="store_true", help="gradients are views of its buckets")
    parser.add_argument("--static-graph", action="store_true", help="it is told that no step differs")
    options = parser.parse_args()
    rank, ranks = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    allowed = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {allowed[rank % len(allowed)]})  # as mpirun --bind-to core
    torch.set_num_threads(1)
    if ranks > 1:
        dist.init_process_group("gloo")
    seconds = train(options, rank, ranks)
    if rank == 0:
        print(json.dumps({"torch": torch.__version__, "seconds": seconds}))
    if ranks > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
