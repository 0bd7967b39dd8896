# SPDX-License-Identifier: Apache-2.0
# Speedup and efficiency against the number of ranks, one column of two panels for each workload,
# with the ideal N (time H/N) named by its base. All numbers are cells of scaling.csv.
from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, MultipleLocator, NullLocator

from view import intervals
from view.cases import STRATEGY, by_workload, ideal, short_names
from view.figures import theme
from view.numbers import three_digits
from view.published import Series
from view.rows import Row, grouped, read_rows, say, usable

LONGEST_LABEL = 36  # characters beside the end of a line; longer names are in a legend


def draw(run: Path, published: Sequence[Series] = ()) -> Figure:
    rows = [row for row in usable(read_rows(run, "scaling.csv")) if row.integer("ranks") > 0]
    if not rows:
        raise theme.NothingToDraw("scaling.csv has no usable row")
    facets = by_workload(rows)
    names = short_names(list(grouped(rows, STRATEGY)))
    published = [series for series in published if is_drawn(series, {row["model"] for row in rows})]
    marks = theme.marks([*names.values(), *(series.name for series in published)])
    figure, stacks = theme.panels(len(facets), rows_each=2, width=5.0, height=2.9)
    entries = entries_of(rows, names, marks)
    labelled = all(len(label) <= LONGEST_LABEL for label, _ in entries)
    quoted = [(f"{series.label()}{series.base()} (quoted: {series.source()})",
               theme.Mark(*marks[series.name], "quoted")) for series in published]  # fmt: skip
    if quoted or not labelled:
        legend_below(figure, ([] if labelled else entries) + quoted)
    for (title, facet), (above, below) in zip(facets.items(), stacks):
        above.set_title(title)
        for axes, column in ((above, "speedup"), (below, "efficiency")):
            draw_column(axes, facet, column, names, marks, published, labelled)
    return figure


def entries_of(
    rows: list[Row], names: dict[tuple[str, ...], str], marks: dict[str, tuple[str, str]]
) -> list[tuple[str, theme.Mark]]:
    """Each line's name, with its origin, and how it is drawn."""
    return [
        (theme.with_origin(names[key], origin), theme.Mark(*marks[names[key]], origin))
        for *strategy, origin in grouped(rows, (*STRATEGY, "origin"))
        for key in (tuple(strategy),)
    ]


def is_drawn(series: Series, models: set[str]) -> bool:
    """Whether it has anything for this figure; says so where not, and where it is of another model."""
    if not series.points("speedup") and not series.points("efficiency"):
        say(f"--published {series.name}: it has no speedup and no efficiency on one device, so no cross")
        return False
    model = series.rows[0]["model"]
    own, trained = letters(model), ", ".join(sorted(filter(None, models)))
    if own and not any(own.startswith(letters(name)) for name in models if letters(name)):
        say(f"--published {series.name}: of {model}, and this run trained {trained}: read the crosses as such")
    return True


def letters(model: str) -> str:
    """'resnet50v15' of 'ResNet-50 v1.5': models are spelled in many ways."""
    return re.sub("[^a-z0-9]", "", model.lower())


def draw_column(
    axes: Axes,
    rows: list[Row],
    column: str,
    names: dict[tuple[str, ...], str],
    marks: dict[str, tuple[str, str]],
    published: Sequence[Series],
    labelled: bool,
) -> None:
    # A line without a point would take the whole figure for its own.
    quoted = {series.name: points for series in published if (points := series.points(column))}
    ranks = sorted(
        {row.integer("ranks") for row in rows} | {n for points in quoted.values() for n, _ in points}
    )
    theme.ranks_axis(axes, ranks)
    ideal = [1.0 * n if column == "speedup" else 1.0 for n in ranks]
    axes.plot(ranks, ideal, color=theme.MUTED, linewidth=1.0, linestyle=(0, (1, 1.5)), zorder=2)
    labels = [
        (
            float(ranks[-1]),
            ideal[-1],
            "ideal" if column == "speedup" else "ideal: 100 %",
            theme.MUTED,
        )
    ]
    for key, series in grouped(rows, (*STRATEGY, "origin")).items():
        name, origin = names[key[:-1]], key[-1]
        color, marker = marks[name]
        series = sorted(series, key=lambda row: row.integer("ranks"))
        mark = theme.Mark(color, marker, origin)
        draw_from_base(axes, series[0], rows, column, mark)
        label = draw_series(axes, series, column, mark)
        if label and labelled:
            labels.append((*label, theme.with_origin(name, origin), color))
    for name, points in quoted.items():
        mark = theme.Mark(*marks[name], "quoted")
        line = {**mark.line(), "zorder": 6}  # above the labels of lines, which would hide crosses
        axes.plot([n for n, _ in points], [value for _, value in points], **line)
    if column == "speedup":
        # Logarithmic like the x axis: the ideal is then a straight line at every N.
        values = [
            row.number(name)
            for row in rows
            for name in ("speedup", "speedup_ci_low")
            if row.number(name) > 0
        ]
        values += [value for points in quoted.values() for _, value in points]
        power_axis(axes, min([1.0, *values]), max([*ideal, *values, highest_of(rows, "speedup")]))
        axes.set_ylabel("speedup  S = ρ·H/T")
        note_base(axes, rows)
    else:
        axes.set_ylabel("efficiency  E = S/N")
        raw = (
            "    (thin: E_raw, against a plain loop)"
            if any(row["efficiency_raw"] for row in rows)
            else ""
        )
        kind = intervals.told(rows, *intervals.SPEEDUP)
        axes.set_xlabel(f"ranks N{raw}" + (f"\nupright: {kind}" if kind else ""))
        highest = max(
            [highest_of(rows, "efficiency"), *(value for points in quoted.values() for _, value in points)]
        )
        axes.set_ylim(0, highest * 1.08)
        axes.yaxis.set_major_locator(MultipleLocator(0.25 if highest < 1.6 else 0.5))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f} %"))
    theme.label_lines(axes, labels)


