# SPDX-License-Identifier: Apache-2.0
# Efficiency against the number of ranks, a figure for each workload, with the ideal (time H/N) named
# by its base. All numbers are cells of scaling.csv.
from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MultipleLocator

from scalebench import intervals
from scalebench.cases import STRATEGY, by_workload, short_names
from scalebench.cases import ideal as ideal_of
from scalebench.figures import theme
from scalebench.numbers import three_digits
from scalebench.published import Series
from scalebench.rows import Row, grouped, say, usable
from scalebench.variants import read_cases


def draw(run: Path, published: Sequence[Series] = ()) -> dict[str, Figure]:
    """A figure for each workload."""
    rows = [row for row in usable(read_cases(run, "scaling.csv")) if row.integer("ranks") > 0]
    if not rows:
        raise theme.NothingToDraw("scaling.csv has no usable row")
    facets = by_workload(rows)
    names = short_names(list(grouped(rows, STRATEGY)), STRATEGY)
    published = [series for series in published if is_drawn(series, {row["model"] for row in rows})]
    marks = theme.marks([*names.values(), *(series.name for series in published)])
    figures = {}
    for name, (title, facet) in zip(theme.names_of("efficiency", list(facets)), facets.items()):
        figure, (axes,) = theme.panel(title, 3.1)
        draw_panel(axes, facet, names, marks, published)
        quoted = [(theme.mark_of(theme.Mark(*marks[series.name], "quoted")),
                   f"{series.label()}{series.base()} (quoted: {series.source()})")
                  for series in published if series.points("efficiency")]  # fmt: skip
        line = not dots_only(ranks_of(facet, published))
        entries = [(theme.mark_of(mark, line), text) for text, mark in entries_of([row for row in facet if is_known(row)], names, marks)]
        theme.legend(figure, [theme.ideal_line(), *entries, *quoted])
        figures[name] = figure
    return figures


def ranks_of(rows: list[Row], published: Sequence[Series]) -> list[int]:
    quoted = {n for series in published for n, _ in series.points("efficiency")}
    return sorted({row.integer("ranks") for row in rows} | quoted)


def dots_only(ranks: list[int]) -> bool:
    """A line between one rank and two would say something about nothing in between."""
    return ranks[-1] <= 2


def is_known(row: Row) -> bool:
    """Whether anything of it is drawn: ranks that share cores have no efficiency against one that does not."""
    return not math.isnan(row.number("efficiency")) or not math.isnan(row.number("efficiency_raw"))


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
    if not series.points("efficiency"):
        say(f"--published {series.name}: it has no efficiency on one device, so no cross")
        return False
    model = series.rows[0]["model"]
    own, trained = letters(model), ", ".join(sorted(filter(None, models)))
    if own and not any(own.startswith(letters(name)) for name in models if letters(name)):
        say(f"--published {series.name}: of {model}, and this run trained {trained}: read the crosses as such")
    return True


def letters(model: str) -> str:
    """'resnet50v15' of 'ResNet-50 v1.5': models are spelled in many ways."""
    return re.sub("[^a-z0-9]", "", model.lower())


