# SPDX-License-Identifier: Apache-2.0
"""fits.csv: the cost model of each allreduce, and the laws of scaling."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from math import sqrt
from statistics import mean, median

from second_path.answers import base_of
from second_path.collectives import BURST, NoSecondPath, Seconds, count_of, work_of
from second_path.numbers import both, nonnegative_least_squares
from second_path.run import Row, Run
from second_path.training import Leg

TABLE = "fits.csv"
MODEL, COEFFICIENTS = "alpha_beta_gamma", ("alpha_seconds", "beta_seconds_per_byte", "gamma_seconds_per_byte")
LAWS = [("amdahl", "sigma"), ("usl", "sigma"), ("usl", "kappa"), ("usl", "peak_ranks")]
FEWEST_FOR_AN_INTERVAL = 6  # rounds: fewer have no interval of 95 %

Points = dict[int, float]  # speedups, by N


def fit_of_law(law: str, points: Points) -> list[float] | None:
    """T_N by the law, over the measured one, is S/N (1 + sigma (N - 1) + kappa N (N - 1)); Amdahl's has no kappa. The
    least squares of its distance from 1."""
    target = [1 - s / n for n, s in points.items()]
    b, c = [s / n * (n - 1) for n, s in points.items()], [s * (n - 1) for n, s in points.items()]

    def dot(x: list[float], y: list[float]) -> float:
        return sum(one * other for one, other in zip(x, y))

    if law == "amdahl":
        return [dot(b, target) / dot(b, b)]
    determinant = dot(b, b) * dot(c, c) - dot(b, c) ** 2
    if determinant <= 1e-12 * dot(b, b) * dot(c, c):  # one N alone
        return None
    sigma = dot(b, target) * dot(c, c) - dot(c, target) * dot(b, c)
    kappa = dot(c, target) * dot(b, b) - dot(b, target) * dot(b, c)
    return [sigma / determinant, kappa / determinant]


def _speedup(parameters: Iterable[float], n: int) -> float:
    sigma, kappa = (*parameters, 0.0)[:2]
    return n / (1 + sigma * (n - 1) + kappa * n * (n - 1))


def _peak(parameters: list[float]) -> float | None:
    sigma, kappa = parameters
    return sqrt(max(1.0, (1 - sigma) / kappa)) if kappa > 0 else None


def words_of(row: Row, columns: str, named: str) -> list[str]:
    """Of the cells that there are those, and `named` ones with their names."""
    return [row[name] for name in columns.split() if row[name]] + [f"{name}={row[name]}" for name in named.split() if row[name]]


def check_fits(run: Run, seconds: Seconds, legs: list[Leg]) -> None:
    cases: dict[tuple[str, str], list[tuple[Row, float]]] = defaultdict(list)
    for case, time in seconds.items():
        row = next(iter(run.launches_of("allreduce.csv", case).values()))
        if int(row["ranks"]) > 1 and count_of(row) > 0:
            words = words_of(row, "algorithm transport memory dtype op placement mode cache", "pages register")
            where = "several_hosts" if int(row["nodes"] or 1) > 1 else "one_host"
            cases[" ".join([*words, where]), row["origin"]].append((row, time))
    curves: dict[tuple[str, str], list[Leg]] = defaultdict(list)
    for leg in legs:
        counts = int(leg.row["ranks"]) > 1 and (leg.row["share_of"] or "1") == "1" and leg.row["gradient_sync"] != "one_device"
        if counts and base_of(leg, legs, "one_device"):
            curves[leg.row["case_id"], leg.row["origin"]].append(leg)
    # A cost model is found by its label, for its case is its own; a law by the case of its epochs.
    published = {(row["label"] if row["law"] == MODEL else row["case_id"], row["origin"], row["law"], row["parameter"]): row
                 for row in run.tables.get(TABLE, [])}  # fmt: skip
    wanted = [(*key, MODEL, parameter) for key in cases for parameter in COEFFICIENTS] + [(*key, *law) for key in curves for law in LAWS]
    run.expect_rows(TABLE, wanted, [(row["label"] if row["law"] == MODEL else row["case_id"], row["origin"], row["law"], row["parameter"])
                                    for row in run.tables.get(TABLE, [])])  # fmt: skip
    for key, points in cases.items():
        rows = [published.get((*key, MODEL, parameter), {}) for parameter in COEFFICIENTS]
        _check_cost_model(run, [row for row in rows if row], points, key[0])
    for key, curve in curves.items():
        _check_laws_of(run, {law: row for law in LAWS if (row := published.get((*key, *law)))}, curve, legs)


def _check_cost_model(run: Run, rows: list[Row], points: list[tuple[Row, float]], label: str) -> None:
    points.sort(key=lambda one: (int(one[0]["ranks"]), count_of(one[0])))
    points = [(of, time) for of, time in points if BURST not in of["note"]]
    works = []
    for of, _ in points:
        p, size, count = int(of["ranks"]), float(of["size_bytes"]), count_of(of)
        try:
            # What a library does is unknown: one step that sends the buffer.
            work = work_of(of["algorithm"], p, count, p / float(of["nodes"] or 1), of) or (1, count, 0)
        except NoSecondPath as why:
            for row in rows:
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
    for row in rows:
        place = COEFFICIENTS.index(row["parameter"])
        value = x[place] if place < len(x) else None
        run.expect_text(TABLE, row, "origin", row["origin"])
        _expect_head(run, row, label, (MODEL, row["parameter"]), {int(of["ranks"]) for of, _ in points})
        run.expect(TABLE, row, "points", len(points))
        run.expect_text(TABLE, row, "status", "skipped" if value is None else "ok")
        run.expect(TABLE, row, "value", value)
        run.expect_both(TABLE, row, "value", None)
        run.expect(TABLE, row, "residual", None if value is None else sqrt(mean(one * one for one in residuals)))


def _expect_head(run: Run, row: Row, label: str, law: tuple[str, str], ranks: set[int]) -> None:
    run.expect_text(TABLE, row, "label", label)
    run.expect_text(TABLE, row, "law", law[0])
    run.expect_text(TABLE, row, "parameter", law[1])
    run.expect_text(TABLE, row, "ranks", ";".join(map(str, sorted(ranks))))


def _check_laws_of(run: Run, rows: dict[tuple[str, str], Row], curve: list[Leg], legs: list[Leg]) -> None:
    rounds: dict[int, Points] = defaultdict(dict)
    for leg in curve:
        base, n = base_of(leg, legs, "one_device"), int(leg.row["ranks"])
        if base is not None:
            rho = (leg.images or 0) / (base.images or 1)
            for one in both(base.seconds, leg.seconds):
                rounds[one][n] = rho * base.seconds[one] / leg.seconds[one]
    ns = {1, *(n for points in rounds.values() for n in points)}
    complete = [dict(sorted(points.items())) for points in rounds.values() if len(points) == len(ns) - 1]
    layouts = len({leg.row["ranks"] for leg in curve}) < len(curve)
    can = len(ns) >= 4 and bool(complete) and not layouts
    like = curve[0].row
    weak = like["scaling"] == "weak"
    words = words_of(like, "model gradient_sync allreduce transport device dataset scaling", "batch" if weak else "global_batch")
    for law, row in rows.items():
        run.expect_copy(TABLE, row, like, ["origin"])
        _expect_head(run, row, " ".join(words), law, ns)
        run.expect(TABLE, row, "points", len(complete))
        _check_law(run, row, law, complete if can and not (weak and law[0] == "amdahl") else [])


def _check_law(run: Run, row: Row, name: tuple[str, str], rounds: list[Points]) -> None:
    law, parameter = name
    fits = [fit for points in rounds if (fit := fit_of_law(law, points)) is not None]
    middles = [median(values) for values in zip(*fits)] if fits else []
    value, values = None, []
    if middles and parameter == "peak_ranks":
        value, peaks = _peak(middles), [_peak(fit) for fit in fits]
        known = [peak for peak in peaks if peak is not None]
        if value is not None and len(known) == len(peaks):
            value, values = median(known), known
    elif middles:
        place = ("sigma", "kappa").index(parameter)
        value, values = middles[place], [fit[place] for fit in fits]
    run.expect_text(TABLE, row, "status", "skipped" if value is None else "ok")
    run.expect(TABLE, row, "value", value)
    run.expect_ends(TABLE, row, "value", values if len(values) >= FEWEST_FOR_AN_INTERVAL else [])
    residual = None
    if middles:
        middle_points = {n: median(points[n] for points in rounds) for n in rounds[0]}
        residual = sqrt(mean((s / _speedup(middles, n) - 1) ** 2 for n, s in middle_points.items() if n > 1))
    run.expect(TABLE, row, "residual", residual)
