# SPDX-License-Identifier: Apache-2.0
# Trainings that all other words leave alike, as two [[epoch]] that differ in their images alone. Two cells tell them
# apart: `variant`, with which workload() ends, and where nothing is known to differ `twin`, with which how() does.
from __future__ import annotations

from pathlib import Path

from scalebench.cases import STRATEGY, by_workload, workload
from scalebench.numbers import percent
from scalebench.rows import Row, each_row, grouped, read_rows

# What else epoch.csv knows of a case.
COLUMNS = ("dtype", "settings", "threads", "samples", "optimizer", "target_accuracy")


def read_cases(run: Path, name: str) -> list[Row]:
    """The rows of a file about trainings; of each what epoch.csv says of its case, too."""
    epochs = {key_of(row): row for row in each_row(run, "epoch.csv")}
    rows, scaling = ([Row({**epochs.get(key_of(row), {}), **row}) for row in read_rows(run, file)]
                     for file in (name, "scaling.csv"))
    words = {title: told_apart(group) for title, group in by_workload(scaling).items()}
    return [Row({**row, **words.get(workload(row), {}).get(row["case_id"], {})}) for row in rows]


def key_of(row: Row) -> tuple[str, ...]:
    return tuple(row[column] for column in ("case_id", "origin", "ranks", "nodes"))


def told_apart(rows: list[Row]) -> dict[str, dict[str, str]]:
    """Both cells of each case of a workload, by what differs between those that are called the same."""
    cases = {row["case_id"]: {column: text_of(row, column) for column in COLUMNS} for row in rows}
    names = grouped(rows, (*STRATEGY, "origin", "ranks")).values()
    alike = [ids for group in names if len(ids := {row["case_id"] for row in group}) > 1]
    differing = [column for column in COLUMNS if any(len({cases[one][column] for one in ids}) > 1 for ids in alike)]
    variants = {case: ", ".join(filter(None, (texts[column] for column in differing))) for case, texts in cases.items()}
    twins = {case for ids in alike for case in ids if [variants[one] for one in ids].count(variants[case]) > 1}
    return {case: {"variant": variant, "twin": f"case {case}" if case in twins else ""} for case,
            variant in variants.items()}


def text_of(row: Row, column: str) -> str:
    if not row[column]:
        return ""
    if column == "samples":
        # One rank with the share of one of several trains that share.
        weak, images, ranks = row["scaling"] == "weak", row.integer(column), max(1, row.integer("ranks"))
        return f"{images // ranks} images per rank" if weak else f"{images * max(1, row.integer('share_of'))} images"
    forms = {"threads": f"{row[column]} threads", "target_accuracy": f"target {percent(row.number(column))}"}
    return forms.get(column, row[column])
