# SPDX-License-Identifier: Apache-2.0
"""compare.csv once more, from what the launches of both runs wrote: Hodges and Lehmann's ratio, its interval, Wilcoxon's
exact p by counting, Holm's correction and the verdict, by their definitions in results/README.md."""
from __future__ import annotations

import json
from collections import Counter
from itertools import product
from math import exp, inf, log
from pathlib import Path
from statistics import median

from scalebench.second_path.run import Row, Run, number, read

FLOOR, LATENCY_FLOOR, SIGNIFICANT = 0.03, 0.05, 0.05
MOST_ROUNDS, MOST_LAUNCHES = 50, 30  # beyond, p is not counted out
Values = dict[int, float]  # of a cell by launch
Counts = dict[int, int]  # ways by sum


def values_of(run: Run, row: Row) -> Values:
    """What each launch of the run measured of the row's cell."""
    rows = run.rows[f"{row['label'].split()[0]}.csv"]
    found = [by_launch for case, by_launch in rows.items()
             if case[:2] == (row["case_id"], row["ranks"]) and case[3] in ("", "all") and case[4] == row["origin"]]  # fmt: skip
    timed = {launch: number(one.get("seconds_median") or one.get("seconds")) for each in found for launch, one in each.items()
             if one["status"] == "ok"}  # fmt: skip
    return {launch: seconds for launch, seconds in timed.items() if seconds}


def sums(ranks: list[int], chosen: int | None = None) -> Counts:
    """In how many ways each sum of ranks comes about: of any of them, or of so many."""
    ways: dict[int, Counter[int]] = {0: Counter({0: 1})}
    for rank in ranks:
        for count in sorted(ways, reverse=True):
            more = ways.setdefault(count + 1, Counter())
            for total, number_of in ways[count].items():
                more[total + rank] += number_of
    return sum(ways.values(), Counter()) if chosen is None else ways[chosen]


def doubled(values: list[float]) -> list[int]:
    """Twice their ranks; ties share the mean of theirs."""
    return [2 * sum(v < value for v in values) + sum(v == value for v in values) + 1 for value in values]


def p_of(ways: Counts, at: int) -> float:
    below, above = (sum(n for total, n in ways.items() if keep(total)) for keep in (lambda t: t <= at, lambda t: t >= at))
    return min(1.0, 2 * min(below, above) / sum(ways.values()))


def ends(estimates: list[float], ways: Counts, tail: float) -> tuple[float, float] | None:
    """The interval of order statistics that leaves up to `tail` beyond each end."""
    outside, beyond = 0, 0
    for total in range(min(ways), max(ways) + 1, 2):
        beyond += ways.get(total, 0)
        if beyond / sum(ways.values()) > tail:
            break
        outside += 1
    ordered = sorted(estimates)
    return (exp(ordered[outside - 1]), exp(ordered[-outside])) if outside else None


def compared(a: list[float], b: list[float], paired: bool) -> tuple[list[float], Counts, float]:
    """Estimates of ln b/a, in how many ways each number of them is above 0, and p."""
    if paired:
        logs = [log(y / x) for x, y in zip(a, b)]
        ranks = doubled([abs(one) for one in logs])
        positive = sum(rank for one, rank in zip(logs, ranks) if one > 0)
        p = p_of(sums([rank for one, rank in zip(logs, ranks) if one]), positive)
        means = [(x + y) / 2 for place, x in enumerate(logs) for y in logs[place:]]
        return means, sums(list(range(2, 2 * len(logs) + 1, 2))), p
    of_a, of_b = ([log(value) for value in side] for side in (a, b))
    ranks = doubled(of_b + of_a)
    p = p_of(sums(ranks, len(b)), sum(ranks[: len(b)]))
    return [y - x for x, y in product(of_a, of_b)], sums(list(range(2, 2 * len(ranks) + 1, 2)), len(b)), p


def check_comparison(folder: Path) -> tuple[int, list[str]]:
    """How many numbers and verdicts were made again, and those that differ."""
    document = json.loads((folder / "compare.json").read_text(encoding="utf-8"))
    runs = {one["letter"]: Run(Path(one["folder"])) for one in document["runs"]}
    paired = {one["letter"]: one["run_id"] == document["runs"][0]["run_id"] or pair_of(runs["A"]) == pair_of(runs[one["letter"]]) != ""
              for one in document["runs"]}  # fmt: skip
    made: list[tuple[Row, dict[str, float | str]]] = []
    for row in read(folder / "compare.csv"):
        values = [values_of(runs[letter], row) for letter in ("A", row["letter"])]
        if row["verdict"] in ("", "MISSING") or not all(values):
            continue
        a, b = (list(side.values()) for side in values)
        turns = paired[row["letter"]]
        if turns:
            by_round = [{runs[letter].round_of[launch]: value for launch, value in side.items()} for letter, side in zip(("A", row["letter"]), values)]
            a, b = ([side[one] for one in sorted(by_round[0].keys() & by_round[1].keys())] for side in by_round)
        if max(len(a), len(b)) > (MOST_ROUNDS if turns else MOST_LAUNCHES):
            continue
        estimates, ways, p = compared(a, b, turns)
        cell: dict[str, float | str] = {"ratio": exp(median(estimates)), "p_value": p}
        for name, tail in (("ratio", 0.025), ("within", 0.05)):
            if limits := ends(estimates, ways, tail):
                cell |= {f"{name}_low": limits[0], f"{name}_high": limits[1]}
        made.append((row, cell))
    so_far = 0.0  # by Holm no p is smaller than one before it
    for rank, (row, cell) in enumerate(sorted(made, key=lambda one: one[1]["p_value"])):
        so_far = max(so_far, min(1.0, (len(made) - rank) * cell["p_value"]))
        cell["p_holm"] = so_far
        cell["verdict"] = verdict_of(cell, LATENCY_FLOOR if is_latency(row["label"]) else FLOOR)
    differences = [f"compare.csv: {row['label']}: {name}: published {row[name] or 'nothing'}, {value!r}"
                   for row, cell in made for name, value in cell.items() if name in row and not is_equal(row[name], value)]  # fmt: skip
    return sum(name in row for row, cell in made for name in cell), differences


def pair_of(run: Run) -> str:
    return json.loads((run.folder / "manifest.json").read_text(encoding="utf-8")).get("pair") or ""


def is_latency(label: str) -> bool:
    """An allreduce below 64 KiB."""
    words = label.split()
    sizes = [int(size) * {"KiB": 1024}.get(unit, inf) for size, unit in zip(words, words[1:]) if size.isdigit() and unit.endswith("iB")]
    plain = [int(size) for size, unit in zip(words, words[1:]) if size.isdigit() and unit.startswith("N=")]
    return words[0] == "allreduce" and min([*sizes, *plain], default=inf) < 64 * 1024


def verdict_of(cell: dict[str, float | str], floor: float) -> str:
    ratio, most = cell["ratio"], 1 + floor
    if cell["p_holm"] <= SIGNIFICANT and not 1 / most <= ratio <= most:
        return "SLOWER" if ratio > 1 else "FASTER"
    return "SAME" if cell.get("within_low", 0) >= 1 / most and cell.get("within_high", inf) <= most else "UNDECIDED"


def is_equal(published: str, value: float | str) -> bool:
    if isinstance(value, str):
        return published == value
    there = number(published)
    return there is not None and abs(there - value) <= 1e-9 * max(abs(there), abs(value))
