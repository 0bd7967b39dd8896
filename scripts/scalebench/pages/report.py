# SPDX-License-Identifier: Apache-2.0
# report FOLDER writes report.html, one self-contained page from the CSV files, manifest.json and
# figures of a run, whichever of them are there, and report.md, its essence. A manifest.json that is there
# and cannot be read is refused: a page without it would hide that.
# With --published NAME[,NAME...] the page has a section of these series of configs/published.csv.
# In a folder of scalebench compare --out it writes both of the comparison (compare.json), in one of
# scalebench nightly (nightly.json) both of the night, and its junit.xml and scalebench.prom. It computes no verdict.
# Exit: 0 done, 2 usage or a folder that cannot be written, 3 done, but a night's own files contradict its
# verdict or cannot be read.
from __future__ import annotations

from pathlib import Path

from scalebench.manifest import Manifest, Unreadable
from scalebench.pages import comparison, run
from scalebench.pages.files import write_whole
from scalebench.pages.night import junit, page, prometheus
from scalebench.pages.night.record import read_night
from scalebench.published import UnknownSeries, published_option
from scalebench.rows import say


def main(arguments: list[str]) -> int:
    arguments, names = published_option(arguments)
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        say(
            "usage: scripts/python -m scalebench report results/RUN [--published NAME,...] "
            "(a folder with the files of one run, of scalebench compare --out, or of a night)"
        )
        return 2
    folder = Path(arguments[0]).resolve()
    doubts: list[str] = []
    try:
        if (folder / "nightly.json").is_file():
            night = read_night(folder)
            files = {**page.written(night), "junit.xml": junit.write_junit(night), "scalebench.prom": prometheus.write_textfile(night)}
            doubts = night.doubts
        elif (folder / "compare.json").is_file():
            files = comparison.written(comparison.read_comparison(folder))
        else:
            files = run.written(folder, Manifest(folder, strict=True), names, arguments[0])
    except (UnknownSeries, comparison.NoComparison, Unreadable) as error:
        say(f"report: {error}")
        return 2
    for name, text in files.items():
        try:
            write_whole(folder / name, text)
        except OSError as error:
            say(f"report: {folder / name}: {error.strerror}: copy the folder to where you may write")
            return 2
        print(folder / name)
    for doubt in doubts:
        say(f"report: {doubt}")
    return 3 if doubts else 0
