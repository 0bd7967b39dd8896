# SPDX-License-Identifier: Apache-2.0
"""A run's files, and which of its published cells were made again: every cell of a table has to be, or its column stands
in columns.py with the reason why not. So a column that is new is a difference until somebody says where it comes from."""
from __future__ import annotations

import csv
import gzip
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from statistics import mean
from typing import Any

from scalebench.second_path.columns import FILES_WITHOUT, WITHOUT, is_difference
from scalebench.second_path.numbers import Ends, interval_name, interval_of, middle, of_mean

Row = dict[str, str]
Launch = int
CASE = "case_id ranks nodes rank origin".split()
Case = tuple[str, ...]  # these


def read(path: Path) -> list[Row]:
    """The rows of the file, or of the gzipped one where only that is there."""
    packed = path.with_name(path.name + ".gz")
    if path.exists():
        with open(path, encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    if packed.exists():
        with gzip.open(packed, "rt", encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    return []


def number(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None


def case_of(row: Row, rank: str | None = None) -> Case:
    return row["case_id"], row.get("ranks", ""), row.get("nodes") or "1", row.get("rank", "") if rank is None else rank, row["origin"]


def manifest_of(folder: Path) -> dict[str, Any]:
    manifest = folder / "manifest.json"
    return json.loads(manifest.read_text(encoding="utf-8")) if manifest.exists() else {}


class Run:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.differences: list[str] = []
        self.numbers = 0  # made again
        self.copied = 0  # found again in the rows of launches
        self.cells = 0  # numbers that stand in tables
        self.left: dict[str, set[str]] = defaultdict(set)  # columns with numbers that were not, by the reason
        self.seen: set[tuple[str, int, str]] = set()
        self.made: dict[tuple[str, int, str], float | str | None] = {}  # what came out, for what follows from it
        self.numbers_of_launches = 0  # made again, in rows of launches
        manifest = manifest_of(folder)
        # An import has no plan, and rounds where a user names them. A benchmark's own folder is that of a launch alone.
        self.imported = bool(manifest.get("import"))
        files = manifest["import"]["files"] if self.imported else []
        is_study = (folder / "plan.json").exists()
        plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))["launches"] if is_study else []
        self.alone = not self.imported and not is_study
        self.round_of: dict[Launch, int] = {launch["number"]: launch["round"] for launch in plan}
        self.round_of |= {launch: file.get("round") or launch for file in files for launch in file["launches"]}
        entry_of: dict[Launch, str] = {launch["number"]: launch["name"] for launch in plan}
        # seconds and images: of a launch, case, N and rank ('' stands for all of them together)
        self.seconds: dict[tuple[Launch, str, str, str], list[float]] = defaultdict(list)
        self.skews: dict[tuple[Launch, str, str, str], list[float]] = defaultdict(list)
        self.slowest: dict[tuple[Launch, str, str, str], list[str]] = defaultdict(list)
        self.images: dict[tuple[Launch, str, str, str], float] = {}
        self.joules: dict[tuple[Launch, str, str, str], list[float]] = defaultdict(list)
        self.accuracies: dict[tuple[Launch, str, str], list[float | None]] = defaultdict(list)  # of epochs, in their order
        samples = read(folder / "samples.csv")
        self.samples = len(samples)
        for row in samples:
            key = int(row["launch"]), row["case_id"], row["ranks"], row["rank"]
            self.seconds[key].append(float(row["seconds"]))
            if row["skew_seconds"]:
                self.skews[key].append(float(row["skew_seconds"]))
                self.slowest[key].append(row["slowest_rank"])
            if row["samples"]:
                self.images[key] = float(row["samples"])
            if row["joules"]:
                self.joules[key].append(float(row["joules"]))
            self.accuracies[key[:3]].append(number(row["test_accuracy"]))
        self.without_result = {launch["number"] for launch in manifest["launches"] if launch["status"] != "ok"}
        self.why_lost = {launch.get("note", "") for launch in manifest["launches"] if launch["status"] in ("failed", "skipped")}
        self.rows: dict[str, dict[Case, dict[Launch, Row]]] = defaultdict(lambda: defaultdict(dict))
        for path in sorted((folder if self.alone else folder / "launches").glob("*.csv")):
            if path.name in FILES_WITHOUT:
                continue
            for row in sorted(read(path), key=lambda row: int(row.get("launch", 0))):
                launch = int(row.get("launch", 0))
                if row.get("entry", "") != entry_of.get(launch, "") and "entry" in row:
                    self.differences.append(f"launches/{path.name}: launch {launch}: entry is {row['entry']}")
                self.rows[path.name][case_of(row)][launch] = row
        # Of a run that has not ended nothing is published.
        self.published = bool(manifest.get("finished_utc")) and not self.alone
        self.tables = {path.name: read(path) for path in sorted(folder.glob("*.csv")) if path.name not in FILES_WITHOUT and self.published}

    # What was published, beside what comes out here.

    def expect(self, table: str, row: Row, column: str, value: float | None) -> None:
        """None: nothing may stand there."""
        self.made.setdefault((table, id(row), column), value)
        if column not in row:  # a row that is missing
            return
        self._see(table, row, column)
        published, text = number(row[column]), row[column]
        if value is None or published is None:
            if text or value is not None:
                self._differs(table, row, column, value)
            return
        near = 1e-9 * max(abs(published), abs(value), 1e-5 if is_difference(table, column) else 0)
        if abs(published - value) > near:
            self._differs(table, row, column, value)

    def expect_text(self, table: str, row: Row, column: str, value: str) -> None:
        self.made.setdefault((table, id(row), column), value)
        if column not in row:
            return
        self._see(table, row, column)
        if row[column] != value:
            self._differs(table, row, column, value)

    def expect_made(self, table: str, row: Row, column: str, of: tuple[str, Row, str]) -> None:
        """The same as came out in another table."""
        value = self.made.get((of[0], id(of[1]), of[2]), of[1].get(of[2], ""))
        if isinstance(value, str) and (value or column not in row or number(row[column]) is None):
            self.expect_text(table, row, column, value)
        else:
            self.expect(table, row, column, None if isinstance(value, str) else value)

    def expect_ends(self, table: str, row: Row, name: str, values: Iterable[float]) -> None:
        self.expect_both(table, row, name, interval_of(values))

    def expect_both(self, table: str, row: Row, name: str, ends: Ends | None) -> None:
        self.expect(table, row, f"{name}_ci_low", ends and ends[0])
        self.expect(table, row, f"{name}_ci_high", ends and ends[1])

    def expect_mean(self, table: str, row: Row, name: str, values: Iterable[float]) -> float | None:
        """Their mean, and its interval."""
        known = list(values)
        value = mean(known) if known else None
        self.expect(table, row, name, value)
        self.expect_both(table, row, name, of_mean(known))
        return value

    def expect_over(self, table: str, row: Row, name: str, values: Iterable[float]) -> float | None:
        """Their median, and its interval."""
        known = list(values)
        value = middle(known)
        self.expect(table, row, name, value)
        self.expect_ends(table, row, name, known)
        return value

    def expect_name(self, table: str, row: Row, values: Iterable[float], of: str, column: str = "interval") -> None:
        self.expect_text(table, row, column, interval_name(values, of))

    def expect_copy(self, table: str, row: Row, like: Row, columns: Iterable[str]) -> None:
        """What a row says of its case, as a launch has it."""
        for column in columns:
            if column not in row:
                self.made.setdefault((table, id(row), column), like.get(column, ""))
            else:
                cell, again = (table, id(row), column), self.numbers
                self.copied += cell not in self.seen and number(row[column]) is not None
                self.expect_text(table, row, column, like.get(column, ""))
                self.numbers = again

    def expect_rows(self, table: str, keys: Iterable[object], published: Iterable[object]) -> None:
        """That the table has each row that it should, once, and no other."""
        wanted, there = list(keys), list(published)
        for key in wanted:
            if key not in there:
                self.differences.append(f"{table}: {key}: published nothing, a row is expected")
        for key in set(there):
            if key not in wanted:
                self.differences.append(f"{table}: {key}: published a row, none is expected")
            elif there.count(key) > 1:
                self.differences.append(f"{table}: {key}: published {there.count(key)} times")

    def leave(self, table: str, row: Row, columns: Iterable[str], reason: str) -> None:
        """These cells have no second path."""
        for column in columns:
            if column in row and (table, id(row), column) not in self.seen:
                self.seen.add((table, id(row), column))
                if number(row[column]) is not None:
                    self.left[reason].add(f"{table}: {column}")

    def _see(self, table: str, row: Row, column: str) -> None:
        cell = table, id(row), column
        if cell not in self.seen:
            self.seen.add(cell)
            self.numbers += number(row[column]) is not None

    def _differs(self, table: str, row: Row, column: str, value: object) -> None:
        parts = "model strategy algorithm size_bytes loss rank".split()
        name = " ".join(filter(None, [row.get("case_id"), f"N={row.get('ranks')}", *map(row.get, parts)]))
        again = "nothing" if value in (None, "") else value if isinstance(value, str) else repr(value)
        line = f"{table}: case {name}: {column}: published {row[column] or 'nothing'}, recomputed {again}"
        if line not in self.differences:
            self.differences.append(line)

    def finish(self) -> None:
        """Counts, and names each cell that nobody made again and each column that nobody knows."""
        for table, rows in self.tables.items():
            unknown = set()
            for row in rows:
                for column, text in row.items():
                    is_number = number(text) is not None
                    self.cells += is_number
                    if (table, id(row), column) in self.seen:
                        continue
                    reason = WITHOUT.get((table, column)) or WITHOUT.get(("", column))
                    if reason:
                        if is_number:
                            self.left[reason].add(f"{table}: {column}")
                    elif row.get("status", "ok") == "ok":
                        unknown.add(column)
                    elif text:
                        self._differs(table, row, column, None)
            for column in sorted(unknown):
                self.differences.append(f"{table}: {column}: nobody makes this column again")

    # What launches say of a case.

    def launches_of(self, table: str, case: Case) -> dict[Launch, Row]:
        """Those that measured it."""
        return {launch: row for launch, row in sorted(self.rows[table][case].items()) if row["status"] == "ok"}

    def of_launches(self, table: str, case: Case, column: str) -> list[float]:
        values = (number(row.get(column)) for row in self.launches_of(table, case).values())
        return [value for value in values if value is not None]

    def by_round(self, values: Mapping[Launch, float | None]) -> dict[int, float]:
        return {self.round_of[launch]: value for launch, value in values.items() if value is not None and launch in self.round_of}

    def measured(self, table: str) -> list[Row]:
        """Published rows, each checked to be there and, where nothing was measured, to be what a launch says."""
        published = self.tables.get(table, [])
        cases = [case for case in self.rows[table] if self.rows[table][case]]
        self.expect_rows(table, cases, map(case_of, published))
        # What follows from a row that is missing is made all the same.
        missing = set(cases) - set(map(case_of, published))
        ok = []
        for row in [*published, *(dict(zip(CASE, case)) for case in missing)]:
            launches = [one for _, one in sorted(self.rows[table][case_of(row)].items())]
            states = [one["status"] for one in launches]
            if not launches:
                continue
            state = "wrong" if "wrong" in states else "ok" if "ok" in states else states[0]
            self.expect_text(table, row, "status", state)
            if state == "ok":
                ok.append(row)
            elif case_of(row) not in missing:
                self.expect_copy(table, row, launches[states.index(state)], (name for name in row if name != "note"))
        return ok