def draw_panel(
    axes: Axes,
    rows: list[Row],
    names: dict[tuple[str, ...], str],
    marks: dict[str, tuple[str, str]],
    published: Sequence[Series],
) -> None:
    # A line without a point would take the whole figure for its own.
    quoted = {series.name: points for series in published if (points := series.points("efficiency"))}
    ranks = ranks_of(rows, published)
    dots = dots_only(ranks)
    theme.ranks_axis(axes, ranks)
    axes.plot(ranks, [1.0] * len(ranks), color=theme.MUTED, linewidth=1.0, linestyle=(0, (1, 1.5)), zorder=2)
    series_of = grouped(rows, (*STRATEGY, "origin"))
    for place, (key, series) in enumerate(series_of.items()):
        series = sorted(series, key=lambda row: row.integer("ranks"))
        mark = theme.Mark(*marks[names[key[:-1]]], key[-1])
        if not dots:
            draw_from_base(axes, series[0], rows, mark)
        aside = asides(len(series_of))[place] if dots else 1.0
        draw_series(axes, series, mark, dots, aside)
    for name, points in quoted.items():
        mark = theme.Mark(*marks[name], "quoted")
        line = {**mark.line(), "zorder": 6}  # above the labels of lines, which would hide crosses
        axes.plot([n for n, _ in points], [value for _, value in points], **line)
    axes.set_ylabel("efficiency  E = S/N")
    raw = "\nthin: E_raw, against a plain loop" if not dots and any(row["efficiency_raw"] for row in rows) else ""
    highest = max([highest_of(rows, *([] if dots else ["efficiency_raw"])), *(value for points in quoted.values() for _, value in points)])
    axes.set_ylim(0, highest * 1.08)
    axes.yaxis.set_major_locator(MultipleLocator(0.25 if highest < 1.6 else 0.5))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f} %"))
    note_base(axes, rows, raw)


def draw_from_base(axes: Axes, first: Row, rows: list[Row], mark: theme.Mark) -> None:
    """Ties a strategy that starts at N > 1 to the single device that it is compared with."""
    for base in rows:
        is_base = base["gradient_sync"] == "one_device" and base.integer("ranks") == 1
        if first.integer("ranks") == 1 or not is_base or base["origin"] != first["origin"]:
            continue
        ranks = [base.integer("ranks"), first.integer("ranks")]
        line = {**mark.line(), "marker": ""}
        axes.plot(ranks, [base.number("efficiency"), first.number("efficiency")], **line)
        raw = [base.number("efficiency_raw"), first.number("efficiency_raw")]
        axes.plot(ranks, raw, color=mark.color, linewidth=0.7, alpha=0.8, zorder=2)
        return


def asides(series: int) -> list[float]:
    """By what factors of N the dots of that many series stand beside each other, or the last would hide the others."""
    outer = min(1.06 ** ((series - 1) / 2), 1.17)  # the axis ends at 1.2
    return [outer ** (2 * place / (series - 1) - 1) if series > 1 else 1.0 for place in range(series)]


def highest_of(rows: list[Row], *more: str) -> float:
    """The top of the highest interval, and of the columns `more`, so that none is cut off."""
    cells = [row.number(name) for row in rows for name in ("efficiency", "efficiency_ci_high", *more)]
    return max([1.0, *(cell for cell in cells if not math.isnan(cell))])


def draw_series(axes: Axes, rows: list[Row], mark: theme.Mark, dots: bool, aside: float) -> None:
    """One line with its intervals, or dots alone, moved by the factor `aside`."""
    ranks = [row.integer("ranks") * aside for row in rows]
    values = [row.number("efficiency") for row in rows]
    axes.plot(ranks, values, **(mark.line() | ({"linestyle": "none"} if dots else {})))
    for row, n, value in zip(rows, ranks, values):
        low, high = row.number("efficiency_ci_low"), row.number("efficiency_ci_high")
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
    if not dots:
        raw = [row.number("efficiency_raw") for row in rows]
        axes.plot(ranks, raw, color=mark.color, linewidth=0.7, alpha=0.8, zorder=2)


def note_base(axes: Axes, rows: list[Row], raw: str) -> None:
    """Below the axis: what H is, without which an ideal line means nothing, and what an upright is."""
    bases = sorted({row.number("h_seconds") for row in rows if row["h_seconds"]})
    kind = intervals.told(rows, *intervals.EFFICIENCY)
    lines = [
        f"ideal: {ideal_of(rows[0])}, H = {three_digits(h)} s an epoch (one_device)"
        for h in bases[:3]
    ]
    upright = [f"upright: {kind}"] if kind else []
    axes.set_xlabel("ranks N" + raw + "".join(f"\n{line}" for line in [*upright, *lines]))
