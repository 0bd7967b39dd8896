# SPDX-License-Identifier: Apache-2.0
# Images a second of one device over the batch, both logarithmic: a line with its interval for each precision, memory
# format and way to launch a step, a figure for each model on each device. All numbers are cells of throughput.csv.
from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from scalebench import intervals
from scalebench.cases import short_names
from scalebench.figures import theme
from scalebench.numbers import written
from scalebench.rows import Row, grouped, read_rows, usable

WAY = ("dtype", "memory_format", "step", "threads")


def draw(run: Path) -> dict[str, Figure]:
    rows = [row for row in usable(read_rows(run, "throughput.csv")) if row["ranks"] == "1" and row["rank"] == "all"]
    rows = [row for row in rows if row.number("images_per_s") > 0]
    panels = {f"{model} on {device}": panel for (model, device), panel in grouped(rows, ("model", "device")).items()
              if len({row["batch"] for row in panel}) > 1}  # fmt: skip
    if not panels:
        raise theme.NothingToDraw("throughput.csv has no model with several batches on one rank")
    names = short_names(list(grouped(rows, WAY)), WAY)
    marks = theme.marks(names.values())
    figures = {}
    for file, (title, panel) in zip(theme.names_of("batches", list(panels)), panels.items()):
        figures[file], (axes,) = theme.panel(title, 3.1)
        axes.set(xscale="log", yscale="log", xlabel="images of a step", ylabel="images/s")
        for (*way, origin), points in grouped(panel, (*WAY, "origin")).items():
            draw_way(axes, points, names[tuple(way)], theme.Mark(*marks[names[tuple(way)]], origin))
        axes.xaxis.set_major_locator(FixedLocator(sorted({row.integer("batch") for row in panel})))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5)))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: written(0, value)))
            axis.set_minor_formatter(NullFormatter())
        kind = intervals.told(panel, "images_per_s_ci_low", "interval")
        theme.legend(axes, [f"upright: {kind}" if kind else ""])
    return figures


def draw_way(axes: Axes, points: list[Row], name: str, mark: theme.Mark) -> None:
    points = sorted(points, key=lambda row: row.integer("batch"))
    values, low, high = ([row.number(f"images_per_s{end}") for row in points] for end in ("", "_ci_low", "_ci_high"))
    axes.errorbar([row.integer("batch") for row in points], values, theme.around(values, low, high),
                  label=theme.with_origin(name, mark.origin), **mark.line())  # fmt: skip
