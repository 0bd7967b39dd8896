# SPDX-License-Identifier: Apache-2.0
# A cell's last nights in the height of a line of text: gaps where a night has no value, what tonight is
# held against dashed, nights beyond the good ones hollow, the last one a dot in the colour of its verdict.
from __future__ import annotations

import base64
import io
import math
from collections.abc import Sequence

from markupsafe import Markup

from scalebench.numbers import duration
from scalebench.pages.render import Toned
from scalebench.rows import Row

try:
    from matplotlib.figure import Figure
except ImportError:  # then its words stand there alone
    Figure = None

LINE = "#808890"
COLOURS = {"bad": "#d1453b", "good": "#2da44e", "odd": "#bf8700"}


def sparkline(nights: Sequence[Row], baseline: float, tone: str) -> Toned | str:
    """`nights`: rows of history.csv, oldest first."""
    values = [night.number("machine_seconds") for night in nights]
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return ""
    low, high = duration(min(known)), duration(max(known))
    words = f"{len(values)} nights, {len(values) - len(known)} without a value: {low} to {high}"
    return Toned(words, image=drawn(nights, values, baseline, COLOURS.get(tone, LINE)) if Figure else Markup())


def drawn(nights: Sequence[Row], values: Sequence[float], baseline: float, colour: str) -> Markup:
    scale = [value for value in (*values, baseline) if abs(value) < 1e300]
    low, high = min(scale, default=0), max(scale, default=0)
    room = max(high - low, 0.02 * abs(high)) or 1.0  # a spread below 2 % is shown as small as it is
    figure = Figure(figsize=(1.5, 0.34))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(-0.04 * len(values), len(values) * 1.04)
    axes.set_ylim((low + high) / 2 - 0.7 * room, (low + high) / 2 + 0.7 * room)
    axes.axhline(baseline, color=LINE, linewidth=0.6, linestyle="--")
    axes.plot(range(len(values)), values, color=LINE, linewidth=1.0, marker=".", markersize=1)
    beyond = [place for place, night in enumerate(nights) if night["machine_verdict"] in ("WATCHED", "MACHINE")]
    axes.plot(beyond, [values[place] for place in beyond], "o", color=LINE, markersize=3, markerfacecolor="none")
    axes.plot(len(values) - 1, values[-1], "o", color=colour, markersize=4)
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=200, transparent=True)
    return Markup("data:image/png;base64," + base64.b64encode(file.getvalue()).decode("ascii"))
