# SPDX-License-Identifier: Apache-2.0
"""The second path sees each wrong number, each missing row and each column that it does not know, in the runs that are
part of the repository; and nothing wrong in these themselves."""
from __future__ import annotations

import copy
import re
import shutil
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path

from scalebench.second_path.recompute import checked
from scalebench.second_path.answers import LIKE, base_of
from scalebench.second_path.columns import WITHOUT
from scalebench.second_path.comparison import compared, ends
from scalebench.second_path.fits import COEFFICIENTS, check_fits
from scalebench.second_path.numbers import nonnegative_least_squares, of_t
from scalebench.second_path.run import Row, Run, number
from scalebench.second_path.training import Leg, check_throughput

RUNS = Path(__file__).resolve().parents[3] / "results" / "reference" / "amd-epyc-2-cores"
# By these rows are found: another value is a row too many, and one too few.
KEYS = set("case_id origin ranks nodes rank loss".split())
KEYS_OF = {
    "fits.csv": {"origin", "label"},
    "summary.csv": {"model", "strategy"},
}
PUBLISHED = [Run(RUNS / "full")]
SMALLER = "allreduce"  # of 27 000 numbers, of which the other has each kind


def with_(run: Run, change: Callable[[dict[str, list[Row]]], object]) -> list[str]:
    """What is found once the tables were changed so."""
    other = copy.copy(run)
    other.tables = copy.deepcopy(run.tables)
    other.differences, other.seen, other.made = [], set(), {}
    other.numbers = other.copied = other.cells = 0
    change(other.tables)
    return checked(other).differences


def is_key(table: str, column: str) -> bool:
    return column in KEYS_OF.get(table, set()) or (column in KEYS and not (table == "fits.csv" and column == "ranks"))


def known(table: str, column: str) -> bool:
    return ("", column) not in WITHOUT and (table, column) not in WITHOUT


def another(table: str, text: str) -> str:
    """A little more, or another word."""
    value = number(text)
    if value is None:
        return text + "x"
    return repr(value + (1 if value == int(value) else value * 1e-7))


