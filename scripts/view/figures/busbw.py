# SPDX-License-Identifier: Apache-2.0
# Bus bandwidth of allreduce over the message size, both logarithmic: a line with its interval for
# each algorithm, a panel for each transport and number of ranks. Dashed: the fitted cost model.
# Black: what memory alone would allow. All numbers are cells of allreduce.csv, fit_points.csv and
# bound.csv; the last two may be missing.
from __future__ import annotations

import math
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from view import intervals
from view.cases import ALLREDUCE, short_names
from view.figures import theme
from view.numbers import byte_size
from view.rows import Row, grouped, read_rows, usable

# Their places among the colours, so that a run of three algorithms and one of all show each of them
# alike. Others come after.
ALGORITHMS = ("ring direct recursive_doubling hierarchical segmented_ring one_shot double_binary_tree native naive "
              "rabenseifner parameter_server auto").split()  # fmt: skip

Label = tuple[float, float, str, str]


def draw(run: Path) -> Figure:
    # One rank sends nothing: its bus bandwidth is 0 by definition, not by measurement.
    rows = [row for row in read_rows(run, "allreduce.csv") if row.integer("ranks") > 1]
    shown = [row for row in usable(rows) if row.number("busbw_gb_per_s") > 0]
    shown = [row for row in shown if row.number("size_bytes") > 0]
    if not shown:
        raise theme.NothingToDraw("allreduce.csv has no usable row with two or more ranks")
    fits, bounds = usable(read_rows(run, "fit_points.csv")), usable(read_rows(run, "bound.csv"))
    cases = grouped(shown, ALLREDUCE)
    names = short_names(list(cases))
    ranks = sorted({row.integer("ranks") for row in shown})
    marks = theme.marks([*ALGORITHMS, *sorted({row["algorithm"] for row in shown})])
    places = [(case, n) for case in cases for n in ranks]
    in_a_line = len(ranks) if 1 < len(ranks) < 4 else 2
    figure, stacks = theme.panels(len(places), 1, width=5.6, height=4.3, most=in_a_line)
    low, high = limits(shown, bounds)
    for (case, n), (axes,) in zip(places, stacks):
        panel = of_panel(cases[case], case, n)
        if not panel:
            axes.set_visible(False)
            continue
        axes.set_title(f"allreduce over {names[case]}, {n} ranks")
        axes.set_yscale("log")
        axes.set_ylim(low, high)
        size_axis(axes, [row.number("size_bytes") for row in shown])
        draw_fits(axes, of_panel(fits, case, n), marks)
        labels = draw_lines(axes, panel, marks)
        labels += draw_bound(axes, of_panel(bounds, case, n))
        dress(axes)
        theme.label_lines(axes, labels)
        theme.corner_note(axes, remarks(axes, of_panel(rows, case, n)))
    return figure


def of_panel(rows: list[Row], case: tuple[str, ...], ranks: int) -> list[Row]:
    """Rows of a case and number of ranks; a column that the rows' file lacks does not count."""
    return [
        row
        for row in rows
        if row.integer("ranks") == ranks
        and all(row[column] in ("", value) for column, value in zip(ALLREDUCE, case))
    ]


def limits(rows: list[Row], bounds: list[Row]) -> tuple[float, float]:
    """One scale for all panels, so that they can be compared."""
    values = [row.number("busbw_gb_per_s") for row in [*rows, *bounds]]
    values = [value for value in values if value > 0]
    return min(values) / 1.6, max(values) * 1.6


def draw_lines(axes: Axes, rows: list[Row], marks: dict[str, tuple[str, str]]) -> list[Label]:
    labels: list[Label] = []
    for (algorithm, origin), series in grouped(rows, ("algorithm", "origin")).items():
        color, marker = marks[algorithm]
        series = sorted(series, key=lambda row: row.number("size_bytes"))
        sizes = [row.number("size_bytes") for row in series]
        values = [row.number("busbw_gb_per_s") for row in series]
        low = [row.number("busbw_ci_low_gb_per_s") for row in series]
        high = [row.number("busbw_ci_high_gb_per_s") for row in series]
        axes.fill_between(sizes, low, high, color=color, alpha=0.16, linewidth=0, zorder=2)
        line = {**theme.Mark(color, marker, origin).line(), "markersize": 3.6, "linewidth": 1.5}
        axes.plot(sizes, values, **{**line, "markeredgewidth": 1.0})
        labels.append((sizes[-1], values[-1], theme.with_origin(algorithm, origin), color))
    return labels


def draw_fits(axes: Axes, rows: list[Row], marks: dict[str, tuple[str, str]]) -> None:
    for (algorithm, _), series in grouped(rows, ("algorithm", "note")).items():
        if algorithm not in marks:
            continue
        series = sorted(series, key=lambda row: row.number("size_bytes"))
        sizes = [row.number("size_bytes") for row in series]
        values = [row.number("busbw_gb_per_s") for row in series]
        color = marks[algorithm][0]
        axes.plot(sizes, values, color=color, linewidth=0.9, linestyle=(0, (4, 2)), zorder=2.5)


def draw_bound(axes: Axes, rows: list[Row]) -> list[Label]:
    rows = sorted(rows, key=lambda row: row.number("size_bytes"))
    points = [(row.number("size_bytes"), row.number("busbw_gb_per_s")) for row in rows]
    points = [(x, y) for x, y in points if x > 0 and y > 0]
    if not points:
        return []
    axes.plot(*zip(*points), color=theme.INK, linewidth=1.6, solid_capstyle="round", zorder=2.8)
    return [(*points[-1], "memory's bound", theme.INK)]


def remarks(axes: Axes, rows: list[Row]) -> str:
    """What the kinds of line mean that are there, and what is not."""
    kind = intervals.told(rows, "busbw_ci_low_gb_per_s", "interval")
    lines = ["solid: measured" + (f"; band: {kind}" if kind else "")]
    if any(line.is_dashed() for line in axes.get_lines()):
        lines.append("dashed: fitted cost model")
    for status in ("wrong", "failed", "skipped"):
        names = dict.fromkeys(row["algorithm"] for row in rows if row["status"] == status)
        if names:
            lines.append(f"{status}: {', '.join(names)}")
    return "\n".join(lines)


def dress(axes: Axes) -> None:
    axes.set_ylabel("bus bandwidth, GB/s (10⁹ bytes)")
    axes.set_xlabel("message size, one rank's buffer")
    axes.yaxis.set_major_locator(LogLocator(numticks=12))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def size_axis(axes: Axes, sizes: list[float]) -> None:
    """A log2 axis with at most seven ticks at powers of four."""
    low, high = math.floor(math.log2(min(sizes))), math.ceil(math.log2(max(sizes)))
    step = max(2, 2 * math.ceil((high - low) / 12))
    axes.set_xscale("log", base=2)
    axes.set_xlim(min(sizes) / 1.3, max(sizes) * 1.3)
    axes.xaxis.set_major_locator(FixedLocator([2.0**power for power in range(low, high + 1, step)]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: byte_size(value)))
