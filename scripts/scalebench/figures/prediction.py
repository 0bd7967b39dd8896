# SPDX-License-Identifier: Apache-2.0
# Efficiency against the number of ranks as it was measured (solid) and as it is predicted (hollow and
# dashed, with its band), one panel for each workload; the largest measured N was held out of what is
# said of the measured ones. All numbers are cells of prediction.csv.
from __future__ import annotations

import math
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MultipleLocator

from scalebench.cases import by_workload, short_names
from scalebench.figures import theme
from scalebench.rows import Row, grouped, read_rows, usable

SERIES = ("gradient_sync", "twin")
BAND = ", with 95 % by the errors of each measured N left out"


def draw(folder: Path) -> tuple[dict[str, Figure], str]:
    """The figure and its fine print."""
    rows = usable(read_rows(folder, "prediction.csv"))
    if not rows:
        raise theme.NothingToDraw("prediction.csv has no prediction")
    tell_apart(rows)
    names = short_names(list(grouped(rows, SERIES)), SERIES)
    marks = theme.marks(list(names.values()))
    facets = by_workload(rows)
    figure, drawn = theme.panels(len(facets), width=5.4, height=3.3)
    for (title, facet), axes in zip(facets.items(), drawn):
        axes.set_title(title)
        draw_panel(axes, facet, names, marks)
    links = sorted({row["network"] for row in rows if row["network"] not in ("measured", "model")})
    band = BAND if any(row["efficiency_low"] for row in rows) else ""
    words = [rows[0]["run_id"], f"hollow and dashed: predicted{band}"]
    return {"prediction": figure}, "  ·  ".join([*words, *(f"predicted for a link of {link}" for link in links)])


def tell_apart(rows: list[Row]) -> None:
    """The cell `twin` of what all other words leave alike, as two [[epoch]] that differ in their images: its case."""
    for facet in by_workload(rows).values():
        for group in grouped(facet, SERIES[:-1]).values():
            if len({row["case_id"] for row in group}) > 1:
                for row in group:
                    row["twin"] = f"case {row['case_id']}"


def draw_panel(
    axes: Axes,
    rows: list[Row],
    names: dict[tuple[str, ...], str],
    marks: dict[str, tuple[str, str]],
) -> None:
    ranks = sorted({1, *(row.integer("ranks") for row in rows)})
    theme.ranks_axis(axes, ranks)
    axes.plot(ranks, [1.0] * len(ranks), color=theme.MUTED, linewidth=1.0, linestyle=(0, (1, 1.5)), zorder=2)
    labels = [(float(ranks[-1]), 1.0, "ideal: 100 %", theme.MUTED)]
    top = 1.0
    errors: list[str] = []
    for key, series in grouped(rows, SERIES).items():
        color, marker = marks[names[key]]
        checks = by_ranks(series, "fitted", "held_out")
        draw_measured(axes, checks, theme.Mark(color, marker, "measured"))
        predicted = [*checks, *by_ranks(series, "forecast")]
        end = draw_predicted(axes, predicted, theme.Mark(color, marker, "predicted"))
        labels.append((*end, names[key], color))
        top = max(top, *(highest(row) for row in predicted))
        errors += [error_of(row, names[key]) for row in checks if row["kind"] == "held_out"]
    axes.set_xlabel("ranks N")
    axes.set_ylabel("efficiency  E = S/N")
    axes.set_ylim(0, top * 1.08)
    axes.yaxis.set_major_locator(MultipleLocator(0.25 if top < 1.6 else 0.5))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f} %"))
    theme.note(axes, "\n".join(errors))
    theme.label_lines(axes, labels)


def error_of(row: Row, name: str) -> str:
    return f"{name}: N = {row['ranks']} held out, step {100 * row.number('error'):+.1f} %"


def by_ranks(rows: list[Row], *kinds: str) -> list[Row]:
    return sorted((row for row in rows if row["kind"] in kinds), key=lambda row: row.integer("ranks"))


def highest(row: Row) -> float:
    cells = [row.number(name) for name in ("efficiency", "efficiency_high", "measured_efficiency")]
    return max((cell for cell in cells if not math.isnan(cell)), default=0.0)


def draw_measured(axes: Axes, checks: list[Row], mark: theme.Mark) -> None:
    """From one rank, which is what the others are measured against."""
    if checks:
        points = [(row.integer("ranks"), row.number("measured_efficiency")) for row in checks]
        axes.plot(*zip((1, 1.0), *points), **mark.line())


def draw_predicted(axes: Axes, rows: list[Row], mark: theme.Mark) -> tuple[float, float]:
    """Through all N in order, each once: of a measured N what was said before its time was known.
    Returns where the line ends."""
    rows = sorted({row.integer("ranks"): row for row in reversed(rows)}.values(),
                  key=lambda row: row.integer("ranks"))  # fmt: skip
    ranks = [row.integer("ranks") for row in rows]
    values = [row.number("efficiency") for row in rows]
    low = [row.number("efficiency_low") for row in rows]
    high = [row.number("efficiency_high") for row in rows]
    axes.fill_between(ranks, low, high, color=mark.color, alpha=0.15, linewidth=0, zorder=1)
    # Around what was measured, not over it.
    axes.plot(ranks, values, **(mark.line() | {"markersize": 8, "markerfacecolor": "none", "zorder": 4}))
    return float(ranks[-1]), values[-1]
