# SPDX-License-Identifier: Apache-2.0
# Bus bandwidth of allreduce over the message size, both logarithmic: a line with its interval for
# each algorithm, a figure for each transport and number of ranks. Black: what memory alone would
# allow. All numbers are cells of allreduce.csv, or follow from them.
from __future__ import annotations

import math
import textwrap
from pathlib import Path

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from scalebench import intervals
from scalebench.cases import ALLREDUCE, short_names
from scalebench.figures import theme
from scalebench.numbers import byte_size
from scalebench.rows import Row, grouped, read_rows, usable

# Their places among the colours, so that a run of three algorithms and one of all show each of them
# alike. Others come after.
ALGORITHMS = ("ring direct recursive_doubling hierarchical segmented_ring one_shot double_binary_tree native naive "
              "rabenseifner parameter_server auto").split()  # fmt: skip

# Below this ratio of an axis' ends powers of ten alone are too few labels.
FEW_DECADES = 10**1.5
STEPS = ((1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9))

Entry = tuple[Artist, str]


def draw(run: Path) -> dict[str, Figure]:
    """A figure for each transport and N."""
    # One rank sends nothing: its bus bandwidth is 0 by definition, not by measurement.
    rows = [row for row in read_rows(run, "allreduce.csv") if row.integer("ranks") > 1]
    shown = [row for row in usable(rows) if row.number("busbw_gb_per_s") > 0]
    shown = [row for row in shown if row.number("size_bytes") > 0]
    if not shown:
        raise theme.NothingToDraw("allreduce.csv has no usable row with two or more ranks")
    cases = grouped(shown, ALLREDUCE)
    names = short_names(list(cases), ALLREDUCE)
    ranks = sorted({row.integer("ranks") for row in shown})
    marks = theme.marks([*ALGORITHMS, *sorted({row["algorithm"] for row in shown})])
    places = [(case, n) for case in cases for n in ranks if of_panel(cases[case], case, n)]
    titles = [f"allreduce over {names[case]}, {n} ranks" for case, n in places]
    low, high = limits(shown)
    figures = {}
    for file, title, (case, n) in zip(theme.names_of("busbw", titles), titles, places):
        figure, (axes,) = theme.panel(title, 3.5)
        axes.set_yscale("log")
        axes.set_ylim(low, high)
        size_axis(axes, [row.number("size_bytes") for row in shown])
        entries = draw_lines(axes, of_panel(cases[case], case, n), marks)
        entries += draw_bound(axes, of_panel(shown, case, n))
        dress(axes, remarks(of_panel(rows, case, n)))
        theme.legend(figure, entries)
        figures[file] = figure
    return figures


def of_panel(rows: list[Row], case: tuple[str, ...], ranks: int) -> list[Row]:
    """Rows of a case and number of ranks; a column that the rows' file lacks does not count."""
    return [
        row
        for row in rows
        if row.integer("ranks") == ranks
        and all(row[column] in ("", value) for column, value in zip(ALLREDUCE, case))
    ]


def limits(rows: list[Row]) -> tuple[float, float]:
    """One scale for all panels, so that they can be compared."""
    values = [row.number(column) for row in rows for column in ("busbw_gb_per_s", "bound_busbw_gb_per_s")]
    values += [end for row in rows for end in intervals.of_bandwidth(row)]
    values = [value for value in values if value > 0]
    return min(values) / 1.6, max(values) * 1.6


def draw_lines(axes: Axes, rows: list[Row], marks: dict[str, tuple[str, str]]) -> list[Entry]:
    entries: list[Entry] = []
    for (algorithm, origin), series in grouped(rows, ("algorithm", "origin")).items():
        color, marker = marks[algorithm]
        series = sorted(series, key=lambda row: row.number("size_bytes"))
        sizes = [row.number("size_bytes") for row in series]
        values = [row.number("busbw_gb_per_s") for row in series]
        ends = [(size, *intervals.of_bandwidth(row)) for size, row in zip(sizes, series)]
        known = [each for each in ends if not math.isnan(sum(each))]  # matplotlib warns of others
        if known:
            axes.vlines(*zip(*known), color=color, linewidth=0.9, zorder=2)
        line = {**theme.Mark(color, marker, origin).line(), "markersize": 3.6, "linewidth": 1.5}
        axes.plot(sizes, values, **{**line, "markeredgewidth": 1.0})
        entries.append((theme.mark_of(theme.Mark(color, marker, origin)), theme.with_origin(algorithm, origin)))
    return entries


def draw_bound(axes: Axes, rows: list[Row]) -> list[Entry]:
    """What memory alone allows, of each size the most that was seen beside any algorithm."""
    most: dict[float, float] = {}
    for row in rows:
        if (bound := row.number("bound_busbw_gb_per_s")) > 0:
            most[row.number("size_bytes")] = max(bound, most.get(row.number("size_bytes"), 0))
    points = sorted(most.items())
    if not points:
        return []
    (line,) = axes.plot(*zip(*points), color=theme.INK, linewidth=1.6, solid_capstyle="round", zorder=2.8, marker="_", markersize=6)
    return [(line, "memory's bound")]


def remarks(rows: list[Row]) -> str:
    """What an upright is, and which algorithms are not there."""
    kind = intervals.told(rows, "seconds_ci_low", "launches")
    lines = [f"upright: {kind}"] if kind else []
    for status in ("wrong", "failed", "skipped"):
        names = dict.fromkeys(row["algorithm"] for row in rows if row["status"] == status)
        if names:
            lines.append(textwrap.fill(f"{status}: {', '.join(names)}", 56))
    return "\n".join(lines)


def dress(axes: Axes, remark: str) -> None:
    axes.set_ylabel("bus bandwidth, GB/s (10⁹ bytes)")
    axes.set_xlabel("message size, one rank's buffer" + (f"\n{remark}" if remark else ""))
    low, high = axes.get_ylim()
    few = high / low < FEW_DECADES
    axes.yaxis.set_major_locator(FixedLocator(ticks_between(low, high)) if few else LogLocator(numticks=12))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def ticks_between(low: float, high: float) -> list[float]:
    """Within few decades: the coarsest of STEPS that labels two values or more, without which no other can be read."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks: list[float] = []
    for steps in STEPS:
        ticks = [float(f"{step}e{power}") for power in powers for step in steps]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) > 1:
            break
    return ticks


def size_axis(axes: Axes, sizes: list[float]) -> None:
    """A log2 axis with at most seven ticks at powers of four."""
    low, high = math.floor(math.log2(min(sizes))), math.ceil(math.log2(max(sizes)))
    step = max(2, 2 * math.ceil((high - low) / 12))
    axes.set_xscale("log", base=2)
    axes.set_xlim(min(sizes) / 1.3, max(sizes) * 1.3)
    axes.xaxis.set_major_locator(FixedLocator([2.0**power for power in range(low, high + 1, step)]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: byte_size(value)))
