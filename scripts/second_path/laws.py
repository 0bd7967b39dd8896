# SPDX-License-Identifier: Apache-2.0
"""laws.csv, the laws of scaling."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from math import sqrt
from statistics import mean, median

from second_path.answers import base_of
from second_path.columns import COPIED
from second_path.numbers import both
from second_path.run import Row, Run
from second_path.training import Leg

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


def check_laws(run: Run, legs: list[Leg]) -> None:
    table = "laws.csv"
    curves: dict[tuple[str, str], list[Leg]] = defaultdict(list)
    for leg in legs:
        counts = int(leg.row["ranks"]) > 1 and (leg.row["share_of"] or "1") == "1" and leg.row["gradient_sync"] != "one_device"
        if counts and base_of(leg, legs, "one_device"):
            curves[leg.row["case_id"], leg.row["origin"]].append(leg)
    laws = [("amdahl", "sigma"), ("usl", "sigma"), ("usl", "kappa"), ("usl", "peak_ranks")]
    there = {(row["case_id"], row["origin"], row["law"], row["parameter"]): row for row in run.tables.get(table, [])}
    run.expect_rows(table, [(*key, *law) for key in curves for law in laws],
                    [(row["case_id"], row["origin"], row["law"], row["parameter"]) for row in run.tables.get(table, [])])  # fmt: skip
    for key, curve in curves.items():
        rounds: dict[int, Points] = defaultdict(dict)
        for leg in curve:
            base, n = base_of(leg, legs, "one_device"), int(leg.row["ranks"])
            if base is not None:
                rho = (leg.images or 0) / (base.images or 1)
                for one in both(base.seconds, leg.seconds):
                    rounds[one][n] = rho * base.seconds[one] / leg.seconds[one]
        ns = sorted({1, *(n for points in rounds.values() for n in points)})
        complete = [dict(sorted(points.items())) for points in rounds.values() if len(points) == len(ns) - 1]
        layouts = len({leg.row["ranks"] for leg in curve}) < len(curve)
        can = len(ns) >= 4 and bool(complete) and not layouts
        for law, parameter in laws:
            if row := there.get((*key, law, parameter)):
                weak = curve[0].row["scaling"] == "weak"
                run.expect_copy(table, row, curve[0].row, COPIED[table])
                run.expect_text(table, row, "batch", curve[0].row["batch"] if weak else "")
                run.expect_text(table, row, "global_batch", "" if weak else curve[0].row["global_batch"])
                run.expect_text(table, row, "ranks_used", ";".join(map(str, ns)))
                run.expect(table, row, "rounds", len(complete))
                _check_law(run, row, (law, parameter), complete if can and not (weak and law == "amdahl") else [])


def _check_law(run: Run, row: Row, name: tuple[str, str], rounds: list[Points]) -> None:
    table, (law, parameter) = "laws.csv", name
    run.expect_text(table, row, "law", law)
    run.expect_text(table, row, "parameter", parameter)
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
    run.expect_text(table, row, "status", "skipped" if value is None else "ok")
    run.expect(table, row, "value", value)
    run.expect_ends(table, row, "value", values)
    run.expect_name(table, row, values, "rounds")
    residual = None
    if middles:
        middle_points = {n: median(points[n] for points in rounds) for n in rounds[0]}
        residual = sqrt(mean((s / _speedup(middles, n) - 1) ** 2 for n, s in middle_points.items() if n > 1))
    run.expect(table, row, "rms_residual", residual)
