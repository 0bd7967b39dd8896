# SPDX-License-Identifier: Apache-2.0
# A night as one page: the verdict and its reasons, hosts at fault, the programs that changed, what
# else changed since the last good night, the cells that need a look with their last nights, and all.
from __future__ import annotations

from collections.abc import Sequence

from scalebench.pages.night.record import MEANINGS, Night, against, before_after, change, histories, label
from scalebench.pages.night.sparkline import sparkline
from scalebench.numbers import percent
from scalebench.pages.page import Html, element, joined, link, page, section, table
from scalebench.plain import plain
from scalebench.rows import Row

# All others are red: a verdict that is not known must not look like a pass.
TONES = {"PASS": "pass", "UNSURE": "warn"}
CELL_TONES = {"SLOWER": "bad", "MACHINE": "bad", "MISSING": "bad", "WATCHED": "odd", "UNDECIDED": "odd", "FASTER": "good"}
COLOURS = {"bad": "var(--bad)", "good": "var(--good)", "odd": "var(--note)"}
MOST_CARDS, MOST_LISTED, MOST_LINES = 100, 400, 50
STYLE = """
.night b.big { font-size: 2.2rem; line-height: 1.1; letter-spacing: .01em; color: var(--bad); display: block; }
.verdict.night { border-color: var(--bad); } .verdict.night.pass { border-color: var(--good); }
.verdict.night.warn { border-color: var(--note); } .night.pass b.big { color: var(--good); }
.night.warn b.big, .odd { color: var(--note); } .good { color: var(--good); font-weight: 600; } .odd { font-weight: 600; }
.cell { display: grid; grid-template-columns: minmax(14rem, 1fr) 21rem 155px; gap: .1rem 1.4rem; padding: .6rem 0;
  border-bottom: 1px solid var(--line); align-items: center; font-variant-numeric: tabular-nums; break-inside: avoid; }
.cell .what { overflow-wrap: anywhere; } .cell .word { font-size: .8rem; letter-spacing: .03em; display: block; }
.cell .why { grid-column: 1 / -1; font-size: .82rem; color: var(--muted); overflow-wrap: anywhere; }
.spark { display: block; } .much > * { white-space: nowrap; }
@media (max-width: 46rem) { .cell { grid-template-columns: 1fr; } td.wrap { min-width: 6rem; } }
"""  # fmt: skip


def write_page(night: Night) -> str:
    day = plain(night.text("started_utc")[:10] or "an unknown day", 20)
    body = joined(
        [
            element("h1", f"Night of {day}: {night.name()}"), element("p", plain(night.text("host")), css="muted"),
            verdict(night), programs(night), changes(night), cells(night), all_cells(night), footer(night),
        ]
    )  # fmt: skip
    return page(f"{night.title()}: {night.name()}"[:200], body, STYLE)


def verdict(night: Night) -> Html:
    parts: list[object] = [element("b", night.verdict, css="big"), element("p", night.title()),
                           element("p", MEANINGS[night.verdict] + ".", css="muted")]  # fmt: skip
    parts += [element("p", element("strong", f"host {host}"), css="bad") for host in night.hosts_at_fault()[:MOST_LINES]]
    if night.text("suspect_line"):
        parts.append(element("p", plain(night.text("suspect_line"), 600)))
    parts += [element("p", plain(doubt), ".", css="bad") for doubt in night.doubts]
    counts = night.counts()
    parts.append(element("p", ", ".join(f"{number} {plain(name, 40)}" for name, number in counts.items()), css="muted"))
    if night.text("accepted_now", "reason") or night.text("accepted_now", "utc"):
        parts.append(element("p", "Accepted: ", plain(night.text("accepted_now", "reason")) or "no reason given"))
    return element("div", *parts, css=f"verdict night {TONES.get(night.verdict, 'stop')}")


