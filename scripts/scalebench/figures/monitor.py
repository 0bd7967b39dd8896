# SPDX-License-Identifier: Apache-2.0
# What the hosts did while ranks worked: lanes for CPU, memory, disk, network and GPUs over the time of the run, a
# figure a host, launches shaded. A lane in which nothing happened is not drawn. All numbers are of monitor.csv.
from __future__ import annotations

import math
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scalebench.figures import theme
from scalebench.rows import Row, grouped, read_rows

BLUE, RED = theme.SERIES[0], theme.SERIES[1]
# Title: a cell's scale, what a lane reaches at least that is drawn, its lines. A disk or network that never reached
# 1 MB/s did nothing worth a lane.
HOST: dict[str, tuple[float, float, dict[str, tuple[str, str]]]] = {
    "CPU, %": (100, 0, {"cpu_share": ("all cores", BLUE), "steal_share": ("stolen", RED)}),
    "memory, GiB": (2**-30, 0, {"memory_used_bytes": ("used", BLUE)}),
    "disk, MB/s": (1e-6, 1, {"disk_read_bytes_per_s": ("read", BLUE), "disk_write_bytes_per_s": ("written", RED)}),
    "network, MB/s": (1e-6, 1, {"network_received_bytes_per_s": ("received", BLUE),
                                "network_sent_bytes_per_s": ("sent", RED)}),
}
GPU = {"GPU busy, %": (100.0, "gpu_share"), "GPU memory, GiB": (2**-30, "gpu_memory_used_bytes"),
       "GPU power, W": (1.0, "gpu_watts"),
       "GPU clock, MHz": (1.0, "gpu_clock_mhz")}  # fmt: skip
Line = tuple[str, str, list[Row], str, float]  # label, colour, rows, column, scale


def draw(run: Path) -> dict[str, Figure]:
    rows = [row for row in read_rows(run, "monitor.csv") if row["utc_seconds"]]
    if not rows:
        raise theme.NothingToDraw("monitor.csv has no row")
    hosts = grouped(rows, ["host"])
    titles = [f"What {host} did" if len(hosts) > 1 else "What the host did" for (host,) in hosts]
    first = min(row.number("utc_seconds") for row in rows)
    launches = [[row.number("utc_seconds") - first for row in group] for group in grouped(rows, ["launch"]).values()]
    figures = {}
    for file, title, of_host in zip(theme.names_of("monitor", titles), titles, hosts.values()):
        if not (lanes := lanes_of(of_host)):
            continue
        figures[file], stack = theme.panel(title, 1.3, len(lanes))
        for axes, (name, lines) in zip(stack, lanes.items()):
            for seconds in launches:
                axes.axvspan(min(seconds), max(seconds), facecolor=theme.GRID, alpha=0.55, linewidth=0, zorder=0)
            draw_lane(axes, name, lines, first)
            axes.set_xlim(0, max(map(max, launches)) or 1)
            axes.tick_params(labelbottom=axes is stack[-1])
        stack[-1].set_xlabel("seconds since the first look; shaded: launches")
        figures[file].align_ylabels()
    if not figures:
        raise theme.NothingToDraw("monitor.csv has no number in any lane")
    return figures


def lanes_of(rows: list[Row]) -> dict[str, list[Line]]:
    """Those in which something happened."""
    machine = [row for row in rows if not row["gpu"]]
    cards = grouped([row for row in rows if row["gpu"]], ["gpu"])
    colors = theme.marks([card for (card,) in cards])
    lanes: dict[str, list[Line]] = {}
    for title, (scale, least, columns) in HOST.items():
        if any(scale * row.number(column) >= least for row in machine for column in columns):
            lanes[title] = [(label, color, machine, column, scale) for column, (label, color) in columns.items()]
    for title, (scale, column) in GPU.items():
        if any(row[column] for row in rows):
            lanes[title] = [(f"GPU {card}", colors[card][0], of_card, column, scale) for (card,),
                            of_card in cards.items()]
    return lanes


def draw_lane(axes: Axes, title: str, lines: list[Line], first: float) -> None:
    for label, color, rows, column, scale in lines:
        if not any(row[column] for row in rows):
            continue
        x, y = [], []
        for group in grouped(rows, ["launch"]).values():  # with a gap between launches
            x += [*(row.number("utc_seconds") - first for row in group), math.nan]
            y += [*(scale * row.number(column) for row in group), math.nan]
        # A launch may have a single sample, which a line alone does not show.
        axes.plot(x, y, color=color, linewidth=1.0, marker=".", markersize=2, label=label)
    axes.set_ylabel(title)  # the unit is part of the lane's name
    axes.set_ylim(0, 104 if "%" in title else None)
    axes.grid(axis="x", visible=False)
    # Above the lane: its lines may be anywhere in it.
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncol=3, borderaxespad=0.1, handlelength=1.2)
