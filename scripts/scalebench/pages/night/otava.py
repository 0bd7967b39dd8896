# SPDX-License-Identifier: Apache-2.0
# otava FOLDER FILE (results/nightly/STUDY-KEY) writes the study's history.csv as the CSV form of Apache
# Otava: a row a night, and a column for each cell that all nights have measured. Others are left out, and counted.
from __future__ import annotations

import csv
from pathlib import Path

from scalebench.rows import each_row, say


def main(folder: Path, file: Path) -> int:
    nights: dict[str, str] = {}
    cells: dict[str, dict[str, str]] = {}  # seconds by label and night
    for row in each_row(folder, "history.csv"):
        if row["machine_verdict"] not in ("", "ACCEPTED", "DROPPED"):
            nights.setdefault(row["run_id"], row["started_utc"])
            cells.setdefault(row["label"], {})[row["run_id"]] = row["machine_seconds"]
    whole = [label for label, seconds in sorted(cells.items()) if all(seconds.get(night) for night in nights)]
    with open(file, "w", encoding="utf-8", newline="") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow(["time", "run", *whole])
        writer.writerows([utc, night, *(cells[label][night] for label in whole)] for night, utc in nights.items())
    if len(whole) < len(cells):
        say(f"otava: {len(cells) - len(whole)} cells that some night lacks are left out")
    return 0
