#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A run's published tables once more, from samples.csv and what its launches wrote, with nothing but
Python's standard library: a second path to the numbers, which shares no code with the first.

  scripts/recompute.py RUN...

Says for each run how many numbers it made again, and each that differs by more than 1e-9 of it.
Exit: 0 all equal, 1 some differ, 2 no run.
"""
from __future__ import annotations

import csv
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from math import comb
from pathlib import Path
from statistics import mean, median

Row = Mapping[str, str]
Launch = int
STATES = "compute transfer wait_static wait_jitter input evaluation host".split()
JOINED = "compute transfer_and_wait input evaluation host".split()  # where clocks of hosts tell no more
PHASES = "load forward backward sync update other".split()


def read(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def case_of(row: Row, rank: str | None = None) -> tuple[str, ...]:
    return row["case_id"], row["ranks"], row.get("nodes") or "1", row.get("rank", "") if rank is None else rank


def interval_of(values: list[float]) -> tuple[float, float] | None:
    """Smallest and largest of two to five. From six on between the d-th and the next value from either end, which cover
    the median with more and with less than 95 %: Hettmansperger and Sheather 1986."""
    n, ordered = len(values), sorted(values)
    if n < 6:
        return (ordered[0], ordered[-1]) if n > 1 else None

    def covered(d: int) -> float:
        return 1 - 2 * sum(comb(n, k) for k in range(d)) / 2**n

    d = max(d for d in range(1, n // 2 + 1) if covered(d) >= 0.95)
    part = (covered(d) - 0.95) / (covered(d) - covered(d + 1))
    inward = (n - d) * part / (d + (n - 2 * d) * part)
    low, high = ordered[d - 1], ordered[n - d]
    return low + inward * (ordered[d] - low), high + inward * (ordered[n - d - 1] - high)


def percentile(values: list[float], percent: int) -> float | None:
    """Between the two nearest of the sorted ones; the 99th only of a hundred or more."""
    if percent == 99 and len(values) < 100:
        return None
    ordered, place = sorted(values), percent / 100 * (len(values) - 1)
    below = int(place)
    return ordered[below] + (place - below) * (ordered[min(below + 1, len(ordered) - 1)] - ordered[below])


class Run:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.differences: list[str] = []
        self.numbers = 0
        plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))["launches"]
        self.round_of = {launch["number"]: launch["round"] for launch in plan}
        # seconds and images: of a launch, case, N and rank ('' stands for all of them together)
        self.seconds: dict[tuple[Launch, str, str, str], list[float]] = defaultdict(list)
        self.images: dict[tuple[Launch, str, str, str], float] = {}
        for row in read(folder / "samples.csv"):
            key = int(row["launch"]), row["case_id"], row["ranks"], row["rank"]
            self.seconds[key].append(float(row["seconds"]))
            if row["samples"]:
                self.images[key] = float(row["samples"])
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        counts = {(launch["number"], launch.get("attempt", 1)) for launch in manifest["launches"]}
        self.rows: dict[str, dict[tuple[str, ...], dict[Launch, dict[str, str]]]] = defaultdict(lambda: defaultdict(dict))
        for path in sorted((folder / "launches").glob("*/*.csv")):
            number, attempt = int(path.parent.name.split("-")[0]), int((path.parent.name.split(".attempt") + ["1"])[1])
            for row in read(path) if (number, attempt) in counts else ():
                if row.get("status") == "ok" and "case_id" in row and "ranks" in row:
                    self.rows[path.name][case_of(row)][number] = row

    def expect(self, table: str, row: Row, column: str, value: float | None) -> None:
        if value is None or column not in row:
            return
        self.numbers += 1
        published = float(row[column]) if row[column] else None
        if published is None or abs(published - value) > 1e-9 * max(abs(published), abs(value), 1e-5):
            self.differences.append(f"{table}: case {'/'.join(case_of(row))}: {column}: published {row[column]}, {value!r}")

    def launches_of(self, table: str, case: tuple[str, ...]) -> dict[Launch, dict[str, str]]:
        return self.rows[table][case]

    def by_round(self, values: Mapping[Launch, float]) -> dict[int, float]:
        return {self.round_of[launch]: value for launch, value in values.items()}


def statistics_of(run: Run, table: str, row: Row, by_launch: Mapping[Launch, list[float]]) -> None:
    medians = [median(values) for values in by_launch.values()]
    run.expect(table, row, "launches", len(medians))
    run.expect(table, row, "repetitions", sum(map(len, by_launch.values())))
    run.expect(table, row, "seconds_median", median(medians))
    run.expect(table, row, "seconds_mean", median(mean(values) for values in by_launch.values()))
    run.expect(table, row, "seconds_min", min(map(min, by_launch.values())))
    run.expect(table, row, "seconds_max", max(map(max, by_launch.values())))
    if ends := interval_of(medians):
        run.expect(table, row, "seconds_ci_low", ends[0])
        run.expect(table, row, "seconds_ci_high", ends[1])


def measured(run: Run, table: str) -> list[dict[str, str]]:
    return [row for row in read(run.folder / table) if row["status"] == "ok"]


def check_allreduce(run: Run) -> None:
    for row in measured(run, "allreduce.csv"):
        launches = run.launches_of("allreduce.csv", case_of(row))
        statistics_of(run, "allreduce.csv", row, {one: run.seconds[one, row["case_id"], row["ranks"], ""] for one in launches})
        rate, ranks = float(row["size_bytes"]) / float(row["seconds_median"]) / 1e9, float(row["ranks"])
        run.expect("allreduce.csv", row, "algbw_gb_per_s", rate)
        run.expect("allreduce.csv", row, "busbw_gb_per_s", rate * 2 * (ranks - 1) / ranks)


def check_throughput(run: Run) -> None:
    table = "throughput.csv"

    def steps(launch: Launch, row: Row, rank: str) -> list[float]:
        return run.seconds[launch, row["case_id"], row["ranks"], rank]

    def rate(launch: Launch, row: Row) -> float:
        """Images a second in one launch: each rank by its own time."""
        ranks = range(int(row["ranks"])) if row["rank"] == "all" else [int(row["rank"])]
        return sum(float(row["batch"]) / median(steps(launch, row, str(rank))) for rank in ranks)

    rates = {}
    for row in measured(run, table):
        launches = run.launches_of(table, case_of(row))
        ranks = [str(rank) for rank in range(int(row["ranks"]))] if row["rank"] == "all" else [row["rank"]]
        slowest = {one: max((steps(one, row, rank) for rank in ranks), key=median) for one in launches}
        statistics_of(run, table, row, slowest)
        if row.get("step_seconds_p95"):
            for percent in (95, 99):
                tails = [tail for values in slowest.values() if (tail := percentile(values, percent)) is not None]
                run.expect(table, row, f"step_seconds_p{percent}", median(tails) if tails else None)
        own = rates[case_of(row)] = {one: rate(one, row) for one in launches}
        run.expect(table, row, "images_per_s", median(own.values()))
        if ends := interval_of(list(own.values())):
            run.expect(table, row, "images_per_s_ci_low", ends[0])
            run.expect(table, row, "images_per_s_ci_high", ends[1])
    for row in measured(run, table):
        alone = run.by_round(rates.get((row["case_id"], "1", "1", "all"), {}))
        here = run.by_round(rates[case_of(row)])
        share = int(row["ranks"]) if row["rank"] == "all" else 1
        ratios = [here[one] / (share * alone[one]) for one in here if one in alone]
        if ratios:
            run.expect(table, row, "relative_to_one_rank", median(ratios))


def check_epochs(run: Run) -> dict[tuple[str, ...], dict[Launch, dict[str, str]]]:
    """The launches' own rows of each case, whose seconds were found to be the median of its epochs."""
    table, cases = "epoch.csv", {}
    for row in measured(run, table):
        launches = cases[case_of(row)] = run.launches_of(table, case_of(row))
        rank = "" if row["rank"] == "all" else row["rank"]
        epochs = {one: run.seconds[one, row["case_id"], row["ranks"], rank] for one in launches}
        for launch, of_launch in launches.items():
            run.expect(f"launch {launch}: {table}", of_launch, "seconds_median", median(epochs[launch]))
        statistics_of(run, table, row, epochs)
        if row["rank"] == "all":
            joined = not row["transfer_seconds"] and row.get("transfer_and_wait_seconds")
            for names in (PHASES, JOINED if joined else STATES):
                if row[f"{names[0]}_seconds"]:
                    total = sum(float(row[f"{name}_seconds"]) for name in names)
                    run.expect(table, row, "seconds_median", total)
            ranks = [other for other in measured(run, table) if case_of(other, "all") == case_of(row) and other["rank"] != "all"]
            for name in ("wait", "compute", "transfer", "transfer_and_wait") if ranks else ():
                if row.get(f"{name}_seconds"):
                    run.expect(table, row, f"{name}_seconds", mean(float(one[f"{name}_seconds"]) for one in ranks))
    return cases


