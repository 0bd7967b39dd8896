# SPDX-License-Identifier: Apache-2.0
# A comparison's page: what to rent in a sentence, what is not known, one figure, one table, the prices,
# and where all of it is from.
from __future__ import annotations

from scalebench.pages.comparison import found as of
from scalebench.pages.comparison.found import Comparison, Table
from scalebench.manifest import as_typed
from scalebench.pages.page import Html, element, joined, page, section, table
from scalebench.pages.run.panels import panels

CAPTION = "Time against cost. Down is faster, left is cheaper; what is quoted is a cross. N: GPUs (or CPU ranks) in use."
BEST = (
    "Best: nothing else here is as fast and as cheap. An instance is rented whole: a part of one is billed as the whole, and "
    "enters no decision."
)


def write_page(found: Comparison) -> str:
    body = joined(
        [
            element("h1", found.title()),
            verdict(found),
            costs(found),
            prices(found),
            pairs(found),
            cells(found),
            sources(found),
        ]
    )
    return page(f"{found.title()} – scalebench", body)


def verdict(found: Comparison) -> Html:
    *before, answer = found.answers() or [""]
    if not answer:
        return Html("")
    lines = [element("p", element("strong", answer)), *(element("p", line, css="muted") for line in before)]
    return element("div", *lines, css="verdict warn" if found.undecided() else "verdict")


def shown(content: Table, rest: str, numbers: tuple[int, ...] = (), weak: list[int] | None = None) -> Html:
    head, rows = content
    cells = [[small_print(cell) for cell in row] for row in rows]
    return table(head, cells, numbers=numbers, wrap=[len(head) - 1], weak=weak or [], rest=rest)


def small_print(cell: str) -> Html | str:
    """An interval under its number, so that a narrow page has room for the next one."""
    number, bracket, interval = cell.partition(" [")
    if not bracket or not interval.endswith("]"):
        return cell
    return joined([number, element("small", f"[{interval}", css="under")])


def costs(found: Comparison) -> Html:
    parts: list[object] = []
    plots = panels(found.folder, "cost", CAPTION)
    drawn = [element("figure", element("div", *plots, css="panels"), element("figcaption", CAPTION))] if plots else []
    for workload, content, origins in of.costs(found):
        weak = [place for place, origin in enumerate(origins) if origin == "quoted"]
        parts += [element("h3", workload), shown(content, "compare.json", numbers=(1, 2, 4), weak=weak)]
    words = [element("p", BEST, css="muted")] if parts else []
    return section("Time and cost", *drawn, *words, *parts)


def prices(found: Comparison) -> Html:
    content, notes = of.prices(found)
    if not content[1]:
        return Html("")
    small = [element("p", element("small", note), css="muted") for note in notes]
    return section("Prices", shown(content, "compare.json", numbers=(1,)), *small)


def pairs(found: Comparison) -> Html:
    content = of.pairs(found)
    return section("Each pair of types", shown(content, "compare.json", numbers=(2, 3))) if content[1] else Html("")


def cells(found: Comparison) -> Html:
    return joined([section(title, shown(content, "compare.csv", numbers=(1, 2, 3, 4, 5))) for title, content in of.cells(found)])


def sources(found: Comparison) -> Html:
    head, rows = of.sources(found)
    listed = [[*row[:-1], element("code", row[-1])] for row in rows]
    notes = [element("p", note, css="muted") for note in of.meanings(found)]
    words = as_typed(found.document.get("command"))
    made = [element("p", "Made by ", element("code", words))] if words else []
    return section("Where the numbers are from", table(head, listed, wrap=[1, 4]), *notes, *made)
