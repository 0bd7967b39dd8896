# SPDX-License-Identifier: Apache-2.0
# What the hosts did while ranks worked: lanes for CPU, memory, disk, network and GPUs over the time
# of the run, one column a host, launches shaded. All numbers are cells of monitor.csv in other units.
from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from view.figures import theme
from view.rows import Row, grouped, read_rows, usable

LANE_INCHES = 1.25
MOST_LABELLED_LAUNCHES = 14


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


BLUE, RED, GREEN, GREY = theme.SERIES[0], theme.SERIES[1], theme.SERIES[2], theme.SERIES[7]
HOST_LANES = (
    Lane("CPU, %", 100, (Line("rank_cores_share", "ranks' cores", BLUE), Line("cpu_share", "all cores", GREY),
                         Line("steal_share", "stolen", RED)), full=True),
    Lane("memory, GiB", 2**-30, (Line("memory_used_bytes", "host", GREY), Line("ranks_memory_bytes", "ranks", BLUE))),
    Lane("disk, MB/s", 1e-6, (Line("disk_read_bytes_per_s", "read", BLUE), Line("disk_write_bytes_per_s", "written", RED))),
    Lane("network, MB/s", 1e-6, (Line("network_received_bytes_per_s", "received", BLUE),
                                 Line("network_sent_bytes_per_s", "sent", RED), Line("loopback_bytes_per_s", "loopback", GREY))),
)  # fmt: skip
GPU_LANES = (
    ("GPU busy, %", "gpu_share", 100.0, True),
    ("GPU memory, GiB", "gpu_memory_used_bytes", 2**-30, False),
    ("GPU power, W", "gpu_watts", 1.0, False),
    ("GPU clock, MHz", "gpu_clock_mhz", 1.0, False),
)


def draw(run: Path) -> Figure:
    rows = [row for row in usable(read_rows(run, "monitor.csv")) if row["seconds"]]
    if not rows:
        raise theme.NothingToDraw("monitor.csv has no row")
    hosts = grouped(rows, ["host"])
    lanes = [lane for lane in HOST_LANES if has_values(rows, [line.column for line in lane.lines])]
    gpu_lanes = [lane for lane in GPU_LANES if has_values(rows, [lane[1]])]
    if not lanes and not gpu_lanes:
        raise theme.NothingToDraw("monitor.csv has no number in any lane")
    figure, stacks = theme.panels(
        len(hosts), rows_each=len(lanes) + len(gpu_lanes), width=8.6, height=LANE_INCHES, most=2
    )
    last = max(row.number("seconds") for row in rows)
    for ((host,), of_host), stack in zip(hosts.items(), stacks):
        for axes in stack:
            axes.set_xlim(0, last or 1)
            shade_launches(axes, rows)
            axes.tick_params(labelbottom=axes is stack[-1])
        of_machine = [row for row in of_host if not row["gpu"]]
        for axes, lane in zip(stack, lanes):
            draw_lane(axes, of_machine, lane)
        for axes, gpu_lane in zip(stack[len(lanes) :], gpu_lanes):
            draw_gpu_lane(axes, of_host, *gpu_lane)
        name_launches(stack[0], rows)
        stack[0].set_title(host, pad=20)
        stack[-1].set_xlabel("seconds since the run's beginning")
    figure.align_ylabels()
    return figure


def has_values(rows: list[Row], columns: list[str]) -> bool:
    return any(row[column] for row in rows for column in columns)


def spans(rows: list[Row]) -> dict[str, tuple[float, float, str]]:
    """First and last second of each launch on any host, and what it is."""
    return {
        launch: (
            min(row.number("seconds") for row in group),
            max(row.number("seconds") for row in group),
            f"{group[0]['bench']} N={group[0]['ranks']}",
        )
        for (launch,), group in grouped(rows, ["launch"]).items()
    }


def shade_launches(axes: Axes, rows: list[Row]) -> None:
    for begin, end, _ in spans(rows).values():
        axes.axvspan(begin, end, facecolor=theme.GRID, alpha=0.55, linewidth=0, zorder=0)


def name_launches(axes: Axes, rows: list[Row]) -> None:
    """A number above each launch, with what it is where there is room for it."""
    found = spans(rows)
    whole = axes.get_xlim()[1]
    for launch, (begin, end, what) in found.items():
        roomy = (end - begin) / whole > 0.014 * (len(what) + 4)
        if not roomy and len(found) > MOST_LABELLED_LAUNCHES:
            continue
        axes.text(
            (begin + end) / 2, 1.04, f"{launch} · {what}" if roomy else launch, transform=axes.get_xaxis_transform(),
            ha="center", va="bottom", fontsize=7, color=theme.MUTED,
        )  # fmt: skip


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
    reasons = sorted(
        {reason for row in rows for reason in row["gpu_throttle_reasons"].split(";")}
        - {"", "none", "gpu_idle"}
    )
    if column == "gpu_clock_mhz" and reasons:
        theme.note(axes, f"held down by {', '.join(reasons)}")


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
    labels = []
    tallest = 0.0
    for label, color, x, y in shown:
        axes.plot(x, y, color=color, linewidth=1.2, marker=".", markersize=2.5)
        known = [(at, value) for at, value in zip(x, y) if not math.isnan(value)]
        if known:
            labels.append((axes.get_xlim()[1], known[-1][1], label, color))
            tallest = max(tallest, *(value for _, value in known))
    axes.set_ylim(0, 104 if full else (1.08 * tallest or 1))
    theme.label_lines(axes, labels)
