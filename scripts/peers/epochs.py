# SPDX-License-Identifier: Apache-2.0
# Whole epochs of bench_epoch stand beside the same models in Python's PyTorch, alone and as DistributedDataParallel
# over gloo, one core a rank, strong scaling. With --best both run under every setting that might make them faster,
# PyTorch under more. The Python needs torch of the LibTorch that the suite was built with (Debian: python3-torch).
from __future__ import annotations

import argparse

from peers import harness
from peers.harness import Failed, Leg, Ratio, Rows, Times, one_row, printed_rows, require_known, started_as, words_of
from peers.processes import say
from peers.pytorch.legs import require_torch, torch_leg

WHAT = "epochs of this suite beside Python's PyTorch, alone and with DDP over gloo"
OURS = ["bench_epoch"]
# A model's work is its data set, the images of all ranks in a step and in an epoch, and steps of warm-up.
WORK = {
    "mlp": ("fashion-mnist", 256, 60000, 10),
    "mnist_cnn": ("fashion-mnist", 128, 3840, 5),
    "resnet20": ("fashion-mnist", 128, 1920, 5),
    "resnet18": ("synthetic:128", 16, 32, 2),
}
STRATEGY = "--gradient-sync mirrored --transport shared_memory --allreduce direct"
# torch and plain are loops without synchronisation on one rank; together is plain on all at once.
SYNCS = {"plain": "none", "one_device": "one_device", "together": "none"}
LEGS = ("torch", "ddp", *SYNCS, "sync")
ON_ONE_RANK = ("torch", "plain", "one_device")
AS_WRITTEN = "as written"
COMPILED = {
    "fused, compiled": "--compile default",
    "fused, compiled, channels last": "--compile default --channels-last",
}
# Options are those of pytorch/train.py, or of bench_epoch. torch.compile does not go with a static graph.
SETTINGS = {
    "torch": {"fused": "", "fused, channels last": "--channels-last", **COMPILED},
    "ddp": {
        "fused, static graph": "--views --static-graph",
        "fused, static graph, channels last": "--views --static-graph --channels-last",
        "fused, static graph, buckets of 1 MB": "--views --static-graph --bucket-mb 1",
        "fused, static graph, one bucket": "--views --static-graph --bucket-mb 1000",
        **{name: f"--views {words}" for name, words in COMPILED.items()},
    },
}
OUR_SETTINGS = {"channels last": "--channels-last yes"}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--python", default="/usr/bin/python3", help="interpreter that has torch")
    parser.add_argument("--models", default=",".join(WORK), help="comma-separated")
    parser.add_argument("--sync", type=words_of, default=STRATEGY, help="bench_epoch's options of the strategy")
    parser.add_argument("--best", action="store_true", help="both under every setting, and each one's fastest counts")


def settings_of(options: argparse.Namespace, leg: str) -> dict[str, list[str]]:
    if not options.best:
        return {AS_WRITTEN: []}
    more = {name: ["--fused", *words.split()] for name, words in SETTINGS[leg].items()} if leg in SETTINGS else {
        name: words.split() for name, words in OUR_SETTINGS.items()}  # fmt: skip
    return {AS_WRITTEN: []} | more


def way(leg: str, setting: str) -> str:
    return leg if setting == AS_WRITTEN else f"{leg}: {setting}"


def leg_of(options: argparse.Namespace, model: str, leg: str, setting: str, words: list[str]) -> Leg:
    data, batch, samples, warm_up = WORK[model]
    ranks, name = 1 if leg in ON_ONE_RANK else options.ranks, way(leg, setting)
    work = ["--model", model, "--data", data, "--samples", str(samples)]
    if leg in SETTINGS:
        more = ["--batch-per-rank", str(batch // ranks), "--warm-up", str(warm_up), *words]
        return torch_leg(options, model, name, work + more, ranks)
    sync = ["--gradient-sync", SYNCS[leg]] if leg in SYNCS else options.sync
    command = [
        "mpirun", "--bind-to", "core", "-np", str(ranks), started_as(options.programs / "bench_epoch"), *work,
        "--global-batch", str(batch), "--warmup-steps", str(warm_up), *sync,
        "--no-evaluation", "--device", "cpu", "--quiet", "--format", "json", *words,
    ]  # fmt: skip
    read = lambda text, _: Times({(model, name): float(one_row(printed_rows(text))["seconds"])})  # noqa: E731
    return Leg(f"{model} {name}", command, read)


def legs_of(options: argparse.Namespace) -> tuple[list[list[Leg]], list[Ratio]]:
    models = list(dict.fromkeys(options.models.split(",")))
    require_known("model", models, WORK)
    if options.ranks < 2:
        raise Failed(f"--ranks {options.ranks}: must be at least 2")
    for model in models:
        if WORK[model][1] % options.ranks:
            raise Failed(f"--ranks {options.ranks} does not divide the {WORK[model][1]} images of a step of {model}")
    require_torch(options.python)
    settings = {leg: settings_of(options, leg) for leg in LEGS}
    ways = {leg: [way(leg, setting) for setting in settings[leg]] for leg in LEGS}
    groups = [[leg_of(options, model, leg, setting, words) for leg in LEGS for setting, words in settings[leg].items()]
              for model in models]  # fmt: skip

    def ratio(model: str, name: str, theirs: str, ours: str, factor: float = 1) -> Ratio:
        return Ratio(name, ways[theirs], ways[ours], model, factor)

    return groups, [
        made for model in models for made in (
            ratio(model, "plain loop beside PyTorch's", "torch", "plain"),
            ratio(model, "one_device beside PyTorch's", "torch", "one_device"),
            ratio(model, "efficiency", "one_device", "sync", 1 / options.ranks),
            ratio(model, "efficiency of DDP", "torch", "ddp", 1 / options.ranks),
            ratio(model, "without synchronisation", "together", "sync"),
            ratio(model, "DDP", "ddp", "sync"),
        )
    ]  # fmt: skip


def print_table(rows: Rows) -> None:
    harness.print_table(rows)
    say("# efficiency: seconds of one rank over those of all, and over how many they are; 1 is all that can be")
