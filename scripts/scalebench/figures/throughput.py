# SPDX-License-Identifier: Apache-2.0
# Training steps without synchronisation. Images a second of every single rank against the number of ranks, all working
# at once: ideal is flat, the drop is contention. And of one device over the batch, both logarithmic: a line for each
# precision, memory format and way to launch a step. All numbers are cells of throughput.csv.
from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from scalebench import intervals
from scalebench.cases import short_names
from scalebench.figures import theme
from scalebench.numbers import written
from scalebench.rows import Row, grouped, read_rows, usable

SERIES = ("device", "batch", "dtype", "memory_format", "step", "threads", "nodes")
WAY = ("dtype", "memory_format", "step", "threads")
WHOLE = FuncFormatter(lambda value, _: written(0, value))
Names = dict[tuple[str, ...], str]


def rows_of(run: Path) -> list[Row]:
    return [row for row in usable(read_rows(run, "throughput.csv")) if row.integer("ranks") > 0 and row.number("images_per_s") > 0]


def draw(run: Path) -> dict[str, Figure]:
    # Of one rank there is only the row of all.
    rows = [row for row in rows_of(run) if row["rank"] and (row["rank"] == "all") == (row["ranks"] == "1")]
    if not any(row.integer("ranks") > 1 for row in rows):
        raise theme.NothingToDraw("throughput.csv has no usable row of one of several ranks")
    keys = list(grouped(rows, SERIES))
    short = short_names([(f"{device}, batch {batch}", *more) for device, batch, *more in keys], SERIES[1:])
    panels = {f"{model}, training steps without synchronisation": panel for (model,), panel in grouped(rows, ("model",)).items()}
    return drawn("throughput", panels, SERIES, dict(zip(keys, short.values())), draw_ranks)


def draw_batches(run: Path) -> dict[str, Figure]:
    rows = [row for row in rows_of(run) if row["ranks"] == "1" and row["rank"] == "all"]
    panels = {f"{model} on {device}": panel for (model, device), panel in grouped(rows, ("model", "device")).items()
              if len({row["batch"] for row in panel}) > 1}  # fmt: skip
    if not panels:
        raise theme.NothingToDraw("throughput.csv has no model with several batches on one rank")
    return drawn("batches", panels, WAY, short_names(list(grouped(rows, WAY)), WAY), draw_ways)


def drawn(
    figure: str, panels: dict[str, list[Row]], series: Sequence[str], names: Names, draw_panel: Callable[[Axes, list[Row], list[tuple[str, theme.Mark, list[Row]]]], None]
) -> dict[str, Figure]:  # fmt: skip
    marks = theme.marks(names.values())
    figures = {}
    for file, (title, rows) in zip(theme.names_of(figure, list(panels)), panels.items()):
        figures[file], (axes,) = theme.panel(title, 3.1)
        axes.set_ylabel("images/s" if figure == "batches" else "images/s of each rank")
        lines = [(theme.with_origin(names[tuple(way)], origin), theme.Mark(*marks[names[tuple(way)]], origin), points)
                 for (*way, origin), points in grouped(rows, (*series, "origin")).items()]  # fmt: skip
        draw_panel(axes, rows, lines)
    return figures


def draw_ranks(axes: Axes, rows: list[Row], lines: list[tuple[str, theme.Mark, list[Row]]]) -> None:
    """A dot for each rank and a line along the slowest ones, for which synchronous training waits."""
    ranks = theme.ranks_axis(axes, [row.integer("ranks") for row in rows])
    for name, mark, points in lines:
        rates = {n: [row.number("images_per_s") for row in points if row.integer("ranks") == n] for n in ranks}
        rates = {n: of_n for n, of_n in rates.items() if of_n}
        if 1 in rates:
            theme.ideal(axes, [ranks[0] / 1.2, ranks[-1] * 1.2], rates[1][0], "ideal: the single rank")
        dots = [(n, rate) for n, of_n in rates.items() for rate in of_n]
        axes.plot(*zip(*dots), **mark.line() | {"linestyle": "none", "alpha": 0.75}, label=name)
        if ranks[-1] > 2:
            axes.plot(list(rates), [min(of_n) for of_n in rates.values()], **mark.line() | {"marker": ""})
    axes.set_ylim(0, 1.08 * max(row.number("images_per_s") for row in rows))
    axes.set_xlabel("ranks N working at once")
    axes.yaxis.set_major_formatter(WHOLE)
    theme.legend(axes, ["a mark for each rank" + ("; a line along the slowest" if ranks[-1] > 2 else "")])


def draw_ways(axes: Axes, rows: list[Row], lines: list[tuple[str, theme.Mark, list[Row]]]) -> None:
    """A line with its interval for each way to compute a step."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    for name, mark, points in lines:
        points = sorted(points, key=lambda row: row.integer("batch"))
        values, low, high = ([row.number(f"images_per_s{end}") for row in points] for end in ("", "_ci_low", "_ci_high"))
        axes.errorbar([row.integer("batch") for row in points], values, theme.around(values, low, high), label=name, **mark.line())
    axes.xaxis.set_major_locator(FixedLocator(sorted({row.integer("batch") for row in rows})))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5)))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(WHOLE)
        axis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("images of a step")
    kind = intervals.told(rows, "images_per_s_ci_low", "interval")
    theme.legend(axes, [f"upright: {kind}" if kind else ""])
