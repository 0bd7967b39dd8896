# SPDX-License-Identifier: Apache-2.0
# What a comparison has found, as its page and its Markdown tell it: sentences, and tables of texts.
from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scalebench.manifest import as_text
from scalebench.numbers import count, duration, three_digits, usd
from scalebench.rows import Row, grouped, read_rows
from scalebench.pages.run.provenance import origin_notes

Table = tuple[list[str], list[list[str]]]  # head, rows
# Of a source as catalogs have it, the part about the price: 'price: WHERE; network: ...'.
PRICE_SOURCE = re.compile(r"price[^:=]*[:=]\s*((?:\([^)]*\)|[^;(])+)")


class NoComparison(Exception):
    """The folder holds none."""


@dataclass(frozen=True)
class Comparison:
    folder: Path
    document: dict[str, Any]  # compare.json
    cells: list[Row]

    def records(self, name: str) -> list[Row]:
        """A list of objects of compare.json, each as a file would have it: what is null is empty."""
        listed = self.document.get(name)
        objects = listed if isinstance(listed, list) else []
        return [Row({key: as_text(value) for key, value in one.items()}) for one in objects if isinstance(one, dict)]

    def runs(self) -> list[Row]:
        return self.records("runs")

    def costs(self) -> list[Row]:
        return self.records("costs")

    def answers(self) -> list[str]:
        """As the terminal has them: what is not known, and as the last one the answer."""
        said = self.document.get("answers")
        return [as_text(line) for line in said] if isinstance(said, list) else []

    def title(self) -> str:
        types = dict.fromkeys(row["instance"] for row in self.costs())
        # One run's type is no title of two runs.
        without = any(not run["instance"] for run in self.runs())
        return " or ".join(types) if types and not (without and len(self.runs()) > 1) else " against ".join(run["run_id"] for run in self.runs())

    def undecided(self) -> bool:
        """Whether it leaves open what it was made for, or found something slower: exit codes other than 0 say so."""
        return self.document.get("exit_code") != 0


def read_comparison(folder: Path) -> Comparison:
    path = folder / "compare.json"
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise NoComparison(f"{path}: {error}") from error
    if not isinstance(document, dict):
        raise NoComparison(f"{path}: not an object")
    return Comparison(folder, document, read_rows(folder, "compare.csv"))


def pairs(found: Comparison) -> Table:
    """Of three or more instance types each with each; no rows of fewer."""
    listed = [one for one in found.document.get("decisions") or [] if isinstance(one, dict)]
    names = {str(one.get(side)) for one in listed for side in ("instance_a", "instance_b")}
    rows = [[as_text(one.get("instance_a")), as_text(one.get("instance_b")), odds(one.get("time")), odds(one.get("usd")), as_text(one.get("workload"))]
            for one in listed] if len(names) > 2 else []  # fmt: skip
    return ["A", "B", "time, B over A", "cost, B over A", "workload"], rows


def odds(answer: object) -> str:
    """'1.63 [1.61, 1.64]', above 1 where A is better."""
    cells = Row({name: as_text(value) for name, value in answer.items()} if isinstance(answer, dict) else {})
    value, low, high = (three_digits(cells.number(f"ratio{end}")) for end in ("", "_low", "_high"))
    return f"{value} [{low}, {high}]" if low else value


def costs(found: Comparison) -> list[tuple[str, Table, list[str]]]:
    """(workload, table, origins of its rows)"""
    head = ["instances", "time", "its cost", "best", "images", "what", "known by", "note"]
    return [
        (workload, (head, [[instances_of(found, row), *cost_line(row)] for row in rows]), [row["origin"] for row in rows])
        for (workload,), rows in grouped(found.costs(), ("workload",)).items()
    ]


def instances_of(found: Comparison, row: Row) -> str:
    """'2 × p3.8xlarge', with the run where two were on the type."""
    several = any(other["instance"] == row["instance"] and other["run_id"] != row["run_id"] for other in found.costs())
    name = row["instance"] + (f" ({row['run_id']})" if several else "")
    return name if row["nodes"] in ("", "1") else f"{row['nodes']} × {name}"


def cost_line(row: Row) -> list[str]:
    time = duration(*(row.number(f"seconds{name}") for name in ("", "_ci_low", "_ci_high")))
    best = row["best"] if row["seconds"] else ""
    return [time or row["status"], usd(row.number("usd")), best, count(row.number("images")), row["label"], known_by(row), row["note"]]


def known_by(row: Row) -> str:
    launches = row["launches"]
    return f"{row['origin']}, {launches} launch{'es' if launches != '1' else ''}" if launches else row["origin"]


def prices(found: Comparison) -> tuple[Table, list[str]]:
    """Prices, each with the number of its source, and the sources."""
    numbers: dict[str, int] = {}
    lines = []
    for row in found.records("instances"):
        source = price_source(row)
        number = f"[{numbers.setdefault(source, len(numbers) + 1)}]" if source else ""
        price = f"{row['usd_per_hour']} {row['currency']}" if row["usd_per_hour"] else "not known"
        lines.append([row["name"], price, row["price_date"], number])
    notes = [f"[{number}] {source}" for source, number in numbers.items()]
    return (["type", "an hour", "of", "source"], lines), notes


def price_source(row: Row) -> str:
    """Where the price was read, without where all else about the type was."""
    match = PRICE_SOURCE.match(row["price_source"])
    return match[1].strip() if match else row["price_source"]


def sources(found: Comparison) -> Table:
    names = ("letter", "run_id", "instance", "origin", "manifest_sha256")
    rows = [[run[name] for name in names] for run in found.runs()]
    return ["", "run", "taken to be on", "origin", "SHA-256 of manifest.json"], rows


def meanings(found: Comparison) -> list[str]:
    """What the origins mean that occur, measured ones included."""
    origins = list(dict.fromkeys(row["origin"] for row in [*found.costs(), *found.cells]))
    measured = ["measured: by this suite, on the machine that the run names."] if "measured" in origins else []
    return measured + origin_notes(origins)


def cells(found: Comparison) -> list[tuple[str, Table]]:
    """(title, table) of each run that was compared with A."""
    tables = []
    for (letter,), rows in grouped(found.cells, ("letter",)).items():
        head = ["cell", "A", letter, f"ratio {letter}/A", "interval", "p", "verdict", "note"]
        tables.append((f"The same cell in A and {letter}", (head, [cell_line(row) for row in rows])))
    return tables


def cell_line(row: Row) -> list[str]:
    ends = [three_digits(row.number(name)) for name in ("ratio_low", "ratio_high")]
    times = [duration(row.number(f"seconds_{side}")) for side in "ab"]
    return [row["label"], *times, three_digits(row.number("ratio")), " to ".join(ends) if all(ends) else "",
            three_digits(row.number("p_holm")), row["verdict"] or {"ok": "not tested"}.get(row["status"], row["status"]), row["note"]]  # fmt: skip
