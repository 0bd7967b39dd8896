# SPDX-License-Identifier: Apache-2.0
# How every figure looks: colours that colour-blind readers can tell apart (Okabe and Ito), marks by
# origin (measured filled, emulated hollow, predicted hollow and dashed, quoted a cross), labels
# beside the lines instead of a legend, and files that are equal byte by byte for equal data.
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from view.series import SERIES, moved_apart

# report.py replaces these four by CSS variables, so that figures follow the dark mode.
INK, MUTED, GRID, PAPER = "#1f2328", "#59636e", "#dfe3e8", "#ffffff"
NEUTRAL = "#b8bec6"  # for what cannot be told from nothing
MARKERS = "os^Dvph*"

STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.labelsize": 9,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.facecolor": PAPER,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "text.color": INK,
    "axes.titlecolor": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "figure.facecolor": PAPER,
    "figure.dpi": 100,
    "savefig.dpi": 160,
    "text.parse_math": False,
}


class NothingToDraw(Exception):
    """Why a figure is left out."""


@dataclass(frozen=True)
class Mark:
    """How one series is drawn."""

    color: str
    marker: str
    origin: str

    def line(self) -> dict[str, Any]:
        """Keywords for Axes.plot."""
        style = {"measured": "-", "emulated": "-", "imported": "-", "predicted": (0, (4, 2))}.get(
            self.origin, ""
        )
        hollow = self.origin in ("emulated", "predicted")
        return {
            "color": self.color,
            "linestyle": style or "none",
            "linewidth": 1.2 if hollow else 1.8,
            "marker": "x" if self.origin == "quoted" else self.marker,
            "markersize": 5.5,
            "markerfacecolor": PAPER if hollow else self.color,
            "markeredgecolor": self.color,
            "markeredgewidth": 1.3,
            "clip_on": False,
            "zorder": 3,
        }


def marks(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """A colour and a marker for each name; the marker changes too, for prints without colour."""
    order = {name: place for place, name in enumerate(dict.fromkeys(names))}
    return {
        name: (SERIES[n % len(SERIES)], MARKERS[(n + n // 8) % len(MARKERS)])
        for name, n in order.items()
    }


def with_origin(name: str, origin: str) -> str:
    return name if origin in ("measured", "") else f"{name} ({origin})"


def panels(
    count: int, rows_each: int, width: float, height: float, most: int = 3
) -> tuple[Figure, list[list[Axes]]]:
    """`count` panels, at most `most` in a line, each of `rows_each` axes stacked on a common x axis."""
    lines = math.ceil(count / most)
    columns = math.ceil(count / lines)  # four panels look better as 2 + 2 than as 3 + 1
    figure = Figure(
        figsize=(width * columns + 0.4, height * rows_each * lines + 0.5), layout="constrained"
    )
    foot = 0.3 / figure.get_figheight()
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.1, rect=(0, foot, 1, 1 - foot))
    grid = figure.add_gridspec(lines * rows_each, columns)
    stacks: list[list[Axes]] = []
    for place in range(count):
        line, column = divmod(place, columns)
        stack: list[Axes] = []
        for row in range(rows_each):
            stack.append(figure.add_subplot(grid[line * rows_each + row, column]))
        stacks.append(stack)
    return figure, stacks


def ranks_axis(axes: Axes, ranks: Sequence[int]) -> None:
    """A log2 axis with a tick at each N that was run."""
    ticks = sorted(set(ranks))
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlim(ticks[0] / 1.2, ticks[-1] * 1.2)
    axes.grid(axis="x", visible=False)


def label_lines(axes: Axes, labels: Sequence[tuple[float, float, str, str]]) -> None:
    """Writes (x, y, text, colour) right of each line's end: outside the axes for lines that reach the
    right edge, else inside. Texts that would overlap are moved apart. Call it with final limits."""
    axes.figure.draw_without_rendering()
    points_high = axes.get_window_extent().height * 72 / axes.figure.dpi
    gap = 11 / points_high
    to_fraction = axes.transData + axes.transAxes.inverted()
    ends: dict[float, list[tuple[float, str, str]]] = {}
    for x, y, text, color in labels:
        if math.isfinite(y):
            across, up = to_fraction.transform((x, y))
            ends.setdefault(round(float(across), 6), []).append((float(up), text, color))
    for across, group in ends.items():
        group.sort()
        outside = across == max(ends) and across > 0.6
        heights = moved_apart([up for up, _, _ in group], gap)
        # Texts far from their lines stand further off, or their leaders would be steep.
        far = max(abs(height - up) for height, (up, _, _) in zip(heights, group))
        beside = 1.03 + min(0.4 * far, 0.06) if outside else across + 0.045
        for height, (up, text, color) in zip(heights, group):
            axes.annotate(
                text,
                xy=(across, up),
                xycoords="axes fraction",
                xytext=(beside, height),
                textcoords="axes fraction",
                va="center",
                fontsize=8,
                annotation_clip=False,
                zorder=5,
                bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.6},
                arrowprops={
                    "arrowstyle": "-",
                    "color": color,
                    "linewidth": 0.8,
                    "shrinkA": 1,
                    "shrinkB": 4,
                    "relpos": (0, 0.5),
                },
            )


def note(axes: Axes, text: str, top: bool = False) -> None:
    """A remark inside the panel, in a corner that lines seldom cross."""
    axes.text(0.03, 0.97 if top else 0.03, text, transform=axes.transAxes, va="top" if top else "bottom",
              fontsize=8, color=MUTED)  # fmt: skip


def corner_note(axes: Axes, text: str) -> None:
    """A remark in the lower right corner, below lines that rise to the right."""
    axes.text(0.98, 0.03, text, transform=axes.transAxes, va="bottom", ha="right", fontsize=7,
              color=MUTED, linespacing=1.4)  # fmt: skip


def save(figure: Figure, run: Path, name: str, fine_print: str) -> list[Path]:
    """Writes figures/<name>.png and .svg without dates or versions in them."""
    figure.text(
        0.008,
        0.06 / figure.get_figheight(),
        fine_print,
        fontsize=6.5,
        color=MUTED,
        va="bottom",
        wrap=True,
    )
    folder = run / "figures"
    folder.mkdir(exist_ok=True)
    paths = [folder / f"{name}.png", folder / f"{name}.svg"]
    with matplotlib.rc_context({"svg.hashsalt": name}):
        figure.savefig(paths[0], metadata={"Software": None})
        # The layout's solver leaves the last digits to chance, and an SVG's names are made of them.
        figure.set_layout_engine("none")
        for axes in figure.axes:
            axes.set_position([round(number, 6) for number in axes.get_position(original=True).bounds])
        figure.savefig(paths[1], metadata={"Date": None, "Creator": None})
    return paths


def remove(run: Path, name: str) -> None:
    """A figure of an earlier call would show rows that are no longer there."""
    for suffix in ("png", "svg"):
        (run / "figures" / f"{name}.{suffix}").unlink(missing_ok=True)