def legend_below(figure: Figure, entries: Sequence[tuple[str, theme.Mark]]) -> None:
    """The names of marks that stand beside no line's end: of crosses, each with its source (a number
    without one is hearsay), and of lines whose names would leave no room for the lines."""
    handles: list[Line2D] = []
    letter = 7 * 0.56 / 72  # inches of one of font size 7, on average
    broken = int((figure.get_figwidth() - 0.6) / letter)
    for name, mark in entries:
        label = textwrap.fill(name, broken, subsequent_indent="  ")
        handles.append(Line2D([], [], **{**mark.line(), "clip_on": True}, label=label))
    lines = sum(str(handle.get_label()).count("\n") + 1 for handle in handles)
    foot, high = 0.3, 0.125 * lines + 0.05 * len(handles) + 0.1  # inches: the fine print's, the legend's
    total = figure.get_figheight() + high
    figure.set_figheight(total)
    below = (foot + high) / total
    figure.get_layout_engine().set(rect=(0, below, 1, 1 - below))
    figure.legend(handles=handles, loc="lower left", bbox_to_anchor=(0.005, foot / total), fontsize=7,
                  frameon=False, borderaxespad=0)  # fmt: skip


def draw_from_base(
    axes: Axes, first: Row, rows: list[Row], column: str, mark: theme.Mark
) -> None:
    """Ties a strategy that starts at N > 1 to the single device that it is compared with."""
    for base in rows:
        is_base = base["gradient_sync"] == first["baseline"] and base.integer("ranks") == 1
        if first.integer("ranks") == 1 or not is_base or base["origin"] != first["origin"]:
            continue
        ranks = [base.integer("ranks"), first.integer("ranks")]
        line = {**mark.line(), "marker": ""}
        axes.plot(ranks, [base.number(column), first.number(column)], **line)
        if column == "efficiency":
            raw = [base.number("efficiency_raw"), first.number("efficiency_raw")]
            axes.plot(ranks, raw, color=mark.color, linewidth=0.7, alpha=0.8, zorder=2)
        return


def highest_of(rows: list[Row], column: str) -> float:
    """The top of the highest interval, so that none is cut off."""
    cells = [row.number(name) for row in rows for name in (column, f"{column}_ci_high")]
    return max([1.0, *(cell for cell in cells if not math.isnan(cell))])


def draw_series(
    axes: Axes, rows: list[Row], column: str, mark: theme.Mark
) -> tuple[float, float] | None:
    """Draws one line with its intervals; returns where it ends."""
    ranks = [row.integer("ranks") for row in rows]
    values = [row.number(column) for row in rows]
    axes.plot(ranks, values, **mark.line())
    for row, n, value in zip(rows, ranks, values):
        low, high = row.number(f"{column}_ci_low"), row.number(f"{column}_ci_high")
        if not math.isnan(value + low + high):
            axes.errorbar(
                n,
                value,
                [[value - low], [high - value]],
                color=mark.color,
                capsize=3,
                linewidth=1.2,
                zorder=2,
            )
    if column == "efficiency":
        raw = [row.number("efficiency_raw") for row in rows]
        axes.plot(ranks, raw, color=mark.color, linewidth=0.7, alpha=0.8, zorder=2)
    ends = [(float(n), value) for n, value in zip(ranks, values) if not math.isnan(value)]
    return ends[-1] if ends else None


def power_axis(axes: Axes, low: float, high: float) -> None:
    """A log2 y axis with ticks at powers of two."""
    first, last = math.floor(math.log2(low)), math.ceil(math.log2(high))
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_locator(FixedLocator([2.0**power for power in range(first, last + 1)]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_ylim(low / 1.25, high * 1.25)


def note_base(axes: Axes, rows: list[Row]) -> None:
    """Says what H is, without which an ideal line means nothing."""
    bases = sorted({(row["baseline"], row.number("h_seconds")) for row in rows if row["h_seconds"]})
    lines = [
        f"ideal: {ideal(rows[0])}, H = {three_digits(h)} s an epoch ({base or 'one device'})"
        for base, h in bases[:3]
    ]
    theme.note(axes, "\n".join(lines), top=True)
