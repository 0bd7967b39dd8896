# SPDX-License-Identifier: Apache-2.0
"""allreduce.csv and what follows from it: ranks and bounds, the cost model."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil, exp, floor, log, log2, sqrt
from statistics import mean, median

from scalebench.second_path.columns import COPIED, EXCHANGE
from scalebench.second_path.numbers import (
    both,
    holm,
    interval_of,
    middle,
    most_frequent,
    of_mean,
    of_rounds,
    outliers,
    percentile,
    signed_ranks,
    walsh,
)
from scalebench.second_path.run import Case, Launch, Row, Run, case_of, number

Seconds = dict[Case, float]
BYTES = {"float": 4, "double": 8, "int32": 4, "half": 2, "bfloat16": 2}
# In the note of a case on several hosts, whose time says little of an emulated link's rate: it is no point of a fit.
BURST = "not the link's rate"
TREES = "trees of more than two ranks: their timetable says, which is code"


def statistics_of(run: Run, table: str, row: Row, by_launch: Mapping[Launch, list[float]]) -> list[float]:
    """The columns that every table of times has; the launches' medians. Epochs are costs: of them the mean."""
    medians = [median(values) for values in by_launch.values()]
    name = "seconds" if table == "epoch.csv" else "seconds_median"
    def each(statistic: Callable[[list[float]], float | None]) -> float | None:
        return middle(value for values in by_launch.values() if (value := statistic(values)) is not None)

    run.expect(table, row, "launches", len(medians))
    run.expect(table, row, "repetitions", sum(map(len, by_launch.values())))
    run.expect(table, row, name, mean(medians) if table == "epoch.csv" else median(medians))
    run.expect_both(table, row, "seconds", of_mean(medians) if table == "epoch.csv" else interval_of(medians))
    run.expect_name(table, row, medians, "launches")
    run.expect(table, row, "seconds_mean", each(mean))
    for percent in (5, 95, 99):
        run.expect(table, row, f"seconds_p{percent}", each(lambda values, of=percent: percentile(values, of)))
    run.expect(table, row, "seconds_min", min(map(min, by_launch.values())))
    run.expect(table, row, "seconds_max", max(map(max, by_launch.values())))
    run.expect(table, row, "outliers", sum(map(outliers, by_launch.values())))
    converged = run.of_launches(table, case_of(row), "converged")
    run.expect(table, row, "converged", min(converged) if converged else None)
    return medians


def of_gpus(run: Run, table: str, row: Row) -> None:
    for column in ("sm_clock_mhz", "throttled_share", "power_capped_share", "gpu_watts"):
        if column in row:
            run.expect(table, row, column, middle(run.of_launches(table, case_of(row), column)))


class NoSecondPath(Exception):
    """What an algorithm does is known from the first path alone; the text says why."""


def work_of(algorithm: str, p: int, n: float, g: float, of: Row) -> tuple[float, float, float] | None:
    """Steps, and elements that the busiest rank sends and reduces, of n on p ranks, g a node, over the transport and
    memory of this row; as it is published, not as allreduce.def has it. None: a library's own, or another one each time."""
    if algorithm in ("native", "auto", ""):
        return None
    windows, device = of["transport"] == "shared_memory", of.get("memory", of.get("device", "")).startswith(("device", "cuda"))
    lg = floor(log2(p))
    fold, half = int(2**lg < p), 1 - 2.0**-lg
    around, part = 2 * (p - 1), n * (p - 1) / p
    if algorithm == "double_binary_tree" and p > 2:
        raise NoSecondPath(TREES)
    known: dict[str, tuple[float, float, float]] = {
        "naive": (around, n * (p - 1), n * (p - 1)),
        "ring": (around, 2 * part, part),
        "segmented_ring": (around * ceil(n / p / 32768), 2 * part, part),
        "recursive_doubling": (lg + 2 * fold, n * (lg + fold), n * (lg + fold)),
        "rabenseifner": (2 * lg + 2 * fold, n * (2 * half + fold), n * (half + fold)),
        "hierarchical": (
            (2 * ceil(log2(g)) if windows and not device else 2 * (g - 1))
            + 2 * (p / g - 1) * (1 if device or n / p < 8 * 32768 else 2),
            2 * part, part),
        "parameter_server": (around, 2 * part, part),
        "one_shot": (1, n * (p - 1), n * (p - 1)),
        "direct": (2, 2 * part, part),
        "double_binary_tree": (2 * ceil(n / 2 / 32768), n, n / 2),  # of two ranks, each a root once
    }
    if algorithm not in known:
        raise NoSecondPath(f"algorithm {algorithm}: work_of in second_path/collectives.py does not know it")
    return known[algorithm]


