# SPDX-License-Identifier: Apache-2.0
# How well a run scaled: a sentence for each workload and strategy, and the table of scaling.csv, from
# its cells as they are: rounded for reading, never combined.
from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

from scalebench import intervals, losses
from scalebench.cases import apart, by_workload, how, workload
from scalebench.losses import Account
from scalebench.numbers import alike, five_digits, percent, three_digits
from scalebench.pages.page import Html, element, explained, section, table
from scalebench.rows import Row, usable
from scalebench.pages.tables.cells import not_measured, number, said_once
from scalebench.variants import read_cases

FIXED = ("strategy", "N", "H, s", "ideal, s", "measured, s", "speedup", "efficiency")  # whatever the rows say

def answers(run: Path) -> list[Row]:
    """A row for each workload and strategy at its largest measured N; where only one rank was
    measured, at the largest N of another origin."""
    rows = [row for row in usable(read_cases(run, "scaling.csv")) if row["efficiency"]]
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault((workload(row), how(row, "device", "dataset", "layout")), []).append(row)
    compared = {name for (name, _), group in groups.items() if highest_n(group) > 1}
    found = []
    for (name, _), group in groups.items():
        if name in compared and highest_n(group) == 1:
            continue  # a base of the comparison, not its outcome
        measured = [
            row for row in group if row["origin"] == "measured" and row.integer("ranks") > 1
        ]
        found.append(max(measured or group, key=lambda row: row.integer("ranks")))
    return found


def highest_n(rows: Iterable[Row]) -> int:
    return max(row.integer("ranks") for row in rows)


def sentence(row: Row, more: tuple[str, ...]) -> Html:
    """`more`: the columns that tell it from the other rows, as apart() finds them."""
    ends = [percent(row.number(f"efficiency_ci_{end}")) for end in ("low", "high")]
    interval = f" ({intervals.told([row], *intervals.EFFICIENCY)} {ends[0]} to {ends[1]})" if all(ends) else ""
    origin = "" if row["origin"] == "measured" else f"{row['origin']} "
    text = (
        f" efficiency on {row.ranks()} {origin}rank{'s' if row['ranks'] != '1' else ''}{interval}: an epoch takes "
        f"{five_digits(row.number('measured_seconds'))} s where the ideal is "
        f"{five_digits(row.number('ideal_seconds'))} s, a speedup of {three_digits(row.number('speedup'))}."
    )
    return element(
        "span",
        f"{workload(row)}, {how(row, *more)}: ",
        element("strong", percent(row.number("efficiency"))),
        text,
    )


def scaling(run: Path) -> Html:
    rows = usable(read_cases(run, "scaling.csv"))
    if not rows:
        return Html("")
    head = [
        "strategy", "N", "origin", "H, s", "ideal, s", "measured, s", "speedup", "efficiency", "lost, s", "largest loss, s",
        "rounds", "E_raw", "Karp–Flatt", "accuracy",
    ]  # fmt: skip
    words = (
        "S = ρ·H/T, E = ideal/T. H is one epoch on one device with the strategy's code; the ideal is ρ·H/N, in strong "
        "scaling H/N. E_raw is against a plain loop without that code. Karp–Flatt: the serial share that would "
        "explain S; growth with N means overhead. Accuracy: after the last epoch. A round starts every program once; times are "
        "means over the rounds in which one device and N are both ok, S and E ratios of these means. Grey: a loss that cannot "
        "be told from 0."
    )
    with_target = any(row["target_accuracy"] for row in rows)
    if with_target:
        words += (
            " E_stat: epochs to the target accuracy at 1 ÷ at N; E_tta = E · E_stat: what is left of the efficiency in "
            "time to accuracy, in a table of its own. Empty: the target was not reached."
        )
    with_energy = any(row["joules"] for row in rows)
    if with_energy:
        head += ["J an epoch", "J₁/J_N"]
        words += " J₁/J_N: joules of the GPUs for the same images on one device ÷ on N; 1 is as frugal."
    parts: list[object] = [explained(words, of_intervals(rows))]
    more = apart(rows)
    largest = {losses.key_of(account.case): largest_loss(account) for account in losses.accounts(run)}
    groups = {title: [scaling_cells(row, more, largest.get(losses.key_of(row), "")) + (energy_cells(row) if with_energy else []) for row in group]
              for title, group in by_workload(rows).items()}  # fmt: skip
    # A value that is the same in every row is said once; what decides is always a column.
    kept, once = said_once(head, [cells for group in groups.values() for cells in group], FIXED)
    parts += [element("p", once, css="muted")] if once else []
    head = [head[place] for place in kept]
    right = [place for place, name in enumerate(head) if name not in ("strategy", "origin", "largest loss, s")]
    for title, group in by_workload(rows).items():
        cells = [[row[place] for place in kept] for row in groups[title]]
        shown = table(head, cells, numbers=right, weak=not_measured(group), rest="scaling.csv")
        parts += [element("h3", title), shown, to_the_target(group, more)]
    return section("Scaling", *parts)


def to_the_target(group: list[Row], more: tuple[str, ...]) -> Html:
    """What those rows of a workload took that were trained to an accuracy; nothing where none was."""
    rows = [row for row in group if row["target_accuracy"]]
    if not rows:
        return Html("")
    head = ["strategy", "N", "target", "epochs to it", "s to it", "E_stat", "E_tta"]
    cells = [[how(row, *more), row.ranks(), *target_cells(row)] for row in rows]
    return table(head, cells, numbers=range(1, len(head)), weak=not_measured(rows), rest="scaling.csv")


def of_intervals(rows: list[Row]) -> str:
    """Of what the intervals are."""
    kind = intervals.told(rows, *intervals.EFFICIENCY)
    return f" In brackets: the {kind}." if kind else ""


def scaling_cells(row: Row, more: tuple[str, ...], largest: object) -> list[object]:
    return [
        how(row, *more),
        row.ranks(),
        row["origin"],
        *(five_digits(row.number(f"{time}_seconds")) for time in ("h", "ideal", "measured")),
        three_digits(row.number("speedup")),
        number(row, "efficiency", percent),
        three_digits(row.number("lost_seconds")),
        largest,
        row["rounds"],
        percent(row.number("efficiency_raw")),
        f"{row.number('karp_flatt'):.4f}" if row["karp_flatt"] else "",
        percent(row.number("test_accuracy")),
    ]


def largest_loss(account: Account) -> Html | str:
    """Grey where it cannot be told from nothing."""
    if not (name := account.largest()):
        return ""
    row = account.losses[name]
    ends = [row.number(f"seconds{end}") for end in ("", "_ci_low", "_ci_high")]
    as_others = alike(*(end for end in ends if not math.isnan(end)))
    return element("span", f"{losses.NAMES[name]} ", number(row, "seconds", as_others), css="muted" if intervals.covers(row, "seconds", 0) else "")


def target_cells(row: Row) -> list[object]:
    return [
        percent(row.number("target_accuracy")),
        three_digits(row.number("epochs_to_target")),
        three_digits(row.number("epochs_to_target") * row.number("seconds")),
        number(row, "efficiency_statistical", percent),
        percent(row.number("efficiency") * row.number("efficiency_statistical")),
    ]


def energy_cells(row: Row) -> list[object]:
    return [
        three_digits(row.number("joules")),
        number(row, "energy_ratio", three_digits),
    ]
