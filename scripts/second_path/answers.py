# SPDX-License-Identifier: Apache-2.0
"""scaling.csv, summary.csv and losses.csv: what N ranks are worth against H, and where the rest went."""
from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from second_path.columns import COPIED
from second_path.numbers import both, interval_name, interval_of, middle
from second_path.run import Row, Run, case_of
from second_path.training import JOINED, STATES, Leg

ByRound = dict[int, float]
OF_EPOCH = (
    "test_accuracy test_accuracy_ci_low test_accuracy_ci_high target_accuracy epochs_to_target epochs_to_target_ci_low "
    "epochs_to_target_ci_high seconds_to_target last_rank last_rank_share energy_counters joules joules_ci_low "
    "joules_ci_high joules_per_image seconds_median seconds_ci_low seconds_ci_high interval launches samples"
).split()
LIKE = (
    "model device dtype memory_format threads dataset scaling optimizer learning_rate loader_threads"
).split()


def are_alike(one: Leg, other: Leg) -> bool:
    """Whether they differ in N, the strategy and how gradients travel alone."""
    columns = [*LIKE, "global_batch" if one.row["scaling"] == "strong" else "batch"]
    # A barrier alone trains towards no target: it stands beside runs that have one.
    targets = {leg.row["target_accuracy"] for leg in (one, other)}
    aside = any(leg.row["gradient_sync"] == "barrier_only" and not leg.row["target_accuracy"] for leg in (one, other))
    if len(targets) > 1 and not aside:
        return False
    columns += ["epochs"] if targets == {""} else []
    return all(one.row[column] == other.row[column] for column in columns)


def images_of_one(leg: Leg) -> float:
    """All that it has, or in weak scaling those of one worker."""
    weak = leg.row["scaling"] == "weak"
    return (leg.images or 0) / (int(leg.row.get("workers") or leg.row["ranks"]) if weak else 1)


def base_of(leg: Leg, legs: list[Leg], sync: str, share: str = "1") -> Leg | None:
    """One rank's run of the same origin that is like `leg`. With all images, of several it is the one whose number of
    them is nearest, in weak scaling to those of one worker; with the share of one of N, only that very share will do."""
    wanted = images_of_one(leg) / (1 if leg.row["scaling"] == "weak" else int(share))
    cells = {"ranks": "1", "gradient_sync": sync, "origin": leg.row["origin"]}

    def fits(one: Leg) -> bool:
        like = are_alike(leg, one) and cells.items() <= one.row.items()
        return like and (one.row["share_of"] or "1") == share and (share == "1" or (one.images or 0) == wanted)

    return min(filter(fits, legs), key=lambda one: abs((one.images or 0) - wanted), default=None)


@dataclass
class Losses:
    """Of one leg, each in its rounds; `batch` and `contention` instead of `compute` where a share was measured."""

    of: dict[str, ByRound]
    rounds: list[int]

    def names(self) -> list[str]:
        return [*self.of, "unattributed"] if self.of else []


def losses_of(leg: Leg, base: Leg | None, share: Leg | None, rho: float) -> Losses:
    none = Losses({}, [])
    if base is None or leg.row["ranks"] == "1":
        return none
    part = rho / int(leg.row["ranks"])
    less = share.state("compute") if share else {}
    is_joined = [not row["transfer_seconds"] and bool(row.get("transfer_and_wait_seconds"))
                 for row in (*leg.by_round.values(), *base.by_round.values())]  # fmt: skip
    names = JOINED if any(is_joined) else STATES
    here, alone = ({name: one.state(name) for name in names} for one in (leg, base))
    rounds = [one for one in leg.seconds
              if all(one in here[name] and one in alone[name] for name in names) and (not less or one in less)]  # fmt: skip
    if not rounds:
        return none
    of: dict[str, ByRound] = {}
    ideal = part if leg.row["scaling"] == "weak" else 1 / int(leg.row["ranks"])
    of["work"] = {one: (part - ideal) * base.seconds[one] for one in rounds}
    for name in names:
        of[name] = {one: here[name][one] - part * alone[name][one] for one in rounds}
    if less:
        del of["compute"]
        of["batch"] = {one: less[one] - part * alone["compute"][one] for one in rounds}
        of["contention"] = {one: here["compute"][one] - less[one] for one in rounds}
    return Losses(of, rounds)


