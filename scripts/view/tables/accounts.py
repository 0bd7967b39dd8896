# SPDX-License-Identifier: Apache-2.0
# The report's tables of lost time, from the cells of scaling.csv and ladder.csv as they are.
from __future__ import annotations

from pathlib import Path

from view import losses
from view.cases import by_workload, how, workload
from view.numbers import percent, three_digits
from view.page import Html, element, section, table
from view.rows import Row, read_rows, usable
from view.tables.cells import not_measured

RUNGS = {
    "share": "one rank alone with its share",
    "together": "all ranks at once",
    "input": "real input",
    "barrier": "a barrier a step",
    "strategy": "the strategy",
    "evaluation": "evaluation",
}
SHORT = {
    "compute": "compute",
    "batch": "batches",
    "wait_static": "wait, static",
    "wait_jitter": "jitter",
    "evaluation": "broadcast",
    "unattributed": "unknown",
}


def signed(value: float) -> str:
    """'+0.0123', with a true minus sign; '' for an unknown number."""
    text = three_digits(abs(value))
    return ("\u2212" if value < 0 else "+") + text if text and text != "0" else text


def accounts(run: Path) -> Html:
    rows = [row for row in usable(read_rows(run, "scaling.csv")) if losses.has_account(row)]
    if not rows:
        return Html("")
    told = losses.told(rows)
    words = (
        "Seconds of an epoch, mean over ranks: the ideal H/N and the losses sum to what was measured. Waiting is static "
        "as far as one rank is always later, jitter as far as now one and now another is. Negative: less than an "
        "equal part of one device's. Last rank: who came last most often, and in which share of the steps. Unknown: the "
        "account is that of the middle launch, the times are medians."
    )
    head = ["strategy", "N", "H/N", *(SHORT.get(loss, losses.NAMES[loss]) for loss in told), "measured", "last rank"]
    parts: list[object] = [element("p", words, css="muted")]
    for title, group in by_workload(rows).items():
        cells = [
            [
                how(row), row.ranks(), three_digits(row.number("ideal_seconds")),
                *(signed(row.number(losses.column(loss))) for loss in told),
                three_digits(row.number("seconds_median")), last_rank(row),
            ]
            for row in group
        ]  # fmt: skip
        numbers = [1, *range(2, 4 + len(told))]
        shown = table(head, cells, numbers=numbers, weak=not_measured(group), rest="scaling.csv")
        parts += [element("h3", title), shown]
    return section("Where the time went", *parts)


def last_rank(row: Row) -> str:
    share = percent(row.number("last_rank_share"))
    return f"{row['last_rank']} in {share}" if row["last_rank"] and share else ""


def ladder(run: Path) -> Html:
    rows = read_rows(run, "ladder.csv")
    if not rows:
        return Html("")
    words = (
        "The same losses without a trace, from runs that each do one thing more than the one before; beside them what "
        "the trace says. They disagree where they differ by more than two widths of the interval."
    )
    head = ["workload", "strategy", "N", "run", "epoch, s", "lost by the ladder, s", "by the trace, s", ""]
    cells = [
        [
            workload(row), how(row), row.ranks(), RUNGS.get(row["rung"], row["rung"]),
            three_digits(row.number("seconds_median")), signed(row.number("lost_seconds")),
            signed(row.number("trace_seconds")),
            "disagree" if row["disagrees"] == "1" else row["note"],
        ]
        for row in rows
    ]  # fmt: skip
    shown = table(head, cells, numbers=[2, 4, 5, 6], wrap=[7], rest="ladder.csv")
    return section("Cross-check by leaving parts out", element("p", words, css="muted"), shown)
