# SPDX-License-Identifier: Apache-2.0
# compare_torch.py: whole epochs of bench_epoch beside the same models in Python's PyTorch, alone and
# as DistributedDataParallel over gloo, one core a rank, strong scaling. Each start runs every leg
# once, in random order; ratios are taken within a start, and their medians over the starts are
# printed with their range. With --best both run under every setting that might make them faster, PyTorch
# under more, and each one's fastest of the start counts. Everything measured stays in --out.
# Needs a Python with torch, of the LibTorch that the suite was built with (Debian: python3-torch).
# Exit: 0 done, 2 usage, 3 some legs failed.
from __future__ import annotations

import argparse
import csv
import json
import os
import random
import shlex
import socket
import statistics
import subprocess
import sys
from pathlib import Path

from compare.shared import (
    MPI_AS_ROOT,
    ROOT,
    last_line,
    require_models,
    require_new,
    require_programs,
    require_torch,
    write_rows,
)

REFERENCE = Path("scripts/compare/pytorch/epochs.py")
# Model: data set, images of all ranks in a step, and in an epoch, and steps of warm-up.
WORK = {
    "mlp": ("fashion-mnist", 256, 60000, 10),
    "mnist_cnn": ("fashion-mnist", 128, 3840, 5),
    "resnet20": ("fashion-mnist", 128, 1920, 5),
    "resnet18": ("synthetic:128", 16, 32, 2),
}
# torch and plain are loops without synchronisation on one rank; together is plain on all at once.
LEGS = ("torch", "ddp", "plain", "one_device", "together", "sync")
PYTORCHS = ("torch", "ddp")
AS_WRITTEN = "as written"
# Options of epochs.py, or of bench_epoch. torch.compile does not go with a static graph.
SETTINGS = {
    "torch": {
        AS_WRITTEN: [],
        "fused": ["--fused"],
        "fused, channels last": ["--fused", "--channels-last"],
        "fused, compiled": ["--fused", "--compile"],
        "fused, compiled, channels last": ["--fused", "--compile", "--channels-last"],
    },
    "ddp": {
        AS_WRITTEN: [],
        "fused, static graph": ["--fused", "--views", "--static-graph"],
        "fused, static graph, channels last": ["--fused", "--views", "--static-graph", "--channels-last"],
        "fused, static graph, buckets of 1 MB": ["--fused", "--views", "--static-graph", "--bucket-mb", "1"],
        "fused, static graph, one bucket": ["--fused", "--views", "--static-graph", "--bucket-mb", "1000"],
        "fused, compiled": ["--fused", "--views", "--compile"],
        "fused, compiled, channels last": ["--fused", "--views", "--compile", "--channels-last"],
    },
    **{leg: {AS_WRITTEN: [], "channels last": ["--channels-last", "yes"]} for leg in LEGS if leg not in PYTORCHS},
}


def arguments_of(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/compare_torch.py",
        description="epochs of this suite beside Python's PyTorch, alone and with DDP over gloo",
    )
    parser.add_argument("--programs", type=Path, default=ROOT / "build/release/bin")
    parser.add_argument("--python", default="/usr/bin/python3", help="interpreter that has torch")
    parser.add_argument("--models", default=",".join(WORK), help="comma-separated")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--starts", type=int, default=5, help="of every leg")
    parser.add_argument(
        "--sync",
        default="--gradient-sync mirrored --transport shared_memory --allreduce direct",
        help="bench_epoch's options of the strategy",
    )
    parser.add_argument("--best", action="store_true", help="both under every setting, and each one's fastest counts")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, help="a new folder")
    options = parser.parse_args(argv)
    options.models = options.models.split(",")
    require_models(parser, options.models, WORK)
    if options.ranks < 2:
        parser.error(f"--ranks {options.ranks}: must be at least 2")
    if indivisible := [model for model in options.models if WORK[model][1] % options.ranks]:
        model = indivisible[0]
        parser.error(f"--ranks {options.ranks} does not divide the {WORK[model][1]} images of a step of {model}")
    require_new(parser, options.out)
    require_programs(parser, options.programs, "bench_epoch")
    require_torch(parser, options.python)
    options.programs = Path(os.path.relpath(options.programs, ROOT))
    return options


def ranks_of(leg: str, options: argparse.Namespace) -> int:
    return 1 if leg in ("torch", "plain", "one_device") else options.ranks


def bench_command(options: argparse.Namespace, leg: str, model: str, setting: str = AS_WRITTEN) -> list[str]:
    data, batch, samples, warm_up = WORK[model]
    syncs = {"plain": "none", "together": "none", "one_device": "one_device"}
    sync = shlex.split(options.sync) if leg == "sync" else ["--gradient-sync", syncs[leg]]
    return [
        "mpirun", "--bind-to", "core", "-np", str(ranks_of(leg, options)),
        str(options.programs / "bench_epoch"), "--model", model, "--data", data,
        "--global-batch", str(batch), "--samples", str(samples), "--warmup-steps", str(warm_up), *sync,
        "--no-evaluation", "--device", "cpu", "--quiet", "--format", "json", *SETTINGS[leg][setting],
    ]  # fmt: skip


