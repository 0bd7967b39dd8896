#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# How well does `scalebench predict` do? For each recorded step and each rate: a cluster in a box, allreduces
# and replayed epochs on 1 to 4 hosts, and the error of the prediction on 4, which it is fitted without.
# prediction_error.py FOLDER [--traces FILE...] [--rates 1gbit 250mbit]; needs root, as scripts/cluster does.
# Exit: 0 all within --within, 1 some are not, 2 usage, 3 something could not be measured or predicted.
from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from view.rows import Row, read_rows

SCRIPTS = Path(__file__).resolve().parent
HOSTS = 4
# Recorded when no traces are given: small batches, whose steps are about as long as their allreduces.
MODELS = {"mnist_cnn": 128, "resnet20": 16, "resnet18": 4}
STUDY = """
[study]
name = "prediction"
launches = {launches}
layouts = ["1x1", "2x1", "3x1", "4x1"] # hosts x ranks of each
device = "cpu"
monitor = false

[allreduce]
algorithms = ["ring"]
transport = "mpi"
min = "16KiB"
max = "64MiB"
factor = 4
max_seconds = 2

[[epoch]]
model = "replay:{trace}"
dilation = {dilation}
gradient_syncs = ["mirrored", "bucketed_overlap"]
transport = "mpi"
allreduce = "ring"
scaling = "weak"
samples = {samples}
evaluate = false
"""


class Failed(Exception):
    pass


def call(*words: object) -> None:
    print("$", *words, file=sys.stderr, flush=True)
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise Failed(f"{words[0]} ended with {done.returncode}")


def recorded(programs: Path, folder: Path) -> list[Path]:
    """One step of each of MODELS on one core of this machine."""
    traces = []
    for model, batch in MODELS.items():
        trace = folder / f"{model}.json"
        if not trace.exists():
            call(programs / "bench_epoch", "--model", model, "--data-dir", f"synthetic:{4 * batch}", "--global-batch", batch,
                 "--samples", 4 * batch, "--no-evaluation", "--device", "cpu", "--gradient-sync", "one_device", "--record-trace", trace, "--quiet")  # fmt: skip
        traces.append(trace)
    return traces


def measured(words: argparse.Namespace, trace: Path, rate: str) -> Path:
    """A run of this trace over links of that rate; one that is complete is used as it is."""
    run = words.folder / f"{trace.stem}-{rate}"
    if (run / "COMPLETE").exists():
        return run
    # As many steps on every N of 1 to 4 that 12 can be divided by.
    samples = 12 * words.steps * json.loads(trace.read_text(encoding="utf-8"))["batch"]
    config = words.folder / f"{run.name}.toml"
    config.write_text(STUDY.format(launches=words.launches, trace=trace, dilation=words.dilation, samples=samples), encoding="utf-8")
    cluster = SCRIPTS / "cluster"
    call(cluster, "up", "--name", "predict", "--hosts", HOSTS, "--slots", 1, "--rate", rate)
    try:
        call(cluster, "run", "--name", "predict", "--", words.programs / "scalebench", "run", config, "--out", run, "--no-figures")
    finally:
        call(cluster, "down", "--name", "predict")
    return run


def predicted(words: argparse.Namespace, run: Path) -> list[Row]:
    out = words.folder / "predictions" / run.name
    if not (out / "prediction.csv").exists():
        call(words.programs / "scalebench", "predict", run, "--ranks", "8,16", "--out", out)
    return [row for row in read_rows(out, "prediction.csv") if row["kind"] == "check"]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="the error of predictions on the largest N of a cluster in a box")
    parser.add_argument("folder", type=Path, help="for traces, runs and predictions; what is there is not made again")
    parser.add_argument("--traces", type=Path, nargs="+", help="recorded steps; default: " + ", ".join(MODELS))
    parser.add_argument("--rates", nargs="+", default=["1gbit", "250mbit"])
    parser.add_argument("--dilation", type=float, default=1.0)
    parser.add_argument("--steps", type=int, default=4, help="12 times as many on one host; default: 4")
    parser.add_argument("--launches", type=int, default=2)
    parser.add_argument("--within", type=float, default=10.0, help="per cent; default: 10")
    parser.add_argument("--programs", type=Path, default=SCRIPTS.parent / "build/release/bin")
    words = parser.parse_args(arguments)
    words.folder = words.folder.resolve()
    words.programs = words.programs.resolve()
    words.folder.mkdir(parents=True, exist_ok=True)
    try:
        traces = [trace.resolve() for trace in words.traces or recorded(words.programs, words.folder)]
        rows = [(trace.stem, rate, row) for trace in traces for rate in words.rates
                for row in predicted(words, measured(words, trace, rate))]  # fmt: skip
    except (Failed, OSError, KeyError, ValueError) as error:
        print(f"prediction_error.py: {error}", file=sys.stderr)
        return 3
    print("| trace | rate | sync | N | | measured (ms) | predicted (ms) | error |\n|---|---|---|---|---|---|---|---|")
    for trace, rate, row in rows:
        times = [f"{1000 * row.number(name):.2f}" for name in ("measured_step_seconds", "step_seconds")]
        kind = "held out" if row["held_out"] == "1" else "fitted"
        print("|", " | ".join([trace, rate, row["gradient_sync"], row["ranks"], kind, *times, f"{100 * row.number('error'):+.1f} %"]), "|")
    held_out = [row for _, _, row in rows if row["held_out"] == "1"]
    inside = [row for row in held_out if abs(row.number("error")) <= words.within / 100]
    print(f"\n{len(inside)} of {len(held_out)} held-out steps within {words.within:g} %")
    if not held_out or any(row["status"] != "ok" for _, _, row in rows):
        return 3
    return 0 if len(inside) == len(held_out) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
