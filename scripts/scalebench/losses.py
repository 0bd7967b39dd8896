# SPDX-License-Identifier: Apache-2.0
# The account of lost time: the rows of losses.csv beside their row of scaling.csv, in the order in
# which they are told, and what they are called.
from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from scalebench import intervals
from scalebench.rows import Row, grouped, read_rows, usable
from scalebench.variants import read_cases

NAMES = {
    "compute": "computation",
    "batch": "smaller batches",
    "contention": "contention",
    "transfer": "transfer",
    "transfer_and_wait": "transfer and waiting",
    "wait_static": "waiting, static",
    "wait_jitter": "waiting, jitter",
    "input": "input",
    "evaluation": "broadcast, evaluation",
    "host": "host",
}
# What a row of losses.csv and its row of scaling.csv have in common.
CASE = ("case_id", "origin", "gradient_sync", "ranks", "nodes")


@dataclass(frozen=True)
class Account:
    """From the ideal to the measured time of one case."""

    case: Row  # of scaling.csv
    losses: dict[str, Row]  # of losses.csv, by name: those that are known

    def seconds(self, loss: str) -> float:
        return self.losses[loss].number("seconds")

    def told(self) -> list[str]:
        """The losses that are a thousandth of the epoch or more, either way."""
        least = 1e-3 * self.case.number("measured_seconds")
        return [loss for loss in NAMES if loss in self.losses and abs(self.seconds(loss)) >= least]

    def largest(self) -> str:
        """What most is lost to; '' where there are only gains."""
        return max((loss for loss in self.losses if self.seconds(loss) > 0), key=self.seconds, default="")


def key_of(case: Row) -> tuple[str, ...]:
    return tuple(case[column] for column in CASE)


def accounts(run: Path) -> list[Account]:
    """In the order of scaling.csv; none for a run without losses.csv."""
    by_case = grouped(usable(read_rows(run, "losses.csv")), CASE)
    found = []
    for case in usable(read_cases(run, "scaling.csv")):
        rows = by_case.get(key_of(case), [])
        losses = {row["loss"]: row for row in rows if not math.isnan(row.number("seconds"))}
        if losses and not math.isnan(case.number("ideal_seconds") + case.number("measured_seconds")):
            found.append(Account(case, losses))
    return found


def interval_of(accounts: Iterable[Account]) -> str:
    """'range of rounds'; '' where there was one round."""
    told = (account.case for account in accounts if any(row["seconds_ci_low"] for row in account.losses.values()))
    return intervals.told(told, "interval", "interval")
