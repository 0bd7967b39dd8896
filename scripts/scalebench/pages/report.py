# SPDX-License-Identifier: Apache-2.0
# report FOLDER writes report.html, one self-contained page from the CSV files, manifest.json and figures of a run,
# whichever of them are there, and report.md, its essence. A manifest.json that is there and cannot be read is refused:
# a page without it would hide that. In a folder of scalebench compare --out it writes both of the comparison, in one of
# scalebench nightly both of the night, junit.xml and scalebench.prom. It computes no verdict.
# Exit: 0 done, 2 refused, 3 done, but a night's own files contradict its verdict or cannot be read.
from __future__ import annotations

from pathlib import Path

from scalebench import Refused
from scalebench.files import write_whole
from scalebench.manifest import Manifest
from scalebench.pages import comparison, run
from scalebench.pages.night import junit, page, prometheus
from scalebench.pages.night.record import read_night
from scalebench.rows import say


def main(folder: Path, published: list[str]) -> int:
    if not folder.is_dir():
        raise Refused(f"{folder}: no folder")
    doubts: list[str] = []
    if (folder / "nightly.json").is_file():
        night = read_night(folder)
        doubts = night.doubts
        files = {**page.written(night), "junit.xml": junit.write_junit(night),
                 "scalebench.prom": prometheus.write_textfile(night)}
    elif (folder / "compare.json").is_file():
        files = comparison.written(comparison.Comparison(folder))
    else:
        files = run.written(folder.resolve(), Manifest(folder, strict=True), published, str(folder))
    for name, text in files.items():
        write_whole(folder / name, text.encode("utf-8", "replace"))
        print(folder / name)
    for doubt in doubts:
        say(f"report: {doubt}")
    return 3 if doubts else 0