def programs(night: Night) -> Html:
    """Programs whose bytes are not those of the accepted build."""
    rows = [[element("code", plain(word, 16)) for word in change] for change in night.changed_programs()]
    commits = [plain(night.text(*path, "tool", "commit"), 12) or "unknown" for path in (("accepted",), ())]
    said = f"the accepted build, of {plain(night.text('accepted', 'run'), 80)}, is of commit {commits[0]}, tonight's of {commits[1]}"
    if not night.text("accepted", "run"):
        return section("The build", element("p", "No build was accepted before tonight."))
    if not rows:
        more = "a fault was put into tonight's" if night.text("rehearsal") else "nothing was compared in turns"
        return section("The build", element("p", f"The programs are the accepted ones, byte for byte; {more}."))
    return section("The build", element("p", said, "."), table(["program", "accepted SHA-256", "tonight's"], rows, rest="nightly.json"))


def changes(night: Night) -> Html:
    rows = [[plain(word) or "–" for word in change] for change in night.changes()]
    since = plain(night.text("good_before"), 80)
    if not rows:
        return section("What else changed", element("p", "Nothing that is looked at: software, libraries, hosts." if since else "There was no good night before."))
    return section("What else changed since the last good night",
                   table(["what", "before", "after"], rows, wrap=[0, 1, 2], rest="nightly.json"))  # fmt: skip


def cells(night: Night) -> Html:
    found = night.needing_a_look()
    if not found:
        return section("Cells that need a look", element("p", "None." if night.cells else "There are no cells."))
    past = histories(night)
    words = (
        "Before: the accepted build tonight, or the median of its good nights. The change is relative to that: positive is slower, "
        "with its 95 % interval. Sees: the smallest change that would have shown. The line: the accepted programs' last nights."
    )
    cards = [card(cell, past.get(cell["key"], [])) for cell in found[:MOST_CARDS]]
    more = len(found) - len(cards)
    rest = element("p", f"{more} more in ", link("history.csv", "history.csv"), css="muted") if more > 0 else ""
    return section("Cells that need a look", element("p", words, css="muted"), element("div", *cards, css="cells"), rest)


def card(cell: Row, past: Sequence[Row]) -> Html:
    tone = CELL_TONES.get(cell["verdict"], "bad")
    why = [against(cell), f"sees {percent(cell.number('sees'))}" if percent(cell.number("sees")) else "", plain(cell["note"])]
    return element(
        "div",
        element("div", element("span", plain(cell["verdict"], 40), css=f"word {tone}"), " ", element("bdi", label(cell)), css="what"),
        element("div", element("span", before_after(cell)), " ", element("strong", change(cell), css=tone), css="much"),
        element("div", sparkline(past, cell.number("before"), COLOURS[tone]), css="past"),
        element("div", " · ".join(part for part in why if part), css="why"),
        css="cell",
    )


def all_cells(night: Night) -> Html:
    if not night.cells:
        return Html("")
    rows = [
        [element("span", plain(cell["verdict"], 40), css=CELL_TONES.get(cell["verdict"], "")), element("bdi", label(cell)),
         before_after(cell), change(cell), against(cell), percent(cell.number("sees"))]
        for cell in night.cells
    ]  # fmt: skip
    head = ["verdict", "cell", "before → after", "change", "against", "sees"]
    shown = table(head, rows, numbers=[3, 5], wrap=[1], most=MOST_LISTED, rest="history.csv")
    return section("Every cell", element("details", element("summary", f"{len(night.cells)} cells"), shown))


def footer(night: Night) -> Html:
    rows = [[name, element("code", plain(night.text(*path), 200))] for name, path in (
        ("run", ("run",)), ("started", ("started_utc",)), ("finished", ("finished_utc",)), ("exit code", ("exit_code",)),
        ("accepted build", ("accepted", "run")), ("last good night before", ("good_before",))) if night.text(*path)]  # fmt: skip
    names = [name for name in ("history.csv", "nightly.json") if (night.folder / name).is_file()]
    links = joined(link(name, name) for name in names)
    return element("footer", table(["provenance", ""], rows, wrap=[1]), element("p", links))
