# SPDX-License-Identifier: Apache-2.0
# Efficiency against the number of ranks, a figure for each workload on one axis, with the ideal (time H/N) named
# by its base. All numbers are cells of scaling.csv.
from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scalebench import intervals
from scalebench.cases import STRATEGY, by_workload, short_names
from scalebench.cases import ideal as ideal_of
from scalebench.figures import theme
from scalebench.numbers import three_digits
from scalebench.published import Series
from scalebench.rows import Row, grouped, say, usable
from scalebench.variants import read_cases

Names = dict[tuple[str, ...], str]
Marks = dict[str, tuple[str, str]]


def draw(run: Path, published: Sequence[Series] = ()) -> dict[str, Figure]:
    rows = [row for row in usable(read_cases(run, "scaling.csv")) if row.integer("ranks") > 0]
    # Ranks that share cores have no efficiency against one that does not.
    known = [row for row in rows if not math.isnan(row.number("efficiency"))]
    if not known:
        raise theme.NothingToDraw("scaling.csv has no usable row")
    names = short_names(list(grouped(known, STRATEGY)), STRATEGY)
    for series in published:
        if not series.points("efficiency"):
            say(f"--published {series.name}: it has no efficiency on one device, so no cross")
    published = [series for series in published if series.points("efficiency")]
    marks = theme.marks([*names.values(), *(series.name for series in published)])
    cells = [row.number(name) for row in known for name in ("efficiency", "efficiency_ci_high")]
    cells += [value for series in published for _, value in series.points("efficiency")]
    top = max([1.0, *(cell for cell in cells if math.isfinite(cell))])
    figures, facets = {}, by_workload(known)
    for name, (title, facet) in zip(theme.names_of("efficiency", list(facets)), facets.items()):
        figures[name], (axes,) = theme.panel(title, 3.1)
        theme.efficiency_axis(axes, top)
        draw_panel(axes, facet, names, marks, published)
    return figures


def draw_panel(axes: Axes, rows: list[Row], names: Names, marks: Marks, published: Sequence[Series]) -> None:
    quoted = [(series, series.points("efficiency")) for series in published]
    ranks = theme.ranks_axis(axes, [row.integer("ranks") for row in rows] + [n for _, points in quoted for n,
                                                                             _ in points])
    theme.ideal(axes, ranks, 1.0)
    lines = grouped(rows, (*STRATEGY, "origin"))
    # A line between one rank and two would say something about nothing in between: dots stand beside each other.
    asides = dots_beside(len(lines)) if ranks[-1] <= 2 else None
    for place, ((*strategy, origin), series) in enumerate(lines.items()):
        name = names[tuple(strategy)]
        series = sorted(series, key=lambda row: row.integer("ranks"))
        values, low, high = ([row.number(f"efficiency{end}") for row in series] for end in ("", "_ci_low", "_ci_high"))
        style = theme.Mark(*marks[name], origin).line() | ({"linestyle": "none"} if asides else {})
        x = [row.integer("ranks") * (asides[place] if asides else 1) for row in series]
        axes.errorbar(x, values, theme.around(values, low, high), capsize=3, elinewidth=1.2,
                      label=theme.with_origin(name, origin), **style)
    for series, points in quoted:
        label = f"{series.label()}{series.base()} (quoted: {series.source()})"
        axes.plot(*zip(*points), **theme.Mark(*marks[series.name], "quoted").line(), label=label)
    bases = sorted({row.number("h_seconds") for row in rows if row["h_seconds"]})
    kind = intervals.told(rows, *intervals.EFFICIENCY)
    axes.set_xlabel("ranks N")
    theme.legend(axes, [f"upright: {kind}" if kind else "",
                        *(f"ideal: {ideal_of(rows[0])}, H = {three_digits(h)} s an epoch (one_device)"
                          for h in bases[:3])])  # fmt: skip


def dots_beside(series: int) -> list[float]:
    """By what factors of N the dots of that many series stand beside each other, or the last would hide the others."""
    outer = min(1.06 ** ((series - 1) / 2), 1.17)  # the axis ends at 1.2
    return [outer ** (2 * place / (series - 1) - 1) if series > 1 else 1.0 for place in range(series)]
