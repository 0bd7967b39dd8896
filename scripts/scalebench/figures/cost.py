# SPDX-License-Identifier: Apache-2.0
# Time against cost on instance types, one point for each number of instances, and
# the line of those that no other beats in both. All numbers are of compare.json, which says which
# points are efficient; lines join points of one origin only. Parts of an instance are small dots.
from __future__ import annotations

import json
import math
from pathlib import Path

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from scalebench import intervals
from scalebench.figures import theme
from scalebench.manifest import as_text
from scalebench.numbers import unit_of_time
from scalebench.rows import Row, grouped, say, usable

UNITS = {"h": "hours", "min": "minutes", "s": "seconds"}


def draw(folder: Path) -> tuple[dict[str, Figure], str]:
    """A figure for each workload, and the fine print."""
    document = compared(folder)
    rows = [row for row in usable(Row({key: as_text(cell) for key, cell in one.items()}) for one in document.get("costs", [])) if row.number("usd") > 0]
    if not rows:
        raise theme.NothingToDraw("compare.json has nothing with a cost")
    panels = {workload: points for (workload,), points in grouped(rows, ("workload",)).items()}
    prices = {str(one.get("name")): price_of(one) for one in document.get("instances", [])}
    marks = theme.marks([row["instance"] for row in rows])
    figures = {}
    for name, (title, points) in zip(theme.names_of("cost", list(panels)), panels.items()):
        figures[name], (axes,) = theme.panel(title, 3.6)
        theme.legend(figures[name], draw_panel(axes, points, marks, prices))
    return figures, "  ·  ".join(f"{run.get('letter')}: {run.get('run_id')}" for run in document.get("runs", []))


def compared(folder: Path) -> dict[str, list[dict[str, object]]]:
    """The runs, instance types and costs of compare.json; nothing where it does not say."""
    try:
        document = json.loads((folder / "compare.json").read_text(encoding="utf-8"))
        return {name: [one for one in document[name] if isinstance(one, dict)] for name in ("runs", "instances", "costs")}
    except (OSError, ValueError, KeyError, TypeError) as error:
        say(f"compare.json: {error}: going on without it")
        return {}


def draw_panel(axes: Axes, rows: list[Row], marks: dict[str, tuple[str, str]], prices: dict[str, str]) -> list[tuple[Artist, str]]:
    """Draws it; the entries of its legend."""
    unit, scale = unit_of_time(max(row.number("seconds") for row in rows))
    set_axes(axes, rows, unit, scale)
    joined = [draw_frontier(axes, points, origin, scale) for (origin,), points in grouped(rows, ("origin",)).items() if origin != "quoted"]
    entries: list[tuple[Artist, str]] = []
    for (instance, origin), series in grouped(rows, ("instance", "origin")).items():
        mark = theme.Mark(*marks[instance], origin)
        draw_points(axes, series, mark.line() | {"linestyle": "none"}, scale)
        price = prices.get(instance, "price not known")
        entries.append((theme.mark_of(mark, line=False), f"{theme.with_origin(instance, origin)}: {price}"))
    label_points(axes, rows, scale)
    if any(joined):
        entries.append((Line2D([], [], color=theme.MUTED, linewidth=1.2), "nothing of that origin is both faster and cheaper"))
    if any(row["best"] == "part" for row in rows):
        small = Line2D([], [], color=theme.MUTED, linestyle="none", marker="o", markersize=2.5)
        entries.append((small, "a part of an instance, billed whole"))
    kind = f"95 % interval over launches, of fewer than {intervals.FULL} their range" if any(row["seconds_ci_low"] for row in rows) else ""
    upright = Line2D([], [], color=theme.MUTED, linestyle="none", marker="|", markersize=9)
    return [*entries, *([(upright, kind)] if kind else [])]


def price_of(instance: dict[str, object]) -> str:
    users = ", given by the user" if instance.get("price_source") == "given by the user" else ""  # not by a catalog
    return f"{instance.get('usd_per_hour')} {instance.get('currency')}/h, {instance.get('price_date')}{users}"


def set_axes(axes: Axes, rows: list[Row], unit: str, scale: float) -> None:
    """Both logarithmic: instance types differ by factors. Limits hold intervals and leave room for labels."""
    for name, column, label in (
        ("x", ("usd",), "cost"),
        ("y", ("seconds", "seconds_ci_low", "seconds_ci_high"), UNITS.get(unit, unit)),
    ):
        one = scale if name == "y" else 1.0
        values = [value / one for row in rows for each in column if (value := row.number(each)) > 0]
        low, high = min(values), max(values)
        getattr(axes, f"set_{name}scale")("log")
        room = max(1.0, math.log10(high / low))
        beside = 10 ** (0.12 * room)
        getattr(axes, f"set_{name}lim")(low / beside, high * beside)
        axis = getattr(axes, f"{name}axis")
        decades = math.log10(high / low * beside**2)
        axis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0) if decades < 2.5 else (1.0,), numticks=12))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())
        getattr(axes, f"set_{name}label")(label)


def draw_points(axes: Axes, rows: list[Row], mark: dict[str, object], scale: float) -> None:
    for row in rows:
        x, y = row.number("usd"), row.number("seconds") / scale
        part = row["best"] == "part"
        axes.plot([x], [y], **(mark | {"markersize": 2.5, "alpha": 0.6} if part else mark))
        low, high = row.number("seconds_ci_low") / scale, row.number("seconds_ci_high") / scale
        if not math.isnan(low + high):
            axes.errorbar(x, y, [[y - low], [high - y]], color=mark["color"], capsize=2,
                          linewidth=1.0, zorder=2)  # fmt: skip


def label_points(axes: Axes, rows: list[Row], scale: float) -> None:
    """Each with its N; one that lies over another of the same N shares its label, over another N it goes above."""
    points_high, points_wide = 9.0, 24.0
    placed: list[tuple[float, float, str]] = []  # in points of the page
    for row in sorted(rows, key=lambda row: row.number("seconds")):
        at, text = (row.number("usd"), row.number("seconds") / scale), f"N={row['ranks']}"
        x, low = (float(end) * 72 / axes.figure.dpi for end in axes.transData.transform(at))
        y = low
        while near := [other for wide, high, other in placed if abs(wide - x) < points_wide and abs(high - y) < points_high]:
            if text in near:
                break
            y += points_high / 2
        if near:
            continue
        placed.append((x, y, text))
        axes.annotate(text, at, xytext=(6, 3 + y - low), textcoords="offset points",
                      fontsize=8, color=theme.MUTED, zorder=5)  # fmt: skip


def draw_frontier(axes: Axes, rows: list[Row], origin: str, scale: float) -> bool:
    """Nothing of that origin lies left of and below it. One point alone has none."""
    best = sorted((row.number("usd"), row.number("seconds") / scale)
                  for row in rows if row["best"] == "yes")  # fmt: skip
    if len(best) < 2:
        return False
    style = theme.Mark(theme.MUTED, "", origin).line() | {"marker": "", "linewidth": 1.2, "zorder": 1}
    axes.plot(*zip(*best), **style, drawstyle="steps-post")
    return True
