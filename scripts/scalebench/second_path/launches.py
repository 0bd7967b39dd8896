# SPDX-License-Identifier: Apache-2.0
"""What one launch says of a case, from its own samples: the rows of launches/, or of a benchmark's own folder."""
from __future__ import annotations

from statistics import mean, median

from scalebench.second_path.numbers import Ends, most_frequent, of_repetitions, outliers, percentile
from scalebench.second_path.run import Launch, Row, Run, number

TIMES = ("seconds", "seconds_median")


def check_launches(run: Run) -> None:
    """Those with a time; what was measured but once stands as it was written."""
    for table, cases in run.rows.items():
        for launches in cases.values():
            for launch, row in launches.items():
                if any(row.get(name) for name in TIMES):
                    _check(run, table, launch, row)
    run.numbers_of_launches, run.numbers = run.numbers, 0


def _check(run: Run, table: str, launch: Launch, row: Row) -> None:
    name = table if run.alone else f"launches/{table}: launch {launch}"
    key = launch, row["case_id"], row.get("ranks", "")
    rank = row.get("rank", "").replace("all", "")
    repetitions = run.seconds.get((*key, rank), [])
    if table == "throughput.csv" and not repetitions:  # of each rank; the row has the slowest one's
        ranks = [rank for rank in map(str, range(int(row["ranks"]))) if (*key, rank) in run.seconds]
    else:
        ranks = [rank] if repetitions else []
    repetitions = max((run.seconds[(*key, rank)] for rank in ranks), key=median, default=[])
    _check_times(run, name, row, repetitions)
    if not repetitions:
        return
    seconds = median(repetitions)
    if table == "allreduce.csv":
        p = int(row["ranks"])
        run.expect(name, row, "busbw_gb_per_s", float(row["size_bytes"]) / 1e9 * 2 * (p - 1) / p / seconds)
        run.expect(name, row, "skew_seconds", median(run.skews[(*key, "")]) if run.skews[(*key, "")] else None)
        run.expect_text(name, row, "slowest_rank", most_frequent(run.slowest[(*key, "")]))
    elif table == "kernels.csv":
        for column, of in (("gb_per_s", "bytes"), ("gflop_per_s", "flops")):
            amount = number(row[of])
            run.expect(name, row, column, amount / seconds / 1e9 if amount else None)
    elif table == "epoch.csv":
        joules, accuracies = run.joules[(*key, "")], run.accuracies[key]
        run.expect(name, row, "joules", median(joules) if len(joules) == len(repetitions) else None)
        if accuracies[-1] is not None:
            run.expect(name, row, "test_accuracy", accuracies[-1])
    else:
        _check_rates(run, name, row, {rank: run.seconds[(*key, rank)] for rank in ranks}, key)


def _check_times(run: Run, name: str, row: Row, values: list[float]) -> None:
    ends = of_repetitions(values) if values else None
    run.expect(name, row, next(time for time in TIMES if row.get(time)), median(values) if values else None)
    run.expect(name, row, "launches", 1)
    run.expect(name, row, "repetitions", len(values))
    run.expect_both(name, row, "seconds", ends)
    run.expect_text(name, row, "interval", "95% of repetitions" if ends else "")
    if values:
        statistics = {"seconds_min": min(values), "seconds_max": max(values), "seconds_mean": mean(values), "outliers": outliers(values)}
        for percent in (95, 99):
            statistics[f"seconds_p{percent}"] = percentile(values, percent)
        for column, value in statistics.items():
            run.expect(name, row, column, value)


def _check_rates(run: Run, name: str, row: Row, ranks: dict[str, list[float]], key: tuple[Launch, str, str]) -> None:
    """The images of all these ranks, each by its own time."""
    together = [*ranks] == [""]  # an import's, of all its ranks
    images = {rank: run.images.get((*key, rank), float(row["batch"])) for rank in ranks}
    if together:
        images[""] = float(row["batch"]) * int(row["ranks"])
    rate = sum(images[rank] / median(ranks[rank]) for rank in ranks)
    run.expect(name, row, "images_per_s", rate)
    if not together:
        ends: list[Ends | None] = [of_repetitions(values) for values in ranks.values()]
        known = [one for one in ends if one]
        whole = len(known) == len(ends)
        for column, end in (("images_per_s_ci_low", 1), ("images_per_s_ci_high", 0)):
            run.expect(name, row, column, sum(images[rank] / one[end] for rank, one in zip(ranks, known)) if whole else None)
        watts, cards = number(row["gpu_watts"]), int(row["ranks"]) if row["rank"] == "all" else 1
        known_watts = watts is not None and row["origin"] != "emulated"
        run.expect(name, row, "gpu_joules_per_image", cards * (watts or 0) / rate if known_watts else None)
