# SPDX-License-Identifier: Apache-2.0
# The hosts of a run: who is at fault, as suspects.csv says it, what was found of each host, and the links
# from host to host.
from __future__ import annotations

import math
from pathlib import Path

from view.numbers import percent, three_digits
from view.page import Html, element, section, table
from view.rows import Row, read_rows, usable
from view.tables.cells import not_measured

MOST_HOSTS = 40  # a wider table is for a spreadsheet
NOBODY = ("none", "")


def rows_of_most_hosts(run: Path, name: str) -> list[Row]:
    rows = usable(read_rows(run, name))
    most = max((row.integer("nodes") for row in rows), default=0)
    rows = [row for row in rows if row.integer("nodes") == most]
    ranks = max((row.integer("ranks") for row in rows), default=0)
    return [row for row in rows if row.integer("ranks") == ranks]


def suspects(run: Path) -> list[str]:
    """'Suspect: host3, its link sends 12 % of the others' median (look at cable, port, driver).'"""
    return [
        f"Suspect: {row['host']}, {row['note']}"
        + (f" in {row['accused']} of {row['launches']} launches" if row.integer("launches") > 1 else "")
        + "."
        for row in rows_of_most_hosts(run, "suspects.csv") if row["verdict"] not in NOBODY
    ]  # fmt: skip


def no_suspect(run: Path) -> str:
    """'No host stands out.' where hosts were looked at and none is named; else nothing."""
    looked = bool(rows_of_most_hosts(run, "suspects.csv"))
    return "No host stands out." if looked and not suspects(run) else ""


def between_hosts(run: Path) -> list[str]:
    """'Between hosts: messages between host1 and host2 are lost or late: 5 of 80.': what makes neither of two hosts a suspect."""
    named = {row["host"] for row in rows_of_most_hosts(run, "suspects.csv") if row["verdict"] not in NOBODY}
    rows = rows_of_most_hosts(run, "links.csv")
    return [f"Between hosts: {row['note']}." for row in rows if row["note"] and not named & {row["from_host"], row["to_host"]}]


def hosts(run: Path) -> Html:
    found = rows_of_most_hosts(run, "suspects.csv")
    links = rows_of_most_hosts(run, "links.csv")
    if not found and not links:
        return Html("")
    parts: list[object] = [element("p", element("strong", sentence)) for sentence in suspects(run)]
    if found:
        words = (
            "Before the first case: the fastest message of each host to and from any other, 8 bytes there and back, and "
            "the same arithmetic on each; in per cent of the others' median. In bold who is named: more than 20 % below "
            "it, or at least three messages and one in a hundred lost."
        )
        head = ["host", "sends, GB/s", "receives, GB/s", "slowest answer, ms", "lost", "sent again", "processor"]
        body = [host_cells(row) for row in found[:MOST_HOSTS]]
        shown = table(head, body, numbers=range(1, len(head)), rest="suspects.csv",
                      weak=range(len(body)) if not_measured(found) else [])  # fmt: skip
        parts += [element("p", words, css="muted"), shown]
    names = list(dict.fromkeys(row["from_host"] for row in links))
    if len(names) > 1:
        cells = {(row["from_host"], row["to_host"]): row for row in links}
        body = [[name, *(cell(cells.get((name, to))) for to in names)] for name in names]
        shown = table(["from \\ to", *names], body[:MOST_HOSTS], numbers=range(1, len(names) + 1), rest="links.csv",
                      weak=range(len(body[:MOST_HOSTS])) if not_measured(links) else [])  # fmt: skip
        words = "GB/s of one message from host to host, each host in one pair at a time, and the latency of 8 bytes."
        parts += [element("p", words, css="muted"), shown]
    return section("Hosts", *parts)


def host_cells(row: Row) -> list[Html | str]:
    name = element("strong", row["host"]) if row["verdict"] not in NOBODY else row["host"]
    tail = row.number("tail_seconds")
    return [
        name,
        with_share(row, "send_gb_per_s", "send_relative"),
        with_share(row, "receive_gb_per_s", "receive_relative"),
        "" if math.isnan(tail) else three_digits(1e3 * tail),
        f"{row.integer('lost')} of {row.integer('messages')}" if row["messages"] else "",
        row["retransmits"],
        percent(row.number("compute_relative")),
    ]


def with_share(row: Row, rate: str, share: str) -> Html | str:
    shown = three_digits(row.number(rate))
    return element("span", shown, element("small", f" {percent(row.number(share))}")) if row[share] else shown


def cell(row: Row | None) -> Html | str:
    if row is None:
        return ""
    latency = row.number("latency_seconds")
    small = "" if math.isnan(latency) else f" {three_digits(1e6 * latency)} µs"
    return element("span", three_digits(row.number("gb_per_s")), element("small", small))
