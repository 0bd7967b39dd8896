# SPDX-License-Identifier: Apache-2.0
"""throughput.csv and epoch.csv."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import mean, median

from second_path.collectives import of_gpus, statistics_of
from second_path.columns import COPIED
from second_path.numbers import both, middle, of_ratio
from second_path.run import Case, Launch, Row, Run, case_of, number

STATES = "compute transfer wait_static wait_jitter input evaluation host".split()
JOINED = "compute transfer_and_wait input evaluation host".split()  # where clocks of hosts tell no more
PHASES = "load forward backward sync update other".split()
PARTS = [f"{name}_seconds" for name in (
    *PHASES, *STATES, "wait", "hidden", "concurrent", "transfer_and_wait", "clock_residual", "attribution_error")] + ["clock_drift_ppm"]  # fmt: skip


def check_throughput(run: Run) -> None:
    table = "throughput.csv"

    def ranks_of(row: Row) -> list[str]:
        if run.imported:  # what an import says is of all its ranks
            return [""]
        return [str(rank) for rank in range(int(row["ranks"]))] if row["rank"] == "all" else [row["rank"]]

    def steps(launch: Launch, row: Row, rank: str) -> list[float]:
        return run.seconds[launch, row["case_id"], row["ranks"], rank]

    rates: dict[Case, dict[Launch, float]] = {}
    rows = run.measured(table)
    for row in rows:
        case = case_of(row)
        launches = run.launches_of(table, case)
        run.expect_copy(table, row, next(iter(launches.values())), COPIED[table])
        slowest = {one: max((steps(one, row, rank) for rank in ranks_of(row)), key=median) for one in launches}
        statistics_of(run, table, row, slowest)
        # Each rank by its own time.
        first = next(iter(launches.values()))
        batch = float(first["batch"])
        of_each = int(row["ranks"]) if run.imported else 1
        rates[case] = {one: sum(of_each * batch / median(steps(one, row, rank)) for rank in ranks_of(row)) for one in launches}
        rate = run.expect_over(table, row, "images_per_s", rates[case].values())
        for share in ("mfu", "mfu_published"):
            run.expect(table, row, share, middle(run.of_launches(table, case, share)))
        of_gpus(run, table, row)
        watts, cards = number(row.get("gpu_watts", "")), int(row["ranks"]) if row["rank"] == "all" else 1
        if "gpu_joules_per_image" in row:
            known = watts and rate and row["origin"] != "emulated"
            run.expect(table, row, "gpu_joules_per_image", cards * watts / rate if known else None)
    for row in rows:
        single = rates.get((row["case_id"], "1", "1", "all", row["origin"]), {})
        alone, here = run.by_round(single), run.by_round(rates[case_of(row)])
        share = int(row["ranks"]) if row["rank"] == "all" else 1
        ratio = median(rates[case_of(row)].values()) / (share * median(single.values())) if single else None
        run.expect(table, row, "relative_to_one_rank", ratio)
        # The rounds' interval, around that ratio.
        rounds = both(here, alone) if ratio else []
        a, b = ([values[one] for one in rounds] for values in (here, alone))
        ends = of_ratio(a, b, True) if rounds else None
        for end, name in enumerate(("relative_ci_low", "relative_ci_high")):
            run.expect(table, row, name, ends and ratio and ratio * ends[end] / (mean(a) / mean(b)))


@dataclass
class Leg:
    """What launches say of one training on all its ranks, by round; of an import, which has none, by launch."""

    row: Row  # of a launch: its parameters
    published: Row
    seconds: dict[int, float]
    images: float | None
    by_round: dict[int, Row] = field(default_factory=dict)
    to_target: dict[int, float | None] = field(default_factory=dict)  # epochs; None: never

    def state(self, name: str) -> dict[int, float]:
        values = {one: number(row.get(f"{name}_seconds")) for one, row in self.by_round.items()}
        return {one: value for one, value in values.items() if value is not None}


def _reached(run: Run, launch: Launch, row: Row) -> tuple[float, float] | None:
    """Epochs and seconds until the target."""
    target, epochs = number(row["target_accuracy"]), run.accuracy[launch, row["case_id"], row["ranks"]]
    for epoch in epochs:
        accuracy, so_far = number(epoch["test_accuracy"]), number(epoch["seconds_so_far"])
        if target is not None and accuracy is not None and accuracy >= target and so_far is not None:
            return float(epoch["epoch"]), so_far
    said = number(row["epochs_to_target"]), number(row["seconds_to_target"])
    # An import may have a result and no epochs.
    return said if run.imported and not epochs and None not in said else None


def _check_learning(run: Run, row: Row, launches: dict[Launch, Row]) -> dict[Launch, float | None]:
    table = "epoch.csv"
    last = [run.accuracy[one, row["case_id"], row["ranks"]][-1:] for one in launches]
    final = [epochs[0] for epochs in last if epochs]
    for column in ("train_loss", "test_accuracy"):
        # An import has a result and no epochs.
        values = [number(epoch[column]) for epoch in final] or run.of_launches(table, case_of(row), column)
        known = [value for value in values if value is not None]
        run.expect(table, row, column, middle(known))
        if column == "test_accuracy":
            run.expect_ends(table, row, column, known)
    reached = {one: _reached(run, one, of) for one, of in launches.items()}
    known = [one for one in reached.values() if one is not None]
    known = known if len(known) == len(reached) else []
    run.expect_mean(table, row, "epochs_to_target", (one[0] for one in known))
    run.expect(table, row, "seconds_to_target", mean(one[1] for one in known) if known else None)
    return {launch: one and one[0] for launch, one in reached.items()}


def check_accuracy(run: Run) -> None:
    """Each epoch of each launch: its time as in samples.csv, its parameters as in the row of the launch."""
    table = "accuracy.csv"
    if not (run.folder / table).exists():
        return
    all_of = {(str(launch), row["case_id"], row["ranks"]): row
              for rows in run.rows["epoch.csv"].values() for launch, row in rows.items()
              if row["rank"] == "all" and launch not in run.without_result}  # fmt: skip
    times = {key: run.seconds[int(key[0]), key[1], key[2], ""] for key in all_of}
    rows = run.tables.get(table, [])
    # A log may tell an accuracy without a time.
    epochs = Counter((row["launch"], row["case_id"], row["ranks"]) for row in rows)
    untimed = {key for key in times if run.imported and epochs[key] != len(times[key])}
    published = []
    for row in rows:
        key = row["launch"], row["case_id"], row["ranks"]
        if number(key[0]) in run.without_result:
            run.leave(table, row, row, "an epoch of a launch that failed")
            continue
        published.append((*key, row["epoch"]))
        epoch = int(number(row["epoch"]) or 0)
        if key in all_of:
            run.expect_copy(table, row, all_of[key], COPIED[table])
        else:
            run.leave(table, row, row, "of no launch's row")
        if key in untimed:
            run.leave(table, row, "launch round epoch seconds seconds_so_far".split(), "an import without the times of all epochs")
        elif 1 <= epoch <= len(times.get(key, [])):
            run.expect_text(table, row, "launch", key[0])
            run.expect_text(table, row, "epoch", str(epoch))
            run.expect_text(table, row, "round", str(run.round_of.get(int(key[0]), "")))
            run.expect(table, row, "seconds", times[key][epoch - 1])
            run.expect(table, row, "seconds_so_far", sum(times[key][:epoch]))
    known = [row for row in published if row[:3] not in untimed]
    run.expect_rows(table, [(*key, str(place + 1)) for key in set(all_of) - untimed for place in range(len(times[key]))], known)


def _check_parts(run: Run, row: Row, launches: dict[Launch, Row]) -> None:
    """Means, where all launches know them; the rank that was last where they agree on it."""
    table = "epoch.csv"
    for column in PARTS:
        values = [value for one in launches.values() if (value := number(one.get(column))) is not None]
        run.expect(table, row, column, mean(values) if values and len(values) == len(launches) else None)
    last = {one.get("last_rank", "") for one in launches.values()}
    run.expect_text(table, row, "last_rank", last.pop() if len(last) == 1 else "")
    shares = [value for one in launches.values() if (value := number(one.get("last_rank_share"))) is not None]
    run.expect(table, row, "last_rank_share", mean(shares) if shares and not last else None)


def _check_sums(run: Run, row: Row, published: list[Row]) -> None:
    """What is documented to sum, sums in the table itself."""
    table = "epoch.csv"
    joined = not row.get("transfer_seconds") and row.get("transfer_and_wait_seconds")
    for names in (PHASES, JOINED if joined else STATES):
        if row.get(f"{names[0]}_seconds"):
            run.expect(table, row, "seconds_median", sum(float(row[f"{name}_seconds"]) for name in names))
    ranks = [one for one in published if one["rank"] != "all" and "seconds_median" in one and case_of(one, "all") == case_of(row)]
    for name in ("wait", "compute", "transfer", "transfer_and_wait") if ranks else ():
        if row.get(f"{name}_seconds"):
            run.expect(table, row, f"{name}_seconds", mean(float(one[f"{name}_seconds"]) for one in ranks))


def _check_imported_sums(run: Run, launches: dict[Launch, Row], epochs: dict[Launch, list[float]]) -> None:
    """Where a log tells phases and no states, these are made of them, and their sum is the mean epoch."""
    for launch, row in launches.items():
        if row["forward_seconds"] and row["transfer_and_wait_seconds"]:
            phase = {name: number(row[f"{name}_seconds"]) or 0 for name in (*PHASES, "evaluation")}
            made = {
                "compute": phase["forward"] + phase["backward"] + phase["update"], "transfer_and_wait": phase["sync"],
                "input": phase["load"], "evaluation": phase["evaluation"],
            }  # fmt: skip
            whole = mean(epochs[launch])
            made["host"] = whole - sum(made.values())
            for name, value in made.items():
                run.check_launch(launch, "epoch.csv", row, f"{name}_seconds", value, whole)


def _check_energy(run: Run, row: Row, launches: dict[Launch, Row], images: float | None) -> None:
    """Of launches in which the same was counted as in the first that knows it."""
    table = "epoch.csv"
    known = [one for one in launches.values() if one.get("joules")]
    counters = known[0]["energy_counters"] if known else next(iter(launches.values())).get("energy_counters", "")
    run.expect_text(table, row, "energy_counters", counters)
    joules = run.expect_mean(table, row, "joules", (float(one["joules"]) for one in known if one["energy_counters"] == counters))
    run.expect(table, row, "joules_per_image", joules / images if joules and images else None)


def check_epochs(run: Run) -> list[Leg]:
    """The row of all ranks of each case, with what its launches say."""
    table, legs = "epoch.csv", []
    published = run.measured(table)
    for row in published:
        case = case_of(row)
        launches = run.launches_of(table, case)
        first = next(iter(launches.values()))
        run.expect_copy(table, row, first, (name for name in COPIED[table] if name != "energy_counters"))
        rank = "" if row["rank"] == "all" else row["rank"]
        epochs = {one: run.seconds[one, row["case_id"], row["ranks"], rank] for one in launches}
        seconds = mean(statistics_of(run, table, row, epochs))
        every = [run.images.get((one, row["case_id"], row["ranks"], "")) for one in launches]
        images = middle(value for value in every if value is not None)
        run.expect(table, row, "samples", images)
        counted = run.images.get((next(iter(launches)), row["case_id"], row["ranks"], rank))
        run.expect(table, row, "images_per_s", counted / seconds if counted else None)
        run.expect(table, row, "replica_divergence", middle(run.of_launches(table, case, "replica_divergence")))
        to_target = _check_learning(run, row, launches)
        _check_parts(run, row, launches)
        _check_energy(run, row, launches, images)
        if row["rank"] != "all":
            continue
        if run.imported:
            _check_imported_sums(run, launches, epochs)
        else:
            _check_sums(run, row, published)
        keys = {one: one if run.imported else run.round_of[one] for one in launches}
        legs.append(Leg(first, row, {keys[one]: median(values) for one, values in epochs.items()}, images,
                        {keys[one]: of for one, of in launches.items()},
                        {keys[one]: value for one, value in to_target.items()}))  # fmt: skip
    return legs
