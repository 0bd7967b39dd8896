# SPDX-License-Identifier: Apache-2.0
# Rows of a run's CSV files as results/README.md describes them: text by column name, numbers where
# there are any. Reading never fails on a cell; what cannot be used is said on stderr.
from __future__ import annotations

import csv
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from scalebench.plain import lines

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def say(text: str) -> None:
    print(lines(text), file=sys.stderr)  # it may quote a file


class Row(dict[str, str]):
    """One row of a CSV file. A column that the file lacks reads as an empty cell, but `layout` says
    how ranks lie on several hosts: '2 a host', and nothing on one."""

    def __missing__(self, column: str) -> str:
        if column != "layout" or self.integer("nodes") < 2:
            return ""
        ranks, nodes = self.integer("ranks"), self.integer("nodes")
        return f"{ranks // nodes} a host" if ranks % nodes == 0 else f"on {nodes} hosts"

    def ranks(self) -> str:
        """'4', and '2×2' where they are on 2 hosts, '7 on 2' where not as many on each."""
        ranks, nodes = self.integer("ranks"), self.integer("nodes")
        if nodes < 2:
            return self["ranks"]
        return f"{ranks} on {nodes}" if ranks % nodes else f"{nodes}×{ranks // nodes}"

    def number(self, column: str) -> float:
        """The cell as a number; NaN when it is empty or no number."""
        try:
            value = float(self[column])
        except ValueError:
            return math.nan
        return value if math.isfinite(value) else math.nan

    def integer(self, column: str) -> int:
        """The cell as a count; 0 when it is empty or no number."""
        value = self.number(column)
        return 0 if math.isnan(value) else int(value)


def unescaped(cell: str) -> str:
    """The cell without the apostrophe that keeps spreadsheets from running it as a formula."""
    return cell[1:] if cell[:1] == "'" and cell[1:].startswith(FORMULA_STARTS) else cell


def each_row(run: Path, name: str) -> Iterator[Row]:
    """The rows of one file as they are read; none when it is missing. A torn row is left out and
    reported."""
    try:
        with open(run / name, encoding="utf-8", errors="replace", newline="") as file:
            reader = csv.reader(line.replace("\0", "") for line in file)  # which the csv module refuses
            columns = next(reader, [])
            for cells in reader:
                if len(cells) != len(columns):
                    say(f"{name}: line {reader.line_num} has {len(cells)} cells, not {len(columns)}: left out")
                    continue
                yield Row(zip(columns, map(unescaped, cells) if any(cell[:1] == "'" for cell in cells) else cells))
    except FileNotFoundError:
        return
    except (OSError, csv.Error) as error:
        say(f"{name}: {error}: read up to there")


def read_rows(run: Path, name: str) -> list[Row]:
    return list(each_row(run, name))


def usable(rows: Iterable[Row]) -> list[Row]:
    """Rows whose numbers count."""
    return [row for row in rows if row["status"] == "ok"]


def grouped(rows: Iterable[Row], columns: Sequence[str]) -> dict[tuple[str, ...], list[Row]]:
    """Rows by the texts of `columns`, groups in order of first appearance."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[column] for column in columns), []).append(row)
    return groups
