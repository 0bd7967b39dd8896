# SPDX-License-Identifier: Apache-2.0
# The links between the hosts of a run: a sentence for each host whose link is slow, and the table from
# host to host. Which one is slow stands in links.csv.
from __future__ import annotations

import math
from pathlib import Path

from view.numbers import percent, three_digits
from view.page import Html, element, section, table
from view.rows import Row, read_rows, usable
from view.tables.cells import not_measured

ALL = "all"
MOST_HOSTS = 40  # a wider table is for a spreadsheet


def rows_of_most_hosts(run: Path) -> list[Row]:
    rows = usable(read_rows(run, "links.csv"))
    most = max((row.integer("nodes") for row in rows), default=0)
    rows = [row for row in rows if row.integer("nodes") == most]
    ranks = max((row.integer("ranks") for row in rows), default=0)
    return [row for row in rows if row.integer("ranks") == ranks]


def slow_hosts(run: Path) -> list[str]:
    """'The link of host3 is slow: it sends 0.0125 GB/s, 10.4 % of what the other hosts do.'"""
    found: dict[str, list[str]] = {}
    for row in rows_of_most_hosts(run):
        if row["slow"] != "1":
            continue
        sends = row["to_host"] == ALL
        host = row["from_host"] if sends else row["to_host"]
        words = f"{'sends' if sends else 'receives'} {three_digits(row.number('gb_per_s'))} GB/s, "
        found.setdefault(host, []).append(words + f"{percent(row.number('relative'))} of what the other hosts do")
    return [f"The link of {host} is slow: it {', and '.join(words)}." for host, words in found.items()]


def links(run: Path) -> Html:
    rows = rows_of_most_hosts(run)
    hosts = list(dict.fromkeys(row["from_host"] for row in rows if row["from_host"] != ALL))
    if len(hosts) < 2:
        return Html("")
    cells = {(row["from_host"], row["to_host"]): row for row in rows}
    verdict = [element("p", element("strong", sentence)) for sentence in slow_hosts(run)]
    words = (
        "GB/s of one message from host to host, each host in one pair at a time, and the latency of 8 bytes; in bold "
        "what is slow. A host's link is as fast as the fastest thing seen on it: that is what its last column and last "
        "row say, and a host more than 20 % below the median of the others is named."
    )
    body = [[host, *(cell(cells.get((host, to))) for to in [*hosts, ALL])] for host in [*hosts, ALL]]
    shown = table(
        ["from \\ to", *hosts, ALL], body[:MOST_HOSTS], numbers=range(1, len(hosts) + 2),
        weak=range(len(body[:MOST_HOSTS])) if not_measured(rows) else [], rest="links.csv",
    )  # fmt: skip
    return section("Links between hosts", *verdict, element("p", words, css="muted"), shown)


def cell(row: Row | None) -> Html | str:
    if row is None:
        return ""
    rate = three_digits(row.number("gb_per_s"))
    latency = row.number("latency_seconds")
    shown = element("strong", rate) if row["slow"] == "1" else rate
    small = "" if math.isnan(latency) else f" {three_digits(1e6 * latency)} µs"
    return element("span", shown, element("small", small))