def base_of(row: Row, epochs: Iterable[Row], sync: str, share: str = "1") -> Row | None:
    """One rank's run like `row`, alone: with all images, or with the share of one of N."""
    columns = ["model", "device", "dtype", "dataset", "scaling", "optimizer", "learning_rate"]
    columns.append("global_batch" if row["scaling"] == "strong" else "batch")
    like = next(one for one in epochs if case_of(one) == case_of(row, "all"))
    for one in epochs:
        same = all(one[column] == like[column] for column in columns) and one["origin"] == like["origin"]
        if same and one["rank"] == "all" and one["ranks"] == "1" and one["gradient_sync"] == sync and one["share_of"] == share:
            return one
    return None


def check_scaling(run: Run, cases: dict[tuple[str, ...], dict[Launch, dict[str, str]]]) -> None:
    epochs = measured(run, "epoch.csv")
    losses = defaultdict(dict)
    for row in measured(run, "losses.csv"):
        losses[case_of(row, "all")][row["loss"]] = row

    def rounds(row: Row, value: Callable[[Row], float]) -> dict[int, float]:
        return run.by_round({launch: value(one) for launch, one in cases[case_of(row, "all")].items()})

    def seconds(row: Row) -> dict[int, float]:
        return rounds(row, lambda one: float(one["seconds_median"]))

    for row in measured(run, "scaling.csv"):
        ranks, table = int(row["ranks"]), "scaling.csv"
        for sync, name in (("one_device", "efficiency"), ("none", "efficiency_raw")):
            base = base_of(row, epochs, sync)
            if base is None:
                continue
            like = next(one for one in epochs if case_of(one) == case_of(row, "all"))
            rho = float(like["samples"]) / float(base["samples"])
            h, t = seconds(base), seconds(row)
            ratios = [rho * h[one] / (ranks * t[one]) for one in h if one in t]
            run.expect(table, row, name, median(ratios))
            if ends := interval_of(ratios):
                run.expect(table, row, f"{name}_ci_low", ends[0])
                run.expect(table, row, f"{name}_ci_high", ends[1])
            if sync == "none":
                continue
            run.expect(table, row, "rounds", len(ratios))
            run.expect(table, row, "speedup", ranks * median(ratios))
            run.expect(table, row, "h_seconds", float(base["seconds_median"]))
            work = rho if row["scaling"] == "weak" else 1
            run.expect(table, row, "ideal_seconds", work * float(base["seconds_median"]) / ranks)
            run.expect(table, row, "lost_seconds", median(t[one] - rho * h[one] / ranks for one in h if one in t))
            check_losses(run, row, losses[case_of(row, "all")], rho, base, base_of(row, epochs, "none", row["ranks"]), rounds)


