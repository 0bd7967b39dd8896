# SPDX-License-Identifier: Apache-2.0
# Time against cost on instance types, one point for each number of instances, and the line of those that no other beats
# in both. All numbers are of compare.json, which says which points are efficient; lines join points of one origin only.
# Parts of an instance are small dots.
from __future__ import annotations

import json
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from scalebench import intervals
from scalebench.figures import theme
from scalebench.manifest import as_text
from scalebench.numbers import unit_of_time
from scalebench.rows import Row, grouped, say, usable

UNITS = {"h": "hours", "min": "minutes", "s": "seconds"}


def draw(folder: Path) -> tuple[dict[str, Figure], str]:
    """A figure for each workload, and the fine print."""
    try:
        document = json.loads((folder / "compare.json").read_text(encoding="utf-8"))
        costs, instances, runs = ([Row({key: as_text(cell) for key, cell in one.items()}) for one in document[name]]
                                  for name in ("costs", "instances", "runs"))  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        say(f"compare.json: {error}: going on without it")
        costs, instances, runs = [], [], []
    rows = [row for row in usable(costs) if row.number("usd") > 0]
    if not rows:
        raise theme.NothingToDraw("compare.json has nothing with a cost")
    prices = {one["name"]: price_of(one) for one in instances}
    marks = theme.marks([row["instance"] for row in rows])
    panels = {workload: points for (workload,), points in grouped(rows, ("workload",)).items()}
    figures = {}
    for name, (title, points) in zip(theme.names_of("cost", list(panels)), panels.items()):
        figures[name], (axes,) = theme.panel(title, 3.6)
        draw_panel(axes, points, marks, prices)
    return figures, "  ·  ".join(f"{run['letter']}: {run['run_id']}" for run in runs)


def price_of(instance: Row) -> str:
    users = ", given by the user" if instance["price_source"] == "given by the user" else ""  # not by a catalog
    return f"{instance['usd_per_hour']} {instance['currency']}/h, {instance['price_date']}{users}"


def draw_panel(axes: Axes, rows: list[Row], marks: dict[str, tuple[str, str]], prices: dict[str, str]) -> None:
    """Both logarithmic: instance types differ by factors."""
    unit, scale = unit_of_time(max(row.number("seconds") for row in rows))
    axes.set(xscale="log", yscale="log", xlabel="cost, USD", ylabel=UNITS.get(unit, unit))
    for axis, column in ((axes.xaxis, "usd"), (axes.yaxis, "seconds")):
        values = [row.number(column) for row in rows]
        within = max(values) < 10 * min(values)  # a decade, of which a logarithmic locator shows all or nothing
        axis.set_major_locator(MaxNLocator(5) if within else LogLocator(subs=(1, 2, 5), numticks=9))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())
    for (instance, origin, best), series in grouped(rows, ("instance", "origin", "best")).items():
        style = theme.Mark(*marks[instance], origin).line() | {"linestyle": "none"}
        style |= {"markersize": 2.5, "alpha": 0.6} if best == "part" else {}
        x, (y, low, high) = [row.number("usd") for row in series], (
            [row.number(f"seconds{end}") / scale for row in series] for end in ("", "_ci_low", "_ci_high"))  # fmt: skip
        label = f"{theme.with_origin(instance, origin)}: {prices.get(instance, 'price not known')}"
        axes.errorbar(x, y, theme.around(y, low, high), capsize=2, elinewidth=1.0, label=label, **style)
        for row, across, up in zip(series, x, y):
            axes.annotate(f"N={row['ranks']}", (across, up), xytext=(6, 3), textcoords="offset points", fontsize=8,
                          color=theme.MUTED)
    for (origin,), points in grouped([row for row in rows if row["best"] == "yes"], ("origin",)).items():
        if origin != "quoted" and len(points) > 1:  # nothing of that origin lies left of and below it
            frontier = sorted((row.number("usd"), row.number("seconds") / scale) for row in points)
            axes.plot(*zip(*frontier), **theme.Mark(theme.MUTED, "", origin).line() | {"linewidth": 1.2, "zorder": 1},
                      drawstyle="steps-post",
                      label="nothing of that origin is both faster and cheaper")  # fmt: skip
    axes.margins(0.15)
    kind = f"upright: 95 % interval over launches, of fewer than {intervals.FULL} their range"
    kind = kind if any(row["seconds_ci_low"] for row in rows) else ""
    theme.legend(axes, [kind, "small: a part of an instance, billed whole" if any(row["best"] == "part" for row in rows)
                        else ""])
