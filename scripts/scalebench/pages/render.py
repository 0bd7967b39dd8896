# SPDX-License-Identifier: Apache-2.0
# How answers are put into pages and into Markdown: each table has one specification of its columns, and
# Jinja2's templates escape all that is not markup of their own. What nobody could see becomes visible.
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from scalebench.plain import lines, plain
from scalebench.rows import Row

LONGEST = 500  # characters of a text in Markdown


@dataclass(frozen=True)
class Toned:
    """A cell in a colour: muted, bad, good, odd; or as code."""

    text: str
    tone: str = ""
    small: str = ""  # stands under it
    image: Markup = Markup()  # stands in its place where there are images

    def __str__(self) -> str:
        return f"{self.text} {self.small}".rstrip()


@dataclass(frozen=True)
class Column:
    """`of` makes a cell of a row: a text, whose interval in brackets stands under its number."""

    head: str
    of: Callable[[Any], object]
    css: str = "number"  # or '', or wrap
    always: bool = False  # in the table although all rows have the same
    brief: bool = True  # in Markdown, too


def text(head: str, of: Callable[[Any], object], **more: bool) -> Column:
    return Column(head, of, "", **more)


def wide(head: str, of: Callable[[Any], object], **more: bool) -> Column:
    return Column(head, of, "wrap", **more)


@dataclass(frozen=True)
class Table:
    title: str
    columns: Sequence[Column]
    rows: Sequence[tuple[bool, Sequence[object]]]  # whether it is set back, and its cells
    rest: str  # where the others are
    most: int = 400  # of a page; Markdown has half of them

    def cells(self, row: Sequence[object], brief: bool = False) -> list[tuple[Column, object]]:
        """Beside their columns; of those that are brief alone."""
        return [(column, cell) for column, cell in zip(self.columns, row) if column.brief or not brief]


@dataclass(frozen=True)
class Section:
    """Without a table it is not there."""

    title: str
    tables: Sequence[Table]
    words: str = ""  # what the columns mean
    once: str = ""  # what is the same in every row
    folded: str = ""  # what the fold is called
    brief: bool = True


def section(
    title: str, columns: Sequence[Column], groups: Mapping[str, Sequence[Any]], rest: str, words: str = "", *,
    weak: Callable[[Any], bool] = lambda _: False, folded: str = "", brief: bool = True, most: int = 400,
) -> Section:  # fmt: skip
    """A table for each group of rows. A column without a cell goes; one whose cells are all alike is said once."""
    rows = {name: [[column.of(row) for column in columns] for row in group] for name, group in groups.items() if group}
    every = [row for group in rows.values() for row in group]
    kept, once = [], []
    for place, column in enumerate(columns):
        values = {str(row[place]) for row in every}
        if values != {""} and (column.always or len(values) > 1 or (len(every) == 1 and column.css)):
            kept.append(place)
        elif values - {""}:
            once.append(f"{column.head} {values.pop()}")
    tables = []
    for name, group in rows.items():
        shown = [place for place in kept if any(str(cells[place]) for cells in group)]
        lines = [(weak(row), [cells[place] for place in shown]) for row, cells in zip(groups[name], group)]
        tables.append(Table(name, [columns[place] for place in shown], lines, rest, most))
    return Section(title, tables, words, f"In every row: {', '.join(once)}." if once else "", folded, brief)


def pairs(title: str, heads: tuple[str, str], groups: dict[str, list[tuple[str, object]]], folded: str = "") -> Section:
    """Names and values, which no Markdown has."""
    columns = [text(heads[0], lambda pair: pair[0].replace("_", " "), always=True),
               wide(heads[1], lambda pair: pair[1], always=True)]  # fmt: skip
    return section(title, columns, groups, "manifest.json", folded=folded, brief=False)


def table(columns: Sequence[Column], rows: Sequence[Any], rest: str, title: str = "") -> Table:
    """One as it is."""
    return Table(title, columns, [(False, [column.of(row) for column in columns]) for row in rows], rest)


def number(column: str, form: Callable[..., str], head: str = "", **more: bool) -> Column:
    """The cells of `column` with their intervals, as COLUMN_ci_low and COLUMN_ci_high hold them."""
    return Column(head or column, lambda row: with_ends(row, column, form), **more)


def with_ends(row: Row, column: str, form: Callable[..., str], low: str = "_ci_low", high: str = "_ci_high") -> str:
    return form(row.number(column), row.number(column + low), row.number(column + high))


def parted(cell: object) -> tuple[str, list[str], Toned]:
    """('84.0 %', ['[81.9, 86.2]'], …): what a cell shows, what stands under it, and how."""
    toned = cell if isinstance(cell, Toned) else Toned(str(cell))
    number, bracket, ends = toned.text.rpartition(" [")
    number, interval = (number, f"[{ends}") if bracket and ends.endswith("]") else (toned.text, "")
    return number, [under for under in (interval, toned.small) if under], toned


def for_html(value: object) -> object:
    return value if isinstance(value, Markup) else lines(value, 20_000)


def for_markdown(value: object) -> Markup:
    """Text that Markdown leaves as it is: no markup, no HTML, no mention, no link, no further cell."""
    if isinstance(value, Markup):
        return value
    escaped = plain(value, LONGEST).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # Within a word an underscore is no markup.
    escaped = re.sub(r"[\\`*\[\]#|~$]|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])", r"\\\g<0>", escaped)
    return Markup(re.sub(r"@|:(?=/)|www(?=\.)", r"\g<0><!-- -->", escaped))


def render(template: str, **words: Any) -> str:
    """A template of templates/, by the ending of its name."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
        finalize=for_markdown if template.endswith(".md.j2") else for_html,
    )  # fmt: skip
    environment.filters["parted"] = parted
    found = environment.get_template(template).render(**words)
    return re.sub("\n{3,}", "\n\n", found).strip() + "\n"


def sections(found: Iterable[Section | None]) -> list[Section]:
    return [one for one in found if one and one.tables]
