# SPDX-License-Identifier: Apache-2.0
# How well does `scalebench predict` do? Recorded steps are replayed at each rate in a cluster in a box, on 1 to 4 hosts,
# and the time on 4 is predicted without it. Printed and written: each error, how many measured values lie in their band,
# and the mean error. scripts/error_rates predictions FOLDER [--traces FILE...] [--rates 1gbit 250mbit]; needs root, as scripts/cluster does.
# Exit: 0 all within --within, 1 some are not, 2 usage, 3 something could not be measured or predicted.
from __future__ import annotations

import argparse
import csv
import json
import math
import statistics
import subprocess
import sys
from pathlib import Path

from view.rows import Row, read_rows

SCRIPTS = Path(__file__).resolve().parents[1]
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
max = "16MiB"
factor = 4
max_seconds = 0.5
"""
EPOCH = """
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
            call(programs / "bench_epoch", "--model", model, "--data", f"synthetic:{4 * batch}", "--global-batch", batch,
                 "--samples", 4 * batch, "--no-evaluation", "--device", "cpu", "--gradient-sync", "one_device", "--record-trace", trace, "--quiet")  # fmt: skip
        traces.append(trace)
    return traces


def epoch_of(words: argparse.Namespace, trace: Path) -> str:
    """Its part of a study: about so many seconds on one host, and as many steps on every N that 12 can be divided by."""
    recorded = json.loads(trace.read_text(encoding="utf-8"))
    step = words.dilation * statistics.median(recorded["step_seconds"])
    samples = 12 * max(1, round(words.seconds / (12 * step))) * recorded["batch"]
    return EPOCH.format(trace=trace, dilation=words.dilation, samples=samples)


def measured(words: argparse.Namespace, traces: list[Path], rate: str) -> Path:
    """A run of all traces over links of that rate; one that is complete is used as it is."""
    run = words.folder / rate
    if (run / "COMPLETE").exists():
        return run
    config = words.folder / f"{rate}.toml"
    epochs = "".join(epoch_of(words, trace) for trace in traces)
    config.write_text(STUDY.format(launches=words.launches) + epochs, encoding="utf-8")
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
        call(words.programs / "scalebench", "predict", run, "--ranks", "8,16", "--out", out, "--no-figures")
    return [row for row in read_rows(out, "prediction.csv") if row["kind"] == "check"]


PARTS = ["error_compute", "error_exposed", "error_wait", "error_other"]
CASE = ["model", "rate", "gradient_sync", "ranks", "held_out", "status", "note", "measured_step_seconds", "step_seconds",
        "step_seconds_low", "step_seconds_high", "error", "inside", *PARTS, "band"]  # fmt: skip


def student_t(degrees: int) -> float:
    """What 95 % of Student's t stay below in size: the density summed until 0.475, without a library for it."""
    if degrees < 1:
        return math.nan
    norm = math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)) / math.sqrt(degrees * math.pi)
    step, t, area = 1e-4, 0.0, 0.0
    while area < 0.475:
        area += step * norm * (1 + (t + step / 2) ** 2 / degrees) ** (-(degrees + 1) / 2)
        t += step
    return t


def share(inside: int, of: int) -> tuple[float, float, float]:
    """With Wilson's 95 % interval, which stays within 0 and 1 also where all are inside."""
    if of == 0:
        return math.nan, math.nan, math.nan
    z, p = 1.959964, inside / of
    middle, half = (p + z * z / (2 * of)), z * math.sqrt(p * (1 - p) / of + z * z / (4 * of * of))
    scale = 1 + z * z / of
    return p, max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)


