# SPDX-License-Identifier: Apache-2.0
# A cell's last nights in the height of a line of text: gaps where a night has no value, what tonight is
# held against dashed, nights beyond the good ones hollow, the last one a dot in the colour of its verdict.
from __future__ import annotations

import math
from collections.abc import Sequence

from scalebench.pages.night.svg import Point, drawing, line, shape
from scalebench.numbers import duration
from scalebench.pages.page import Html
from scalebench.rows import Row

WIDTH, HEIGHT, MARGIN = 150.0, 34.0, 5.0


def sparkline(nights: Sequence[Row], baseline: float, colour: str) -> Html:
    """`nights`: rows of history.csv, oldest first."""
    values = [night.number("machine_seconds") for night in nights]
    values = [value if abs(value) < 1e300 else math.nan for value in values]
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return Html("")
    scale = known if math.isnan(baseline) else [*known, baseline]
    low, high = min(scale), max(scale)
    # A spread below 2 % is shown as small as it is.
    room = max(high - low, 0.02 * abs(high)) or 1.0
    middle = (low + high) / 2

    def place(night: int, value: float) -> Point:
        across = MARGIN + (WIDTH - 2 * MARGIN) * night / max(1, len(values) - 1)
        return across, HEIGHT / 2 - (value - middle) / room * (HEIGHT - 2 * MARGIN)

    points = [place(night, value) for night, value in enumerate(values)]
    shapes = []
    if not math.isnan(baseline):
        y = place(0, baseline)[1]
        dashes = {"stroke": "var(--muted)", "stroke_width": 0.7, "stroke_dasharray": "3 3"}
        shapes.append(shape("path", d=f"M0 {y:.1f}H{WIDTH:g}", **dashes))
    shapes.append(line(points, stroke="currentColor", stroke_width=1.2))
    for night, (x, y) in zip(nights, points[:-1]):
        if night["machine_verdict"] in ("WATCHED", "MACHINE") and not math.isnan(y):
            shapes.append(shape("circle", cx=x, cy=y, r=2.0, fill="var(--paper)", stroke="currentColor"))
    if not math.isnan(values[-1]):
        x, y = points[-1]
        shapes.append(shape("circle", cx=x, cy=y, r=3.2, fill=colour))
    title = f"{len(values)} nights, {len(values) - len(known)} without a value: {duration(min(known))} to {duration(max(known))}"
    return drawing(WIDTH, HEIGHT, title, shapes, css="spark")
