# SPDX-License-Identifier: Apache-2.0
# The hosts of a run: who is at fault, as hosts.csv says it, what was found of each host, and the links
# from host to host.
from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from scalebench.manifest import Manifest
from scalebench.numbers import percent, three_digits
from scalebench.pages.render import Column, Section, Table, Toned, table, text
from scalebench.rows import Row, read_rows, usable

MOST_HOSTS = 40  # a wider table is for a spreadsheet
NOBODY = ("none", "")
LOST = ("unreachable", "different", "lost")  # of which hosts.csv has no row, or earlier ones


def rows_of(run: Path, links: bool) -> list[Row]:
    return [row for row in usable(read_rows(run, "hosts.csv")) if bool(row["to_host"]) == links]


def suspects(run: Path) -> list[str]:
    """'Suspect: host3, its link sends 12 % of the others' median (look at cable, port, driver).'; first hosts that were lost."""
    lost = [host for host in Manifest(run).records("suspects") if host.get("verdict") in LOST]
    return [f"Suspect: {host.get('host', '')}, {host.get('why', '')}." for host in lost] + [
        f"Suspect: {row['host']}, {row['note']}"
        + (f" in {row['accused']} of {row['launches']} launches" if row.integer("launches") > 1 else "")
        + "."
        for row in rows_of(run, links=False) if row["verdict"] not in NOBODY
    ]  # fmt: skip


def remarks(run: Path) -> list[str]:
    """That no host of those that were looked at stands out; and what lies between two hosts, neither of them a suspect."""
    found = rows_of(run, links=False)
    named = {row["host"] for row in found if row["verdict"] not in NOBODY}
    nobody = ["No host stands out."] if found and not suspects(run) else []
    return nobody + [f"Between hosts: {row['note']}." for row in rows_of(run, links=True)
                     if row["note"] and not named & {row["host"], row["to_host"]}]  # fmt: skip


def hosts(run: Path) -> Section:
    found, links = rows_of(run, links=False), rows_of(run, links=True)
    names = list(dict.fromkeys(row["host"] for row in links))[:MOST_HOSTS]
    between = {(row["host"], row["to_host"]): row for row in links}
    columns = [
        text("host", lambda row: Toned(row["host"], "bad" if row["verdict"] not in NOBODY else "")),
        Column("slowest answer, ms", lambda row: three_digits(1e3 * row.number("tail_seconds"))),
        Column("lost", lambda row: f"{row.integer('lost')} of {row.integer('messages')}" if row["messages"] else ""),
        Column("sent again", lambda row: row["retransmits"]),
        Column("processor", lambda row: percent(row.number("compute_relative"))),
    ]
    tables: list[Table] = [table(columns, found[:MOST_HOSTS], "hosts.csv")] if found else []
    if len(names) > 1:
        to = [text("from \\ to", str), *(Column(name, link_to(name, between)) for name in names)]
        tables.append(table(to, names, "hosts.csv", "GB/s from host to host"))
    words = (
        "Before the first case: 8 bytes there and back with each other host, and the same arithmetic on each, its speed in per cent of the "
        "others' median. Red is who is named: a processor or a link more than 20 % below it, or at least three messages and one in a "
        "hundred lost. From host to host: one message, each host in one pair at a time, and the latency of 8 bytes."
    )
    return Section("Hosts", tables, words, brief=False)


def link_to(name: str, between: dict[tuple[str, str], Row]) -> Callable[[str], object]:
    def cell(host: str) -> Toned | str:
        if not (row := between.get((host, name))):
            return ""
        latency = 1e6 * row.number("latency_seconds")
        return Toned(three_digits(row.number("gb_per_s")), small="" if math.isnan(latency) else f"{three_digits(latency)} µs")

    return cell
