# SPDX-License-Identifier: Apache-2.0
# The report's tables of lost time, from the cells of losses.csv and scaling.csv as they are.
from __future__ import annotations

import math
from pathlib import Path

from scalebench import intervals, losses
from scalebench.cases import apart, how, workload
from scalebench.losses import Account
from scalebench.numbers import five_digits
from scalebench.pages.page import Html, element, explained, section, table
from scalebench.pages.tables.cells import not_measured, said_once

FIXED = ("strategy", "N", "ideal", "measured")  # columns, whatever the rows say

SHORT = {
    "compute": "compute",
    "batch": "batches",
    "transfer_and_wait": "transfer, wait",
    "wait_static": "wait, static",
    "wait_jitter": "jitter",
    "evaluation": "broadcast",
}


def accounts(run: Path) -> Html:
    found = losses.accounts(run)
    if not found:
        return Html("")
    told = [loss for loss in losses.NAMES if any(loss in account.told() for account in found)]
    head = ["strategy", "N", "rounds", "ideal", *(SHORT.get(loss, losses.NAMES[loss]) for loss in told), "measured",
            "last rank"]  # fmt: skip
    parts: list[object] = [explained(words_of(found))]
    groups: dict[str, list[Account]] = {}
    for account in found:
        groups.setdefault(workload(account.case), []).append(account)
    more = apart([account.case for account in found])
    cells = {title: [account_cells(account, told, more) for account in group] for title, group in groups.items()}
    kept, once = said_once(head, [row for rows in cells.values() for row in rows], FIXED)
    parts += [element("p", once, css="muted")] if once else []
    head = [head[place] for place in kept]
    right = [place for place, name in enumerate(head) if name not in ("strategy", "last rank")]
    for title, group in groups.items():
        rows = [[row[place] for place in kept] for row in cells[title]]
        weak = not_measured([account.case for account in group])
        parts += [element("h3", title), table(head, rows, numbers=right, weak=weak, rest="losses.csv")]
    return section("Where the time went", *parts)


def account_cells(account: Account, told: list[str], more: tuple[str, ...]) -> list[object]:
    case = account.case
    return [
        how(case, *more), case.ranks(), case["rounds"], five_digits(case.number("ideal_seconds")),
        *(loss_cell(account, loss) if loss in account.losses else "" for loss in told),
        five_digits(case.number("measured_seconds")), case["last_rank"],
    ]  # fmt: skip


def words_of(found: list[Account]) -> str:
    interval = losses.interval_of(found)
    certain = (
        f"In brackets: the {interval}. Grey: it covers 0, so that the loss cannot be told from 0. "
        if interval
        else "Without an interval: nothing says what of it is chance. "
    )
    return (
        "Ideal (ρ·H/N) and measured are seconds of an epoch; losses are in % of the measured epoch. With the ideal they "
        "sum to it: all are means over ranks and over the rounds in which one device and N are both ok. "
        f"{certain}Negative: less than an equal part of one device's. Waiting is static as far as a "
        "rank is late again and again, jitter as far as now one and now another is. Last rank: who came "
        "last most often; empty where launches disagree."
    )


def loss_cell(account: Account, loss: str) -> Html:
    """'+10.6 % [9.7, 11.9]' of the measured epoch, set back where it cannot be told from 0."""
    row, whole = account.losses[loss], account.case.number("measured_seconds") / 100
    seconds, *ends = (row.number(f"seconds{end}") / whole for end in ("", "_ci_low", "_ci_high"))
    shown = f"{seconds:+.1f}\u00a0%".replace("-", "−")
    if math.isnan(sum(ends)):
        return element("span", shown)
    low, high = (f"{end:.1f}".replace("-", "−") for end in ends)
    interval = element("small", f" [{low}, {high}]", css="under")
    return element("span", shown, interval, css="muted" if intervals.covers(row, "seconds", 0) else "")

