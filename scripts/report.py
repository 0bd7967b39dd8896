# SPDX-License-Identifier: Apache-2.0
# report.py RUN writes report.html, one self-contained page from the CSV files, manifest.json and
# figures of a run, whichever of them are there, and report.md, its essence. It needs no library.
# With --published NAME[,NAME...] the page has a section of these series of configs/published.csv.
# Exit: 0 done, 2 usage.
from __future__ import annotations

import sys
from pathlib import Path

from view.files import write_whole
from view.manifest import Manifest
from view.published import UnknownSeries, published_option
from view.rows import say
from view.run.markdown import write_markdown
from view.run.page import write_page


def main(arguments: list[str]) -> int:
    arguments, names = published_option(arguments)
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        say(
            "usage: scripts/python scripts/report.py results/RUN [--published NAME,...] "
            "(a folder with the files of one run)"
        )
        return 2
    run = Path(arguments[0]).resolve()
    manifest = Manifest(run)
    try:
        html = write_page(run, manifest, names)
    except UnknownSeries as error:
        say(f"report.py: {error}")
        return 2
    for name, text in (("report.html", html), ("report.md", write_markdown(run, manifest))):
        write_whole(run / name, text)
        print(run / name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
