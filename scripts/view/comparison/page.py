# SPDX-License-Identifier: Apache-2.0
# A comparison's page: what to rent in a sentence, what is not known, one figure, one table, the prices,
# and where all of it is from.
from __future__ import annotations

from view.comparison import found as of
from view.comparison.found import Comparison, Table
from view.manifest import as_typed
from view.page import Html, element, joined, page, section, table
from view.run.panels import panels

CAPTION = (
    "Time of an epoch against its cost. Down is faster, left is cheaper; what is predicted is hollow, what is "
    "quoted a cross. N: GPUs (or CPU ranks) in use."
)
PARTS = (
    "An instance is rented whole. On a part of it the whole one is billed, so these rows enter no decision; they say "
    "what the rest of the instance adds."
)


def write_page(found: Comparison) -> str:
    body = joined(
        [
            element("h1", found.title()),
            verdict(found),
            costs(found),
            parts(found),
            throughput(found),
            prices(found),
            cells(found),
            sources(found),
        ]
    )
    return page(f"{found.title()} – scalebench", body)


def verdict(found: Comparison) -> Html:
    lines: list[object] = []
    for workload, sentence, unknown in of.answers(found):
        before = [f"{workload}: "] if workload else []
        lines.append(element("p", *before, element("strong", sentence)))
        lines += [element("p", unknown, css="muted")] if unknown else []
    if found.untested():
        lines.append(element("p", of.NOTHING_TESTED, css="muted"))
    elif found.tested() > 0 and not lines:
        lines.append(element("p", element("strong", counted(found))))
    lines += [element("p", words, css="muted") for words in of.limits(found)]
    if not lines:
        return Html("")
    return element("div", *lines, css="verdict warn" if found.undecided() else "verdict")


def counted(found: Comparison) -> str:
    """'3 SAME, 1 SLOWER' of the cells."""
    counts: dict[str, int] = {}
    for row in found.cells:
        if row["verdict"]:
            counts[row["verdict"]] = counts.get(row["verdict"], 0) + 1
    return ", ".join(f"{number} {verdict}" for verdict, number in counts.items()) + "."


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
    for workload, content, origins in of.costs(found, whole=True):
        weak = [place for place, origin in enumerate(origins) if origin in ("predicted", "quoted")]
        parts += [element("h3", workload), shown(content, "cost.csv", numbers=(1, 2, 3), weak=weak)]
    if parts:
        words = "Best: nothing else here is as fast and as cheap."
        parts = [element("p", words, css="muted"), *parts]
    return section("Time and cost of an epoch", *drawn, *parts)


def parts(found: Comparison) -> Html:
    tables: list[object] = []
    for workload, content, _ in of.costs(found, whole=False):
        tables += [element("h3", workload), shown(content, "cost.csv", numbers=(1, 2, 3))]
    return section("Parts of an instance", element("p", PARTS, css="muted"), *tables) if tables else Html("")


def throughput(found: Comparison) -> Html:
    steps = of.throughput(found)
    if not steps:
        return Html("")
    content, origins = steps
    weak = [place for place, origin in enumerate(origins) if origin == "quoted"]
    return section("Cost of images, training steps alone", element("p", of.STEPS_ALONE, css="muted"),
                   shown(content, "cost.csv", numbers=(1, 2, 3), weak=weak))  # fmt: skip


def prices(found: Comparison) -> Html:
    content, notes = of.prices(found)
    if not content[1]:
        return Html("")
    small = [element("p", element("small", note), css="muted") for note in notes]
    return section("Prices", shown(content, "cost.csv", numbers=(1,)), *small)


def cells(found: Comparison) -> Html:
    return joined([section(title, shown(content, "compare.csv", numbers=(1, 2, 3, 4, 5))) for title, content in of.cells(found)])


def sources(found: Comparison) -> Html:
    head, rows = of.sources(found)
    listed = [[*row[:-1], element("code", row[-1])] for row in rows]
    notes = [element("p", note, css="muted") for note in of.meanings(found)]
    words = as_typed(found.document.get("command"))
    made = [element("p", "Made by ", element("code", words))] if words else []
    return section("Where the numbers are from", table(head, listed, wrap=[1, 4]), *notes, *made)
