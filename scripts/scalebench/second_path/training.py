# SPDX-License-Identifier: Apache-2.0
"""throughput.csv and epoch.csv."""
from __future__ import annotations

from dataclasses import dataclass, field
from statistics import mean, median

from scalebench.second_path.collectives import of_gpus, statistics_of
from scalebench.second_path.columns import COPIED
from scalebench.second_path.numbers import both, middle, of_ratio
from scalebench.second_path.run import Case, Launch, Row, Run, case_of, number

STATES = "compute transfer wait_static wait_jitter input evaluation host".split()
JOINED = "compute transfer_and_wait input evaluation host".split()  # where clocks of hosts tell no more
PARTS = [*(f"{name}_seconds" for name in STATES if name not in ("transfer", "host")), "joules"]


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
        for share in {"mfu", "mfu_published"} & row.keys():  # `mfu`, of a measured peak, stands in stored runs alone
            run.expect(table, row, share, middle(run.of_launches(table, case, share)))
        of_gpus(run, table, row)
        watts, cards = number(row.get("gpu_watts", "")), int(row["ranks"]) if row["rank"] == "all" else 1
        if "gpu_joules_per_image" in row:
            known = watts and rate and row["origin"] != "emulated"
            run.expect(table, row, "gpu_joules_per_image", cards * watts / rate if known else None)
    for row in rows:
        single = {} if run.imported else rates.get((row["case_id"], "1", "1", "all", row["origin"]), {})
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
        values = {one: seconds_of(row, name) for one, row in self.by_round.items()}
        return {one: value for one, value in values.items() if value is not None}


def seconds_of(row: Row, state: str) -> float | None:
    """Transfer and waiting together are the transfer where they cannot be told apart, else their sum."""
    if state != "transfer_and_wait" or not row["wait_static_seconds"]:
        return number(row["transfer_seconds" if state == "transfer_and_wait" else f"{state}_seconds"])
    return sum(float(row[f"{name}_seconds"]) for name in ("transfer", "wait_static", "wait_jitter"))


def _reached(run: Run, launch: Launch, row: Row) -> float | None:
    """Epochs until the target."""
    target, accuracies = number(row["target_accuracy"]), run.accuracies[launch, row["case_id"], row["ranks"]]
    for epoch, accuracy in enumerate(accuracies, 1):
        if target is not None and accuracy is not None and accuracy >= target:
            return float(epoch)
    # An import may have a result and no epochs.
    known = any(one is not None for one in accuracies)
    return number(row["epochs_to_target"]) if run.imported and not known else None


def _check_learning(run: Run, row: Row, launches: dict[Launch, Row]) -> dict[Launch, float | None]:
    table = "epoch.csv"
    last = [run.accuracies[one, row["case_id"], row["ranks"]][-1:] for one in launches]
    known = [one[0] for one in last if one and one[0] is not None]
    run.expect(table, row, "test_accuracy", middle(known or run.of_launches(table, case_of(row), "test_accuracy")))
    reached = {one: _reached(run, one, of) for one, of in launches.items()}
    epochs = [one for one in reached.values() if one is not None]
    run.expect(table, row, "epochs_to_target", mean(epochs) if epochs and len(epochs) == len(reached) else None)
    return reached


def _check_parts(run: Run, row: Row, launches: dict[Launch, Row]) -> None:
    """Means, where all launches know them; the rank that was last where they agree on it."""
    table = "epoch.csv"

    def whole(values: list[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return mean(known) if len(known) == len(launches) else None

    for column in PARTS:
        run.expect(table, row, column, whole([number(one[column]) for one in launches.values()]))
    parted = all(one["wait_static_seconds"] for one in launches.values())
    transfer = "transfer" if parted else "transfer_and_wait"
    run.expect(table, row, "transfer_seconds", whole([seconds_of(one, transfer) for one in launches.values()]))
    last = {one["last_rank"] for one in launches.values()}
    run.expect_text(table, row, "last_rank", last.pop() if len(last) == 1 else "")


def check_epochs(run: Run) -> list[Leg]:
    """Each case, with what its launches say."""
    table, legs = "epoch.csv", []
    published = run.measured(table)
    for row in published:
        case = case_of(row)
        launches = run.launches_of(table, case)
        first = next(iter(launches.values()))
        run.expect_copy(table, row, first, COPIED[table])
        epochs = {one: run.seconds[one, row["case_id"], row["ranks"], ""] for one in launches}
        statistics_of(run, table, row, epochs)
        every = [run.images.get((one, row["case_id"], row["ranks"], "")) for one in launches]
        images = middle(value for value in every if value is not None)
        run.expect(table, row, "samples", images)
        to_target = _check_learning(run, row, launches)
        _check_parts(run, row, launches)
        keys = {one: run.round_of[one] for one in launches}
        legs.append(Leg(first, row, {keys[one]: median(values) for one, values in epochs.items()}, images,
                        {keys[one]: of for one, of in launches.items()},
                        {keys[one]: value for one, value in to_target.items()}))  # fmt: skip
    return legs
