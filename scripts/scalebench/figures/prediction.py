# SPDX-License-Identifier: Apache-2.0
# Efficiency against the number of ranks as it was measured (solid) and as it is predicted (hollow and dashed, with its
# band), a figure for each workload; the largest measured N was held out of what is said of the measured ones. All
# numbers are cells of prediction.csv.
from __future__ import annotations

import math
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scalebench.cases import by_workload, short_names
from scalebench.figures import theme
from scalebench.numbers import percent
from scalebench.rows import Row, grouped, read_rows, usable

SERIES = ("gradient_sync", "twin")
BAND = ", with 95 % by the errors of each measured N left out"


def draw(folder: Path) -> tuple[dict[str, Figure], str]:
    """The figures and their fine print."""
    rows = usable(read_rows(folder, "prediction.csv"))
    if not rows:
        raise theme.NothingToDraw("prediction.csv has no prediction")
    facets = by_workload(rows)
    for facet in facets.values():  # trainings that all other words leave alike are told apart by their cases
        for group in grouped(facet, SERIES[:1]).values():
            if len({row["case_id"] for row in group}) > 1:
                for row in group:
                    row["twin"] = f"case {row['case_id']}"
    names = short_names(list(grouped(rows, SERIES)), SERIES)
    marks = theme.marks(names.values())
    figures = {}
    for name, (title, facet) in zip(theme.names_of("prediction", list(facets)), facets.items()):
        figures[name], (axes,) = theme.panel(title, 3.1)
        draw_panel(axes, facet, names, marks)
    links = sorted({row["network"] for row in rows if row["network"] not in ("measured", "model")})
    band = BAND if any(row["efficiency_low"] for row in rows) else ""
    words = [rows[0]["run_id"], f"hollow and dashed: predicted{band}"]
    return figures, "  ·  ".join([*words, *(f"predicted for a link of {link}" for link in links)])


def draw_panel(axes: Axes, rows: list[Row], names: dict[tuple[str, ...], str],
               marks: dict[str, tuple[str, str]]) -> None:
    theme.ideal(axes, theme.ranks_axis(axes, [1, *(row.integer("ranks") for row in rows)]), 1.0)
    cells = [row.number(name) for row in rows for name in ("efficiency", "efficiency_high", "measured_efficiency")]
    theme.efficiency_axis(axes, max([1.0, *(cell for cell in cells if not math.isnan(cell))]))
    axes.set_xlabel("ranks N")
    errors = []
    for key, series in grouped(rows, SERIES).items():
        name, series = names[key], sorted(series, key=lambda row: row.integer("ranks"))
        measured = [row for row in series if row["kind"] in ("fitted", "held_out")]
        points = [(1, 1.0), *((row.integer("ranks"), row.number("measured_efficiency")) for row in measured)]
        axes.plot(*zip(*points), **theme.Mark(*marks[name], "measured").line(), label=name)
        # Each N once: of a measured one what was said before its time was known.
        once = {row.integer("ranks"): row for row in [*(row for row in series if row not in measured), *measured]}
        ranks, of_n = zip(*sorted(once.items()))
        value, low, high = ([row.number(f"efficiency{end}") for row in of_n] for end in ("", "_low", "_high"))
        axes.fill_between(ranks, low, high, color=marks[name][0], alpha=0.15, linewidth=0, zorder=1)
        # Around what was measured, not over it.
        style = theme.Mark(*marks[name], "predicted").line() | {"markersize": 8, "markerfacecolor": "none", "zorder": 4}
        axes.plot(ranks, value, **style, label=f"{name} (predicted)")
        errors += [f"{name}: N = {row['ranks']} held out, step {percent(row.number('error'), plus=True)}"
                   for row in series if row["kind"] == "held_out"]
    theme.legend(axes, errors)
