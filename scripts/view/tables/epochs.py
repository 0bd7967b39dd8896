# SPDX-License-Identifier: Apache-2.0
# The report's table of epochs of a run without a scaling study, from epoch.csv: scaling.csv is not there.
from __future__ import annotations

from pathlib import Path

from view import intervals
from view.cases import apart, by_workload, how
from view.numbers import duration, percent, three_digits
from view.page import Html, element, section, table
from view.rows import Row, read_rows, usable
from view.tables.cells import not_measured, number, with_interval

HEAD = ("strategy", "N", "origin", "epoch", "images/s", "epochs", "loss", "accuracy")


def without_scaling(run: Path) -> list[Row]:
    """Rows of all ranks together; none where scaling.csv has its own."""
    if usable(read_rows(run, "scaling.csv")):
        return []
    return [row for row in usable(read_rows(run, "epoch.csv")) if row["rank"] == "all"]


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
             with_interval(row, duration(row.number("seconds_median")), "seconds_ci_low", "seconds_ci_high", duration),
             three_digits(row.number("images_per_s")), row["epochs"], three_digits(row.number("train_loss")),
             number(row, "test_accuracy", percent)]
            for row in group
        ]  # fmt: skip
        shown = table(HEAD, cells, numbers=(1, 3, 4, 5, 6, 7), weak=not_measured(group), rest="epoch.csv")
        parts += [element("h3", title), shown]
    return section("Epochs", *parts)
