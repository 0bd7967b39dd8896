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
from scalebench.pages.comparison import markdown as comparison_markdown
from scalebench.pages.comparison import page as comparison_page
from scalebench.pages.comparison.found import NoComparison, read_comparison
from scalebench.pages.files import write_whole
from scalebench.pages.night import junit, prometheus
from scalebench.pages.night import markdown as night_markdown
from scalebench.pages.night import page as night_page
from scalebench.pages.night.record import Night, read_night
from scalebench.pages.run.markdown import write_markdown
from scalebench.pages.run.page import write_page
from scalebench.pages.run.seal import how_to_check
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
            files, doubts = of_night(night), night.doubts
        elif (folder / "compare.json").is_file():
            found = read_comparison(folder)
            files = {"report.html": comparison_page.write_page(found), "report.md": comparison_markdown.write_markdown(found)}
        else:
            manifest = Manifest(folder, strict=True)
            check = how_to_check(folder, manifest, arguments[0])
            files = {"report.html": write_page(folder, manifest, names, check), "report.md": write_markdown(folder, manifest, check)}
    except (UnknownSeries, NoComparison, Unreadable) as error:
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


def of_night(night: Night) -> dict[str, str]:
    return {
        "report.html": night_page.write_page(night),
        "report.md": night_markdown.write_markdown(night),
        "junit.xml": junit.write_junit(night),
        "scalebench.prom": prometheus.write_textfile(night),
    }
