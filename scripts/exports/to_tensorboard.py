#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The trainings of a run for TensorBoard: loss and accuracy over epochs, and the seconds of each, one series a launch.
#     python3 scripts/exports/to_tensorboard.py results/RUN --logdir logs && tensorboard --logdir logs
# Needs TensorBoard (pip install tensorboard), whose own writer it uses. Exit: 0 done, 2 usage, or nothing to write.
from __future__ import annotations

import argparse
import csv
import json
import sys
from collections import defaultdict
from datetime import datetime
from pathlib import Path
from typing import Any

TAGS = {"train_loss": "loss/train", "test_loss": "loss/test", "test_accuracy": "accuracy/test", "seconds": "epoch/seconds"}


def series_of(run: Path) -> dict[str, list[dict[str, str]]]:
    """The epochs of each launch, by "mlp, mirrored, N=2, global batch 256/launch 4"."""
    series = defaultdict(list)
    with open(run / "accuracy.csv", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            batch = f"global batch {row['global_batch']}" if row["scaling"] == "strong" else "weak"
            series[f"{row['model']}, {row['gradient_sync']}, N={row['ranks']}, {batch}/launch {row['launch']}"].append(row)
    return dict(series)


def started(run: Path) -> float:
    """Seconds since 1970."""
    text = json.loads((run / "manifest.json").read_text(encoding="utf-8"))["started_utc"]
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def write_series(folder: Path, rows: list[dict[str, str]], begin: float, writer: Any, proto: Any) -> int:
    """Returns how many values were written."""
    out = writer(str(folder))
    written = 0
    for row in rows:
        values = [proto.Summary.Value(tag=tag, simple_value=float(row[name])) for name, tag in TAGS.items() if row[name]]
        written += len(values)
        when = begin + float(row["seconds_so_far"] or 0)
        out.add_event(proto.Event(wall_time=when, step=int(row["epoch"]), summary=proto.Summary(value=values)))
    out.close()
    return written


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="write the trainings of a run for TensorBoard")
    parser.add_argument("run", type=Path, help="results/RUN, with accuracy.csv")
    parser.add_argument("--logdir", type=Path, required=True, help="what tensorboard --logdir is given")
    words = parser.parse_args(arguments)
    try:
        from tensorboard.compat.proto import event_pb2, summary_pb2
        from tensorboard.summary.writer.event_file_writer import EventFileWriter
    except ImportError as error:
        parser.error(f"{error}: needs TensorBoard (pip install tensorboard) in this python3")
    proto = argparse.Namespace(Summary=summary_pb2.Summary, Event=event_pb2.Event)
    try:
        series, begin = series_of(words.run), started(words.run)
    except (OSError, KeyError, ValueError) as error:
        parser.error(f"{words.run}: no run with accuracy.csv and manifest.json: {error}")
    written = sum(write_series(words.logdir / words.run.name / name, rows, begin, EventFileWriter, proto) for name, rows in series.items())
    print(f"{len(series)} trainings, {written} values: tensorboard --logdir {words.logdir}")
    return 0 if written else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
