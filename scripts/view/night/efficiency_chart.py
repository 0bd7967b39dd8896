# SPDX-License-Identifier: Apache-2.0
# Efficiency against the ideal over the number of ranks, a panel for each workload: tonight with its
# intervals, last night thin, the pinned run dashed. All numbers are cells of the runs' scaling.csv.
from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from view.cases import STRATEGY, short_names, workload
from view.night.svg import Point, band, drawing, line, shape
from view.page import Html, element
from view.plain import plain
from view.rows import Row, grouped, usable
from view.series import SERIES, moved_apart, thinned
from view.variants import read_cases

LEFT, TOP, PLOT, HIGH = 44.0, 14.0, 250.0, 190.0
DIGIT = 7.0  # of a label of the axis, which has letters of 11
# How the lines of each run are drawn.
STYLES: dict[str, dict[str, object]] = {
    "tonight": {"stroke_width": 2.4},
    "last night": {"stroke_width": 0.9},
    "pinned": {"stroke_width": 1.3, "stroke_dasharray": "5 4"},
}
MOST_PANELS, MOST_SERIES, HIGHEST = 12, 12, 2.5


def panels(runs: dict[str, Path | None]) -> list[Html]:
    """`runs` by the names in STYLES. Rows of different origin are never on one line."""
    rows = {
        name: [row for row in usable(read_cases(run, "scaling.csv"))
               if row.integer("ranks") > 0 and not math.isnan(row.number("efficiency"))]
        for name, run in runs.items()
        if run
    }  # fmt: skip
    tonight = rows.get("tonight", [])
    facets = list(dict.fromkeys(map(workload, tonight)))
    series = list(grouped(tonight, (*STRATEGY, "origin")))
    names = short_names([key[:-1] for key in series], STRATEGY)
    colours = {name: SERIES[n % len(SERIES)] for n, name in enumerate(dict.fromkeys(names.values()))}
    shown = []
    for facet in facets[:MOST_PANELS]:
        here = {name: [row for row in group if workload(row) == facet] for name, group in rows.items()}
        shown.append(element("figure", element("figcaption", element("strong", plain(facet))),
                             panel(here, names, colours, facet), css="panel"))  # fmt: skip
    if len(facets) > MOST_PANELS:
        shown.append(element("p", f"{len(facets) - MOST_PANELS} more workloads in scaling.csv", css="muted"))
    return shown


def panel(rows: dict[str, list[Row]], names: dict[tuple[str, ...], str], colours: dict[str, str], title: str) -> Html:
    tonight = rows["tonight"]
    ranks = sorted({row.integer("ranks") for row in tonight})
    values = (row.number(column) for row in tonight for column in ("efficiency", "efficiency_ci_high"))
    # What is above the top is drawn at it: no wrong number makes the rest unreadable.
    top = 1.06 * min(HIGHEST, max([1.0, *(value for value in values if not math.isnan(value))]))

    def place(row: Row, column: str) -> Point:
        span = math.log2(ranks[-1] / ranks[0]) or 1.0
        x = LEFT + PLOT * math.log2(row.integer("ranks") / ranks[0]) / span
        value = row.number(column)
        # max() and min() would make 0 of what is not known.
        return x, value if math.isnan(value) else TOP + HIGH * (1 - max(0.0, min(value, top)) / top)

    # What was measured on one device alone is a base of the others, unless there are no others.
    largest = {key: max(row.integer("ranks") for row in group) for key, group in grouped(tonight, (*STRATEGY, "origin")).items()}
    shown = {key: group for key, group in grouped(tonight, (*STRATEGY, "origin")).items() if largest[key] > 1 or ranks[-1] == 1}
    shapes = [*axes(ranks, top)]
    ends: list[tuple[float, str, str]] = [(TOP + HIGH * (1 - 1 / top), "ideal: 100 %", "var(--muted)")]
    for key, group in list(shown.items())[:MOST_SERIES]:
        name, origin = names[key[:-1]], key[-1]
        colour = colours[name]
        for run, style in STYLES.items():
            same = [row for row in rows.get(run, []) if tuple(row[column] for column in (*STRATEGY, "origin")) == key
                    and ranks[0] <= row.integer("ranks") <= ranks[-1]]  # fmt: skip
            same.sort(key=lambda row: row.integer("ranks"))
            same = [*base_of(same, rows.get(run, [])), *same]
            if run == "tonight":
                lows, highs = ([place(row, f"efficiency_ci_{end}") for row in same] for end in ("low", "high"))
                shapes.append(band(lows, highs, fill=colour, fill_opacity=0.14))
            shapes.append(line([place(row, "efficiency") for row in same], stroke=colour, **style))
        for x, y in (place(row, "efficiency") for row in [*base_of(group, tonight), *group]):
            hollow = origin in ("emulated", "predicted")
            fill = {"fill": "var(--paper)" if hollow else colour, "stroke": colour, "stroke_width": 1.4}
            shapes.append(shape("circle", cx=x, cy=y, r=3.0, **fill))
        last = max(group, key=lambda row: row.integer("ranks"))
        ends.append((place(last, "efficiency")[1], name if origin == "measured" else f"{name} ({origin})", colour))
    shapes += labels(ends)
    width = LEFT + PLOT + 16 + 6.3 * max(len(plain(text, 40)) for _, text, _ in ends)
    words = "; ".join(f"{text}" for _, text, _ in ends[1:])
    return drawing(width, TOP + HIGH + 40, plain(f"Efficiency over N, {title}: {words}", 500), shapes)


def base_of(series: list[Row], rows: list[Row]) -> list[Row]:
    """The single device that a strategy starting at N > 1 is compared with."""
    if not series or series[0].integer("ranks") == 1:
        return []
    first = series[0]
    return [
        row
        for row in rows
        if row["gradient_sync"] == "one_device" and row.integer("ranks") == 1 and row["origin"] == first["origin"]
    ][:1]


def axes(ranks: Sequence[int], top: float) -> Iterable[Html]:
    style = {"fill": "var(--muted)", "font_size": 11}
    for percent in range(0, int(100 * top) + 1, 25):
        y = TOP + HIGH * (1 - percent / 100 / top)
        ideal = {"stroke": "var(--muted)", "stroke_dasharray": "1 3"} if percent == 100 else {"stroke": "var(--line)"}
        yield shape("path", d=f"M{LEFT:g} {y:.1f}h{PLOT:g}", **ideal)
        yield shape("text", f"{percent} %", x=LEFT - 6, y=y + 4, text_anchor="end", **style)
    span = math.log2(ranks[-1] / ranks[0]) or 1.0
    for n in thinned(ranks, PLOT / span / DIGIT):
        x = LEFT + PLOT * math.log2(n / ranks[0]) / span
        yield shape("text", n, x=x, y=TOP + HIGH + 18, text_anchor="middle", **style)
    yield shape("text", "ranks N", x=LEFT + PLOT / 2, y=TOP + HIGH + 35, text_anchor="middle", **style)


def labels(ends: list[tuple[float, str, str]]) -> Iterable[Html]:
    """Names right of the lines' ends, apart from each other."""
    ends = sorted(end for end in ends if not math.isnan(end[0]))
    for (_, text, colour), y in zip(ends, moved_apart([end[0] / HIGH for end in ends], 13 / HIGH)):
        yield shape("text", plain(text, 40), x=LEFT + PLOT + 10, y=y * HIGH + 4, fill=colour, font_size=11)
