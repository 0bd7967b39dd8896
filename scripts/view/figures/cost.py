# SPDX-License-Identifier: Apache-2.0
# Time of an epoch against its cost on instance types, one point for each number of instances, and
# the line of those that no other beats in both. All numbers are cells of cost.csv, which says which
# points are efficient; lines join points of one origin only. Parts of an instance are small dots.
from __future__ import annotations

import json
import math
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from view import intervals
from view.figures import theme
from view.numbers import unit_of_time
from view.rows import Row, grouped, read_rows, say, usable
from view.variants import tell_images

PANEL = ("model", "dataset", "scaling", "variant")
UNITS = {"h": "hours", "min": "minutes", "s": "seconds"}


def draw(folder: Path) -> tuple[Figure, str]:
    """The figure and its fine print."""
    rows = [row for row in usable(read_rows(folder, "cost.csv")) if row.number("usd_per_epoch") > 0]
    if not rows:
        raise theme.NothingToDraw("cost.csv has no epoch with a cost")
    tell_images(rows)
    panels = grouped(rows, PANEL)
    figure, drawn = theme.panels(len(panels), width=5.6, height=4.5, most=2)
    marks = theme.marks([row["instance"] for row in rows])
    for (key, points), axes in zip(panels.items(), drawn):
        axes.set_title(" · ".join(word for word in key if word))
        draw_panel(axes, points, marks)
    return figure, compared_runs(folder)


def compared_runs(folder: Path) -> str:
    """Letters and names; empty where compare.json does not say."""
    try:
        runs = json.loads((folder / "compare.json").read_text(encoding="utf-8"))["runs"]
        return "  ·  ".join(f"{run['letter']}: {run['run_id']}" for run in runs)
    except (OSError, ValueError, KeyError, TypeError) as error:
        say(f"compare.json: {error}: going on without it")
        return ""


def draw_panel(axes: Axes, rows: list[Row], marks: dict[str, tuple[str, str]]) -> None:
    unit, scale = unit_of_time(max(row.number("seconds_median") for row in rows))
    set_axes(axes, rows, unit, scale)
    joined = [draw_frontier(axes, points, origin, scale) for (origin,), points in grouped(rows, ("origin",)).items() if origin != "quoted"]
    labels: list[tuple[float, float, str, str]] = []
    for (instance, origin), series in grouped(rows, ("instance", "origin")).items():
        color, marker = marks[instance]
        mark = theme.Mark(color, marker, origin).line() | {"linestyle": "none"}
        draw_points(axes, series, mark, scale)
        named = [row for row in series if row["whole"] == "1"] or series
        last = min(named, key=lambda row: row.number("seconds_median"))
        text = theme.with_origin(instance, origin)
        labels.append((last.number("usd_per_epoch"), last.number("seconds_median") / scale, text, color))
    label_points(axes, rows, scale)
    label_series(axes, labels)
    prices = sorted({(row["instance"], row["usd_per_hour"], row["price_date"], row["price_source"]) for row in rows})
    users = "given by the user"  # not by a catalog
    lines = [f"{name}: {price} usd/h, {date}" + (f", {users}" if source == users else "")
             for name, price, date, source in prices]  # fmt: skip
    lines += ["line: nothing of that origin is both faster and cheaper"] if any(joined) else []
    lines += ["small: a part of an instance, billed whole"] if any(row["whole"] == "0" for row in rows) else []
    kind = intervals.told(rows, "seconds_ci_low", "interval")
    lines += [f"upright: {kind}"] if kind else []
    # Below the axes: inside, some point lies in every corner.
    axes.text(0, -0.17, "\n".join(lines), transform=axes.transAxes, va="top", fontsize=7, color=theme.MUTED,
              linespacing=1.4)  # fmt: skip


def set_axes(axes: Axes, rows: list[Row], unit: str, scale: float) -> None:
    """Both logarithmic: instance types differ by factors. Limits leave room for labels."""
    for name, column, label, one in (
        ("x", "usd_per_epoch", "usd an epoch", 1.0),
        ("y", "seconds_median", f"{UNITS.get(unit, unit)} an epoch", scale),
    ):
        values = [row.number(column) / one for row in rows]
        low, high = min(values), max(values)
        getattr(axes, f"set_{name}scale")("log")
        room = max(1.0, math.log10(high / low))
        below, above = 10 ** (0.12 * room), 10 ** ((0.45 if name == "x" else 0.12) * room)
        getattr(axes, f"set_{name}lim")(low / below, high * above)
        axis = getattr(axes, f"{name}axis")
        axis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())
        getattr(axes, f"set_{name}label")(label)


def draw_points(axes: Axes, rows: list[Row], mark: dict[str, object], scale: float) -> None:
    for row in rows:
        x, y = row.number("usd_per_epoch"), row.number("seconds_median") / scale
        part = row["whole"] == "0"
        axes.plot([x], [y], **(mark | {"markersize": 2.5, "alpha": 0.6} if part else mark))
        low, high = row.number("seconds_ci_low") / scale, row.number("seconds_ci_high") / scale
        if not math.isnan(low + high):
            axes.errorbar(x, y, [[y - low], [high - y]], color=mark["color"], capsize=2,
                          linewidth=1.0, zorder=2)  # fmt: skip


def label_points(axes: Axes, rows: list[Row], scale: float) -> None:
    """Each with its N; one that lies over another of the same N shares its label, over another N it goes above."""
    points_high, points_wide = 8.0, 20.0
    placed: list[tuple[float, float, str]] = []  # in points of the page
    for row in sorted(rows, key=lambda row: row.number("seconds_median")):
        at, text = (row.number("usd_per_epoch"), row.number("seconds_median") / scale), f"N={row['ranks']}"
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
                      fontsize=6 if row["whole"] == "0" else 7, color=theme.MUTED, zorder=5)  # fmt: skip


def draw_frontier(axes: Axes, rows: list[Row], origin: str, scale: float) -> bool:
    """Nothing of that origin lies left of and below it. One point alone has none."""
    best = sorted((row.number("usd_per_epoch"), row.number("seconds_median") / scale)
                  for row in rows if row["efficient"] == "1")  # fmt: skip
    if len(best) < 2:
        return False
    style = theme.Mark(theme.MUTED, "", origin).line() | {"marker": "", "linewidth": 1.2, "zorder": 1}
    axes.plot(*zip(*best), **style, drawstyle="steps-post")
    return True


def label_series(axes: Axes, labels: list[tuple[float, float, str, str]]) -> None:
    for x, y, text, color in labels:
        axes.annotate(text, (x, y), xytext=(8, -11), textcoords="offset points", fontsize=8,
                      color=color, fontweight="bold", zorder=6)  # fmt: skip
