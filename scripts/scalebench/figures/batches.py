# SPDX-License-Identifier: Apache-2.0
# Images a second of one device over the batch, both logarithmic: a line for each precision, memory
# format and way to launch a step, a figure for each model on each device. Bands are intervals of the
# median. All numbers are cells of throughput.csv.
from __future__ import annotations

from pathlib import Path

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from scalebench import intervals
from scalebench.cases import short_names
from scalebench.figures import theme
from scalebench.rows import Row, grouped, read_rows, usable

WAY = ("dtype", "memory_format", "step", "threads")


def draw(run: Path) -> dict[str, Figure]:
    rows = [row for row in usable(read_rows(run, "throughput.csv")) if row["ranks"] == "1"]
    rows = [row for row in rows if row["rank"] == "all" and row.number("images_per_s") > 0]
    panels = {key: panel for key, panel in grouped(rows, ("model", "device")).items() if len(batches(panel)) > 1}
    if not panels:
        raise theme.NothingToDraw("throughput.csv has no model with several batches on one rank")
    names = short_names(list(grouped(rows, WAY)), WAY)
    marks = theme.marks(list(names.values()))
    figures = {}
    titles = [f"{model} on {device}" for model, device in panels]
    for file, title, panel in zip(theme.names_of("batches", titles), titles, panels.values()):
        figure, (axes,) = theme.panel(title, 3.3)
        theme.legend(figure, draw_panel(axes, panel, names, marks))
        figures[file] = figure
    return figures


def batches(rows: list[Row]) -> list[int]:
    return sorted({row.integer("batch") for row in rows})


def draw_panel(
    axes: Axes, rows: list[Row], names: dict[tuple[str, ...], str], marks: dict[str, tuple[str, str]]
) -> list[tuple[Artist, str]]:
    entries: list[tuple[Artist, str]] = []
    for key, series in grouped(rows, WAY).items():
        color, marker = marks[names[key]]
        for (origin,), points in grouped(series, ("origin",)).items():
            mark = theme.Mark(color, marker, origin)
            points = sorted(points, key=lambda row: row.integer("batch"))
            ends = [(float(row.integer("batch")), row.number("images_per_s")) for row in points]
            axes.plot([x for x, _ in ends], [y for _, y in ends], **mark.line())
            low, high = ([row.number(f"images_per_s_ci_{end}") for row in points] for end in ("low", "high"))
            axes.fill_between([x for x, _ in ends], low, high, color=color, alpha=0.16, linewidth=0, zorder=2)
            entries.append((theme.mark_of(mark), theme.with_origin(names[key], origin)))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(FixedLocator(batches(rows)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5)))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}".replace(",", " ")))
        axis.set_minor_formatter(NullFormatter())
    axes.set_ylabel("images/s")
    kind = intervals.told(rows, "images_per_s_ci_low", "interval")
    said = ["images of a step", *([f"band: {kind}"] if kind else [])]
    axes.set_xlabel("\n".join(said))
    return entries
