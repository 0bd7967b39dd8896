# SPDX-License-Identifier: Apache-2.0
"""fits.csv: the cost model of each allreduce."""
from __future__ import annotations

from collections import defaultdict
from math import sqrt
from statistics import mean

from scalebench.second_path.collectives import BURST, NoSecondPath, Seconds, count_of, work_of
from scalebench.second_path.numbers import nonnegative_least_squares
from scalebench.second_path.run import Row, Run

TABLE = "fits.csv"
COEFFICIENTS = ("alpha_seconds", "beta_seconds_per_byte", "gamma_seconds_per_byte")


def words_of(row: Row, columns: str, named: str) -> list[str]:
    """Of the cells that there are those, and `named` ones with their names."""
    return [row[name] for name in columns.split() if row[name]] + [f"{name}={row[name]}" for name in named.split() if row.get(name)]


def check_fits(run: Run, seconds: Seconds) -> None:
    cases: dict[tuple[str, str], list[tuple[Row, float]]] = defaultdict(list)
    for case, time in seconds.items():
        row = next(iter(run.launches_of("allreduce.csv", case).values()))
        if int(row["ranks"]) > 1 and count_of(row) > 0:
            words = words_of(row, "algorithm transport memory dtype op placement mode cache", "pages register")
            where = "several_hosts" if int(row["nodes"] or 1) > 1 else "one_host"
            cases[" ".join([*words, where]), row["origin"]].append((row, time))
    # A cost model is found by its label, for its case is its own.
    published = {(row["label"], row["origin"]): row for row in run.tables.get(TABLE, [])}
    run.expect_rows(TABLE, [*cases], [(row["label"], row["origin"]) for row in run.tables.get(TABLE, [])])
    for key, points in cases.items():
        if key in published:
            _check_cost_model(run, published[key], points)


def _check_cost_model(run: Run, row: Row, points: list[tuple[Row, float]]) -> None:
    points.sort(key=lambda one: (int(one[0]["ranks"]), count_of(one[0])))
    points = [(of, time) for of, time in points if BURST not in of["note"]]
    works = []
    for of, _ in points:
        p, size, count = int(of["ranks"]), float(of["size_bytes"]), count_of(of)
        try:
            # What a library does is unknown: one step that sends the buffer.
            work = work_of(of["algorithm"], p, count, p / float(of["nodes"] or 1), of) or (1, count, 0)
        except NoSecondPath as why:
            run.leave(TABLE, row, row, str(why))
            return
        works.append((work[0], work[1] * size / count, work[2] * size / count))
    columns = [[work[i] / time for work, (_, time) in zip(works, points)] for i in range(3)]
    # Where sending and reducing grow together there is one coefficient for both.
    apart = any(columns[2]) and len({round(b / c, 6) for b, c in zip(columns[1], columns[2])}) > 1
    columns = columns[: 3 if apart else 2]
    can = len(points) > len(columns) and len({float(of["size_bytes"]) for of, _ in points}) > 1
    x = nonnegative_least_squares(columns) if can else []
    residuals = [sum(a * column[i] for a, column in zip(x, columns)) - 1 for i in range(len(points))]
    for place, name in enumerate(COEFFICIENTS):
        run.expect(TABLE, row, name, x[place] if place < len(x) else None)
    for name in ("label", "origin"):
        run.expect_text(TABLE, row, name, row[name])
    run.expect_text(TABLE, row, "ranks", ";".join(map(str, sorted({int(of["ranks"]) for of, _ in points}))))
    run.expect(TABLE, row, "points", len(points))
    run.expect_text(TABLE, row, "status", "ok" if can else "skipped")
    run.expect(TABLE, row, "residual", sqrt(mean(one * one for one in residuals)) if can else None)
