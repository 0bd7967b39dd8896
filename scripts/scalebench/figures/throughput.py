# SPDX-License-Identifier: Apache-2.0
# Images a second of every single rank against the number of ranks, all working at once without
# synchronisation: ideal is flat, the drop is contention. All numbers are cells of throughput.csv.
from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from scalebench.cases import short_names
from scalebench.figures import theme
from scalebench.rows import Row, grouped, read_rows, usable

SERIES = ("device", "batch", "dtype", "memory_format", "step", "threads", "nodes")


def draw(run: Path) -> dict[str, Figure]:
    rows = usable(read_rows(run, "throughput.csv"))
    # Of one rank there is only the row of all.
    rows = [row for row in rows if row["rank"] != "" and (row["rank"] == "all") == (row["ranks"] == "1")]
    rows = [row for row in rows if row.integer("ranks") > 0 and row["images_per_s"]]
    if not rows:
        raise theme.NothingToDraw("throughput.csv has no usable row of a single rank")
    names = names_of(rows)
    marks = theme.marks(list(names.values()))
    models = grouped(rows, ("model",))
    figures = {}
    for file, ((model,), panel) in zip(theme.names_of("throughput", [m for (m,) in models]), models.items()):
        figure, (axes,) = theme.panel(f"{model}, training steps without synchronisation", 3.1)
        draw_panel(axes, panel, names, marks)
        entries = [(theme.mark_of(theme.Mark(*marks[names[key]], origin)), theme.with_origin(names[key], origin))
                   for *way, origin in grouped(panel, (*SERIES, "origin")) for key in (tuple(way),)]  # fmt: skip
        theme.legend(figure, [theme.ideal_line(), *entries])
        figures[file] = figure
    return figures


def names_of(rows: list[Row]) -> dict[tuple[str, ...], str]:
    """'cpu, batch 16', and whatever else differs."""
    keys = list(grouped(rows, SERIES))
    short = short_names([(f"{device}, batch {batch}", *more) for device, batch, *more in keys], SERIES[1:])
    return dict(zip(keys, short.values()))


def draw_panel(
    axes: Axes,
    rows: list[Row],
    names: dict[tuple[str, ...], str],
    marks: dict[str, tuple[str, str]],
) -> None:
    ranks = sorted({row.integer("ranks") for row in rows})
    theme.ranks_axis(axes, ranks)
    for key, series in grouped(rows, SERIES).items():
        color, marker = marks[names[key]]
        single = [row.number("images_per_s") for row in series if row.integer("ranks") == 1]
        if single:
            axes.axhline(
                single[0], color=theme.MUTED, linewidth=1.0, linestyle=(0, (1, 1.5)), zorder=2
            )
        for (origin,), points in grouped(series, ("origin",)).items():
            mark = theme.Mark(color, marker, origin)
            draw_ranks(axes, points, mark, ranks[-1] > 2)
    axes.set_ylim(0, 1.08 * max(row.number("images_per_s") for row in rows))
    axes.set_xlabel("ranks N working at once; a mark for each rank"
                    + ("\na line along the slowest; " if ranks[-1] > 2 else "\n") + "ideal: the single rank")  # fmt: skip
    axes.set_ylabel("images/s of each rank")
    axes.yaxis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{value:,.0f}".replace(",", " "))
    )


def draw_ranks(axes: Axes, rows: list[Row], mark: theme.Mark, joined: bool) -> None:
    """A dot for each rank and a line along the slowest ones, for which synchronous training waits."""
    line = mark.line()
    axes.plot(
        [row.integer("ranks") for row in rows],
        [row.number("images_per_s") for row in rows],
        **{**line, "linestyle": "none", "alpha": 0.75},
    )
    if joined:
        ranks = sorted({row.integer("ranks") for row in rows})
        slowest = [min(row.number("images_per_s") for row in rows if row.integer("ranks") == n) for n in ranks]
        axes.plot(ranks, slowest, **{**line, "marker": "", "zorder": 2.5})
