# SPDX-License-Identifier: Apache-2.0
# The report's table of scaling laws, from the cells of laws.csv as they are.
from __future__ import annotations

import math
from pathlib import Path

from view.cases import apart, how, workload
from view.numbers import three_digits
from view.page import Html, element, section, table
from view.rows import Row
from view.variants import read_cases

NAMES = {
    ("amdahl", "sigma"): "Amdahl: serial share σ",
    ("usl", "sigma"): "universal law: σ",
    ("usl", "kappa"): "universal law: κ",
    ("usl", "peak_ranks"): "universal law: N of the largest speedup",
}


def laws(run: Path) -> Html:
    rows = read_cases(run, "laws.csv")
    if not rows:
        return Html("")
    fitted = [row for row in rows if row["status"] == "ok"]
    if not fitted:
        reasons = "; ".join(dict.fromkeys(row["note"] for row in rows))
        return section("Laws of scaling", element("p", f"None could be fitted: {reasons}.", css="muted"))
    words = (
        "Amdahl: T = T₁ (σ + (1−σ)/N), of strong scaling. The universal scalability law: speedup = N / (1 + σ(N−1) + "
        "κN(N−1)); σ is waiting for what is shared, κ what every pair of ranks costs. Fitted in each round; the median "
        "over rounds. Residual: root of the mean square of what T is off, relative. Beyond the N that were measured a "
        "law is a guess."
    )
    more = apart(rows)
    head = ["workload", "strategy", "N", "law", "value", "residual", "rounds", ""]
    cells: list[list[object]] = [
        [workload(row), how(row, *more), row["ranks_used"].replace(";", ", "), name_of(row), value(row),
         f"{100 * row.number('rms_residual'):.1f} %", row["rounds"], row["note"]]
        for row in fitted
    ]  # fmt: skip
    # One line a reason: with too few N all four parameters lack for the same.
    cells += [[*key[:3], key[3], "", "", "", key[4]] for key in dict.fromkeys(reason(row, more) for row in rows if row["status"] != "ok")]
    shown = table(head, cells, numbers=[4, 5, 6], wrap=[7], rest="laws.csv")
    return section("Laws of scaling", element("p", words, css="muted"), shown)


def name_of(row: Row) -> str:
    return NAMES.get((row["law"], row["parameter"]), f"{row['law']}: {row['parameter']}")


def reason(row: Row, more: tuple[str, ...]) -> tuple[Html | str, Html | str, str, str, str]:
    every = row["note"].startswith(("too few N", "no round", "N ="))
    return workload(row), how(row, *more), row["ranks_used"].replace(";", ", "), "all" if every else name_of(row), row["note"]


def value(row: Row) -> Html:
    shown = [number(row.number(name)) for name in ("value", "value_ci_low", "value_ci_high")]
    interval = element("small", f" [{shown[1]}, {shown[2]}]", css="under") if shown[1] and shown[2] else ""
    return element("span", shown[0], interval)


def number(value: float) -> str:
    if math.isnan(value):
        return ""
    return three_digits(value) if value >= 0 else "−" + three_digits(-value)
