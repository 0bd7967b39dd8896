# SPDX-License-Identifier: Apache-2.0
# The report's tables and sentences about results, from the cells of the CSV files as they are:
# rounded for reading, never combined.
from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

from view.page import Html, element, joined, section, table
from view.rows import (
    Row,
    byte_size,
    read_rows,
    three_digits,
    usable,
    workload,
)

ORIGINS = {
    "emulated": "ranks share cores or a device, or hosts a machine, so this says nothing about N devices",
    "predicted": "predicted, not measured",
    "quoted": "quoted from elsewhere, not measured here",
    "imported": "imported from another program's log",
}


def percent(value: float) -> str:
    return "" if math.isnan(value) else f"{100 * value:.1f}\u00a0%"


def with_interval(row: Row, column: str, shown: str, low: str, high: str) -> Html | str:
    """'12.3' with its interval in small print, where it has one."""
    if not (row[low] and row[high] and shown):
        return shown
    form = percent if column == "efficiency" else three_digits
    return joined(
        [shown, element("small", f" [{form(row.number(low))}, {form(row.number(high))}]")]
    )


def how(row: Row, *more: str) -> str:
    return " · ".join(
        row[name] for name in ("gradient_sync", "allreduce", "transport", *more) if row[name]
    )


def headlines(run: Path) -> list[Html]:
    """A sentence for each workload and strategy at its largest measured N; where only one rank was
    measured, at the largest N of another origin, named as such."""
    rows = [row for row in usable(read_rows(run, "scaling.csv")) if row["efficiency"]]
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault((workload(row), how(row, "device", "dataset", "layout")), []).append(row)
    compared = {name for (name, _), group in groups.items() if highest_n(group) > 1}
    sentences = []
    for (name, _), group in groups.items():
        if name in compared and highest_n(group) == 1:
            continue  # a base of the comparison, not its outcome
        measured = [
            row for row in group if row["origin"] == "measured" and row.integer("ranks") > 1
        ]
        sentences.append(sentence(max(measured or group, key=lambda row: row.integer("ranks"))))
    return sentences


def highest_n(rows: Iterable[Row]) -> int:
    return max(row.integer("ranks") for row in rows)


def sentence(row: Row) -> Html:
    interval = ""
    if row["efficiency_ci_low"] and row["efficiency_ci_high"]:
        kind = {"range": "range of launches", "95%": "95 % interval"}.get(
            row["interval"], "interval"
        )
        low, high = percent(row.number("efficiency_ci_low")), percent(
            row.number("efficiency_ci_high")
        )
        interval = f" ({kind} {low} to {high})"
    origin = "" if row["origin"] == "measured" else f"{row['origin']} "
    text = (
        f" efficiency on {row['ranks']} {origin}rank{'s' if row['ranks'] != '1' else ''}{interval}: an epoch takes "
        f"{three_digits(row.number('seconds_median'))} s where the ideal H/N is "
        f"{three_digits(row.number('ideal_seconds'))} s, a speedup of {three_digits(row.number('speedup'))}."
    )
    return element(
        "span",
        f"{workload(row)}, {how(row)}: ",
        element("strong", percent(row.number("efficiency"))),
        text,
    )


def origin_notes(origins: Iterable[str]) -> list[str]:
    """What the origins other than `measured` mean that occur."""
    return [f"{origin}: {ORIGINS[origin]}." for origin in dict.fromkeys(origins) if origin in ORIGINS]


def scaling(run: Path) -> Html:
    rows = usable(read_rows(run, "scaling.csv"))
    if not rows:
        return Html("")
    head = [
        "strategy", "N", "origin", "epoch, s", "H/N, s", "speedup", "efficiency", "E_raw", "Karp–Flatt", "lost, s",
        "accuracy",
    ]  # fmt: skip
    words = (
        "S = ρ·H/T, E = S/N. H is one epoch on one device with the strategy's code; E_raw is against a plain loop without "
        "it. In brackets: the interval over launches. Karp–Flatt: the serial share that would explain S; growth with N "
        "means overhead. Accuracy: after the last epoch."
    )
    with_target = any(row["target_accuracy"] for row in rows)
    if with_target:
        head += ["target", "epochs to it", "s to it", "E_stat", "E_tta"]
        words += (
            " E_stat: epochs to the target accuracy at 1 ÷ at N; E_tta = E · E_stat: what is left of the efficiency in "
            "time to accuracy. Empty: the target was not reached."
        )
    parts: list[object] = [element("p", words, css="muted")]
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(workload(row), []).append(row)
    for title, group in groups.items():
        cells = [scaling_cells(row) + (target_cells(row) if with_target else []) for row in group]
        shown = table(
            head, cells, numbers=[1, *range(3, len(head))], weak=not_measured(group), rest="scaling.csv"
        )
        parts += [element("h3", title), shown]
    return section("Scaling", *parts)


def scaling_cells(row: Row) -> list[object]:
    epoch, efficiency = three_digits(row.number("seconds_median")), percent(
        row.number("efficiency")
    )
    return [
        how(row, "device"),
        row.ranks(),
        row["origin"],
        with_interval(row, "seconds", epoch, "seconds_ci_low", "seconds_ci_high"),
        three_digits(row.number("ideal_seconds")),
        three_digits(row.number("speedup")),
        with_interval(row, "efficiency", efficiency, "efficiency_ci_low", "efficiency_ci_high"),
        percent(row.number("efficiency_raw")),
        f"{row.number('karp_flatt'):.4f}" if row["karp_flatt"] else "",
        three_digits(row.number("lost_seconds")),
        percent(row.number("test_accuracy")),
    ]


def target_cells(row: Row) -> list[object]:
    return [
        percent(row.number("target_accuracy")),
        row["epochs_to_target"],
        three_digits(row.number("seconds_to_target")),
        percent(row.number("efficiency_statistical")),
        percent(row.number("efficiency_to_accuracy")),
    ]


def not_measured(rows: list[Row]) -> list[int]:
    return [place for place, row in enumerate(rows) if row["origin"] != "measured"]


def duration(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{three_digits(seconds / scale)} {unit}"
    return "" if math.isnan(seconds) else f"{three_digits(seconds * 1e9)} ns"


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


def kernels(run: Path) -> Html:
    rows = usable(read_rows(run, "kernels.csv"))
    cells = [
        [
            row["kernel"], row["device"] or row["memory"], row["dtype"], byte_size(row.number("bytes")) if row["bytes"] else "",
            duration(row.number("seconds_median")), three_digits(row.number("gb_per_s")),
            three_digits(row.number("gflop_per_s")),
        ]
        for row in rows
    ]  # fmt: skip
    head = ["kernel", "device", "dtype", "bytes moved", "time", "GB/s", "GFLOP/s"]
    return (
        section("Kernels", table(head, cells, numbers=[3, 4, 5, 6], rest="kernels.csv"))
        if rows
        else Html("")
    )
