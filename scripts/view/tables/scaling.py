# SPDX-License-Identifier: Apache-2.0
# How well a run scaled: a sentence for each workload and strategy, and the table of scaling.csv, from
# its cells as they are: rounded for reading, never combined.
from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from view.cases import by_workload, how, workload
from view.numbers import percent, three_digits
from view.page import Html, element, section, table
from view.rows import Row, read_rows, usable
from view.tables.cells import not_measured, with_interval


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
    for title, group in by_workload(rows).items():
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
