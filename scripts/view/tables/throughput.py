# SPDX-License-Identifier: Apache-2.0
# The report's table of training steps without synchronisation, from throughput.csv.
from __future__ import annotations

from pathlib import Path

from view.numbers import duration, percent, three_digits
from view.page import Html, element, section, table
from view.rows import read_rows, usable
from view.tables.cells import not_measured, with_interval


def throughput(run: Path) -> Html:
    rows = [row for row in usable(read_rows(run, "throughput.csv")) if row["rank"] == "all"]
    if not rows:
        return Html("")
    cells = [
        [
            row["model"], row["device"], row["batch"], row.ranks(), row["origin"],
            with_interval(row, "rate", three_digits(row.number("images_per_s")), "images_per_s_ci_low",
                          "images_per_s_ci_high"),
            duration(row.number("seconds_median")),
            percent(row.number("relative_to_one_rank")),
        ]
        for row in rows
    ]  # fmt: skip
    head = [
        "model",
        "device",
        "batch per rank",
        "N",
        "origin",
        "images/s, all ranks",
        "step",
        "of the single rank",
    ]
    words = (
        "Training steps without synchronisation, all ranks at once: what contention alone leaves."
    )
    shown = table(
        head, cells, numbers=[2, 3, 5, 6, 7], weak=not_measured(rows), rest="throughput.csv"
    )
    return section("Throughput", element("p", words, css="muted"), shown)
