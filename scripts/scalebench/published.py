# SPDX-License-Identifier: Apache-2.0
# Published results (configs/published.csv), to stand beside a run's own: crosses in its scaling figure,
# a table in its report. They are quoted: never joined by a line, never in a ratio with what was measured.
from __future__ import annotations

import csv
from dataclasses import dataclass, field
from pathlib import Path

from scalebench import Refused
from scalebench.rows import Row

# Beside scripts/ in the sources and where `cmake --install` puts both; in a wheel below this package.
HERE = Path(__file__).resolve()
PLACES = [HERE.parents[2] / "configs", HERE.parent / "share/scalebench/configs"]
SHIPPED = next(filter(Path.is_dir, PLACES), PLACES[0]) / "published.csv"


@dataclass
class Series:
    """The rows of one name; each number of GPUs with its efficiency, where there is one."""

    name: str
    rows: list[Row] = field(default_factory=list)

    def label(self) -> str:
        first = self.rows[0]
        what = " ".join(part for part in (first["model"], first["device"], first["precision"]) if part)
        return f"{first['system']}, {what}" if what else first["system"]

    def source(self) -> str:
        first = self.rows[0]
        return f"{first['source']}{', ' + first['date'] if first['date'] else ''}"

    def points(self, column: str) -> list[tuple[int, float]]:
        """(GPUs, speedup or efficiency) without the base, which is 1 by definition; a derived number
        rather than a quoted one, which is rounded. A speedup over another base than one GPU is no point
        of a figure whose base is one."""
        found: dict[int, float] = {}
        for row in sorted(self.rows, key=lambda row: row["kind"] != "quoted"):
            own_base = "@" not in row["base"]
            if row[column] and own_base and (column == "efficiency" or row["base"] == "1"):
                found[row.integer("gpus")] = row.number(column)
        return sorted(found.items())

    def base(self) -> str:
        bases = {row["base"] for row in self.rows if row["efficiency"] and "@" not in row["base"]}
        return "" if bases <= {"1"} else f", relative to {min(bases)}"


def read_published() -> list[Row]:
    with open(SHIPPED, encoding="utf-8", newline="") as file:
        return [Row(row) for row in csv.DictReader(file)]


def series_of(names: list[str]) -> list[Series]:
    """The series in the order of `names`. Raises Refused, with the names that there are."""
    if not names:
        return []
    rows = read_published()
    known = list(dict.fromkeys(row["name"] for row in rows))
    for name in names:
        if name not in known:
            raise Refused(f"no published series '{name}' in {SHIPPED}; valid: {', '.join(known)}")
    return [Series(name, [row for row in rows if row["name"] == name]) for name in names]
