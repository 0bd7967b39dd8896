# SPDX-License-Identifier: Apache-2.0
# The report's table of published results, when it is asked for by their names.
from __future__ import annotations

from scalebench.numbers import percent, three_digits
from scalebench.pages.page import Html, element, section, table
from scalebench.published import series_of


def published(names: list[str]) -> Html:
    """The report's section; nothing without names."""
    if not names:
        return Html("")
    head = ["published", "GPUs", "img/s", "s", "speedup", "efficiency", "of", "kind", "printed", "source", "note"]
    cells: list[list[object]] = []
    for series in series_of(names):
        for row in series.rows:
            share = percent(row.number("efficiency"))
            images = row["images_per_s"] or (f"{row['images_per_s_per_gpu']} a GPU" if row["images_per_s_per_gpu"] else "")
            time = row["seconds"] or (f"{row['seconds_per_epoch']} an epoch" if row["seconds_per_epoch"] else "")
            cells.append(
                [series.label(), row["gpus"], images, time, three_digits(row.number("speedup")), share, row["base"],
                 row["kind"], row["printed"].removeprefix("'"), series.source(), row["note"]]
            )  # fmt: skip
    words = (
        "Quoted from elsewhere, not measured here, and never in a ratio with what was. Derived: by arithmetic alone from "
        "the quoted rows of the same series; of: the number of GPUs that speedup and efficiency are relative to."
    )
    shown = table(head, cells, numbers=[1, 2, 3, 4, 5], wrap=[8, 9, 10], rest="configs/published.csv")
    return section("Published results", element("p", words, css="muted"), shown)
