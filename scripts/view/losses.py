# SPDX-License-Identifier: Apache-2.0
# The losses of scaling.csv in the order in which they are told, and what they are called.
from __future__ import annotations

from view.rows import Row

NAMES = {
    "work": "other work",
    "compute": "computation",
    "batch": "smaller batches",
    "contention": "contention",
    "transfer": "transfer",
    "wait_static": "waiting, static",
    "wait_jitter": "waiting, jitter",
    "input": "input",
    "evaluation": "broadcast, evaluation",
    "host": "host",
    "unattributed": "not attributed",
}


def column(loss: str) -> str:
    return f"lost_{loss}_seconds"


def has_account(row: Row) -> bool:
    """Whether several ranks were measured, against an ideal, with their time attributed."""
    return row.integer("ranks") > 1 and bool(row["ideal_seconds"] and row[column("transfer")])


def told(rows: list[Row]) -> list[str]:
    """The losses that are a thousandth of the epoch or more, either way, in any of the rows."""
    return [
        loss
        for loss in NAMES
        if any(abs(row.number(column(loss))) >= 1e-3 * row.number("seconds_median") for row in rows)
    ]
