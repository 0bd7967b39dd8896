# SPDX-License-Identifier: Apache-2.0
# The report's table of what a lost rank cost a training, from recovery.csv.
from __future__ import annotations

from pathlib import Path

from view.numbers import duration
from view.page import Html, element, section, table
from view.rows import Row, read_rows

TITLE = "What a lost rank costs"
HEAD = ("repetition", "noticed", "ended", "restart", "down", "lost images", "overhead", "same bits")


def recoveries(run: Path) -> list[Row]:
    """A training whose bits differ is wrong, and its times count all the same."""
    return [row for row in read_rows(run, "recovery.csv") if row["status"] in ("ok", "wrong")]


def cells(row: Row) -> list[str]:
    """Of a repetition, as HEAD has them."""
    early = [duration(row.number(f"{name}_seconds")) for name in ("noticed", "detection", "restart", "down")]
    same = row["same_parameters"] == "1"
    bits = "yes" if same else "no, by time" if row["status"] == "ok" else "NO"
    return [row["repetition"], *early, row["lost_samples"], duration(row.number("overhead_seconds")), bits]


def what_was_done(row: Row) -> str:
    training = " · ".join(filter(None, (row["model"], row["gradient_sync"], f"{row.ranks()} ranks")))
    kind, _, where = row["fault"].partition(":")
    rank, _, step = where.partition("@")
    fault = f"rank {rank} {'killed' if kind == 'kill' else 'stopped'} at step {step}"
    return f"{training}: {fault}. Noticed, ended and down count from the fault."


def recovery(run: Path) -> Html:
    rows = recoveries(run)
    if not rows:
        return Html("")
    shown = table(HEAD, [cells(row) for row in rows], numbers=range(7), rest="recovery.csv")
    return section(TITLE, element("p", what_was_done(rows[0]), css="muted"), shown)