def torch_command(options: argparse.Namespace, leg: str, model: str, setting: str = AS_WRITTEN) -> list[str]:
    data, batch, samples, warm_up = WORK[model]
    return [
        options.python, str(REFERENCE), "--model", model, "--data", data,
        "--batch-per-rank", str(batch // ranks_of(leg, options)), "--samples", str(samples), "--warm-up", str(warm_up),
        *SETTINGS[leg][setting],
    ]  # fmt: skip


def run_bench(options: argparse.Namespace, leg: str, model: str, setting: str) -> float:
    done = subprocess.run(
        bench_command(options, leg, model, setting),
        cwd=ROOT, env={**MPI_AS_ROOT, **os.environ}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(last_line(done.stderr))
    (row,) = (json.loads(line) for line in done.stdout.splitlines() if line.startswith("{"))
    return float(row["seconds"])


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def run_torch(options: argparse.Namespace, leg: str, model: str, setting: str) -> float:
    ranks = ranks_of(leg, options)
    shared = {**os.environ, "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1"}
    shared |= {"MASTER_PORT": str(free_port()), "GLOO_SOCKET_IFNAME": "lo"}
    command = torch_command(options, leg, model, setting)
    processes = [
        subprocess.Popen(
            command, cwd=ROOT, env={**shared, "RANK": str(rank)}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        for rank in range(ranks)
    ]
    ended = [process.communicate() for process in processes]
    for process, (_, errors) in zip(processes, ended):
        if process.returncode != 0:
            raise RuntimeError(last_line(errors))
    return statistics.median(json.loads(ended[0][0])["seconds"])


def trials_of(options: argparse.Namespace) -> list[tuple[str, str]]:
    """What runs in a start: legs with their settings."""
    return [(leg, setting) for leg in LEGS for setting in (SETTINGS[leg] if options.best else [AS_WRITTEN])]


def ratios_of(seconds: dict[str, float], ranks: int) -> dict[str, float]:
    """Of one start, from the seconds of its legs."""
    return {
        "plain_vs_torch": seconds["torch"] / seconds["plain"],
        "one_device_vs_torch": seconds["torch"] / seconds["one_device"],
        "efficiency": seconds["one_device"] / (ranks * seconds["sync"]),
        "efficiency_ddp": seconds["torch"] / (ranks * seconds["ddp"]),
        "vs_unsynchronised": seconds["together"] / seconds["sync"],
        "time_vs_ddp": seconds["ddp"] / seconds["sync"],
    }


def summary_row(model: str, starts: list[dict[str, float]], ranks: int) -> dict[str, str]:
    """Medians over starts, with the range of each ratio."""
    row = {"model": model, "ranks": str(ranks), "starts": str(len(starts))}
    for leg in LEGS:
        row[f"{leg}_seconds"] = f"{statistics.median(start[leg] for start in starts):.4f}"
    ratios = [ratios_of(start, ranks) for start in starts]
    for name in ratios[0]:
        values = [ratio[name] for ratio in ratios]
        row[name] = f"{statistics.median(values):.3f}"
        row[f"{name}_low"], row[f"{name}_high"] = f"{min(values):.3f}", f"{max(values):.3f}"
    return row


def print_table(rows: list[dict[str, str]]) -> None:
    ratios = [name.removesuffix("_low") for name in rows[0] if name.endswith("_low")]
    print("model".rjust(10), *(name.rjust(26) for name in ratios))
    for row in rows:
        cells = (f"{row[name]} [{row[name + '_low']}, {row[name + '_high']}]" for name in ratios)
        print(row["model"].rjust(10), *(cell.rjust(26) for cell in cells))


def main(argv: list[str]) -> int:
    options = arguments_of(argv)
    options.out.mkdir(parents=True)
    shuffled = random.Random(options.seed)
    starts: dict[str, list[dict[str, float]]] = {model: [] for model in options.models}
    failed = 0
    with open(options.out / "samples.csv", "w", newline="", encoding="utf-8") as file:
        samples = csv.writer(file, lineterminator="\n")
        samples.writerow(["start", "model", "leg", "ranks", "seconds", "setting"])
        for number in range(options.starts):
            for model in options.models:
                seconds: dict[str, float] = {}
                trials = trials_of(options)
                for leg, setting in shuffled.sample(trials, len(trials)):
                    print(f"[{number + 1}/{options.starts}] {model} {leg} {setting}".rstrip(), file=sys.stderr)
                    try:
                        took = (run_torch if leg in PYTORCHS else run_bench)(options, leg, model, setting)
                    except RuntimeError as error:
                        failed += 1
                        print(f"compare_torch: {model} {leg} {setting}: {error}", file=sys.stderr)
                        continue
                    samples.writerow([number, model, leg, ranks_of(leg, options), f"{took:.6f}", setting])
                    file.flush()
                    seconds[leg] = min(took, seconds.get(leg, took))
                if len(seconds) == len(LEGS):
                    starts[model].append(seconds)
    rows = [summary_row(model, done, options.ranks) for model, done in starts.items() if done]
    if not rows:
        print("compare_torch: no start had all its legs", file=sys.stderr)
        return 3
    write_rows(options.out / "compare_torch.csv", rows[0], rows)
    print_table(rows)
    return 3 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
