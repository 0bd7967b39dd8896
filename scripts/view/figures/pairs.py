# SPDX-License-Identifier: Apache-2.0
# A square of all pairs of ranks or hosts, coloured by how fast they are: what all pairs of one have in
# common is a stripe, a bad link a single field. A figure for each case of bench_allreduce --pairs; its
# numbers are cells of allreduce_groups.csv. Bus bandwidth, or microseconds of a message below 64 KiB.
from __future__ import annotations

import math
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from view.cases import ALLREDUCE
from view.figures import theme
from view.numbers import byte_size
from view.rows import Row, grouped, read_rows, usable

FILE = "allreduce_groups.csv"
RATED = 64 * 1024  # bytes, from which on a rate says more than a time
WRITTEN = 16  # members whose fields have room for a number


def draw(run: Path) -> dict[str, Figure]:
    rows = [row for row in usable(read_rows(run, FILE)) if row["round"]]
    # Pairs on one host and between two belong together.
    groups = grouped(rows, ["algorithm", *(column for column in ALLREDUCE if column != "nodes"), "size_bytes"])
    cases = [case for group in groups.values() if (case := pairs_of(group))]
    if not cases:
        raise theme.NothingToDraw(f"{FILE} has no pairs")
    titles = [title_of(case[0]) for case in cases]
    files = theme.names_of("pairs", titles)
    return {file: square(title, case) for file, title, case in zip(files, titles, cases)}


def title_of(row: Row) -> str:
    what = "bus bandwidth, GB/s" if row.number("size_bytes") >= RATED else "time, µs"
    return f"{row['algorithm']} over {row['transport']}, {byte_size(row.number('size_bytes'))}: {what}"


def ranks_of(row: Row) -> list[str]:
    return row["members"].replace("-", ",").split(",")


def are_hosts(rows: list[Row]) -> bool:
    """Pairs of hosts; of ranks, where a host has several of them and they meet."""
    hosts = {host for row in rows for host in row["hosts"].split()}
    return any(row.integer("ranks") > 2 for row in rows) or len(hosts) == len({rank for row in rows for rank in ranks_of(row)})


def pairs_of(rows: list[Row]) -> list[Row]:
    """All but those of one host, which sat out a round and measured itself."""
    return [row for row in rows if len(set(row["hosts"].split())) > 1] if are_hosts(rows) else rows


def ends_of(row: Row, by_host: bool) -> tuple[str, str]:
    low, high = dict.fromkeys(row["hosts"].split()) if by_host else ranks_of(row)
    return low, high


def square(title: str, rows: list[Row]) -> Figure:
    rated = rows[0].number("size_bytes") >= RATED
    by_host = are_hosts(rows)
    values = {}
    for row in rows:
        low, high = ends_of(row, by_host)
        value = row.number("busbw_gb_per_s") if rated else 1e6 * row.number("seconds_median")
        values[low, high] = values[high, low] = value
    members = sorted({low for low, _ in values}, key=lambda name: (len(name), name) if name.isdigit() else (0, name))
    fields = [[values.get((low, high), math.nan) for high in members] for low in members]
    figure, (axes,) = theme.panel(title, 4.2)
    # From 0: noise of a few per cent would be all colours otherwise.
    image = axes.imshow(fields, cmap="viridis" if rated else "viridis_r", vmin=0, vmax=max(values.values()))
    axes.grid(False)
    step = max(1, math.ceil(len(members) / WRITTEN))
    axes.set_xticks(range(0, len(members), step), members[::step], rotation=0 if members[0].isdigit() else 90)
    axes.set_yticks(range(0, len(members), step), members[::step])
    if len(members) <= WRITTEN:
        write_numbers(axes, image, fields)
    figure.colorbar(image, ax=axes, shrink=0.8)
    return figure


def write_numbers(axes: Axes, image: AxesImage, fields: list[list[float]]) -> None:
    size = 10 if len(fields) <= 8 else 6
    for line, values in enumerate(fields):
        for column, value in enumerate(values):
            if math.isnan(value):
                continue
            red, green, blue, _ = image.cmap(image.norm(value))
            light = 0.299 * red + 0.587 * green + 0.114 * blue > 0.5
            axes.text(column, line, f"{value:.3g}", ha="center", va="center", fontsize=size, color="black" if light else "white")
