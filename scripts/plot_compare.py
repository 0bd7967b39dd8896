# SPDX-License-Identifier: Apache-2.0
# plot_compare.py FOLDER draws figures/cost.png and .svg from the cost.csv of a comparison
# (scalebench compare --instance ... --out FOLDER) and computes nothing that the CSV should hold.
# Exit: 0 done, 2 usage, 3 no matplotlib. Call it through scripts/python, which finds one.
from __future__ import annotations

import json
import sys
from pathlib import Path

from view.rows import say

try:
    import matplotlib

    from view import cost_figure, theme
except ImportError as error:
    say(f"plot_compare.py: {error}: no figure. Install python3-matplotlib (Debian)")
    sys.exit(3)


def fine_print(folder: Path) -> str:
    """The runs that were compared; empty where compare.json does not say."""
    try:
        runs = json.loads((folder / "compare.json").read_text(encoding="utf-8"))["runs"]
        return "  ·  ".join(f"{run['letter']}: {run['run_id']}" for run in runs)
    except (OSError, ValueError, KeyError, TypeError) as error:
        say(f"compare.json: {error}: going on without it")
        return ""


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        say("usage: scripts/python scripts/plot_compare.py FOLDER (of scalebench compare --out)")
        return 2
    folder = Path(arguments[0]).resolve()
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **theme.STYLE, "backend": "agg"}):
        try:
            for path in theme.save(cost_figure.draw(folder), folder, "cost", fine_print(folder)):
                print(path)
        except theme.NothingToDraw as reason:
            theme.remove(folder, "cost")
            say(f"plot_compare.py: no cost figure: {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
