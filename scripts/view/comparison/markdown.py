# SPDX-License-Identifier: Apache-2.0
# A comparison as Markdown: its sentences, the table of costs, the prices, and where it is from.
from __future__ import annotations

from view.comparison import found as of
from view.comparison.found import Comparison, Table
from view.markdown import table, text_of

LONGEST = 500  # characters of a text
MOST = 200  # rows of a table


def write_markdown(found: Comparison) -> str:
    parts = [f"# {text_of(found.title(), 120)}"]
    for workload, sentence, unknown in of.answers(found):
        before = f"{text_of(workload)}: " if workload else ""
        parts.append(f"{before}**{text_of(sentence, LONGEST)}**")
        parts += [text_of(unknown, LONGEST)] if unknown else []
    if found.untested():
        parts.append(of.NOTHING_TESTED)
    parts += map(text_of, of.limits(found))
    for whole, title in ((True, "Time and cost of an epoch"), (False, "Parts of an instance, billed as a whole one")):
        for workload, content, _ in of.costs(found, whole):
            parts += [f"## {title}: {text_of(workload)}", escaped(content)]
    steps = of.throughput(found)
    if steps:
        parts += ["## Cost of images, training steps alone", escaped(steps[0]), text_of(of.STEPS_ALONE, LONGEST)]
    prices, notes = of.prices(found)
    if prices[1]:
        parts += ["## Prices", escaped(prices), *(text_of(note, LONGEST) for note in notes)]
    for title, content in (*of.cells(found), ("Where the numbers are from", of.sources(found))):
        if content[1]:
            parts += [f"## {title}", escaped(content)]
    parts += [text_of(note) for note in of.meanings(found)]
    return "\n\n".join(parts) + "\n"


def escaped(content: Table) -> str:
    head, rows = content
    shown = table(head, [[text_of(cell, LONGEST) for cell in row] for row in rows[:MOST]])
    return shown if len(rows) <= MOST else f"{shown}\n\n{len(rows) - MOST} more rows in the CSV files"