def check_losses(run: Run, leg: Leg, losses: Losses, ideal: float, rows: dict[str, Row]) -> str:
    """The largest that can be told from nothing."""
    table, rest, told = "losses.csv", median(leg.seconds.values()) - ideal, {}
    for name, values in losses.of.items():
        rest -= median(values.values())
        ends = interval_of(values.values())
        if median(values.values()) > 0 and ends and not ends[0] <= 0 <= ends[1]:
            told[name] = median(values.values())
        if row := rows.get(name):
            run.expect_over(table, row, "seconds", values.values())
            run.expect_name(table, row, values.values(), "rounds")
    if "unattributed" in rows:
        run.expect(table, rows["unattributed"], "seconds", rest)
        run.expect_ends(table, rows["unattributed"], "seconds", [])
        run.expect_text(table, rows["unattributed"], "interval", "")
    for name, row in rows.items():
        run.expect_copy(table, row, leg.row, COPIED[table])
        run.expect_text(table, row, "status", "ok")
        run.expect_text(table, row, "loss", name)
        run.expect(table, row, "rounds", run.rounds(losses.rounds))
    return max(told, key=lambda name: told[name]) if told else ""


def statistical(leg: Leg, base: Leg) -> ByRound:
    """Epochs to the target at 1 over those at N, in rounds that reached it on one; 0 where N did not."""
    ratios = {}
    for one, epochs in base.to_target.items():
        if epochs is not None and one in leg.to_target:
            at_n = leg.to_target[one]
            ratios[one] = 0 if at_n is None else epochs / at_n
    return ratios


def _trust(row: Row, leg: Leg, efficiency: list[float], ends: tuple[float, float] | None, has_base: bool) -> str:
    if not has_base:
        return f"{row['status']}: {row['note']}" if row["status"] != "ok" else f"{leg.row['origin']}: no base to compare with"
    words = f"{leg.row['origin']}, {len(efficiency)} round(s)" if efficiency else f"{leg.row['origin']}: ratio of medians"
    words += f", {interval_name(efficiency, 'rounds') or 'no interval'}"
    ideal = leg.row["ranks"] != "1" and ends is not None and ends[0] <= 1 <= ends[1]
    return words + ("; cannot be told from ideal" if ideal else "")


def _check_energy(run: Run, row: Row, leg: Leg, base: Leg | None, rho: float) -> None:
    values = []
    if base is not None:
        counters = leg.row.get("energy_counters")
        here, alone = (
            {one: float(of["joules"]) for one, of in each.by_round.items() if of.get("joules") and of["energy_counters"] == counters}
            for each in (leg, base)
        )
        values = [rho * alone[one] / here[one] for one in both(here, alone)]
    run.expect_over("scaling.csv", row, "energy_ratio", values)


def check_scaling(run: Run, legs: list[Leg]) -> None:
    table = "scaling.csv"
    wanted = [leg for leg in legs if (leg.row["share_of"] or "1") == "1"]
    bases = {id(leg): base_of(leg, legs, "one_device") for leg in wanted}
    if run.imported:
        # It need not say how many images an epoch has, and without any speedup there is no table.
        bases = {id(leg): base for leg in wanted if (base := bases[id(leg)]) and base.images and leg.images}
        wanted = wanted if any(id(leg) in bases for leg in wanted if leg.row["ranks"] != "1") else []
    of_losses: dict[tuple[str, ...], dict[str, Row]] = {}
    for one in run.tables.get("losses.csv", []):
        of_losses.setdefault(case_of(one, "all"), {})[one["loss"]] = one
    found: dict[int, Losses] = {}  # of each leg, by its id
    for leg in wanted:
        row = next((one for one in run.tables.get(table, []) if case_of(one, "all") == case_of(leg.row)), None)
        base = bases.get(id(leg))
        rho = leg.images / base.images if base and leg.images and base.images else 1.0
        share = base_of(leg, legs, "none", leg.row["ranks"]) if leg.row["ranks"] != "1" else None
        losses = found[id(leg)] = losses_of(leg, base, share, rho)
        if row is not None:
            _check_row(run, row, leg, base, base_of(leg, legs, "none"), rho, losses, of_losses.get(case_of(leg.row), {}))
    # A launch that gave nothing has a row that says why, by a name of its own.
    for row in run.tables.get(table, []):
        if row["status"] in ("failed", "skipped") and not row["launches"] and row["note"] in run.why_lost:
            run.leave(table, row, row, "of a launch that gave nothing")
    there = [case_of(row, "all") for row in run.tables.get(table, []) if row["status"] == "ok" or row["launches"]]
    run.expect_rows(table, (case_of(leg.row) for leg in wanted), there)
    losses = run.tables.get("losses.csv", [])
    run.expect_rows("losses.csv", ((*case_of(leg.row), name) for leg in wanted for name in found[id(leg)].names()),
                    ((*case_of(one, "all"), one["loss"]) for one in losses))  # fmt: skip