def check_allreduce(run: Run) -> Seconds:
    table, medians = "allreduce.csv", {}
    for row in run.measured(table):
        case = case_of(row)
        launches = run.launches_of(table, case)
        first = next(iter(launches.values()))
        run.expect_copy(table, row, first, COPIED[table])
        keys = [(one, row["case_id"], row["ranks"], "") for one in launches]
        of_launches = statistics_of(run, table, row, {key[0]: run.seconds[key] for key in keys})
        seconds = medians[case] = median(of_launches)
        size, p = float(first["size_bytes"]), int(first["ranks"])
        run.expect(table, row, "busbw_gb_per_s", size / 1e9 * 2 * (p - 1) / p / seconds)
        run.expect(table, row, "skew_seconds", middle(median(run.skews[key]) for key in keys if run.skews[key]))
        run.expect_text(table, row, "slowest_rank", most_frequent(most_frequent(run.slowest[key]) for key in keys if run.slowest[key]))
        for column in ("first_call_seconds", "bound_busbw_gb_per_s"):
            run.expect(table, row, column, middle(run.of_launches(table, case, column)))
    return medians


def check_native(run: Run) -> None:
    """How many times as fast as `native`: by the rounds of both, where they are equal in all but the algorithm."""
    table, others = "allreduce.csv", [name for name in ("origin", *EXCHANGE) if name != "algorithm"]
    launches = {case: list(rows.values()) for case, rows in run.rows[table].items() if rows and not run.imported}
    kin = {case: tuple(rows[0].get(name, "") for name in others) for case, rows in launches.items()}
    native = {kin[case]: case for case, rows in launches.items() if any(row["algorithm"] == "native" and row["status"] != "skipped" for row in rows)}

    def times(case: Case) -> dict[int, float]:
        if any(row["status"] not in ("ok", "skipped") for row in launches[case]):
            return {}
        return run.by_round({one: number(row["seconds_median"]) for one, row in run.launches_of(table, case).items()})

    of_case: dict[Case, list[float]] = {}
    for case in launches:
        its = native.get(kin[case], case)
        if its != case and (here := times(case)):
            there = times(its)
            of_case[case] = [log(here[one] / there[one]) for one in both(here, there)]
    p_values = dict(zip(of_case, holm([signed_ranks(logs) for logs in of_case.values()])))
    for row in run.tables.get(table, []):
        logs = of_case.get(case := case_of(row))
        least = log(1.05 if logs and float(launches[case][0]["size_bytes"]) < 65536 else 1.03)
        longer = median(walsh(logs)) if logs else 0.0
        ends, within = (of_rounds(logs, tail) if logs else None for tail in (0.025, 0.05))
        run.expect(table, row, "native_ratio", exp(-longer) if logs else None)
        run.expect_both(table, row, "native_ratio", ends and (exp(-ends[1]), exp(-ends[0])))
        verdict = "" if logs is None else "MISSING" if not logs else "UNDECIDED"
        if logs and p_values[case] <= 0.05 and abs(longer) > least:
            verdict = "SLOWER" if longer > 0 else "FASTER"
        elif within and -least <= within[0] and within[1] <= least:
            verdict = "SAME"
        run.expect_text(table, row, "native_verdict", verdict)


def count_of(row: Row) -> float:
    """Elements of a rank's buffer; 0 of a type that is not known."""
    return float(row["size_bytes"]) // BYTES.get(row["dtype"], float("inf"))
