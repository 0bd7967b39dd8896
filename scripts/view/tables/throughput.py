# SPDX-License-Identifier: Apache-2.0
# The report's table of training steps without synchronisation, from throughput.csv.
from __future__ import annotations

from pathlib import Path

from view import intervals
from view.numbers import duration, percent
from view.page import Html, element, section, table
from view.rows import read_rows, usable
from view.tables.cells import not_measured, number, with_interval


def throughput(run: Path) -> Html:
    rows = [row for row in usable(read_rows(run, "throughput.csv")) if row["rank"] == "all"]
    if not rows:
        return Html("")
    cells = [
        [
            row["model"], row["device"], row["batch"], row.ranks(), row["origin"],
            number(row, "images_per_s"),
            duration(row.number("seconds_median")),
            with_interval(row, percent(row.number("relative_to_one_rank")), "relative_ci_low", "relative_ci_high",
                          percent),
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
    relative = "interval over rounds" if any(row["relative_ci_low"] for row in rows) else ""
    rate = intervals.told(rows, "images_per_s_ci_low", "interval")
    words = "Training steps without synchronisation, all ranks at once: what contention alone leaves."
    words += intervals.in_brackets({"images/s": rate, "the share of the single rank": relative})
    shown = table(
        head, cells, numbers=[2, 3, 5, 6, 7], weak=not_measured(rows), rest="throughput.csv"
    )
    return section("Throughput", element("p", words, css="muted"), shown)