def check_losses(run: Run, row: Row, losses: dict[str, Row], rho: float, base: Row, share: Row | None,
                 rounds: Callable[[Row, Callable[[Row], float]], dict[int, float]]) -> None:  # fmt: skip
    if not losses:
        return
    part = rho / int(row["ranks"])
    total = sum(float(one["seconds"]) for one in losses.values())
    run.expect("scaling.csv", row, "seconds_median", float(row["ideal_seconds"]) + total)

    def known(one: Row, name: str) -> float:
        if name == "transfer_and_wait" and one["transfer_seconds"]:
            return float(one["transfer_seconds"]) + float(one["wait_seconds"])
        return float(one[f"{name}_seconds"])

    def state(of: Row, name: str) -> dict[int, float]:
        return rounds(of, lambda one: known(one, name))

    for name in JOINED if "transfer_and_wait" in losses else STATES:
        here, alone = state(row, name), state(base, name)
        values = [here[one] - part * alone[one] for one in here if one in alone]
        if name in losses:
            run.expect("losses.csv", losses[name], "seconds", median(values))
            if ends := interval_of(values):
                run.expect("losses.csv", losses[name], "seconds_ci_low", ends[0])
                run.expect("losses.csv", losses[name], "seconds_ci_high", ends[1])
    if share is not None and "batch" in losses:
        less, here, alone = state(share, "compute"), state(row, "compute"), state(base, "compute")
        both = [one for one in less if one in here and one in alone]
        run.expect("losses.csv", losses["batch"], "seconds", median(less[one] - part * alone[one] for one in both))
        run.expect("losses.csv", losses["contention"], "seconds", median(here[one] - less[one] for one in both))


def recompute(folder: Path) -> Run:
    run = Run(folder)
    check_allreduce(run)
    check_throughput(run)
    check_scaling(run, check_epochs(run))
    return run


def main(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help"):
        print(__doc__.strip())
        return 0 if words else 2
    differ = False
    for folder in map(Path, words):
        if not (folder / "plan.json").exists():
            print(f"recompute: {folder}: no plan.json: not the run of a study", file=sys.stderr)
            return 2
        run = recompute(folder)
        for line in run.differences:
            print(line)
        print(f"scripts/recompute.py: {run.numbers} numbers made again, {len(run.differences)} differ: {folder}")
        differ = differ or bool(run.differences)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
