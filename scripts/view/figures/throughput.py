# SPDX-License-Identifier: Apache-2.0
# Images a second of every single rank against the number of ranks, all working at once without
# synchronisation: ideal is flat, the drop is contention. All numbers are cells of throughput.csv.
from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from view.cases import short_names
from view.figures import theme
from view.rows import Row, grouped, read_rows, usable

SERIES = ("device", "batch", "dtype", "memory_format", "step", "threads", "nodes")


def draw(run: Path) -> Figure:
    rows = usable(read_rows(run, "throughput.csv"))
    # Of one rank there is only the row of all.
    rows = [row for row in rows if row["rank"] != "" and (row["rank"] == "all") == (row["ranks"] == "1")]
    rows = [row for row in rows if row.integer("ranks") > 0 and row["images_per_s"]]
    if not rows:
        raise theme.NothingToDraw("throughput.csv has no usable row of a single rank")
    names = {
        key: name + (f" · batch {key[1]}" if f" {key[1]}" not in name else "")
        for key, name in short_names([key for key in grouped(rows, SERIES)]).items()
    }
    marks = theme.marks(list(names.values()))
    models = grouped(rows, ("model",))
    figure, stacks = theme.panels(len(models), rows_each=1, width=5.0, height=3.1)
    for ((model,), panel), (axes,) in zip(models.items(), stacks):
        axes.set_title(f"{model}, training steps without synchronisation")
        draw_panel(axes, panel, names, marks)
    return figure


def draw_panel(
    axes: Axes,
    rows: list[Row],
    names: dict[tuple[str, ...], str],
    marks: dict[str, tuple[str, str]],
) -> None:
    ranks = sorted({row.integer("ranks") for row in rows})
    theme.ranks_axis(axes, ranks)
    labels: list[tuple[float, float, str, str]] = []
    for key, series in grouped(rows, SERIES).items():
        color, marker = marks[names[key]]
        single = [row.number("images_per_s") for row in series if row.integer("ranks") == 1]
        if single:
            axes.axhline(
                single[0], color=theme.MUTED, linewidth=1.0, linestyle=(0, (1, 1.5)), zorder=2
            )
            labels.append((float(ranks[-1]), single[0], "ideal: the single rank", theme.MUTED))
        for (origin,), points in grouped(series, ("origin",)).items():
            mark = theme.Mark(color, marker, origin)
            labels.append(draw_ranks(axes, points, mark, theme.with_origin(names[key], origin)))
    axes.set_ylim(0, 1.08 * max(row.number("images_per_s") for row in rows))
    axes.set_xlabel("ranks N working at once")
    axes.set_ylabel("images/s of each rank")
    axes.yaxis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{value:,.0f}".replace(",", " "))
    )
    if ranks[-1] > 1:
        theme.note(axes, "a mark for each rank, a line along the slowest")
    theme.label_lines(axes, labels)


def draw_ranks(
    axes: Axes, rows: list[Row], mark: theme.Mark, name: str
) -> tuple[float, float, str, str]:
    """A dot for each rank and a line along the slowest ones, for which synchronous training waits."""
    slowest = {
        n: min(
            (row for row in rows if row.integer("ranks") == n),
            key=lambda row: row.number("images_per_s"),
        )
        for n in sorted({row.integer("ranks") for row in rows})
    }
    line = mark.line()
    axes.plot(
        [row.integer("ranks") for row in rows],
        [row.number("images_per_s") for row in rows],
        **{**line, "linestyle": "none", "alpha": 0.75},
    )
    ends = [(float(n), row.number("images_per_s")) for n, row in slowest.items()]
    axes.plot([n for n, _ in ends], [y for _, y in ends], **{**line, "marker": "", "zorder": 2.5})
    return (*ends[-1], name, mark.color)
