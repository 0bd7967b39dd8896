# SPDX-License-Identifier: Apache-2.0
# The report's table of bus bandwidths. Cells of allreduce.csv, in other units at most.
from __future__ import annotations

import math
from pathlib import Path

from scalebench import intervals
from scalebench.cases import ALLREDUCE, short_names
from scalebench.numbers import byte_size, duration, three_digits
from scalebench.pages.page import Html, element, joined, section, table
from scalebench.rows import Row, each_row, grouped, say
from scalebench.pages.tables.cells import with_interval

MOST_PANELS = 40
MOST_COLUMNS = 8  # algorithms of a table: the page is no wider


def bandwidth(run: Path) -> Html:
    shown: dict[tuple[str, ...], list[Row]] = {}
    left_out = set()
    for row in each_row(run, "allreduce.csv"):
        if row["status"] == "ok" and (row["busbw_gb_per_s"] or row["seconds_median"]):
            if math.isnan(row.number("size_bytes")):
                say(f"allreduce.csv: size_bytes of case '{row['case_id']}' is '{row['size_bytes']}', no number: left out")
                continue
            key = tuple(row[column] for column in (*ALLREDUCE, "ranks", "origin"))
            if key in shown or len(shown) < MOST_PANELS:
                shown.setdefault(key, []).append(row)
            else:
                left_out.add(key)
    if not shown:
        return Html("")
    names = short_names(list(dict.fromkeys(key[:-2] for key in shown)), ALLREDUCE)
    kind = intervals.told((row for panel in shown.values() for row in panel), "seconds_ci_low", "launches")
    # One rank has no bus bandwidth.
    rates = any(row["ranks"] != "1" and row["busbw_gb_per_s"] for panel in shown.values() for row in panel)
    words = "Median time of one allreduce." if not rates else (
        f"Bus bandwidth in GB/s (10⁹ bytes){f' with its {kind}' if kind else ''}, then the median time. busbw = bytes "
        "/ seconds · 2(p−1)/p, so that algorithms and numbers of ranks can be compared."
    )
    if any(row["native_ratio"] for panel in shown.values() for row in panel):
        words += (
            " × native: the time of the library's own allreduce over this one, paired by round, and what that proves: above "
            "1 this one is faster."
        )
    panels = []
    for key, panel in shown.items():
        algorithms = list(dict.fromkeys(row["algorithm"] for row in panel))
        by_size = grouped(sorted(panel, key=lambda row: row.number("size_bytes")), ("size_bytes",))
        tables = []
        for first in range(0, len(algorithms), MOST_COLUMNS):
            columns = algorithms[first : first + MOST_COLUMNS]
            cells = []
            for group in by_size.values():
                found = {row["algorithm"]: row for row in group}
                cells.append([byte_size(group[0].number("size_bytes")), *(
                    bandwidth_cell(found[name]) if name in found else "" for name in columns)])  # fmt: skip
            weak = range(len(cells)) if key[-1] != "measured" else []
            tables.append(table(["size", *columns], cells, numbers=range(len(columns) + 1), weak=weak, rest="allreduce.csv"))
        origin = "" if key[-1] == "measured" else f"{key[-1]} "
        title = element(
            "h3", f"{names[key[:-2]]}, {key[-2]} {origin}rank{'s' if key[-2] != '1' else ''}"
        )
        panels.append(element("div", title, *tables))
    more = [element("p", f"{len(left_out)} more tables in allreduce.csv", css="muted")] if left_out else []
    return section(
        "Allreduce", element("p", words, css="muted"), element("div", *panels, css="side"), *more
    )


def bandwidth_cell(row: Row) -> Html:
    time = duration(row.number("seconds_median"))
    if row["ranks"] == "1":  # its bus bandwidth is 0 by definition
        return element("span", time)
    rate = [three_digits(row.number("busbw_gb_per_s"))]
    ends = intervals.of_bandwidth(row)
    if rate[0] and not math.isnan(sum(ends)):
        rate.append(element("small", f" [{three_digits(ends[0])}, {three_digits(ends[1])}]", css="under"))
    return joined([*rate, element("small", f" {time}"), *times_native(row)])


def times_native(row: Row) -> list[Html]:
    """'1.20× native [1.16, 1.25] faster' in small print."""
    if not row["native_ratio"]:
        return []
    ends = [row.number(f"native_ratio_ci_{end}") for end in ("low", "high")]
    interval = "" if math.isnan(sum(ends)) else f" [{ends[0]:.2f}, {ends[1]:.2f}]"
    said = f" {row.number('native_ratio'):.2f}× native{interval} {row['native_verdict'].lower()}"
    return [element("small", said, css="under")]
