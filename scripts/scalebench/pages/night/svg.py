# SPDX-License-Identifier: Apache-2.0
# Small drawings that stand inside a page: shapes as markup, coordinates in pixels from the top left.
from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from scalebench.pages.page import Html, markup

Point = tuple[float, float]  # y is NaN where there is no value


def number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def shape(tag: str, text: object = "", **attributes: object) -> Html:
    """Attributes with '_' for '-'; a float is rounded to tenths of a pixel."""
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{number(value) if isinstance(value, float) else escape(str(value))}"'
        for name, value in attributes.items()
    )
    return Html(f"<{tag}{written}>{markup(text)}</{tag}>")


def drawing(width: float, height: float, title: str, shapes: Sequence[Html], css: str = "") -> Html:
    """`title` is what a screen reader says."""
    return shape("svg", Html("".join(shapes)), viewBox=f"0 0 {number(width)} {number(height)}",
                 width=width, height=height, role="img", aria_label=title, class_=css)  # fmt: skip


def pieces(points: Sequence[Point]) -> list[list[Point]]:
    """Runs of neighbours that have a value: a line has a gap where one is missing."""
    runs: list[list[Point]] = [[]]
    for point in points:
        if math.isnan(point[1]):
            runs.append([])
        else:
            runs[-1].append(point)
    return [run for run in runs if run]


def line(points: Sequence[Point], **attributes: object) -> Html:
    """A line through the points with gaps where there is no value; a value alone is a dot."""
    path = "".join(
        "M" + "L".join(f"{number(x)} {number(y)}" for x, y in run) + ("h.01" if len(run) == 1 else "")
        for run in pieces(points)
    )
    fixed = {"fill": "none", "stroke_linecap": "round", "stroke_linejoin": "round"}
    return shape("path", d=path, **{**fixed, **attributes}) if path else Html("")
