# SPDX-License-Identifier: Apache-2.0
# Trainings that all other words leave alike, as two [[epoch]] that differ in their images alone. Two
# cells tell them apart: `variant`, with which workload() ends, and where nothing is known to differ
# `twin`, with which how() does.
from __future__ import annotations

from pathlib import Path

from view.cases import STRATEGY, by_workload, workload
from view.numbers import percent
from view.rows import Row, each_row, grouped, read_rows

# What else epoch.csv knows of a case.
COLUMNS = ("dtype", "memory_format", "threads", "samples", "optimizer", "learning_rate", "target_accuracy")


def read_cases(run: Path, name: str) -> list[Row]:
    """The rows of a file about trainings."""
    rows = read_rows(run, name)
    words = words_of(run)
    for row in rows:
        row["variant"], row["twin"] = words.get((workload(row), row["case_id"]), ("", ""))
    return rows


def words_of(run: Path) -> dict[tuple[str, str], tuple[str, str]]:
    """Both cells by workload and case, where scaling.csv has two cases that are called the same."""
    words = {}
    for title, rows in by_workload(read_rows(run, "scaling.csv")).items():
        names = grouped(rows, (*STRATEGY, "origin", "ranks")).values()
        alike = [list(dict.fromkeys(row["case_id"] for row in group)) for group in names]
        alike = [cases for cases in alike if len(cases) > 1]
        if alike:
            words |= {(title, case): told for case, told in told_apart(run, title, alike).items()}
    return words


def told_apart(run: Path, title: str, alike: list[list[str]]) -> dict[str, tuple[str, str]]:
    """Both cells for every case of that workload, from what differs between those that are `alike`."""
    rows = (row for row in each_row(run, "epoch.csv") if workload(row) == title)
    cells = {row["case_id"]: {column: text_of(row, column) for column in COLUMNS} for row in rows if row["rank"] == "all"}

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
    forms = {"threads": f"{row[column]} threads", "learning_rate": f"learning rate {row[column]}",
             "target_accuracy": f"target {percent(row.number(column))}"}  # fmt: skip
    return forms.get(column, row[column])
