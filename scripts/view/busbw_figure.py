# SPDX-License-Identifier: Apache-2.0
# Bus bandwidth of allreduce over the message size: a line for each algorithm, a row of panels for
# each transport and a column for each number of ranks. All numbers are cells of allreduce.csv.
from __future__ import annotations

import math
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from view import theme
from view.rows import Row, byte_size, grouped, read_rows, short_names, usable

CASE = ("transport", "memory", "dtype", "op", "mode", "cache", "nodes")


def draw(run: Path) -> Figure:
    # One rank sends nothing: its bus bandwidth is 0 by definition, not by measurement.
    rows = [row for row in usable(read_rows(run, "allreduce.csv")) if row.integer("ranks") > 1]
    rows = [row for row in rows if row["busbw_gb_per_s"] and row.number("size_bytes") > 0]
    if not rows:
        raise theme.NothingToDraw("allreduce.csv has no usable row with two or more ranks")
    cases = grouped(rows, CASE)
    names = short_names(list(cases))
    ranks = sorted({row.integer("ranks") for row in rows})
    marks = theme.marks(sorted({row["algorithm"] for row in rows}))
    figure, stacks = theme.panels(
        len(cases) * len(ranks), rows_each=1, width=5.0, height=3.1, most=min(len(ranks), 4)
    )
    places = [(case, n) for case in cases for n in ranks]
    for (case, n), (axes,) in zip(places, stacks):
        panel = [row for row in cases[case] if row.integer("ranks") == n]
        if not panel:
            axes.set_visible(False)
            continue
        axes.set_title(f"allreduce over {names[case]}, {n} ranks")
        draw_panel(axes, panel, marks, top=highest(cases[case]))
    return figure


def highest(rows: list[Row]) -> float:
    """The top of a scale that panels of one transport share."""
    columns = ("busbw_gb_per_s", "busbw_ci_high_gb_per_s")
    return max(
        (row.number(column) for row in rows for column in columns if row[column]), default=1.0
    )


def draw_panel(axes: Axes, rows: list[Row], marks: dict[str, tuple[str, str]], top: float) -> None:
    size_axis(axes, [row.number("size_bytes") for row in rows])
    labels: list[tuple[float, float, str, str]] = []
    for (algorithm, origin), series in grouped(rows, ("algorithm", "origin")).items():
        color, marker = marks[algorithm]
        series = sorted(series, key=lambda row: row.number("size_bytes"))
        sizes = [row.number("size_bytes") for row in series]
        values = [row.number("busbw_gb_per_s") for row in series]
        low = [row.number("busbw_ci_low_gb_per_s") for row in series]
        high = [row.number("busbw_ci_high_gb_per_s") for row in series]
        axes.fill_between(sizes, low, high, color=color, alpha=0.18, linewidth=0, zorder=2)
        axes.plot(sizes, values, **{**theme.Mark(color, marker, origin).line(), "markersize": 4})
        ends = [(x, y) for x, y in zip(sizes, values) if not math.isnan(y)]
        if ends:
            labels.append((*ends[-1], theme.with_origin(algorithm, origin), color))
    axes.set_ylim(0, 1.05 * top or 1)
    axes.set_ylabel("bus bandwidth, GB/s (10⁹ bytes)")
    axes.set_xlabel("message size, one rank's buffer")
    theme.label_lines(axes, labels)


def size_axis(axes: Axes, sizes: list[float]) -> None:
    """A log2 axis with at most seven ticks at powers of four."""
    low, high = math.floor(math.log2(min(sizes))), math.ceil(math.log2(max(sizes)))
    step = max(2, 2 * math.ceil((high - low) / 12))
    axes.set_xscale("log", base=2)
    axes.set_xlim(min(sizes) / 1.3, max(sizes) * 1.3)
    axes.xaxis.set_major_locator(FixedLocator([2.0**power for power in range(low, high + 1, step)]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: byte_size(value)))
