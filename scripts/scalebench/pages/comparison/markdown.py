# SPDX-License-Identifier: Apache-2.0
# A comparison as Markdown: its sentences, the table of costs, the prices, and where it is from.
from __future__ import annotations

from scalebench.pages.comparison import found as of
from scalebench.pages.comparison.found import Comparison, Table
from scalebench.pages.markdown import table, text_of

LONGEST = 500  # characters of a text
MOST = 200  # rows of a table


def write_markdown(found: Comparison) -> str:
    parts = [f"# {text_of(found.title(), 120)}"]
    *open_ones, answer = found.answers() or [""]
    parts += [f"**{text_of(answer, LONGEST)}**"] if answer else []
    parts += [text_of(line, LONGEST) for line in open_ones]
    for workload, content, _ in of.costs(found):
        parts += [f"## Time and cost: {text_of(workload)}", escaped(content)]
    prices, notes = of.prices(found)
    if prices[1]:
        parts += ["## Prices", escaped(prices), *(text_of(note, LONGEST) for note in notes)]
    for title, content in (("Each pair of types", of.pairs(found)), *of.cells(found), ("Where the numbers are from", of.sources(found))):
        if content[1]:
            parts += [f"## {title}", escaped(content)]
    parts += [text_of(note) for note in of.meanings(found)]
    return "\n\n".join(parts) + "\n"


def escaped(content: Table) -> str:
    head, rows = content
    shown = table(head, [[text_of(cell, LONGEST) for cell in row] for row in rows[:MOST]])
    return shown if len(rows) <= MOST else f"{shown}\n\n{len(rows) - MOST} more rows in the CSV files"
