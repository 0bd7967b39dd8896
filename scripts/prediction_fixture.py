#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# A made-up run whose truth is known, for `scalebench predict`: a ring over links of 1 Gbit/s with
# 100 us a step, epochs of mirrored and bucketed_overlap on 1 to 4 nodes that follow from it and from
# one profiled step. `scripts/prediction_fixture.py FOLDER [--noise 0.01]` writes one to look at.
from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable
from pathlib import Path

from large_run_fixture import write
from run_fixture import COLUMNS, write_manifest

ALPHA, BETA = 100e-6, 8e-9
BATCH, SAMPLES, LAUNCHES = 32, 38400, 3
LAYERS = [("conv1", 0.012, 0.020, [9408]), ("layer1", 0.030, 0.055, [1_200_000, 64]), ("fc", 0.003, 0.006, [513_000])]
LOAD, UPDATE, HOST = 0.002, 0.004, 0.001
FIRST_BUCKET = 1 << 20
PARAMETERS = sum(sum(gradients) for _, _, _, gradients in LAYERS)
FORWARD, BACKWARD = (sum(layer[place] for layer in LAYERS) for place in (1, 2))
STEP = LOAD + FORWARD + BACKWARD + UPDATE + HOST


def allreduce(size: float, ranks: int) -> float:
    """Seconds of a ring."""
    return 2 * (ranks - 1) * (ALPHA + BETA * size / ranks) if ranks > 1 else 0.0


def mirrored(ranks: int) -> float:
    """Seconds of communication that are not hidden."""
    return allreduce(4 * PARAMETERS, ranks)


def bucketed(ranks: int) -> float:
    end, now, size, buckets = 0.0, 0.0, 0, 0
    for _, _, backward, gradients in reversed(LAYERS):
        now += backward
        for count in reversed(gradients):
            size += 4 * count
            if buckets == 0 and size >= FIRST_BUCKET:
                end, size, buckets = max(end, now) + allreduce(size, ranks), 0, 1
    end = max(end, now) + allreduce(size, ranks)  # below 25 MiB: all the rest is one bucket
    return max(0.0, end - BACKWARD)


SYNCS: dict[str, Callable[[int], float]] = {"one_device": lambda _: 0.0, "mirrored": mirrored,
                                            "bucketed_overlap": bucketed}  # fmt: skip


def trace(model: str, noisy: Callable[[float], float]) -> str:
    layers = [{"name": name, "forward_seconds": forward, "backward_seconds": backward, "gradients": gradients}
              for name, forward, backward, gradients in LAYERS]  # fmt: skip
    return json.dumps({
        "schema_version": 1, "model": model, "parameters": PARAMETERS, "batch": BATCH, "device": "cpu", "dtype": "float",
        "threads": 1, "steps": 5, "layers": layers, "load_seconds": LOAD, "update_seconds": UPDATE, "host_seconds": HOST,
        "step_seconds": [noisy(STEP) for _ in range(5)],
    })  # fmt: skip


def epoch_row(model: str, sync: str, ranks: int, noisy: Callable[[float], float]) -> dict[str, object]:
    steps = SAMPLES // (BATCH * ranks)
    exposed = SYNCS[sync](ranks)
    return {
        "case_id": f"{model}-{sync}"[:12].ljust(12, "0"), "model": model, "parameters": PARAMETERS, "gradient_sync": sync,
        "allreduce": "ring" if ranks > 1 else "", "transport": "mpi" if ranks > 1 else "", "device": "cpu",
        "dtype": "float", "threads": 1, "dataset": "synthetic", "scaling": "weak", "global_batch": BATCH * ranks,
        "batch": BATCH, "optimizer": "sgd", "learning_rate": 0.1, "epochs": 1, "ranks": ranks, "workers": ranks,
        "nodes": ranks, "rank": "all", "launches": 1, "repetitions": 1, "seconds_median": noisy(steps * (STEP + exposed)),
        "samples": steps * BATCH * ranks, "compute_seconds": steps * (FORWARD + BACKWARD + UPDATE),
        "transfer_seconds": steps * exposed, "wait_seconds": 0, "wait_static_seconds": 0, "wait_jitter_seconds": 0,
        "input_seconds": steps * LOAD, "evaluation_seconds": 0, "host_seconds": steps * HOST, "hidden_seconds": 0,
        "share_of": 1,
    }  # fmt: skip


def allreduce_row(size: int, ranks: int, noisy: Callable[[float], float]) -> dict[str, object]:
    return {
        "case_id": f"{size:012x}", "algorithm": "ring", "transport": "mpi", "memory": "host", "dtype": "float",
        "op": "sum", "placement": "in_place", "mode": "isolated", "cache": "warm", "size_bytes": size,
        "count": size // 4, "ranks": ranks, "nodes": ranks, "launches": 1, "repetitions": 30,
        "seconds_median": noisy(allreduce(size, ranks)), "interval": "",
    }  # fmt: skip


def write_run(run: Path, noise: float = 0.0, model: str = "resnet8") -> None:
    randomness = random.Random(1)

    def noisy(seconds: float) -> float:
        return seconds * randomness.gauss(1, noise) if noise > 0 else seconds

    common = {"schema_version": 1, "run_id": run.name, "origin": "measured", "status": "ok"}
    number = 0
    for _ in range(LAUNCHES):
        for ranks in (1, 2, 3, 4):
            cases = [("one_device", 1)] if ranks == 1 else [("mirrored", ranks), ("bucketed_overlap", ranks)]
            for sync, n in cases:
                number += 1
                folder = run / "launches" / f"{number:03}-epoch-{model}-{sync}-weak-n{n}"
                write(folder / "epoch.csv", COLUMNS["epoch.csv"], [common | epoch_row(model, sync, n, noisy)])
                if ranks == 1:
                    (folder / "trace.json").write_text(trace(model, noisy), encoding="utf-8")
            if ranks > 1:
                number += 1
                rows = [common | allreduce_row(1 << power, ranks, noisy) for power in range(10, 27, 2)]
                write(run / "launches" / f"{number:03}-allreduce-n{ranks}" / "allreduce.csv", COLUMNS["allreduce.csv"], rows)
    tool = {"version": "0", "commit": None, "dirty": None, "binaries": {}}
    write_manifest(run, schema_version=1, command=["scalebench", "run"], config="", tool=tool, launches=[], files={})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="a made-up run whose truth is known")
    parser.add_argument("run", type=Path)
    parser.add_argument("--noise", type=float, default=0.0)
    write_run(**vars(parser.parse_args()))
