# SPDX-License-Identifier: Apache-2.0
# The report's table of epochs of a run without a scaling study, from epoch.csv: scaling.csv is not there.
from __future__ import annotations

import math
from pathlib import Path

from scalebench import intervals
from scalebench.cases import apart, by_workload, how
from scalebench.numbers import duration, percent, three_digits
from scalebench.pages.page import Html, element, section, table
from scalebench.rows import Row, read_rows, usable
from scalebench.pages.tables.cells import not_measured, with_interval

HEAD = ("strategy", "N", "origin", "epoch", "images/s", "epochs", "accuracy")


def without_scaling(run: Path) -> list[Row]:
    """Its rows; none where scaling.csv has its own."""
    if usable(read_rows(run, "scaling.csv")):
        return []
    return usable(read_rows(run, "epoch.csv"))


def images_per_s(row: Row) -> float:
    return row.number("samples") / (row.number("seconds") or math.nan)


def epochs(run: Path) -> Html:
    rows = without_scaling(run)
    if not rows:
        return Html("")
    more = apart(rows)
    words = "Epochs as they were timed; this run has no speedups. Accuracy: after the last epoch."
    words += intervals.in_brackets({"the epoch": intervals.told(rows, "seconds_ci_low", "interval")})
    parts: list[object] = [element("p", words, css="muted")]
    for title, group in by_workload(rows).items():
        cells = [
            [how(row, *more), row.ranks(), row["origin"],
             with_interval(row, duration(row.number("seconds")), "seconds_ci_low", "seconds_ci_high", duration),
             three_digits(images_per_s(row)), row["repetitions"], percent(row.number("test_accuracy"))]
            for row in group
        ]  # fmt: skip
        shown = table(HEAD, cells, numbers=(1, 3, 4, 5, 6), weak=not_measured(group), rest="epoch.csv")
        parts += [element("h3", title), shown]
    return section("Epochs", *parts)
