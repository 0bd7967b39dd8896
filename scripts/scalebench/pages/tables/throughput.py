# SPDX-License-Identifier: Apache-2.0
# The report's table of training steps without synchronisation, from throughput.csv.
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from scalebench import intervals
from scalebench.numbers import duration, percent, three_digits
from scalebench.pages.page import Html, element, section, table
from scalebench.rows import Row, read_rows, usable
from scalebench.pages.tables.cells import not_measured, number, said_once, with_interval

# How a step was computed, and what the column is called.
WAY = {"dtype": "dtype", "memory_format": "memory format", "step": "step", "threads": "threads"}
# What the GPUs said, each where it is known: heading -> column, form.
GPU: dict[str, tuple[str, Callable[[float], str]]] = {
    "MFU": ("mfu_published", percent),
    "MHz": ("sm_clock_mhz", three_digits),
    "throttled": ("throttled_share", percent),
    "by power": ("power_capped_share", percent),
    "W": ("gpu_watts", three_digits),
    "J an image": ("gpu_joules_per_image", three_digits),
}
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
    # What tells a row from the others, from its model to its origin.
    names = [column for column in range(head.index("origin") + 1)
             if head[column] in ("model", "batch per rank", "N") or len({row[column] for row in cells}) > 1]  # fmt: skip
    gpus = of_gpus(rows, [head[column] for column in names], [[row[column] for column in names] for row in cells])
    return section("Throughput", element("p", f"{words} {once}".strip(), css="muted"), shown, *gpus)


def of_gpus(rows: list[Row], head: list[str], names: list[list[object]]) -> list[Html]:
    """What the GPUs did meanwhile: a table of its own, as the page is no wider."""
    names = [name for name, row in zip(names, rows) if row["device"] != "cpu"]
    rows = [row for row in rows if row["device"] != "cpu"]
    cells = [[form(row.number(column)) for column, form in GPU.values()] for row in rows]
    if not any(cell for row in cells for cell in row):
        return []
    words = "MFU: of the FLOP/s that the GPU did in a matrix product here, or has by what its maker says. Throttled: in what share of the "
    words += "repetitions a GPU ran below its clock, and by its power limit."
    numbers = [place for place, name in enumerate(head) if name in NUMBERS]
    shown = table([*head, *GPU], [[*name, *row] for name, row in zip(names, cells)], weak=not_measured(rows),
                  numbers=[*numbers, *range(len(head), len(head) + len(GPU))], rest="throughput.csv")  # fmt: skip
    return [element("h3", "What the GPUs did"), element("p", words, css="muted"), shown]
