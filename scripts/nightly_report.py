# SPDX-License-Identifier: Apache-2.0
# nightly_report.py FOLDER (results/nightly/NIGHT) writes report.html, report.md, junit.xml and
# scalebench.prom from nightly.json and history.csv of the night and the study's history.csv. It computes no
# verdict and needs no library.
# Exit: 0 done, 2 usage, 3 done, but the night's own files contradict its verdict or cannot be read.
from __future__ import annotations

import sys
from pathlib import Path

from view.files import write_whole
from view.night import junit, markdown, page, prometheus
from view.night.record import NoNight, read_night
from view.rows import say

FILES = {
    "report.html": page.write_page,
    "report.md": markdown.write_markdown,
    "junit.xml": junit.write_junit,
    "scalebench.prom": prometheus.write_textfile,
}


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or arguments[0] in ("-h", "--help"):
        say("usage: scripts/python scripts/nightly_report.py results/nightly/NIGHT")
        return 2
    folder = Path(arguments[0]).resolve()
    try:
        night = read_night(folder)
    except NoNight as error:
        say(f"nightly_report.py: {error}")
        return 2
    for name, write in FILES.items():
        write_whole(folder / name, write(night))
        print(folder / name)
    for doubt in night.doubts:
        say(f"nightly_report.py: {doubt}")
    return 3 if night.doubts else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
