# SPDX-License-Identifier: Apache-2.0
# The hosts of a run: who is at fault, as hosts.csv says it, what was found of each host, and the links
# from host to host.
from __future__ import annotations

import math
from pathlib import Path

from scalebench.manifest import Manifest
from scalebench.numbers import percent, three_digits
from scalebench.pages.page import Html, element, section, table
from scalebench.rows import Row, read_rows, usable
from scalebench.pages.tables.cells import not_measured

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


def no_suspect(run: Path) -> str:
    """'No host stands out.' where hosts were looked at and none is named; else nothing."""
    return "No host stands out." if rows_of(run, links=False) and not suspects(run) else ""


def between_hosts(run: Path) -> list[str]:
    """'Between hosts: messages between host1 and host2 are lost or late: 5 of 80.': what makes neither of two hosts a suspect."""
    named = {row["host"] for row in rows_of(run, links=False) if row["verdict"] not in NOBODY}
    return [f"Between hosts: {row['note']}." for row in rows_of(run, links=True) if row["note"] and not named & {row["host"], row["to_host"]}]


def hosts(run: Path) -> Html:
    found, links = rows_of(run, links=False), rows_of(run, links=True)
    if not found and not links:
        return Html("")
    parts: list[object] = [element("p", element("strong", sentence)) for sentence in suspects(run)]
    if found:
        words = (
            "Before the first case: 8 bytes there and back with each other host, and the same arithmetic on each, its speed in "
            "per cent of the others' median. In bold who is named: a processor or a link more than 20 % below it, or at least "
            "three messages and one in a hundred lost."
        )
        head = ["host", "slowest answer, ms", "lost", "sent again", "processor"]
        body = [host_cells(row) for row in found[:MOST_HOSTS]]
        shown = table(head, body, numbers=range(1, len(head)), rest="hosts.csv",
                      weak=range(len(body)) if not_measured(found) else [])  # fmt: skip
        parts += [element("p", words, css="muted"), shown]
    names = list(dict.fromkeys(row["host"] for row in links))
    if len(names) > 1:
        cells = {(row["host"], row["to_host"]): row for row in links}
        body = [[name, *(cell(cells.get((name, to))) for to in names)] for name in names]
        shown = table(["from \\ to", *names], body[:MOST_HOSTS], numbers=range(1, len(names) + 1), rest="hosts.csv",
                      weak=range(len(body[:MOST_HOSTS])) if not_measured(links) else [])  # fmt: skip
        words = "GB/s of one message from host to host, each host in one pair at a time, and the latency of 8 bytes."
        parts += [element("p", words, css="muted"), shown]
    return section("Hosts", *parts)


def host_cells(row: Row) -> list[Html | str]:
    name = element("strong", row["host"]) if row["verdict"] not in NOBODY else row["host"]
    tail = row.number("tail_seconds")
    return [
        name,
        "" if math.isnan(tail) else three_digits(1e3 * tail),
        f"{row.integer('lost')} of {row.integer('messages')}" if row["messages"] else "",
        row["retransmits"],
        percent(row.number("compute_relative")),
    ]


def cell(row: Row | None) -> Html | str:
    if row is None:
        return ""
    latency = row.number("latency_seconds")
    small = "" if math.isnan(latency) else f" {three_digits(1e6 * latency)} µs"
    return element("span", three_digits(row.number("gb_per_s")), element("small", small))
