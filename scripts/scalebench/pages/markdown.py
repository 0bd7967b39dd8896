# SPDX-License-Identifier: Apache-2.0
# GitHub-flavoured Markdown around texts of others: they stay text, whatever they hold.
from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from scalebench.plain import lines, plain

LIMIT = 1_000_000  # bytes of a file; GitHub takes 1 MiB for a step's summary


def text_of(text: object, most: int = 300) -> str:
    """Text that Markdown leaves as it is: no markup, no HTML, no mention, no link, no further cell."""
    escaped = plain(text, most).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # Within a word an underscore is no markup.
    escaped = re.sub(r"[\\`*\[\]#|~$]|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])", r"\\\g<0>", escaped)
    return re.sub(r"@|:(?=/)|www(?=\.)", r"\g<0><!-- -->", escaped)


def code(text: object) -> str:
    """A fenced block that its content cannot end."""
    content = lines(text).rstrip("\n")
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", content)), default=0))
    return f"{fence}text\n{content}\n{fence}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """`rows` are escaped already."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows])
