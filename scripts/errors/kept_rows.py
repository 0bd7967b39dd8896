# SPDX-License-Identifier: Apache-2.0
# The rows that a run has flushed, wherever they are by now: in the run's own file, in that of the launch that wrote them, or
# in the folder of a launch that was given up. What was there before a kill must be there after it, and count once.
from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

# By file: what tells a row from the others. When it was measured does not: the run counts its time from another moment.
COLUMNS = {
    "samples": ("launch", "case_id", "rank", "repetition", "seconds"),
    "accuracy": ("launch", "case_id", "epoch", "train_loss"),
}
REPETITION = ("launch", "case_id", "rank", "repetition")

Rows = dict[str, set[tuple[str, ...]]]


def whole_rows(path: Path) -> list[dict[str, str]]:
    """Without a last line that is being written; none where there is no file."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return []
    return list(csv.DictReader(io.StringIO(text[: text.rfind("\n") + 1])))


def flushed(run: Path, columns: Mapping[str, Sequence[str]] = COLUMNS) -> Rows:
    """By file, every whole row of it that this run or one of its launches has."""
    found: Rows = {}
    for name, wanted in columns.items():
        paths = [run / f"{name}.csv", *run.glob(f"launches/*/{name}.csv")]
        found[name] = {tuple(row.get(column) or "" for column in wanted) for path in paths for row in whole_rows(path)}
    return found


def lost(before: Rows, after: Rows) -> list[str]:
    """The rows that are not there any more, each as a line."""
    return [f"{name}: {' '.join(row)}" for name, rows in before.items() for row in sorted(rows - after.get(name, set()))]


def twice(run: Path) -> list[str]:
    """Repetitions that the run counts more than once."""
    count = Counter(tuple(row[column] for column in REPETITION) for row in whole_rows(run / "samples.csv"))
    return [" ".join(key) for key, times in count.items() if times > 1]
