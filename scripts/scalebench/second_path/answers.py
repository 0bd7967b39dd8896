# SPDX-License-Identifier: Apache-2.0
"""scaling.csv, summary.csv and losses.csv: what N ranks are worth against H, and where the rest went."""
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from statistics import mean

from scalebench.second_path.columns import COPIED
from scalebench.second_path.numbers import Ends, both, interval_name, of_difference, of_mean, of_ratio
from scalebench.second_path.run import Row, Run, case_of, number
from scalebench.second_path.training import JOINED, STATES, Leg

LIKE = "model device dtype settings threads dataset scaling optimizer".split()


def are_alike(one: Leg, other: Leg) -> bool:
    """Whether they differ in N, the strategy and how gradients travel alone."""
    columns = [*LIKE, "global_batch" if one.row["scaling"] == "strong" else "batch"]
    # A barrier alone trains towards no target: it stands beside runs that have one.
    targets = {leg.row["target_accuracy"] for leg in (one, other)}
    aside = any(leg.row["gradient_sync"] == "barrier_only" and not leg.row["target_accuracy"] for leg in (one, other))
    if len(targets) > 1 and not aside:
        return False
    return all(one.row[column] == other.row[column] for column in columns)


def images_of_one(leg: Leg) -> float:
    """All that it has, or in weak scaling those of one worker."""
    parts, share = (number(leg.row["global_batch"]) or 0) / (number(leg.row["batch"]) or 1), number(leg.row["share_of"]) or 1
    workers = int(parts / share) or int(leg.row["ranks"])
    return (leg.images or 0) / (workers if leg.row["scaling"] == "weak" else 1)


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
class Scaled:
    """A leg beside its base: of the rounds in which both are ok, or of all launches where there is none."""

    leg: Leg
    base: Leg | None
    raw: Leg | None
    share: Leg | None
    apart: bool  # no round ties cells together
    rounds: list[int] = field(default_factory=list)
    losses: dict[str, tuple[float, Ends | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.base:
            self.rounds = both(self.base.seconds, self.leg.seconds)
        self.n = int(self.leg.row["ranks"])
        self.rho = (self.leg.images or 0) / (self.base.images or 1) if self.base else 1.0
        self.losses = self._losses() if self.base and self.n > 1 else {}

    def of(self, leg: Leg | None, values: dict[int, float] | None = None) -> list[float]:
        """Its seconds, or these values, where they are there in all of the rounds."""
        values = (leg.seconds if leg else {}) if values is None else values
        keys = self.rounds or list(leg.seconds if leg else {})
        return [values[one] for one in keys] if all(one in values for one in keys) else []

    def ratio(self, a: list[float], b: list[float], factor: float) -> tuple[float | None, Ends | None]:
        if not a or not b:
            return None, None
        ends = of_ratio(a, b, bool(self.rounds))
        return factor * mean(a) / mean(b), ends and (factor * ends[0], factor * ends[1])

    def interval(self) -> str:
        if self.base is None:
            return interval_name(self.leg.seconds.values(), "launches")
        if self.rounds:
            return interval_name(self.rounds, "launches" if self.apart else "rounds")
        return "95% of launches" if min(len(self.leg.seconds), len(self.base.seconds)) > 1 else ""

    def _losses(self) -> dict[str, tuple[float, Ends | None]]:
        """Batch and contention instead of compute where a share ran alone; the host's is what others leave."""
        assert self.base is not None
        legs = (self.leg, self.base)
        is_joined = any(not leg.by_round[one]["wait_static_seconds"] for leg in legs for one in self.rounds or leg.by_round)
        names = JOINED if is_joined else STATES
        here, alone = ({name: self.of(leg, leg.state(name)) for name in names[:-1]} for leg in legs)
        if not all([*here.values(), *alone.values()]):
            return {}
        for states, leg in ((here, self.leg), (alone, self.base)):
            states["host"] = [t - sum(parts) for t, *parts in zip(self.of(leg), *states.values())]
        part, less = self.rho / self.n, self.of(self.share, self.share.state("compute")) if self.share else []
        equal = {name: [part * value for value in alone[name]] for name in names}  # parts
        of = {name: (here[name], equal[name]) for name in names}
        if less:
            del of["compute"]
            of |= {"batch": (less, equal["compute"]), "contention": (here["compute"], less)}
        return {name: (mean(a) - mean(b), of_difference(a, b, bool(self.rounds))) for name, (a, b) in of.items()}

    def largest(self) -> str:
        return max((name for name, (value, _) in self.losses.items() if value > 0), key=lambda name: self.losses[name][0], default="")


def _joules(leg: Leg) -> dict[int, float]:
    return {one: joules for one, row in leg.by_round.items() if (joules := number(row["joules"])) is not None}


def _to_target(leg: Leg) -> dict[int, float]:
    return {one: value for one, value in leg.to_target.items() if value is not None}


def check_scaling(run: Run, legs: list[Leg]) -> None:
    table = "scaling.csv"
    cells = Counter(one for leg in legs for one in leg.by_round)  # of each round
    apart = not any(count > 1 for count in cells.values())
    found = [Scaled(leg, base_of(leg, legs, "one_device"), base_of(leg, legs, "none"),
                    base_of(leg, legs, "none", leg.row["ranks"]) if leg.row["ranks"] != "1" else None, apart)
             for leg in legs if (leg.row["share_of"] or "1") == "1"]  # fmt: skip
    if run.imported:
        # It need not say how many images an epoch has, and without any speedup there is no table.
        for one in found:
            if one.base and not (one.base.images and one.leg.images):
                one.base, one.losses = None, {}
        found = found if any(one.base for one in found if one.n > 1) else []
    of_losses = {(*case_of(one), one["loss"]): one for one in run.tables.get("losses.csv", [])}
    rows, names = run.tables.get(table, []), strategies(run)
    summary = {tuple(row[name] for name in NAMES): row for row in run.tables.get("summary.csv", [])}
    run.expect_rows("summary.csv", names, (tuple(row[name] for name in NAMES) for row in run.tables.get("summary.csv", [])))
    for row, name in zip(rows, names):
        one = next((one for one in found if case_of(one.leg.row) == case_of(row)), None)
        if one:
            _check_row(run, row, one)
        if short := summary.get(name):
            _check_summary(run, short, row, one, name)
    for one in found:
        for loss, (value, ends) in one.losses.items():
            if row := of_losses.get((*case_of(one.leg.row), loss)):
                run.expect_copy("losses.csv", row, one.leg.row, COPIED["losses.csv"])
                run.expect_text("losses.csv", row, "status", "ok")
                run.expect_text("losses.csv", row, "loss", loss)
                run.expect("losses.csv", row, "seconds", value)
                run.expect_both("losses.csv", row, "seconds", ends)
    # A launch that gave nothing has a row that says why, by a name of its own.
    for row in rows:
        if row["status"] in ("failed", "skipped") and not row["measured_seconds"] and row["note"] in run.why_lost:
            run.leave(table, row, row, "of a launch that gave nothing")
    there = [case_of(row) for row in rows if row["status"] == "ok" or row["measured_seconds"]]
    run.expect_rows(table, (case_of(one.leg.row) for one in found), there)
    run.expect_rows("losses.csv", ((*case_of(one.leg.row), name) for one in found for name in one.losses),
                    ((*case_of(one), one["loss"]) for one in run.tables.get("losses.csv", [])))  # fmt: skip


NAMES = ("model", "strategy", "scaling", "ranks")
TELLING = ("allreduce transport device dtype threads dataset global_batch batch optimizer settings samples target_accuracy nodes "
           "origin").split()  # fmt: skip


def strategies(run: Run) -> list[tuple[str, ...]]:
    """Of the rows of scaling.csv: the gradient sync, and what tells it from those that are called the same."""
    scaling = run.tables.get("scaling.csv", [])
    epochs = {case_of(row): row for row in run.tables.get("epoch.csv", [])}
    cells = [epochs.get(case_of(row), row) for row in scaling]

    def text(row: Row, column: str) -> str:
        text = row.get(column, "")
        return "" if column == "nodes" and text == "1" else text

    alike = [(row["model"], row["gradient_sync"], row["scaling"], row["ranks"]) for row in scaling]
    words = []
    for name, row in zip(alike, cells):
        twins = [other for other_name, other in zip(alike, cells) if other_name == name]
        differs = [column for column in TELLING if any(text(other, column) != text(twins[0], column) for other in twins)]
        told = [(column, text(row, column)) for column in differs if text(row, column)]
        words.append("".join(f" {one}" if number(one) is None else f" {column} {one}" for column, one in told))
    both_of = list(zip(alike, words))
    full = [word + (f" case {row['case_id']}" if both_of.count(both) > 1 else "") for both, word, row in zip(both_of, words, scaling)]
    return [(name[0], name[1] + ("," + word if word else ""), *name[2:]) for name, word in zip(alike, full)]


def _check_row(run: Run, row: Row, one: Scaled) -> None:
    table, leg, base, n = "scaling.csv", one.leg, one.base, one.n
    run.expect_copy(table, row, leg.row, COPIED[table])
    run.expect_made(table, row, "joules", ("epoch.csv", leg.published, "joules"))
    run.expect_text(table, row, "status", "ok" if base else row["status"] if "no speedup" in row["note"] else "failed")
    t, h = one.of(leg), one.of(base) if base else []
    ideal = one.rho * mean(h) / n if h else None
    run.expect(table, row, "h_seconds", mean(h) if h else None)
    run.expect(table, row, "ideal_seconds", ideal)
    run.expect(table, row, "measured_seconds", mean(t) if t else None)
    run.expect_both(table, row, "measured_seconds", of_mean(t))
    run.expect_text(table, row, "interval", one.interval())
    run.expect(table, row, "rho", one.rho if base else None)
    run.expect(table, row, "rounds", (0 if one.apart else len(one.rounds)) if base else None)
    e, ends = one.ratio(h, t, one.rho / n)
    run.expect(table, row, "efficiency", e)
    run.expect_both(table, row, "efficiency", ends)
    run.expect(table, row, "speedup", None if e is None else n * e)
    run.expect(table, row, "karp_flatt", (1 / (n * e) - 1 / n) / (1 - 1 / n) if e and n > 1 else None)
    run.expect(table, row, "lost_seconds", mean(t) - ideal if ideal is not None else None)
    raw_rho = (leg.images or 0) / (one.raw.images or 1) if one.raw else 1.0
    run.expect(table, row, "efficiency_raw", one.ratio(one.of(one.raw), t, raw_rho / n)[0] if base else None)
    stat, stat_ends = one.ratio(one.of(base, _to_target(base)), one.of(leg, _to_target(leg)), 1) if base else (None, None)
    run.expect(table, row, "efficiency_statistical", stat)
    run.expect_both(table, row, "efficiency_statistical", stat_ends)
    joules, joules_ends = one.ratio(one.of(base, _joules(base)), one.of(leg, _joules(leg)), one.rho) if base else (None, None)
    run.expect(table, row, "energy_ratio", joules)
    run.expect_both(table, row, "energy_ratio", joules_ends)


def _check_summary(run: Run, row: Row, scaling: Row, one: Scaled | None, name: tuple[str, ...]) -> None:
    """As it came out for scaling.csv."""
    table = "summary.csv"
    for column, text in zip(NAMES, name):
        run.expect_text(table, row, column, text)
    for column in ("nodes rounds h_seconds ideal_seconds measured_seconds speedup efficiency efficiency_ci_low "
                   "efficiency_ci_high lost_seconds").split():  # fmt: skip
        run.expect_made(table, row, column, ("scaling.csv", scaling, column))
    largest = one.largest() if one else ""
    value, ends = one.losses[largest] if one and largest else (None, None)
    run.expect_text(table, row, "largest_loss", largest)
    run.expect(table, row, "largest_loss_seconds", value)
    run.expect_both(table, row, "largest_loss_seconds", ends)
