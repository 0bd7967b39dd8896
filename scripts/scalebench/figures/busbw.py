# SPDX-License-Identifier: Apache-2.0
# Bus bandwidth of allreduce over the message size, both logarithmic: a line with its interval for
# each algorithm, a figure for each transport and number of ranks. Black: what memory alone would
# allow. All numbers are cells of allreduce.csv, or follow from them.
from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from scalebench import intervals
from scalebench.cases import ALLREDUCE, short_names
from scalebench.figures import theme
from scalebench.numbers import byte_size
from scalebench.rows import Row, grouped, read_rows, usable

# Their places among the colours, so that a run of three algorithms and one of all show each of them
# alike. Others come after.
ALGORITHMS = ("ring direct recursive_doubling hierarchical segmented_ring one_shot double_binary_tree native naive "
              "rabenseifner parameter_server auto").split()  # fmt: skip


def draw(run: Path) -> dict[str, Figure]:
    # One rank sends nothing: its bus bandwidth is 0 by definition, not by measurement.
    rows = [row for row in usable(read_rows(run, "allreduce.csv")) if row.integer("ranks") > 1]
    shown = [row for row in rows if row.number("busbw_gb_per_s") > 0 and row.number("size_bytes") > 0]
    if not shown:
        raise theme.NothingToDraw("allreduce.csv has no usable row with two or more ranks")
    names = short_names(list(grouped(shown, ALLREDUCE)), ALLREDUCE)
    marks = theme.marks([*ALGORITHMS, *sorted({row["algorithm"] for row in shown})])
    panels = sorted(grouped(shown, (*ALLREDUCE, "ranks")).items(),
                    key=lambda panel: (list(names).index(panel[0][:-1]), float(panel[0][-1])))
    values = [row.number(name) for row in shown for name in ("busbw_gb_per_s", "bound_busbw_gb_per_s")]
    values = [value for value in values if value > 0]
    titles = [f"allreduce over {names[key[:-1]]}, {key[-1]} ranks" for key, _ in panels]
    figures = {}
    for file, title, (key, panel) in zip(theme.names_of("busbw", titles), titles, panels):
        figures[file], (axes,) = theme.panel(title, 3.3)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_ylim(min(values) / 2, max(values) * 2)  # one scale for all panels, so that they can be compared
        draw_lines(axes, panel, marks)
        draw_bound(axes, panel)
        axes.yaxis.set_major_locator(LogLocator(subs=(1,) if max(values) / min(values) > 30 else (1, 2, 5)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_major_locator(LogLocator(base=2, numticks=7))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: byte_size(value)))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_ylabel("bus bandwidth, GB/s (10⁹ bytes)")
        axes.set_xlabel("message size, one rank's buffer")
        kind = intervals.told(panel, "seconds_ci_low", "launches")
        theme.legend(axes, [f"upright: {kind}" if kind else ""])
    return figures


def draw_lines(axes: Axes, rows: list[Row], marks: dict[str, tuple[str, str]]) -> None:
    for (algorithm, origin), series in grouped(rows, ("algorithm", "origin")).items():
        series = sorted(series, key=lambda row: row.number("size_bytes"))
        values = [row.number("busbw_gb_per_s") for row in series]
        low, high = zip(*map(intervals.of_bandwidth, series))
        style = theme.Mark(*marks[algorithm], origin).line() | {"markersize": 3.6, "linewidth": 1.5}
        axes.errorbar([row.number("size_bytes") for row in series], values, theme.around(values, low, high),
                      elinewidth=0.9,
                      label=theme.with_origin(algorithm, origin), **style)  # fmt: skip


def draw_bound(axes: Axes, rows: list[Row]) -> None:
    """What memory alone allows, of each size the most that was seen beside any algorithm."""
    most: dict[float, float] = {}
    for row in rows:
        if (bound := row.number("bound_busbw_gb_per_s")) > 0:
            most[row.number("size_bytes")] = max(bound, most.get(row.number("size_bytes"), 0))
    if most:
        axes.plot(*zip(*sorted(most.items())), color=theme.INK, linewidth=1.6, marker="_", zorder=2.8,
                  label="memory's bound")
