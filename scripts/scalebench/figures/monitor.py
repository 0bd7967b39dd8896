# SPDX-License-Identifier: Apache-2.0
# What the hosts did while ranks worked: lanes for CPU, memory, disk, network and GPUs over the time
# of the run, a figure a host, launches shaded. A lane in which nothing happened is not drawn. All
# numbers are cells of monitor.csv in other units.
from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scalebench.figures import theme
from scalebench.rows import Row, grouped, read_rows

LANE_INCHES = 1.35
IDLE = 1.0  # MB/s: a disk or network that never reached it did nothing worth a lane


@dataclass(frozen=True)
class Line:
    column: str
    label: str
    color: str


@dataclass(frozen=True)
class Lane:
    title: str
    scale: float  # of a cell, to the unit of the title
    lines: tuple[Line, ...]
    full: bool = False  # 0 to 100 %, whatever was measured
    idle: float = 0.0  # in the unit of the title: a lane that never reaches it is not drawn


BLUE, RED, GREY = theme.SERIES[0], theme.SERIES[1], theme.SERIES[7]
HOST_LANES = (
    Lane("CPU, %", 100, (Line("rank_cores_share", "ranks' cores", BLUE), Line("cpu_share", "all cores", GREY),
                         Line("steal_share", "stolen", RED)), full=True),
    Lane("memory, GiB", 2**-30, (Line("memory_used_bytes", "host", GREY), Line("ranks_memory_bytes", "ranks", BLUE))),
    Lane("disk, MB/s", 1e-6, (Line("disk_read_bytes_per_s", "read", BLUE), Line("disk_write_bytes_per_s", "written", RED)),
         idle=IDLE),
    Lane("network, MB/s", 1e-6, (Line("network_received_bytes_per_s", "received", BLUE),
                                 Line("network_sent_bytes_per_s", "sent", RED)), idle=IDLE),
)  # fmt: skip
GPU_LANES = (
    ("GPU busy, %", "gpu_share", 100.0, True),
    ("GPU memory, GiB", "gpu_memory_used_bytes", 2**-30, False),
    ("GPU power, W", "gpu_watts", 1.0, False),
    ("GPU clock, MHz", "gpu_clock_mhz", 1.0, False),
)


def draw(run: Path) -> dict[str, Figure]:
    rows = [row for row in read_rows(run, "monitor.csv") if row["utc_seconds"]]
    if not rows:
        raise theme.NothingToDraw("monitor.csv has no row")
    first = min(row.number("utc_seconds") for row in rows)
    for row in rows:
        row["seconds"] = repr(row.number("utc_seconds") - first)
    hosts = grouped(rows, ["host"])
    lanes = [lane for lane in HOST_LANES if is_busy(rows, lane)]
    gpu_lanes = [lane for lane in GPU_LANES if has_values(rows, [lane[1]])]
    if not lanes and not gpu_lanes:
        raise theme.NothingToDraw("monitor.csv has no number in any lane")
    last = max(row.number("seconds") for row in rows)
    titles = [f"What {host} did" if len(hosts) > 1 else "What the host did" for (host,) in hosts]
    figures = {}
    for file, title, ((host,), of_host) in zip(theme.names_of("monitor", titles), titles, hosts.items()):
        figure, stack = theme.panel(title, LANE_INCHES, len(lanes) + len(gpu_lanes))
        for axes in stack:
            axes.set_xlim(0, last or 1)
            shade_launches(axes, rows)
            axes.tick_params(labelbottom=axes is stack[-1])
        of_machine = [row for row in of_host if not row["gpu"]]
        for axes, lane in zip(stack, lanes):
            draw_lane(axes, of_machine, lane)
        for axes, gpu_lane in zip(stack[len(lanes) :], gpu_lanes):
            draw_gpu_lane(axes, of_host, *gpu_lane)
        stack[-1].set_xlabel("seconds since the first look; shaded: launches")
        figure.align_ylabels()
        figures[file] = figure
    return figures


def is_busy(rows: list[Row], lane: Lane) -> bool:
    cells = [lane.scale * row.number(line.column) for row in rows for line in lane.lines]
    return any(cell >= lane.idle for cell in cells)


def has_values(rows: list[Row], columns: list[str]) -> bool:
    return any(row[column] for row in rows for column in columns)


def shade_launches(axes: Axes, rows: list[Row]) -> None:
    """From the first to the last second of each launch on any host."""
    for _, group in grouped(rows, ["launch"]).items():
        seconds = [row.number("seconds") for row in group]
        axes.axvspan(min(seconds), max(seconds), facecolor=theme.GRID, alpha=0.55, linewidth=0, zorder=0)


def draw_lane(axes: Axes, rows: list[Row], lane: Lane) -> None:
    shown = [
        (line.label, line.color, *broken_line(rows, line.column, lane.scale))
        for line in lane.lines
        if has_values(rows, [line.column])
    ]
    finish(axes, lane.title, shown, lane.full)


def draw_gpu_lane(axes: Axes, rows: list[Row], title: str, column: str, scale: float, full: bool) -> None:  # fmt: skip
    cards = grouped([row for row in rows if row["gpu"]], ["gpu"])
    colors = theme.marks([card for (card,) in cards])
    shown = [
        (f"GPU {card}", colors[card][0], *broken_line(of_card, column, scale))
        for (card,), of_card in cards.items()
    ]
    finish(axes, title, shown, full)


def broken_line(rows: list[Row], column: str, scale: float) -> tuple[list[float], list[float]]:
    """Seconds and values, with a gap between launches."""
    x: list[float] = []
    y: list[float] = []
    for _, group in grouped(rows, ["launch"]).items():
        if x:
            x.append(x[-1])
            y.append(math.nan)
        for row in group:
            x.append(row.number("seconds"))
            y.append(scale * row.number(column))
    return x, y


def finish(axes: Axes, title: str, shown: list[tuple[str, str, list[float], list[float]]], full: bool) -> None:  # fmt: skip
    # The unit is part of the lane's name, which stands where an axis has its label.
    axes.set_ylabel(title)
    axes.grid(axis="x", visible=False)
    tallest = 0.0
    for label, color, x, y in shown:
        # A launch may have a single sample, which a line alone does not show.
        axes.plot(x, y, color=color, linewidth=1.0, marker=".", markersize=2, label=label)
        tallest = max([tallest, *(value for value in y if not math.isnan(value))])
    axes.set_ylim(0, 104 if full else (1.08 * tallest or 1))
    # Above the lane: its lines may be anywhere in it.
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncol=3, frameon=False, borderaxespad=0.1, handlelength=1.2)
