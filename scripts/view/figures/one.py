# SPDX-License-Identifier: Apache-2.0
# A script that draws one figure of a folder, from its words to its exit code. It imports nothing of
# matplotlib before it is known to be there.
from __future__ import annotations

import importlib
import sys
from pathlib import Path

from view.rows import say


def main(script: str, figure: str, folder_of: str) -> int:
    """FOLDER/figures/FIGURE.png and .svg, or FIGURE-….png and .svg, by the draw(folder) of view.figures.FIGURE, which
    returns figures by name and their fine print. 0: drawn, or nothing to draw and why; 2: usage; 3: no matplotlib."""
    try:
        import matplotlib

        from view.figures import theme

        drawing = importlib.import_module(f"view.figures.{figure}")
    except ImportError as error:
        say(f"{script}: {error}: no figure. Install python3-matplotlib (Debian)")
        return 3
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        say(f"usage: scripts/python scripts/{script} FOLDER (of {folder_of})")
        return 2
    folder = Path(sys.argv[1]).resolve()
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **theme.STYLE, "backend": "agg"}):
        theme.remove(folder, figure)
        try:
            drawn, fine_print = drawing.draw(folder)
            for name, each in drawn.items():
                print(*theme.save(each, folder, name, fine_print), sep="\n")
        except theme.NothingToDraw as reason:
            say(f"{script}: no {figure} figure: {reason}")
    return 0
