# SPDX-License-Identifier: Apache-2.0
# plot.py RUN draws figures/*.png and *.svg from the CSV files of one run, and computes nothing that
# a CSV file should hold. A figure without rows is left out with a line on stderr. With --published
# NAME[,NAME...] efficiency has these series of configs/published.csv as crosses. A figure has one
# panel and a file each.
# Exit: 0 done, 2 usage or a folder that cannot be written, 3 no matplotlib. Call it through scripts/python, which finds one.
from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from view.manifest import Manifest
from view.published import UnknownSeries, published_option, series_of
from view.rows import say

try:
    import matplotlib

    from view.figures import batches, busbw, monitor, phases, scaling, theme, throughput, waterfall
except ImportError as error:
    say(
        f"plot.py: {error}: no figures. Install python3-matplotlib (Debian) or `python3 -m pip install matplotlib`"
    )
    sys.exit(3)


def main(arguments: list[str]) -> int:
    try:
        arguments, names = published_option(arguments)
        series = series_of(names) if names else []
    except UnknownSeries as error:
        say(f"plot.py: {error}")
        return 2
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        say(
            "usage: scripts/python scripts/plot.py results/RUN [--published NAME,...] "
            "(a folder with CSV files of one run)"
        )
        return 2
    run = Path(arguments[0]).resolve()
    fine_print = Manifest(run).fine_print(run.name)
    figures = {
        "efficiency": partial(scaling.draw, published=series),
        "waterfall": waterfall.draw,
        "phases": phases.draw,
        "throughput": throughput.draw,
        "batches": batches.draw,
        "busbw": busbw.draw,
        "monitor": monitor.draw,
    }
    try:
        with matplotlib.rc_context({**matplotlib.rcParamsDefault, **theme.STYLE, "backend": "agg"}):
            for name, draw in figures.items():
                try:
                    theme.remove(run, name)
                    for file, figure in draw(run).items():
                        print(*theme.save(figure, run, file, fine_print), sep="\n")
                except theme.NothingToDraw as reason:
                    say(f"plot.py: no {name} figure: {reason}")
    except OSError as error:
        say(f"plot.py: {error.filename or run}: {error.strerror}: copy the folder to where you may write")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
