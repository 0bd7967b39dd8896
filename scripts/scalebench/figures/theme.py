# SPDX-License-Identifier: Apache-2.0
# How every figure looks: colours that colour-blind readers can tell apart (Okabe and Ito), marks by
# origin (measured filled, emulated hollow, predicted hollow and dashed, quoted a cross), a
# legend below the panel, and files that are equal byte by byte for equal data.
from __future__ import annotations

import math
import os
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from scalebench.figures.series import SERIES, moved_apart, thinned

# report replaces these four by CSS variables, so that figures follow the dark mode.
INK, MUTED, GRID, PAPER = "#1f2328", "#59636e", "#dfe3e8", "#ffffff"
WIDTH, FOOT = 5.0, 0.3  # inches: of a panel, and of a single line of fine print
DIGIT = 10 * 0.64 / 72  # inches: of a tick's label
TITLE = 46  # letters of a line of a panel's title
LONGEST = 150  # bytes of a file's name, of which file systems take 255 with all that is added to it
NEUTRAL = "#b8bec6"  # for what cannot be told from nothing
MARKERS = "os^Dvph*"

STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 10.5,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.labelsize": 10,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "legend.fontsize": 10,
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


def panels(count: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """`count` panels in one figure, at most three in a line: for the pages that have a single figure."""
    lines = math.ceil(count / 3)
    columns = math.ceil(count / lines)  # four panels look better as 2 + 2 than as 3 + 1
    figure = Figure(figsize=(width * columns + 0.4, height * lines + 0.5), layout="constrained")
    foot = 0.3 / figure.get_figheight()
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.1, rect=(0, foot, 1, 1 - foot))
    return figure, [figure.add_subplot(lines, columns, place + 1) for place in range(count)]


def panel(title: str, height: float, lanes: int = 1) -> tuple[Figure, list[Axes]]:
    """One panel, or lanes over a common x axis: WIDTH inches, which a telephone shows with letters of 10 px."""
    lines = textwrap.wrap(shortened(title, 8 * TITLE), TITLE)
    figure = Figure(figsize=(WIDTH, height * lanes + 0.5 + 0.19 * max(0, len(lines) - 2)), layout="constrained")
    foot = FOOT / figure.get_figheight()
    figure.get_layout_engine().set(w_pad=0.06, h_pad=0.06, rect=(0, foot, 1, 1 - foot))
    stack = [figure.add_subplot(lanes, 1, lane + 1) for lane in range(lanes)]
    # From the left edge of the figure: beside the axes there is less room.
    figure.suptitle("\n".join(lines), x=0.012, ha="left", fontsize=11, fontweight="bold")
    return figure, stack


def shortened(text: str, most: int) -> str:
    """The text without its middle where it is longer: paths and names differ at their ends."""
    return text if len(text) <= most else f"{text[: most // 2]}…{text[len(text) - (most - most // 2 - 1) :]}"


def names_of(figure: str, titles: Sequence[str]) -> list[str]:
    """The file of each panel: that of a single one has the figure's name alone."""
    if len(titles) == 1:
        return [figure]
    # Before doubles are numbered: a model's name may be the path of its file, and two may differ at their end alone.
    names = [f"{figure}-{re.sub('[^a-z0-9]+', '-', title.lower()).strip('-')}"[:LONGEST] for title in titles]
    return [name if names.count(name) == 1 else f"{name}-{place}" for place, name in enumerate(names, 1)]


def legend(figure: Figure, entries: Sequence[tuple[Artist, str]]) -> None:
    """What the marks mean, below the panel, in as many columns as there is room for; the figure grows by it."""
    if not entries:
        return
    letter = 10 * 0.58 / 72  # inches of one of font size 10, on average
    room = figure.get_figwidth() - 0.2
    columns = max(1, min(3, int(room / (0.5 + letter * max(len(text) for _, text in entries)))))
    texts = [textwrap.fill(text, int((room - 0.5) / letter), subsequent_indent="  ") for _, text in entries]
    heights = [text.count("\n") + 1 for text in texts]
    rows = math.ceil(len(texts) / columns)
    high = 0.19 * (sum(heights) if columns == 1 else rows) + 0.1
    total = figure.get_figheight() + high
    figure.set_figheight(total)
    figure.get_layout_engine().set(rect=(0, (FOOT + high) / total, 1, 1 - (FOOT + high) / total))
    figure.legend(
        [mark for mark, _ in entries], texts, loc="lower left", bbox_to_anchor=(0.008, FOOT / total), ncol=columns,
        frameon=False, borderaxespad=0, handlelength=1.6, labelspacing=0.3, columnspacing=1.2,
    )  # fmt: skip


