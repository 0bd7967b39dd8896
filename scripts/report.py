# SPDX-License-Identifier: Apache-2.0
# report.py RUN writes report.html, one self-contained page from the CSV files, manifest.json and
# figures of a run, whichever of them are there, and report.md, its essence. It needs no library. A
# manifest.json that is there and cannot be read is refused: a page without it would hide that.
# With --published NAME[,NAME...] the page has a section of these series of configs/published.csv.
# In a folder of scalebench compare --out it writes both of the comparison (compare.json).
# Exit: 0 done, 2 usage or a folder that cannot be written.
from __future__ import annotations

import sys
from pathlib import Path

from view.comparison import markdown as comparison_markdown
from view.comparison import page as comparison_page
from view.comparison.found import NoComparison, read_comparison
from view.files import write_whole
from view.manifest import Manifest, Unreadable
from view.published import UnknownSeries, published_option
from view.rows import say
from view.run.markdown import write_markdown
from view.run.page import write_page
from view.run.seal import how_to_check


def main(arguments: list[str]) -> int:
    arguments, names = published_option(arguments)
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        say(
            "usage: scripts/python scripts/report.py results/RUN [--published NAME,...] "
            "(a folder with the files of one run, or of scalebench compare --out)"
        )
        return 2
    folder = Path(arguments[0]).resolve()
    try:
        if (folder / "compare.json").is_file():
            found = read_comparison(folder)
            html, essence = comparison_page.write_page(found), comparison_markdown.write_markdown(found)
        else:
            manifest = Manifest(folder, strict=True)
            check = how_to_check(folder, manifest, arguments[0])
            html, essence = write_page(folder, manifest, names, check), write_markdown(folder, manifest, check)
    except (UnknownSeries, NoComparison, Unreadable) as error:
        say(f"report.py: {error}")
        return 2
    for name, text in (("report.html", html), ("report.md", essence)):
        try:
            write_whole(folder / name, text)
        except OSError as error:
            say(f"report.py: {folder / name}: {error.strerror}: copy the folder to where you may write")
            return 2
        print(folder / name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
