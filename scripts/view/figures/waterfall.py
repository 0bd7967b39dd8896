# SPDX-License-Identifier: Apache-2.0
# From the ideal H/N down to the measured epoch: one panel for each workload, strategy and N, one bar
# for each loss, where the one before ends. Gains go back to the left. All lengths are cells of
# scaling.csv.
from __future__ import annotations

import math
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from view import losses
from view.cases import STRATEGY, short_names, workload
from view.figures import theme
from view.numbers import three_digits
from view.rows import Row, grouped, read_rows, usable

MOST_PANELS = 16
COLORS = {
    "work": "#8c6bb1",
    "compute": "#0072b2",
    "batch": "#56b4e9",
    "contention": "#0072b2",
    "transfer": "#d55e00",
    "wait_static": "#e69f00",
    "wait_jitter": "#b98a2f",
    "input": "#009e73",
    "evaluation": "#cc79a7",
    "host": "#7a828c",
    "unattributed": "#b8bec6",
}


def draw(run: Path) -> Figure:
    rows = [row for row in usable(read_rows(run, "scaling.csv")) if losses.has_account(row)]
    if not rows:
        raise theme.NothingToDraw("scaling.csv has no account of lost time")
    names = short_names(list(grouped(rows, STRATEGY)))
    shown = chosen(rows)
    bars = max(len(losses.told([row])) for row in shown) + 2
    figure, stacks = theme.panels(len(shown), rows_each=1, width=5.4, height=1.1 + 0.25 * bars, most=2)
    if len(shown) < len(rows):
        figure.suptitle(f"{len(shown)} of {len(rows)} accounts; all are in scaling.csv", fontsize=8, color=theme.MUTED)
    for row, (axes,) in zip(shown, stacks):
        name = names[tuple(row[part] for part in STRATEGY)]
        axes.set_title(f"{workload(row)}\n{theme.with_origin(name, row['origin'])}, N = {row.ranks()}")
        draw_waterfall(axes, row)
    return figure


def chosen(rows: list[Row]) -> list[Row]:
    """All, or when they are too many to look at, the largest N of each workload and strategy, those
    with the most lost first."""
    if len(rows) <= MOST_PANELS:
        return rows
    largest: dict[tuple[str, ...], Row] = {}
    for row in rows:
        key = (workload(row), *(row[part] for part in STRATEGY))
        if key not in largest or row.integer("ranks") > largest[key].integer("ranks"):
            largest[key] = row
    lost = sorted(largest.values(), key=lambda row: row.number("efficiency"))[:MOST_PANELS]
    return [row for row in rows if row in lost]


def draw_waterfall(axes: Axes, row: Row) -> None:
    ideal, measured = row.number("ideal_seconds"), row.number("seconds_median")
    told = losses.told([row])
    steps = [(loss, row.number(losses.column(loss))) for loss in told]
    ends, at = [ideal], ideal
    for _, seconds in steps:
        at += seconds
        ends.append(at)
    left, right = limits([*ends, measured])
    labels = ["ideal H/N", *(losses.NAMES[loss] for loss in told), "measured"]
    hollow = row["origin"] == "emulated"
    whole_bar(axes, 0, left, ideal, theme.MUTED, hollow)
    label(axes, 0, ideal, f"{three_digits(ideal)} s", theme.INK)
    for place, ((loss, seconds), begin, end) in enumerate(zip(steps, ends, ends[1:]), start=1):
        axes.plot([begin, begin], [place - 1.36, place + 0.36], color=theme.MUTED, linewidth=0.6, zorder=1)
        bar(axes, place, min(begin, end), abs(seconds), COLORS[loss], hollow)
        sign = "+" if seconds >= 0 else "\u2212"
        name = f"  rank {row['last_rank']} is last" if loss == "wait_static" and row["last_rank"] else ""
        label(axes, place, max(begin, end), f"{sign}{three_digits(abs(seconds))} s{name}", theme.INK)
    last = len(steps) + 1
    axes.plot([ends[-1]] * 2, [last - 1.36, last + 0.36], color=theme.MUTED, linewidth=0.6, zorder=1)
    whole_bar(axes, last, left, measured, theme.INK, hollow)
    efficiency = row.number("efficiency")
    share = "" if math.isnan(efficiency) else f"  E = {100 * efficiency:.1f} %"
    label(axes, last, measured, f"{three_digits(measured)} s{share}", theme.INK)
    axes.set_xlim(left, right)
    axes.set_ylim(last + 0.6, -0.6)
    axes.set_yticks(range(last + 1), labels)
    axes.tick_params(axis="y", labelcolor=theme.INK)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("seconds an epoch" + (", not from 0" if left > 0 else ""))


def limits(ends: list[float]) -> tuple[float, float]:
    """From 0 where the losses are long enough to be seen; else from where they fill half the panel.
    The text right of the longest bar gets its place."""
    low, high = min(ends), max(ends)
    span = max(high - low, 1e-3 * high)
    left = 0.0 if span > 0.2 * high else max(0.0, low - 0.4 * span)
    return left, high + 0.62 * (high - left)


def bar(axes: Axes, place: float, left: float, width: float, color: str, hollow: bool) -> None:
    filled = {"facecolor": color, "edgecolor": theme.PAPER}
    hatched = {"facecolor": theme.PAPER, "edgecolor": color, "hatch": "/////"}
    axes.barh(place, width, left=left, height=0.72, linewidth=0.6, zorder=3, **(hatched if hollow else filled))


def whole_bar(
    axes: Axes, place: float, left: float, end: float, color: str, hollow: bool
) -> None:
    """A bar that begins at 0, with a gap in it where the axis does not."""
    bar(axes, place, left, end - left, color, hollow)
    if left > 0:
        for shift in (0.03, 0.042):
            axes.plot(
                [shift - 0.008, shift + 0.008],
                [place + 0.5, place - 0.5],
                transform=axes.get_yaxis_transform(),
                color=theme.PAPER,
                linewidth=2,
                zorder=4,
            )


def label(axes: Axes, place: float, end: float, text: str, color: str) -> None:
    axes.annotate(
        text,
        (end, place),
        xytext=(4, 0),
        textcoords="offset points",
        va="center",
        fontsize=8,
        color=color,
        zorder=5,
        bbox={"facecolor": theme.PAPER, "edgecolor": "none", "pad": 0.4},
    )
