# SPDX-License-Identifier: Apache-2.0
# The report's table of what was fitted, from the cells of fits.csv: the cost model of each allreduce.
from __future__ import annotations

from pathlib import Path

from scalebench.numbers import percent, three_digits
from scalebench.pages.page import Html, element, section, table
from scalebench.rows import Row, read_rows

# Of each coefficient what it is a million million of, or a million, so that people can read it.
COEFFICIENTS = {"alpha_seconds": 1e6, "beta_seconds_per_byte": 1e12, "gamma_seconds_per_byte": 1e12}


def cost_models(run: Path) -> Html:
    rows = [row for row in read_rows(run, "fits.csv") if row["residual"]]
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
    for place, row in enumerate(rows):
        shown = [three_digits(times * row.number(parameter)) for parameter, times in COEFFICIENTS.items()]
        cells.append([names[row["label"]], row["ranks"].replace(";", ", "), row["origin"], *shown, row["points"], percent(row.number("residual"))])
        weak += [place] if row["origin"] != "measured" else []
    shown_table = table(head, cells, numbers=[1, *range(3, 8)], weak=weak, rest="fits.csv")
    return section("Cost model", element("p", words, css="muted"), shown_table)


def names_of(rows: list[Row]) -> dict[str, str]:
    """The labels without the words that all of them have; the first one stays."""
    labels = {row["label"]: row["label"].split() for row in rows}
    common = set.intersection(*map(set, labels.values())) if len(labels) > 1 else set()
    return {label: " · ".join(words[:1] + [word for word in words[1:] if word not in common]) for label, words in labels.items()}