def mean(values: list[float]) -> tuple[float, float, float]:
    """With its 95 % interval by Student's t; none from fewer than two."""
    if not values:
        return math.nan, math.nan, math.nan
    centre = statistics.fmean(values)
    if len(values) < 2:
        return centre, math.nan, math.nan
    half = student_t(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return centre, centre - half, centre + half


def summary(held_out: list[Row]) -> list[dict[str, object]]:
    """Coverage and mean error of the steps that were held out, and of each part of them."""
    known = [row for row in held_out if row["inside"] != ""]
    inside = sum(row["inside"] == "1" for row in known)
    rows = [("coverage", *share(inside, len(known)), len(known), "Wilson", "")]
    for name in ["error", *PARTS]:
        values = [row.number(name) for row in held_out if row[name] != ""]
        rows.append((f"mean_{name}", *mean(values), len(values), "Student's t", ""))
    below = sum(row.number("error") < 0 for row in held_out)
    rows.append(("share_below_0", *share(below, len(held_out)), len(held_out), "Wilson", ""))
    names = ("quantity", "value", "low", "high", "cases", "interval", "note")
    table = [dict(zip(names, row)) for row in rows]
    for row in table:
        if row["cases"] == 0:
            row["note"] = "no case has it"
        elif math.isnan(row["low"]):
            row["note"] = "one case has no interval"
    return table


def held_out_of(cases: list[Row]) -> list[Row]:
    return [row for row in cases if row["held_out"] == "1" and row["status"] == "ok"]


def outcome(cases: list[Row], within: float) -> tuple[str, int]:
    """For people, and whether every held-out step was predicted that well; 3: there is one without a prediction, or none."""
    held_out = held_out_of(cases)
    inside = [row for row in held_out if abs(row.number("error")) <= within / 100]
    text = f"{len(inside)} of {len(held_out)} held-out steps within {within:g} %"
    if not held_out or any(row["status"] != "ok" for row in cases):
        return text, 3
    return text, 0 if len(inside) == len(held_out) else 1


def write(path: Path, columns: list[str], rows: list[dict[str, object]]) -> None:
    """A number that is not known is an empty cell."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            unknown = {name for name, cell in row.items() if isinstance(cell, float) and math.isnan(cell)}
            writer.writerow({name: "" if name in unknown else cell for name, cell in row.items()})


def per_cent(values: dict[str, object]) -> str:
    if math.isnan(values["value"]):
        return f"unknown: {values['note']}"
    interval = "" if math.isnan(values["low"]) else f" [{100 * values['low']:+.1f}, {100 * values['high']:+.1f}]"
    return f"{100 * values['value']:+.1f} %{interval} over {values['cases']} cases"


def markdown(rows: list[tuple[str, Row]]) -> str:
    lines = ["| model | rate | sync | N | | measured (ms) | predicted (ms) | band (ms) | error | inside |", "|---" * 10 + "|"]
    for rate, row in rows:
        kind = "held out" if row["held_out"] == "1" else "fitted"
        if row["status"] != "ok":
            lines.append(f"| {row['model']} | {rate} | {row['gradient_sync']} | {row['ranks']} | not predicted | | | | {row['note']} | |")
            continue
        measured_ms, predicted_ms, low, high = (f"{1000 * row.number(name):.2f}" for name in
            ("measured_step_seconds", "step_seconds", "step_seconds_low", "step_seconds_high"))  # fmt: skip
        cells = [row["model"], rate, row["gradient_sync"], row["ranks"], kind, measured_ms, predicted_ms, f"{low} to {high}",
                 f"{100 * row.number('error'):+.1f} %", {"1": "yes", "0": "no"}.get(row["inside"], "")]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="the error of predictions on the largest N of a cluster in a box")
    parser.add_argument("folder", type=Path, help="for traces, runs and predictions; what is there is not made again")
    parser.add_argument("--traces", type=Path, nargs="+", help="recorded steps; default: " + ", ".join(MODELS))
    parser.add_argument("--rates", nargs="+", default=["1gbit", "250mbit"])
    parser.add_argument("--dilation", type=float, default=1.0)
    parser.add_argument("--seconds", type=float, default=3, help="of an epoch on one host, about; default: 3")
    parser.add_argument("--launches", type=int, default=3)
    parser.add_argument("--within", type=float, default=10.0, help="per cent; default: 10")
    parser.add_argument("--programs", type=Path, default=SCRIPTS.parent / "build/release/bin")
    words = parser.parse_args(arguments)
    words.folder = words.folder.resolve()
    words.programs = words.programs.resolve()
    words.folder.mkdir(parents=True, exist_ok=True)
    try:
        traces = [trace.resolve() for trace in words.traces or recorded(words.programs, words.folder)]
        rows = [(rate, row) for rate in words.rates for row in predicted(words, measured(words, traces, rate))]
    except (Failed, OSError, KeyError, ValueError) as error:
        print(f"error_rates predictions: {error}", file=sys.stderr)
        return 3
    cases = [row for _, row in rows]
    said = summary(held_out_of(cases))
    write(words.folder / "prediction_error.csv", CASE,
          [{name: rate if name == "rate" else row[name] for name in CASE} for rate, row in rows])  # fmt: skip
    write(words.folder / "prediction_error_summary.csv", list(said[0]), said)
    print(markdown(rows) + "\n")
    for one in said:
        print(f"{one['quantity']}: {per_cent(one)}")
    text, code = outcome(cases, words.within)
    print(text)
    return code
