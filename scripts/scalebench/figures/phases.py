# SPDX-License-Identifier: Apache-2.0
# Where the seconds of an epoch went: a bar of states for each strategy and N with the ideal, where it
# is known; a figure for each workload. All numbers are cells of epoch.csv and scaling.csv (ideal_seconds).
from __future__ import annotations

import math
from pathlib import Path

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from scalebench.cases import STRATEGY, by_workload, short_names
from scalebench.figures import theme
from scalebench.numbers import three_digits
from scalebench.rows import Row, grouped, read_rows, usable
from scalebench.variants import read_cases

STATES = {
    "compute": ("#0072b2", "compute"),
    "transfer": ("#d55e00", "transfer"),
    "wait_static": ("#e69f00", "wait, static"),
    "wait_jitter": ("#b98a2f", "wait, jitter"),
    "input": ("#009e73", "input"),
    "evaluation": ("#cc79a7", "broadcast"),
}
REST = ("#7a828c", "host")  # what the states leave of the epoch
MOST = 24  # letters of a strategy, which leave the bars half of the width


def draw(run: Path) -> dict[str, Figure]:
    rows = [row for row in usable(read_cases(run, "epoch.csv")) if row["compute_seconds"]]
    if not rows:
        raise theme.NothingToDraw("epoch.csv has no usable row with states")
    ideals = {key_of(row): row.number("ideal_seconds") for row in usable(read_rows(run, "scaling.csv"))}
    names = short_names(list(grouped(rows, STRATEGY)), STRATEGY)
    facets = by_workload(rows)
    figures = {}
    for name, (title, facet) in zip(theme.names_of("phases", list(facets)), facets.items()):
        figure, (axes,) = theme.panel(title, 0.9 + 0.3 * len(facet))
        draw_panel(axes, facet, ideals, names)
        theme.legend(figure, key_below(facet, ideals))
        figures[name] = figure
    return figures


def draw_panel(
    axes: Axes,
    rows: list[Row],
    ideals: dict[tuple[str, ...], float],
    names: dict[tuple[str, ...], str],
) -> None:
    short = short_of([names[key] for key in grouped(rows, STRATEGY)])
    ticks, longest = [], 0.0
    ordered = [(key, row) for key, series in grouped(rows, STRATEGY).items()
               for row in sorted(series, key=lambda row: row.integer("ranks"))]  # fmt: skip
    for place, (key, row) in enumerate(ordered):
        end = stack_states(axes, place, row)
        seconds = row.number("seconds")
        ideal = ideal_of(row, ideals)
        if not math.isnan(ideal):
            axes.plot([ideal, ideal], [place - 0.46, place + 0.46], color=theme.INK, linewidth=1.8, zorder=4)
            end = max(end, ideal)
        if not math.isnan(seconds):
            axes.annotate(three_digits(seconds), (end, place), xytext=(5, 0), textcoords="offset points",
                          va="center", fontsize=10)  # fmt: skip
        # One rank with the share of one of several.
        share = f", share of 1/{row['share_of']}" if row.integer("share_of") > 1 else ""
        emulated = "*" if row["origin"] == "emulated" else ""
        ticks.append(f"{theme.shortened(short[names[key]], MOST)}, N = {row.ranks()}{emulated}{share}")
        longest = max(longest, end)
    axes.set_yticks(range(len(ticks)), ticks)
    axes.tick_params(axis="y", labelcolor=theme.INK)
    axes.set_ylim(len(ticks) - 0.4, -0.6)
    axes.set_xlim(0, longest * 1.18 or 1)
    axes.grid(axis="y", visible=False)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.set_xlabel("seconds an epoch, mean over ranks")


def ideal_of(row: Row, ideals: dict[tuple[str, ...], float]) -> float:
    """NaN where there is none: a share of an epoch, or a run that was cut before its base was measured."""
    return ideals.get(key_of(row), math.nan)


def key_of(row: Row) -> tuple[str, ...]:
    return tuple(row[column] for column in ("case_id", "ranks", "nodes", "origin"))


def short_of(names: list[str]) -> dict[str, str]:
    """The first word of each name where that tells them apart."""
    first = [name.split(" · ")[0] for name in names]
    return dict(zip(names, first if len(set(first)) == len(names) else names))


def stack_states(axes: Axes, place: float, row: Row) -> float:
    """One bar; returns its length. An unknown state is a gap of no length."""
    end = 0.0
    emulated = row["origin"] == "emulated"
    known = [(color, row.number(f"{state}_seconds")) for state, (color, _) in STATES.items()]
    known = [(color, seconds) for color, seconds in known if not math.isnan(seconds)]
    rest = row.number("seconds") - sum(seconds for _, seconds in known)
    for color, seconds in [*known, (REST[0], rest)]:
        filled = {"facecolor": color, "edgecolor": theme.PAPER}
        hollow = {"facecolor": theme.PAPER, "edgecolor": color, "hatch": "/////"}
        axes.barh(place, seconds, height=0.72, left=end, linewidth=0.6, **(hollow if emulated else filled))
        end += seconds
    return end


def key_below(rows: list[Row], ideals: dict[tuple[str, ...], float]) -> list[tuple[Artist, str]]:
    shown = [STATES[state] for state in STATES if any(row.number(f"{state}_seconds") > 0 for row in rows)]
    entries: list[tuple[Artist, str]] = [(Patch(facecolor=color), name) for color, name in [*shown, REST]]
    if not all(math.isnan(ideal_of(row, ideals)) for row in rows):
        upright = Line2D([], [], color=theme.INK, marker="|", markersize=9, markeredgewidth=1.8, linestyle="none")
        entries.append((upright, "ideal"))
    if any(row["origin"] == "emulated" for row in rows):
        entries.append((Patch(facecolor="none", edgecolor=theme.MUTED, hatch="/////"), "* emulated"))
    return entries