class SecondPath(unittest.TestCase):
    def test_the_published_runs_are_as_they_say(self) -> None:
        for run in (*PUBLISHED, Run(RUNS / SMALLER)):
            self.assertEqual(with_(run, lambda _: None), [], run.folder)

    def finds_each(self, run: Run, change: Callable[[str, Row, str], bool], what: str) -> None:
        """One cell of each column is changed, all at once: none is made of another published one."""
        changed: set[tuple[str, str]] = set()

        def all_of(tables: dict[str, list[Row]]) -> None:
            for table, rows in tables.items():
                for row in rows:
                    for column in row:
                        if known(table, column) and not is_key(table, column) and (table, column) not in changed and change(table, row, column):
                            changed.add((table, column))

        lines = with_(run, all_of)
        self.assertGreater(len(changed), 20)
        for table, column in sorted(changed):
            found = [line for line in lines if line.startswith(f"{table}: ") and f": {column}: " in line]
            self.assertTrue(found, f"{run.folder.name}/{table}: {column}: {what} and not found")

    def test_a_wrong_cell_of_each_column_is_found(self) -> None:
        def wrong(table: str, row: Row, column: str) -> bool:
            usable = bool(row[column]) and row.get("status", "ok") == "ok"
            if usable:
                row[column] = another(table, row[column])
            return usable

        for run in PUBLISHED:
            self.finds_each(run, wrong, "changed")

    def test_a_cell_that_is_filled_or_emptied_is_found(self) -> None:
        def filled(table: str, row: Row, column: str) -> bool:
            empty = not row[column] and column != "status"
            if empty:
                row[column] = "1"
            return empty

        def emptied(table: str, row: Row, column: str) -> bool:
            there = bool(row[column]) and column != "status"
            if there:
                row[column] = ""
            return there

        for run in PUBLISHED:
            self.finds_each(run, filled, "filled")
            self.finds_each(run, emptied, "emptied")

    def test_rows_that_are_missing_or_double_or_of_another_name_are_found(self) -> None:
        def shorter(table: str, rows: list[Row]) -> None:
            del rows[-1]

        def longer(table: str, rows: list[Row]) -> None:
            rows.append(dict(rows[-1]))

        def renamed(table: str, rows: list[Row]) -> None:
            column = next(name for name in ("label", "case_id", "algorithm", "model") if name in rows[-1])
            rows[-1][column] = "another"

        def gone(table: str, rows: list[Row]) -> None:
            rows.clear()

        words = {shorter: "a row is expected", longer: "published 2 times", renamed: "none is expected", gone: "a row is expected"}
        (full,) = PUBLISHED
        # The summary is scaling.csv once more: what is missing in both, only the other one shows.
        for group in (set(full.tables) - {"summary.csv"}, {"summary.csv"}):
            for change, said in words.items():
                lines = with_(full, lambda tables: [change(table, tables[table]) for table in group])
                for table in group:
                    self.assertTrue([line for line in lines if line.startswith(f"{table}: ") and said in line], f"{table}: {said}")

    def test_a_column_that_nobody_makes_again_is_found(self) -> None:
        def new_column(tables: dict[str, list[Row]]) -> None:
            for rows in tables.values():
                for row in rows:
                    row["more"] = "1.5"

        lines = with_(PUBLISHED[0], new_column)
        for table in PUBLISHED[0].tables:
            self.assertTrue([line for line in lines if line.startswith(f"{table}: ") and " more: " in line], table)
        self.assertIn("scaling.csv: more: nobody makes this column again", lines)

    def test_a_table_that_nobody_makes_again_is_found(self) -> None:
        lines = with_(PUBLISHED[0], lambda tables: tables.update({"more.csv": [{"case_id": "x", "ranks": "1", "value": "2"}]}))
        self.assertIn("more.csv: value: nobody makes this column again", lines)

    def test_each_launch_is_checked_against_its_samples(self) -> None:
        run = copy.copy(PUBLISHED[0])
        run.rows = copy.deepcopy(run.rows)
        for table in ("allreduce.csv", "throughput.csv", "epoch.csv"):
            launches = next(iter(run.rows[table].values()))
            row = next(iter(launches.values()))
            if row["status"] != "ok":
                launches = next(of for of in run.rows[table].values() if all(one["status"] == "ok" for one in of.values()))
                row = next(iter(launches.values()))
            name = "seconds" if table == "epoch.csv" else "seconds_median"
            row[name] = another(table, row[name])
        lines = with_(run, lambda _: None)
        for table in ("allreduce.csv", "throughput.csv", "epoch.csv"):
            self.assertTrue([line for line in lines if line.startswith(f"launches/{table}: launch ") and ": seconds" in line], table)

    def test_launches_of_another_origin_are_rows_of_their_own(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            run = Path(folder) / "run"
            shutil.copytree(RUNS / "full", run)
            cases = run / "launches" / "allreduce.csv"
            text = cases.read_text(encoding="utf-8")
            last = text.splitlines()[-1].split(",")[0]
            again = re.sub(rf"(?m)^({last},.*?),measured,", r"\1,emulated,", text)
            self.assertNotEqual(again, text)
            cases.write_text(again, encoding="utf-8")
            lines = checked(Run(run)).differences
        self.assertTrue([line for line in lines if line.startswith("allreduce.csv: ") and "'emulated'" in line and "a row is expected" in line])
        self.assertTrue([line for line in lines if line.startswith("allreduce.csv: ") and " launches: published " in line])

    def test_what_an_emulated_links_burst_has_touched_is_no_point_of_a_fit(self) -> None:
        run = copy.copy(PUBLISHED[0])
        seconds = {case: 1.0 for case in run.rows["allreduce.csv"] if run.launches_of("allreduce.csv", case)}
        run.rows, run.differences = copy.deepcopy(run.rows), []
        for launches in run.rows["allreduce.csv"].values():
            for row in launches.values():
                row |= {"nodes": "2", "note": "not the link's rate: the emulated one lets 31250 bytes pass at once"}
        without_points = {"status": "skipped", "ranks": "", "points": "0", "residual": "", **dict.fromkeys(COEFFICIENTS, "")}
        run.tables = {"fits.csv": [
            row | without_points | {"label": row["label"].replace("one_host", "several_hosts")}
            for row in run.tables["fits.csv"]
        ]}  # fmt: skip
        check_fits(run, seconds)
        self.assertEqual(run.differences, [])
        run.tables["fits.csv"][0]["points"] = "1"
        check_fits(run, seconds)
        self.assertIn("points: published 1", run.differences[0])


class Formulas(unittest.TestCase):
    """What no reference run has; the numbers are made by the law itself."""

    def test_t(self) -> None:
        for df, t in ((1, 12.706205), (5, 2.570582), (11, 2.200985), (19, 2.093024), (1000, 1.962339)):
            self.assertAlmostEqual(of_t(df), t, 5)

    def test_a_base_is_of_the_nearest_number_of_images_and_a_share_of_that_very_one(self) -> None:
        def leg(sync: str, ranks: int, images: int, share_of: int = 1) -> Leg:
            like = {name: "" for name in (*LIKE, "target_accuracy", "batch")}
            row = {**like, "gradient_sync": sync, "ranks": str(ranks), "nodes": "1", "origin": "measured", "scaling": "strong",
                   "global_batch": "60", "share_of": str(share_of)}  # fmt: skip
            return Leg(row, row, {}, images / share_of)

        small, large = ([leg("one_device", 1, images), leg("none", 1, images, 2), leg("mirrored", 2, images)]
                        for images in (600, 2400))  # fmt: skip
        for legs in ([*small, *large], [*large, *small]):
            for own in (small, large):
                mirrored = own[-1]
                self.assertIs(base_of(mirrored, legs, "one_device"), own[0])
                self.assertIs(base_of(mirrored, legs, "none", "2"), own[1])
            without = [one for one in legs if one not in large[:2]]
            self.assertIs(base_of(large[-1], without, "one_device"), small[0])
            self.assertIsNone(base_of(large[-1], without, "none", "2"))

    def test_a_barrier_has_no_target_and_stands_beside_runs_that_have(self) -> None:
        def leg(sync: str, ranks: int, target: str) -> Leg:
            like = {name: "" for name in (*LIKE, "batch")}
            row = {**like, "gradient_sync": sync, "ranks": str(ranks), "nodes": "1", "origin": "measured", "scaling": "strong",
                   "global_batch": "60", "share_of": "1", "target_accuracy": target}  # fmt: skip
            return Leg(row, row, {}, 600)

        one, barrier = leg("one_device", 1, "0.6"), leg("barrier_only", 2, "")
        self.assertIs(base_of(barrier, [one], "one_device"), one)
        self.assertIsNotNone(base_of(barrier, [leg("one_device", 1, "")], "one_device"))
        self.assertIsNone(base_of(leg("mirrored", 2, "0.5"), [one], "one_device"))

    def test_h_of_weak_scaling_is_of_as_many_images_as_a_worker_has(self) -> None:
        def leg(sync: str, ranks: int, workers: str, images: int) -> Leg:
            like = {name: "" for name in (*LIKE, "target_accuracy", "share_of")}
            row = {**like, "gradient_sync": sync, "ranks": str(ranks), "origin": "measured", "scaling": "weak", "batch": "60",
                   "global_batch": str(60 * int(workers)) if workers else ""}  # fmt: skip
            return Leg(row, row, {}, images)

        small, large = leg("one_device", 1, "1", 600), leg("one_device", 1, "1", 1200)
        for ranks, workers, images, one in ((2, "2", 1200, small), (2, "2", 2400, large), (3, "2", 1200, small), (2, "", 1200, small)):
            self.assertIs(base_of(leg("mirrored", ranks, workers, images), [small, large], "one_device"), one)

    def test_a_base_is_of_the_same_origin_also_behind_another(self) -> None:
        def leg(sync: str, ranks: int, origin: str) -> Leg:
            like = {name: "" for name in (*LIKE, "target_accuracy", "share_of")}
            row = {**like, "gradient_sync": sync, "ranks": str(ranks), "origin": origin, "scaling": "strong", "global_batch": "60", "batch": ""}
            return Leg(row, row, {}, 600)

        emulated, measured = leg("one_device", 1, "emulated"), leg("one_device", 1, "measured")
        self.assertIs(base_of(leg("mirrored", 2, "measured"), [emulated, measured], "one_device"), measured)
        self.assertIsNone(base_of(leg("mirrored", 2, "measured"), [emulated], "one_device"))

    def test_emulated_ranks_are_related_to_no_measured_one(self) -> None:
        run = PUBLISHED[0]
        for origin, differ in (("measured", False), ("emulated", True)):
            other = copy.copy(run)
            other.rows, other.tables, other.differences = copy.deepcopy(run.rows), copy.deepcopy(run.tables), []
            several = [row for row in other.tables["throughput.csv"] if row["ranks"] != "1"]
            self.assertTrue([row for row in several if row["relative_to_one_rank"]])
            launches = other.rows["throughput.csv"]
            for case in [case for case in launches if case[1] != "1"]:
                rows = launches.pop(case)
                for row in rows.values():
                    row["origin"] = origin
                launches[case[:-1] + (origin,)] = rows
            for row in several:
                row["origin"] = origin
            check_throughput(other)
            lines = [line for line in other.differences if "relative_to_one_rank" in line]
            self.assertEqual(len(lines), differ * len([row for row in several if row["relative_to_one_rank"]]), lines)

    def test_costs_are_never_negative(self) -> None:
        steps, sent, reduced = [6, 6, 6, 14, 14, 14], [1e3, 1e5, 1e7, 1e3, 1e5, 1e7], [5e2, 6e4, 4e6, 7e2, 5e4, 6e6]
        seconds = [1e-6 * s + 2e-10 * b + 3e-10 * c for s, b, c in zip(steps, sent, reduced)]
        columns = [[x / t for x, t in zip(column, seconds)] for column in (steps, sent, reduced)]
        for found, made in zip(nonnegative_least_squares(columns), (1e-6, 2e-10, 3e-10)):
            self.assertAlmostEqual(found / made, 1, 9)
        falling = [3e-6 - 1e-10 * s for s in (1e3, 2e3, 3e3)]
        self.assertEqual(nonnegative_least_squares([[1 / t for t in falling], [s / t for s, t in zip((1e3, 2e3, 3e3), falling)]])[1], 0)


class Comparison(unittest.TestCase):
    def test_p_is_counted_out_and_ends_are_estimates(self) -> None:
        a = [1.0, 1.01, 1.02, 1.03]
        estimates, ways, p = compared(a, [2 * value for value in a], paired=False)
        self.assertAlmostEqual(p, 2 / 70)
        self.assertAlmostEqual(ends(estimates, ways, 0.025)[1], 2 * 1.03)
        rounds = [1.1, 1.2, 1.3, 1.4, 1.5, 1.6]
        estimates, ways, p = compared([1.0] * 6, rounds, paired=True)
        self.assertAlmostEqual(p, 2 / 64)
        self.assertAlmostEqual(ends(estimates, ways, 0.025)[0], 1.1)
        self.assertIsNone(ends(*compared([1.0] * 5, rounds[:5], paired=True)[:2], 0.025), "five rounds have no interval")
        self.assertEqual(compared([1.0] * 6, [1.0] * 6, paired=True)[2], 1, "ties")


if __name__ == "__main__":
    unittest.main()
