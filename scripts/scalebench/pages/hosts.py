# SPDX-License-Identifier: Apache-2.0
# The hosts of a run: who is at fault, as hosts.csv says it, and what was found of each host.
from __future__ import annotations

from pathlib import Path

from scalebench.manifest import Manifest
from scalebench.numbers import percent, three_digits
from scalebench.pages.render import Column, Section, Toned, section, text
from scalebench.rows import Row, read_rows, usable

NOBODY = ("none", "")
LOST = ("unreachable", "different", "lost")  # of which hosts.csv has no row, or earlier ones


def rows_of(run: Path, links: bool) -> list[Row]:
    return [row for row in usable(read_rows(run, "hosts.csv")) if bool(row["to_host"]) == links]


def suspects(run: Path) -> list[str]:
    """'Suspect: host3, its link sends 12 % of the others' median (look at cable, …).'; first who was lost."""
    lost = [host for host in Manifest(run).records("suspects") if host.get("verdict") in LOST]
    return [f"Suspect: {host.get('host', '')}, {host.get('why', '')}." for host in lost] + [
        f"Suspect: {row['host']}, {row['note']}"
        + (f" in {row['accused']} of {row['launches']} launches" if row.integer("launches") > 1 else "")
        + "."
        for row in rows_of(run, links=False) if row["verdict"] not in NOBODY
    ]  # fmt: skip


def remarks(run: Path) -> list[str]:
    """That no host stands out; and what lies between two hosts, neither of them a suspect."""
    found = rows_of(run, links=False)
    named = {row["host"] for row in found if row["verdict"] not in NOBODY}
    nobody = ["No host stands out."] if found and not suspects(run) else []
    return nobody + [f"Between hosts: {row['note']}." for row in rows_of(run, links=True)
                     if row["note"] and not named & {row["host"], row["to_host"]}]  # fmt: skip


def hosts(run: Path) -> Section | None:
    columns = [
        text("host", lambda row: Toned(row["host"], "bad" if row["verdict"] not in NOBODY else ""), always=True),
        Column("slowest answer, ms", lambda row: three_digits(1e3 * row.number("tail_seconds"))),
        Column("lost", lambda row: f"{row.integer('lost')} of {row.integer('messages')}" if row["messages"] else ""),
        Column("sent again", lambda row: row["retransmits"]),
        Column("processor", lambda row: percent(row.number("compute_relative"))),
    ]
    words = (
        "Before the first case: 8 bytes there and back with each other host, and the same arithmetic on each, its "
        "speed in per cent of the others' median. Red is who is named: a processor or a link more than 20 % below it, "
        "or at least three messages and one in a hundred lost. What was sent from host to host is in hosts.csv."
    )
    return section("Hosts", columns, {"": rows_of(run, links=False)}, "hosts.csv", words, brief=False)
