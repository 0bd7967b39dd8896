# SPDX-License-Identifier: Apache-2.0
# The report's table of training steps without synchronisation, from throughput.csv.
from __future__ import annotations

from pathlib import Path

from view import intervals
from view.numbers import duration, percent
from view.page import Html, element, section, table
from view.rows import read_rows, usable
from view.tables.cells import not_measured, number, said_once, with_interval

# How a step was computed, and what the column is called.
WAY = {"dtype": "dtype", "memory_format": "memory format", "step": "step", "threads": "threads"}
NUMBERS = ("batch per rank", "threads", "N", "images/s, all ranks", "a step takes", "of the single rank")


def throughput(run: Path) -> Html:
    rows = [row for row in usable(read_rows(run, "throughput.csv")) if row["rank"] == "all"]
    if not rows:
        return Html("")
    cells = [
        [
            row["model"], row["device"], row["batch"], *(row[column] for column in WAY), row.ranks(), row["origin"],
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
        *WAY.values(),
        "N",
        "origin",
        "images/s, all ranks",
        "a step takes",
        "of the single rank",
    ]
    # How a step was computed is a column only where it tells rows apart.
    kept, once = said_once(head, cells, set(head) - set(WAY.values()))
    right = [place for place, column in enumerate(kept) if head[column] in NUMBERS]
    relative = "interval over rounds" if any(row["relative_ci_low"] for row in rows) else ""
    rate = intervals.told(rows, "images_per_s_ci_low", "interval")
    words = "Training steps without synchronisation, all ranks at once: what contention alone leaves."
    words += intervals.in_brackets({"images/s": rate, "the share of the single rank": relative})
    shown = table([head[column] for column in kept], [[row[column] for column in kept] for row in cells],
                  numbers=right, weak=not_measured(rows), rest="throughput.csv")  # fmt: skip
    return section("Throughput", element("p", f"{words} {once}".strip(), css="muted"), shown)