def mark_of(mark: Mark, line: bool = True) -> Line2D:
    """A legend's handle."""
    style = {**mark.line(), "clip_on": True}
    return Line2D([], [], **(style if line else {**style, "linestyle": "none"}))


def ideal_line() -> tuple[Line2D, str]:
    return Line2D([], [], color=MUTED, linewidth=1.2, linestyle=(0, (1, 1.5))), "ideal"


def ranks_axis(axes: Axes, ranks: Sequence[int]) -> None:
    """A log2 axis with a tick at each N that was run, as far as there is room."""
    ticks = sorted({max(1, n) for n in ranks})  # an empty cell reads as 0, which has no logarithm
    axes.set_xscale("log", base=2)
    inches = axes.figure.get_figwidth() * axes.get_position().width
    axes.xaxis.set_major_locator(FixedLocator(thinned(ticks, inches / math.log2(1.44 * ticks[-1] / ticks[0]) / DIGIT)))
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


def note(axes: Axes, text: str) -> None:
    """A remark inside the panel, in a corner that lines seldom cross."""
    axes.text(0.03, 0.03, text, transform=axes.transAxes, va="bottom", fontsize=10, color=MUTED)


def lines_of(text: str, inches: float, size: float) -> list[str]:
    """The text in lines that are no wider, by the widths of its letters."""
    pen, font = RendererAgg(1, 1, 720), FontProperties(size=size)

    def width(line: str) -> float:
        return float(pen.get_text_width_height_descent(line, font, False)[0]) / 720

    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if width(longer) <= inches or not lines[-1].strip(" ·"):
            lines[-1] = longer
        else:
            lines.append(word)
    return [line.strip(" ·") for line in lines]


def write_foot(figure: Figure, fine_print: str) -> None:
    """Below everything; a figure whose fine print takes several lines grows by them."""
    size = 10 if figure.get_figwidth() == WIDTH else 7
    lines = lines_of(fine_print, figure.get_figwidth() - 0.1, size)
    more = 0.017 * size * (len(lines) - 1)
    if more:
        high = figure.get_figheight()
        bottom = (figure.get_layout_engine().get()["rect"][1] * high + more) / (high + more)
        figure.set_figheight(high + more)
        figure.get_layout_engine().set(rect=(0, bottom, 1, 1 - bottom))
        for each in figure.legends:
            each.set_bbox_to_anchor((0.008 * figure.get_figwidth(), FOOT + more), transform=figure.dpi_scale_trans)
    figure.text(0.008, 0.06 / figure.get_figheight(), "\n".join(lines), fontsize=size, color=MUTED, va="bottom")


def save_whole(figure: Figure, path: Path, metadata: dict[str, None]) -> None:
    """Beside, and renamed: whoever is killed here, or draws the same, leaves no half of a figure."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        figure.savefig(unfinished, format=path.suffix[1:], metadata=metadata)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def save(figure: Figure, run: Path, name: str, fine_print: str) -> list[Path]:
    """Writes figures/<name>.png and .svg without dates or versions in them."""
    write_foot(figure, fine_print)
    folder = run / "figures"
    folder.mkdir(exist_ok=True)
    paths = [folder / f"{name}.png", folder / f"{name}.svg"]
    with matplotlib.rc_context({"svg.hashsalt": name}):
        save_whole(figure, paths[0], {"Software": None})
        # The layout's solver leaves the last digits to chance, and an SVG's names are made of them.
        figure.set_layout_engine("none")
        for axes in figure.axes:
            axes.set_position([round(number, 6) for number in axes.get_position(original=True).bounds])
        save_whole(figure, paths[1], {"Date": None, "Creator": None})
    return paths


def remove(run: Path, name: str) -> None:
    """A figure of an earlier call would show rows that are no longer there."""
    for suffix in ("png", "svg"):
        for path in [run / "figures" / f"{name}.{suffix}", *(run / "figures").glob(f"{name}-*.{suffix}")]:
            path.unlink(missing_ok=True)
