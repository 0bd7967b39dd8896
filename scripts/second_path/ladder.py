# SPDX-License-Identifier: Apache-2.0
"""ladder.csv, the losses by runs without a trace, and laws.csv, the laws of scaling."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from math import sqrt
from statistics import mean, median

from second_path.answers import ByRound, Losses, are_alike, base_of, images_of_one
from second_path.columns import COPIED
from second_path.numbers import both, interval_of, least_squares, middle
from second_path.run import Row, Run, case_of
from second_path.training import Leg

RUNGS = {
    "share": ["batch"],
    "together": ["contention", "input", "host"],
    "barrier": ["wait_static", "wait_jitter"],
    "strategy": ["transfer", "evaluation"],
    "evaluation": [],
}


def _like(leg: Leg, legs: list[Leg], sync: str) -> Leg | None:
    """As many images on as many ranks and nodes with another strategy; in weak scaling, of each worker."""
    at_n = {name: leg.row[name] for name in ("ranks", "nodes", "origin")}
    same = (one for one in legs if are_alike(leg, one) and at_n.items() <= one.row.items() and (one.row["share_of"] or "1") == "1"
            and images_of_one(one) == images_of_one(leg))  # fmt: skip
    return next((one for one in same if one.row["gradient_sync"] == sync), None)


def check_ladder(run: Run, legs: list[Leg], losses: dict[int, Losses]) -> None:
    table = "ladder.csv"
    there = {(*case_of(row, "all"), row["rung"]): row for row in run.tables.get(table, [])}
    wanted = []
    for leg in legs:
        share = base_of(leg, legs, "none", leg.row["ranks"]) if leg.row["ranks"] != "1" else None
        if leg.row["gradient_sync"] in ("none", "barrier_only", "one_device") or share is None:
            continue
        base = base_of(leg, legs, "one_device")
        if base is None:
            continue
        part = (leg.images or 0) / (base.images or 1) / int(leg.row["ranks"])
        evaluation = leg.state("evaluate")
        after = {one: leg.seconds[one] + evaluation[one] for one in both(evaluation, leg.seconds)}
        runs: dict[str, tuple[Leg | None, ByRound, ByRound]] = {
            "share": (share, share.seconds, {one: part * h for one, h in base.seconds.items()}),
            "together": (_like(leg, legs, "none"), {}, {}),
            "input": (None, {}, {}),
            "barrier": (_like(leg, legs, "barrier_only"), {}, {}),
            "strategy": (leg, leg.seconds, {}),
            "evaluation": (leg if after else None, after, {one: part * v for one, v in base.state("evaluate").items()}),
        }
        below: ByRound = dict.fromkeys(leg.seconds, 0.0)
        for rung, (of, seconds, at_one) in runs.items():
            key = (*case_of(leg.row), rung)
            wanted.append(key)
            skipped = rung == "input" or (rung == "evaluation" and not after)
            seconds = seconds or (of.seconds if of else {})
            at_one = at_one or ({} if rung in ("share", "evaluation") else dict.fromkeys(leg.seconds, 0.0))
            if row := there.get(key):
                run.expect_copy(table, row, leg.row, COPIED[table])
                run.expect_text(table, row, "rung", rung)
                run.expect_text(table, row, "status", "skipped" if skipped else "ok" if of else "failed")
                if not skipped:
                    _check_rung(run, row, leg, of, (below, seconds, at_one), losses[id(leg)])
            if not skipped:
                below = seconds
    run.expect_rows(table, wanted, ((*case_of(row, "all"), row["rung"]) for row in run.tables.get(table, [])))


def _check_rung(run: Run, row: Row, leg: Leg, of: Leg | None, steps: tuple[ByRound, ByRound, ByRound], losses: Losses) -> None:
    table, (below, seconds, at_one) = "ladder.csv", steps
    times = [of.seconds[one] for one in of.seconds] if of else []
    run.expect_over(table, row, "seconds_median", times)
    run.expect_ends(table, row, "seconds", times)
    run.expect_name(table, row, times, "launches")
    run.expect(table, row, "launches", len(times) if of else None)
    run.expect(table, row, "seconds_at_one", middle(at_one.values()))
    lost = {one: seconds[one] - below[one] - at_one[one] for one in both(seconds, below) if one in at_one}
    run.expect(table, row, "rounds", len(lost))
    run.expect(table, row, "lost_seconds", middle(lost.values()))
    names = [name for name in RUNGS[row["rung"]] if name in losses.of]
    joined = "transfer_and_wait" in losses.of and any(name.startswith(("transfer", "wait")) for name in RUNGS[row["rung"]])
    known = bool(RUNGS[row["rung"]]) and not joined
    trace = {one: sum(losses.of[name][one] for name in names) for one in losses.rounds} if known else {}
    run.expect(table, row, "trace_seconds", middle(trace.values()))
    difference = [lost[one] - trace[one] for one in both(lost, trace)]
    ends, apart = interval_of(difference), middle(difference)
    limit = 2 * (ends[1] - ends[0]) if ends else None
    epoch = median(leg.seconds.values())
    run.expect(table, row, "difference_seconds", apart)
    run.expect(table, row, "limit_seconds", limit)
    told = limit is not None and apart is not None and limit <= epoch / 10
    run.expect(table, row, "disagrees", float(abs(apart or 0) > max(limit or 0, 1e-9 * epoch)) if told else None)


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
