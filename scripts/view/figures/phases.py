# SPDX-License-Identifier: Apache-2.0
# Where the seconds of an epoch went: stacked phases for each N beside the ideal, one panel for
# each workload. All numbers are cells of epoch.csv (rank `all`) and scaling.csv (ideal_seconds).
from __future__ import annotations

import math
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from view.cases import STRATEGY, by_workload, short_names
from view.figures import theme
from view.numbers import three_digits
from view.rows import Row, grouped, read_rows, usable

PHASES = {
    "load": "#b8bec6",
    "forward": "#56b4e9",
    "backward": "#0072b2",
    "sync": "#d55e00",
    "update": "#009e73",
    "other": "#7a828c",
}


def draw(run: Path) -> Figure:
    rows = [row for row in usable(read_rows(run, "epoch.csv")) if row["rank"] == "all"]
    rows = [row for row in rows if any(row[f"{phase}_seconds"] for phase in PHASES)]
    if not rows:
        raise theme.NothingToDraw("epoch.csv has no usable row with phases")
    ideals = {
        (row["case_id"], row["ranks"]): row.number("ideal_seconds")
        for row in usable(read_rows(run, "scaling.csv"))
    }
    names = short_names(list(grouped(rows, STRATEGY)))
    facets = by_workload(rows)
    bars = max(map(len, facets.values()))
    width = max(5.0, 2.2 + 0.38 * bars)
    figure, stacks = theme.panels(
        len(facets), rows_each=1, width=width, height=3.6, most=max(1, int(15 / width))
    )
    for (title, facet), (axes,) in zip(facets.items(), stacks):
        axes.set_title(title)
        draw_panel(axes, facet, ideals, names)
    return figure


def draw_panel(
    axes: Axes,
    rows: list[Row],
    ideals: dict[tuple[str, str], float],
    names: dict[tuple[str, ...], str],
) -> None:
    place, ticks, ticklabels, tallest = 0.0, [], [], 0.0
    for key, series in grouped(rows, STRATEGY).items():
        first = place
        series = sorted(series, key=lambda row: row.integer("ranks"))
        for row in series:
            top = stack_phases(axes, place, row)
            seconds = row.number("seconds_median")
            if not math.isnan(seconds):
                axes.text(
                    place, top, f"{three_digits(seconds)}", ha="center", va="bottom", fontsize=8
                )
            ideal = ideals.get((row["case_id"], row["ranks"]), math.nan)
            if not math.isnan(ideal):
                axes.plot(
                    [place - 0.46, place + 0.46],
                    [ideal, ideal],
                    color=theme.INK,
                    linewidth=1.6,
                    zorder=4,
                )
            ticks.append(place)
            ticklabels.append(
                ("N=" if row is series[0] else "")
                + row.ranks()
                + ("*" if row["origin"] == "emulated" else "")
            )
            tallest = max(tallest, top, 0.0 if math.isnan(ideal) else ideal)
            place += 1
        axes.annotate(
            names[key],
            ((first + place - 1) / 2, 0),
            xycoords=("data", "axes fraction"),
            xytext=(0, -19),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize=8,
            color=theme.INK,
        )
        place += 0.6
    axes.set_xticks(ticks, ticklabels)
    axes.set_xlim(-0.8, place - 0.8)
    axes.set_ylim(0, tallest * 1.1 or 1)
    axes.grid(axis="x", visible=False)
    axes.set_ylabel("seconds an epoch, mean over ranks")
    key_beside(axes, rows)


def stack_phases(axes: Axes, place: float, row: Row) -> float:
    """One bar; returns its height. An unknown phase is a gap of no height."""
    bottom = 0.0
    emulated = row["origin"] == "emulated"
    for phase, color in PHASES.items():
        seconds = row.number(f"{phase}_seconds")
        if math.isnan(seconds):
            continue
        filled = {"facecolor": color, "edgecolor": theme.PAPER}
        hollow = {"facecolor": theme.PAPER, "edgecolor": color, "hatch": "/////"}
        axes.bar(
            place,
            seconds,
            width=0.76,
            bottom=bottom,
            linewidth=0.6,
            **(hollow if emulated else filled),
        )
        bottom += seconds
    return bottom


def key_beside(axes: Axes, rows: list[Row]) -> None:
    shown = [phase for phase in PHASES if any(row.number(f"{phase}_seconds") > 0 for row in rows)]
    handles = [Patch(facecolor=PHASES[phase], label=phase) for phase in reversed(shown)]
    handles.append(Patch(facecolor="none", edgecolor="none", label="▬ ideal"))
    if any(row["origin"] == "emulated" for row in rows):
        handles.append(Patch(facecolor="none", edgecolor="none", label="* emulated (hatched)"))
    axes.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        frameon=False,
        fontsize=8,
        handlelength=1.0,
    )
