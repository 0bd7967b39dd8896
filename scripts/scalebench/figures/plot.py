# SPDX-License-Identifier: Apache-2.0
# plot FOLDER draws figures/*.png and *.svg from the files of a run, of a comparison (compare.json) or of a prediction
# (prediction.csv), and computes nothing that they should hold. A figure without rows is left out with a line on stderr.
# With published series efficiency has these as crosses. A figure has one panel and a file each.
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from scalebench import Refused
from scalebench.figures import batches, busbw, cost, monitor, prediction, scaling, theme, waterfall
from scalebench.manifest import Manifest
from scalebench.published import Series, series_of
from scalebench.rows import say

Drawn = tuple[dict[str, Figure], str]  # figures by the name of their file, and their fine print


def main(folder: Path, published: list[str]) -> int:
    if not folder.is_dir():
        raise Refused(f"{folder}: no folder")
    folder, series = folder.resolve(), series_of(published)
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **theme.STYLE, "backend": "agg"}):
        for name, draw in figures_of(folder, series).items():
            try:
                theme.remove(folder, name)
                drawn, fine_print = draw(folder)
                for file, figure in drawn.items():
                    print(*theme.save(figure, folder, file, fine_print), sep="\n")
            except theme.NothingToDraw as reason:
                say(f"plot: no {name} figure: {reason}")
    return 0


def figures_of(folder: Path, series: list[Series]) -> dict[str, Callable[[Path], Drawn]]:
    """What is drawn of such a folder, by name."""
    if (folder / "compare.json").exists():
        return {"cost": cost.draw}
    if (folder / "prediction.csv").exists():
        return {"prediction": prediction.draw}
    fine_print = Manifest(folder).fine_print(folder.name)
    of_run = {
        "efficiency": partial(scaling.draw, published=series),
        "waterfall": waterfall.draw,
        "batches": batches.draw,
        "busbw": busbw.draw,
        "monitor": monitor.draw,
    }
    return {name: partial(with_fine_print, draw, fine_print) for name, draw in of_run.items()}


def with_fine_print(draw: Callable[[Path], dict[str, Figure]], fine_print: str, folder: Path) -> Drawn:
    return draw(folder), fine_print
