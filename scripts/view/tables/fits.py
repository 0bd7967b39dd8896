# SPDX-License-Identifier: Apache-2.0
# The report's tables of what was fitted, from the cells of fits.csv: laws of scaling, and the cost model of each allreduce.
from __future__ import annotations

import math
from pathlib import Path

from view.numbers import percent, three_digits
from view.page import Html, element, section, table
from view.rows import Row, grouped, read_rows

MODEL = "alpha_beta_gamma"
# Of each coefficient what it is a million million of, or a million, so that people can read it.
COEFFICIENTS = {"alpha_seconds": 1e6, "beta_seconds_per_byte": 1e12, "gamma_seconds_per_byte": 1e12}
NAMES = {
    ("amdahl", "sigma"): "Amdahl: serial share σ",
    ("usl", "sigma"): "universal law: σ",
    ("usl", "kappa"): "universal law: κ",
    ("usl", "peak_ranks"): "universal law: N of the largest speedup",
}


def laws(run: Path) -> Html:
    rows = [row for row in read_rows(run, "fits.csv") if row["law"] != MODEL]
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
    names = names_of(rows)
    head = ["of", "N", "law", "value", "residual", "rounds", ""]
    cells: list[list[object]] = [
        [names[row["label"]], listed(row), name_of(row), value(row), f"{100 * row.number('residual'):.1f} %", row["points"], row["note"]]
        for row in fitted
    ]
    # One line a reason: with too few N all four parameters lack for the same.
    why_not = dict.fromkeys(reason(row) for row in rows if row["status"] != "ok")
    cells += [[names[label], ranks, law, "", "", "", note] for label, ranks, law, note in why_not]
    shown = table(head, cells, numbers=[3, 4, 5], wrap=[6], rest="fits.csv")
    return section("Laws of scaling", element("p", words, css="muted"), shown)


def cost_models(run: Path) -> Html:
    rows = [row for row in read_rows(run, "fits.csv") if row["law"] == MODEL and row["residual"]]
    if not rows:
        return Html("")
    head = ["allreduce", "N", "origin", "α, µs a step", "β, ps a byte", "γ, ps a byte", "points", "typically off"]
    words = (
        "t = α·steps + β·bytes sent + γ·bytes reduced, fitted to all sizes and numbers of ranks by relative errors; steps "
        "and bytes are the algorithm's own line. Without γ, β holds sending and reducing; for native, whose work is "
        "unknown, β is a byte of the buffer. Caches make the truth more than one line: where the model is far off, it "
        "predicts nothing."
    )
    names = names_of(rows)
    cells, weak = [], []
    for place, fit in enumerate(grouped(rows, ("label", "origin")).values()):
        values = {row["parameter"]: row.number("value") for row in fit}
        shown = [three_digits(times * values.get(parameter, math.nan)) for parameter, times in COEFFICIENTS.items()]
        one = fit[0]
        cells.append([names[one["label"]], listed(one), one["origin"], *shown, one["points"], percent(one.number("residual"))])
        weak += [place] if one["origin"] != "measured" else []
    shown_table = table(head, cells, numbers=[1, *range(3, 8)], weak=weak, rest="fits.csv")
    return section("Cost model", element("p", words, css="muted"), shown_table)


def names_of(rows: list[Row]) -> dict[str, str]:
    """The labels without the words that all of them have; the first one stays."""
    labels = {row["label"]: row["label"].split() for row in rows}
    common = set.intersection(*map(set, labels.values())) if len(labels) > 1 else set()
    return {label: " · ".join(words[:1] + [word for word in words[1:] if word not in common]) for label, words in labels.items()}


def name_of(row: Row) -> str:
    return NAMES.get((row["law"], row["parameter"]), f"{row['law']}: {row['parameter']}")


def listed(row: Row) -> str:
    return row["ranks"].replace(";", ", ")


def reason(row: Row) -> tuple[str, str, str, str]:
    every = row["note"].startswith(("too few N", "no round", "N ="))
    return row["label"], listed(row), "all" if every else name_of(row), row["note"]


def value(row: Row) -> Html:
    shown = [number(row.number(name)) for name in ("value", "value_ci_low", "value_ci_high")]
    interval = element("small", f" [{shown[1]}, {shown[2]}]", css="under") if shown[1] and shown[2] else ""
    return element("span", shown[0], interval)


def number(value: float) -> str:
    if math.isnan(value):
        return ""
    return three_digits(value) if value >= 0 else "−" + three_digits(-value)
