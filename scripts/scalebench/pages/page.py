# SPDX-License-Identifier: Apache-2.0
# The frame of report.html: one file without scripts or outside links, escaped throughout, readable
# in the light, in the dark and on paper.
from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from urllib.parse import quote

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"

STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --muted: #59636e; --line: #dfe3e8; --paper: #ffffff;
  --soft: #f6f8fa; --good: #1a7f37; --bad: #b42318; --note: #9a6700; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ed; --muted: #9aa4af; --line: #30363d;
  --paper: #12161b; --soft: #1b2026; --good: #56b870; --bad: #ff8178; --note: #d9a43a; } }
body { margin: 0 auto; padding: 2.5rem 1.5rem 4rem; max-width: 80rem; background: var(--paper);
  color: var(--ink); font: 15px/1.55 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
h1 { margin: 0; font-size: 1.7rem; line-height: 1.25; }
h2 { margin: 2.8rem 0 .6rem; font-size: 1.15rem; }
h3 { margin: 1.6rem 0 .4rem; font-size: 1rem; }
p { margin: .4rem 0; max-width: 50rem; }
.muted, figcaption, footer { color: var(--muted); }
.verdict { margin: 1.4rem 0; padding: .9rem 1.2rem; border-left: 4px solid var(--good);
  background: var(--soft); border-radius: 0 6px 6px 0; }
.verdict.warn { border-color: var(--note); }
.verdict.stop { border-color: var(--bad); }
.verdict li { margin: .35rem 0; }
.verdict ul { margin: .3rem 0; padding-left: 1.1rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); gap: .8rem; margin: .8rem 0; }
.card { border: 1px solid var(--line); border-top: 4px solid var(--good); border-radius: 6px; padding: .7rem .9rem;
  background: var(--paper); font-size: .92rem; overflow-wrap: anywhere; }
.card.amber { border-top-color: var(--note); }
.card strong { display: block; font-size: 1.7rem; line-height: 1.3; }
.card.amber strong, .card p { color: var(--note); }
.card:not(.amber) p { color: var(--muted); }
.scroll { overflow-x: auto; margin: .5rem 0; }
table { border-collapse: collapse; font-size: .86rem; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--muted); vertical-align: bottom; }
th, td { white-space: nowrap; }
th, td { padding: .32rem .55rem; border-bottom: 1px solid var(--line); }
th.number, td.number { text-align: right; }
td.wrap { white-space: normal; overflow-wrap: anywhere; min-width: 14rem; }
td small { color: var(--muted); }
td small.under { display: block; }
tr.weak td { color: var(--muted); font-style: italic; }
.side { display: flex; flex-wrap: wrap; gap: 0 2.5rem; }
.side > div { max-width: 100%; }
figure { margin: 1.2rem 0 2rem; }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr)); gap: 1rem 2rem;
  align-items: start; }
figure img { max-width: 100%; background: #fff; }
figcaption { font-size: .86rem; }
code { font: .86em ui-monospace, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
a { color: inherit; text-decoration-color: var(--muted); }
.bad { color: var(--bad); font-weight: 600; }
summary { cursor: pointer; color: var(--muted); }
footer { margin-top: 3.5rem; padding-top: 1rem; border-top: 1px solid var(--line); font-size: .82rem; }
@media screen and (max-width: 40rem) { body { padding: 1.2rem .9rem 3rem; overflow-wrap: anywhere; }
  h1 { font-size: 1.35rem; } .verdict { padding: .7rem .8rem; } .cards { grid-template-columns: 1fr; }
  .scroll thead { display: none; } .scroll table, .scroll tbody, .scroll tr { display: block; }
  .scroll tr { padding: .5rem 0; border-bottom: 2px solid var(--line); }
  .scroll td, .scroll td.number, .scroll td.wrap { display: flex; justify-content: space-between; gap: .2rem 1rem;
    flex-wrap: wrap; min-width: 0; padding: .12rem 0; border: 0; white-space: normal; text-align: left; }
  .scroll td:empty { display: none; } .scroll td::before { content: attr(data-head); color: var(--muted); } }
@media print { body { max-width: none; padding: 0; font-size: 10pt; } .scroll { overflow: visible; }
  table { max-width: 100%; font-size: 7pt; line-height: 1.3; } th, td { white-space: normal; padding: .2rem .25rem; }
  td.wrap { min-width: 0; } td code { font-size: 1em; } .panels { grid-template-columns: 1fr 1fr; }
  figure, tr { break-inside: avoid; } h2, h3 { break-after: avoid; } }
"""


class Html(str):
    """Text that is markup already. Any other text is escaped where it is put into a page."""


def markup(text: object) -> str:
    return str(text) if isinstance(text, Html) else escape(str(text))


def element(tag: str, *content: object, css: str = "") -> Html:
    opening = f'{tag} class="{escape(css)}"' if css else tag
    return Html(f"<{opening}>{''.join(map(markup, content))}</{tag}>")


def explained(*content: object) -> Html:
    """What a table's columns mean, folded: read once, in the way ever after."""
    return element("details", element("summary", "What the columns mean"), element("p", *content, css="muted"))


def joined(parts: Iterable[object]) -> Html:
    return Html("\n".join(map(markup, parts)))


def table(
    head: Sequence[str], rows: Iterable[Sequence[object]], numbers: Iterable[int] = (), wrap: Iterable[int] = (),
    weak: Iterable[int] = (), most: int = 400, rest: str = "",
) -> Html:  # fmt: skip
    """Columns whose places are in `numbers` are set right, those in `wrap` may break; rows in `weak`
    are set back. A column without any cell is left out. Beyond `most` rows the table ends and says where the `rest` is."""
    css = {**dict.fromkeys(wrap, "wrap"), **dict.fromkeys(numbers, "number")}
    rows, weak = list(rows), set(weak)
    shown = [n for n in range(len(head)) if not rows or any(n < len(row) and markup(row[n]) for row in rows)]
    lines = [element("tr", *(element("th", head[n], css=css.get(n, "")) for n in shown))]
    for place, row in enumerate(rows[:most]):
        cells = (cell_of(row[n], head[n], css.get(n, "")) for n in shown if n < len(row))
        lines.append(element("tr", *cells, css="weak" if place in weak else ""))
    more = f"{len(rows) - most} more rows in {rest}" if len(rows) > most else ""
    body = element("table", element("thead", lines[0]), element("tbody", *lines[1:]))
    return joined(
        [element("div", body, css="scroll"), *([element("p", more, css="muted")] if more else [])]
    )


def cell_of(cell: object, head: str, css: str) -> Html:
    """A cell that knows the name of its column: on a telephone a row is a list of them."""
    kind = f' class="{css}"' if css else ""
    inner = markup(cell)
    # Beside the name it is one thing, whatever it is made of.
    return Html(f'<td{kind} data-head="{escape(head)}">{f"<span>{inner}</span>" if "<" in inner else inner}</td>')


def link(target: str, *content: object) -> Html:
    """A link to a file beside the page, by a path relative to it."""
    return Html(f'<a href="{escape(quote(target))}">{"".join(map(markup, content))}</a>')


def section(title: str, *content: object) -> Html:
    return joined([element("h2", title), *content]) if content else Html("")


def page(title: str, body: Html, style: str = "") -> str:
    """`style` is what this page needs beyond the common one."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{STYLE}{style}</style>
</head>
<body>
{body}
</body>
</html>
"""
