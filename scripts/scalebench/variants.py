# SPDX-License-Identifier: Apache-2.0
# Trainings that all other words leave alike, as two [[epoch]] that differ in their images alone. Two
# cells tell them apart: `variant`, with which workload() ends, and where nothing is known to differ
# `twin`, with which how() does.
from __future__ import annotations

from pathlib import Path

from scalebench.cases import STRATEGY, by_workload, workload
from scalebench.numbers import percent
from scalebench.rows import Row, each_row, grouped, read_rows

# What else epoch.csv knows of a case.
COLUMNS = ("dtype", "settings", "threads", "samples", "optimizer", "target_accuracy")


def read_cases(run: Path, name: str) -> list[Row]:
    """The rows of a file about trainings; of each what epoch.csv says of its case, too."""
    rows = read_rows(run, name)
    words, epochs = words_of(run), epochs_of(run)
    for row in rows:
        join(row, epochs)
        row["variant"], row["twin"] = words.get((workload(row), row["case_id"]), ("", ""))
    return rows


def epochs_of(run: Path) -> dict[tuple[str, ...], Row]:
    return {key_of(row): row for row in each_row(run, "epoch.csv")}


def key_of(row: Row) -> tuple[str, ...]:
    return tuple(row[column] for column in ("case_id", "origin", "ranks", "nodes"))


def join(row: Row, epochs: dict[tuple[str, ...], Row]) -> None:
    """Fills in what its row of epoch.csv says, where the file has no such column."""
    for column, cell in epochs.get(key_of(row), {}).items():
        row.setdefault(column, cell)


def words_of(run: Path) -> dict[tuple[str, str], tuple[str, str]]:
    """Both cells by workload and case, where scaling.csv has two cases that are called the same."""
    words, scaling, epochs = {}, read_rows(run, "scaling.csv"), epochs_of(run)
    for row in scaling:
        join(row, epochs)
    for title, rows in by_workload(scaling).items():
        names = grouped(rows, (*STRATEGY, "origin", "ranks")).values()
        alike = [list(dict.fromkeys(row["case_id"] for row in group)) for group in names]
        alike = [cases for cases in alike if len(cases) > 1]
        if alike:
            words |= {(title, case): told for case, told in told_apart(run, title, alike).items()}
    return words


def told_apart(run: Path, title: str, alike: list[list[str]]) -> dict[str, tuple[str, str]]:
    """Both cells for every case of that workload, from what differs between those that are `alike`."""
    rows = (row for row in each_row(run, "epoch.csv") if workload(row) == title)
    cells = {row["case_id"]: {column: text_of(row, column) for column in COLUMNS} for row in rows}

    def differs(column: str) -> bool:
        return any(len({cells[case][column] for case in cases if case in cells}) > 1 for cases in alike)

    differing = [column for column in COLUMNS if differs(column)]
    words = {case: (", ".join(text for column in differing if (text := texts[column])), "") for case, texts in cells.items()}
    for cases in alike:
        told = [words.get(case, ("", "")) for case in cases]
        for case, both in zip(cases, told):
            if told.count(both) > 1:
                words[case] = (both[0], f"case {case}")  # as summary.csv says it
    return words


def text_of(row: Row, column: str) -> str:
    if not row[column]:
        return ""
    if column == "samples":
        # One rank with the share of one of several trains that share.
        weak, images, ranks = row["scaling"] == "weak", row.integer(column), row.integer("ranks") or row.integer("ranks_a")
        return f"{images // max(1, ranks)} images per rank" if weak else f"{images * max(1, row.integer('share_of'))} images"
    forms = {"threads": f"{row[column]} threads", "target_accuracy": f"target {percent(row.number(column))}"}
    return forms.get(column, row[column])