def _check_row(run: Run, row: Row, leg: Leg, base: Leg | None, raw: Leg | None, rho: float, losses: Losses,
               of_losses: dict[str, Row]) -> None:  # fmt: skip
    table, n, t = "scaling.csv", int(leg.row["ranks"]), leg.seconds
    run.expect_copy(table, row, leg.row, COPIED[table])
    for name in OF_EPOCH:
        run.expect_made(table, row, name, ("epoch.csv", leg.published, name))
    run.expect_text(table, row, "status", "ok" if base else row["status"] if "no speedup" in row["note"] else "failed")
    raw_rho = leg.images / raw.images if raw and leg.images and raw.images else 1.0
    ratios_raw = [raw_rho * raw.seconds[one] / (n * t[one]) for one in both(raw.seconds, t)] if raw else []
    if raw and not ratios_raw:
        run.expect(table, row, "efficiency_raw", raw_rho * median(raw.seconds.values()) / (n * median(t.values())))
        run.expect_ends(table, row, "efficiency_raw", [])
    else:
        run.expect_over(table, row, "efficiency_raw", ratios_raw)
    h = base.seconds if base else {}
    ratio = {one: rho * h[one] / (n * t[one]) for one in both(h, t)}
    efficiency = list(ratio.values())
    lost = [t[one] - rho * h[one] / n for one in both(h, t)]
    of_medians = rho * median(h.values()) / (n * median(t.values())) if h and t else None
    e = middle(efficiency) if efficiency else of_medians
    run.expect(table, row, "h_seconds", middle(h.values()))
    ideal = (rho if leg.row["scaling"] == "weak" else 1) * median(h.values()) / n if h else None
    run.expect(table, row, "ideal_seconds", ideal)
    run.expect(table, row, "rho", rho if base else None)
    run.expect(table, row, "rounds", run.rounds(ratio) if base else None)
    run.expect(table, row, "efficiency", e)
    run.expect(table, row, "speedup", None if e is None else n * e)
    run.expect_ends(table, row, "efficiency", efficiency)
    run.expect_ends(table, row, "speedup", efficiency, n)
    run.expect_name(table, row, efficiency, "rounds", "speedup_interval")
    run.expect(table, row, "karp_flatt", (1 / (n * e) - 1 / n) / (1 - 1 / n) if e and n > 1 else None)
    run.expect(table, row, "lost_seconds", middle(lost) if lost or not h else median(t.values()) - rho * median(h.values()) / n)
    epochs = statistical(leg, base) if base and ratio else {}
    reached = bool(epochs) and median(epochs.values()) > 0
    run.expect_over(table, row, "efficiency_statistical", epochs.values() if reached else [])
    together = [ratio[one] * epochs[one] for one in both(ratio, epochs)] if reached else []
    run.expect(table, row, "efficiency_to_accuracy", middle(together))
    _check_energy(run, row, leg, base, rho)
    largest = check_losses(run, leg, losses, ideal, of_losses) if ideal is not None else ""
    run.expect_text(table, row, "largest_loss", largest)
    run.expect_text(table, row, "trust", _trust(row, leg, [] if run.imported else efficiency, interval_of(efficiency), base is not None))


def check_summary(run: Run) -> None:
    """scaling.csv in six digits."""
    table, scaling = "summary.csv", run.tables.get("scaling.csv", [])

    def key(row: Row) -> tuple[str, ...]:
        return row["model"], row["gradient_sync"], row["scaling"], row["ranks"]

    def named(row: Row) -> str:
        """With what tells it from the rows of the same key."""
        weak = row["scaling"] == "weak"
        twins = [other for other in scaling if key(other) == key(row)]
        name = row["gradient_sync"] + (", weak" if weak else "")
        for column, words in (("nodes", "{} node(s)"), ("dataset", "{}"), ("allreduce", "{}"), ("transport", "{}"),
                              ("batch" if weak else "global_batch", "batch {}"), ("origin", "{}")):  # fmt: skip
            if row[column] and any(other[column] != row[column] for other in twins):
                name += ", " + words.format(row[column])
        return name

    names = [(row["model"], named(row), row["ranks"]) for row in scaling]
    rows = [(model, name if names.count((model, name, ranks)) == 1 else f"{name}, case {row['case_id']}", ranks)
            for (model, name, ranks), row in zip(names, scaling)]  # fmt: skip
    there = {(row["model"], row["strategy"], row["ranks"]): row for row in run.tables.get(table, [])}
    run.expect_rows(table, rows, ((row["model"], row["strategy"], row["ranks"]) for row in run.tables.get(table, [])))
    for name, of in zip(rows, scaling):
        if row := there.get(name):
            columns = "measured_seconds=seconds_median low=seconds_ci_low high=seconds_ci_high".split()
            for pair in ("h_seconds", "ideal_seconds", "speedup", "efficiency", *columns):
                column, _, other = pair.partition("=")
                run.expect_made(table, row, column, ("scaling.csv", of, other or column), ".6g")
            for column in ("model", "ranks", "largest_loss", "trust"):
                run.expect_made(table, row, column, ("scaling.csv", of, column))
            run.expect_text(table, row, "strategy", name[1])
