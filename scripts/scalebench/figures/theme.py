# SPDX-License-Identifier: Apache-2.0
# How every figure looks: colours that colour-blind readers can tell apart (Okabe and Ito), marks by origin (measured
# filled, emulated hollow, predicted hollow and dashed, quoted a cross), a legend below the panel, and files that are
# equal byte by byte for equal data.
from __future__ import annotations

import io
import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from scalebench.files import write_whole

SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#8c6bb1", "#6b7280",
          "#8a5a2b", "#7a9a01", "#1b4965", "#b5179e")  # fmt: skip
INK, MUTED, GRID, PAPER = "#1f2328", "#59636e", "#dfe3e8", "#ffffff"
NEUTRAL = "#b8bec6"  # for what cannot be told from nothing
MARKERS = "os^Dvph*"
WIDTH, LINE = 5.0, 0.18  # inches: of a panel, and of a line of text
LETTERS = 56  # of a line of text
LONGEST = 150  # bytes of a file's name, of which file systems take 255 with all that is added to it
STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans", "font.size": 10, "axes.labelsize": 10, "axes.labelcolor": MUTED,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.8, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID, "grid.linewidth": 0.7, "text.color": INK, "xtick.color": MUTED, "ytick.color": MUTED,
    "xtick.major.size": 0, "ytick.major.size": 0, "hatch.linewidth": 0.8, "legend.frameon": False,
    "legend.fontsize": 9.5,
    "legend.handlelength": 1.6, "legend.labelspacing": 0.3, "savefig.dpi": 160, "text.parse_math": False,
}  # fmt: skip


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
        style = {"measured": "-", "emulated": "-", "imported": "-", "predicted": (0, (4, 2))}.get(self.origin, "none")
        hollow = self.origin in ("emulated", "predicted")
        return {
            "color": self.color, "linestyle": style, "linewidth": 1.2 if hollow else 1.8, "markersize": 5.5,
            "zorder": 3,
            "marker": "x" if self.origin == "quoted" else self.marker, "markerfacecolor": PAPER if hollow
            else self.color,
        }  # fmt: skip


def marks(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """A colour and a marker for each name; the marker changes too, for prints without colour."""
    order = {name: place for place, name in enumerate(dict.fromkeys(names))}
    return {name: (SERIES[n % len(SERIES)], MARKERS[(n + n // 8) % len(MARKERS)]) for name, n in order.items()}


def with_origin(name: str, origin: str) -> str:
    return name if origin in ("measured", "") else f"{name} ({origin})"


def panel(title: str, height: float, lanes: int = 1) -> tuple[Figure, list[Axes]]:
    """One panel, or lanes over a common x axis: WIDTH inches, which a telephone shows with letters of 10 px."""
    lines = textwrap.wrap(shortened(title, 6 * LETTERS), 46)
    figure = Figure(figsize=(WIDTH, height * lanes + LINE * len(lines)), layout="constrained")
    figure.suptitle("\n".join(lines), x=0.012, ha="left", fontsize=11, fontweight="bold")
    return figure, [figure.add_subplot(lanes, 1, lane + 1) for lane in range(lanes)]


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


def legend(axes: Axes, notes: Iterable[str] = ()) -> None:
    """What is drawn, by its labels, and notes; save() puts it below the panel."""
    handles, labels = axes.get_legend_handles_labels()
    entries = dict(zip(("\n".join(textwrap.wrap(shortened(label, 3 * LETTERS), LETTERS)) for label in labels), handles))
    said = "\n".join(line for note in notes if note for line in textwrap.wrap(note, LETTERS + 6))
    columns = 2 if len(entries) > 3 and max(map(len, entries)) < LETTERS // 2 else 1
    below = axes.figure.legend(entries.values(), entries, loc="lower left", borderaxespad=0.6, ncol=columns, title=said,
                               alignment="left", title_fontsize=9)  # fmt: skip
    below.get_title().set_color(MUTED)


def ideal(axes: Axes, x: Sequence[float], y: float, label: str = "ideal") -> None:
    axes.plot(x, [y] * len(x), color=MUTED, linewidth=1.1, linestyle=(0, (1, 1.5)), zorder=2, label=label)


def ranks_axis(axes: Axes, ranks: Iterable[int]) -> list[int]:
    """A log2 axis with ticks at N that were run. Returns these."""
    ticks = sorted({max(1, n) for n in ranks})  # an empty cell reads as 0, which has no logarithm
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(ticks, nbins=9))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlim(ticks[0] / 1.2, ticks[-1] * 1.2)
    axes.grid(axis="x", visible=False)
    return ticks


def efficiency_axis(axes: Axes, top: float) -> None:
    axes.set_ylabel("efficiency  E = S/N")
    axes.set_ylim(0, top * 1.08)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f} %"))


def around(values: Sequence[float], low: Sequence[float], high: Sequence[float]) -> list[list[float]] | None:
    """Intervals as errorbar() takes them: how far below and above the values they end, NaN where one is not known."""
    if not any(math.isfinite(value + sum(ends)) for value, *ends in zip(values, low, high)):
        return None
    below, above = (list(map(float.__sub__, values, low)), list(map(float.__sub__, high, values)))
    return [[length if length > 0 or math.isnan(length) else 0.0 for length in side] for side in (below, above)]


def save(figure: Figure, run: Path, name: str, fine_print: str) -> list[Path]:
    """Writes figures/<name>.png and .svg without dates or versions in them."""
    put_below(figure, textwrap.wrap(fine_print, 76))
    folder = run / "figures"
    folder.mkdir(exist_ok=True)
    paths = [folder / f"{name}.png", folder / f"{name}.svg"]
    with matplotlib.rc_context({"svg.hashsalt": name}):
        write_figure(figure, paths[0], {"Software": None})
        # The layout's solver leaves the last digits to chance, and an SVG's names are made of them.
        figure.set_layout_engine("none")
        for axes in figure.axes:
            axes.set_position([round(number, 6) for number in axes.get_position(original=True).bounds])
        write_figure(figure, paths[1], {"Date": None, "Creator": None})
    return paths


def put_below(figure: Figure, lines: list[str]) -> None:
    """The fine print, and above it the legend, by which the figure grows."""
    foot = 0.05 + 0.15 * len(lines)
    pen = FigureCanvasAgg(figure).get_renderer()
    below = foot + sum(each.get_window_extent(pen).height / figure.dpi + 0.1 for each in figure.legends)
    total = figure.get_figheight() + below
    figure.set_figheight(total)
    figure.text(0.012, 0.05 / total, "\n".join(lines), fontsize=8, color=MUTED)
    for each in figure.legends:
        each.set_bbox_to_anchor((0, foot / total, 1, 1))
    figure.get_layout_engine().set(rect=(0, below / total, 1, 1 - below / total))


def write_figure(figure: Figure, path: Path, metadata: dict[str, None]) -> None:
    content = io.BytesIO()
    figure.savefig(content, format=path.suffix[1:], metadata=metadata)
    write_whole(path, content.getvalue())


def remove(run: Path, name: str) -> None:
    """A figure of an earlier call would show rows that are no longer there."""
    for path in (run / "figures").glob(f"{name}*.[ps][nv]g"):
        path.unlink(missing_ok=True)
