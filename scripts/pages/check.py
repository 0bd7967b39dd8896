#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The README and docs, by Python's standard library alone: links that lead somewhere, a map that is complete,
# messages that programs really print.
# python -m pages.check [ROOT] prints file:line, the text and the rule of each breach; exit 1 when there is one.
from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Iterator

MOST_STORED, MOST_STORED_MEGABYTES = 900, 20  # files below results/reference

OTHER_PAGES = ["results/README.md", "configs/*/README.md"]

HEADING = re.compile(r"#{1,6} +(.*)")
CODE_SPAN = re.compile(r"(`+)(.+?)\1")
LINK = re.compile(r"!?\[([^\]]*)\]\(([^)\s]+)\)")

# What stands for something else in a message that troubleshooting.md shows, and what is put before it.
STANDS_FOR_ANY = re.compile(r"…|\b(?:ADDRESS|DIR|FILE|H|H1|H2|HOST|KIND|M|N|NAME|PROGRAM|RUN|USER|mpirun)\b|\d[\d.]*")
PUT_BEFORE = re.compile(r"^(?:setup: (?:warning: )?|build )")
LEAST_LETTERS = 10  # of a piece of a message that is looked for
SOURCES = ["bench", "collectives", "kernels", "models", "scripts"]


def anchors(page: str) -> set[str]:
    """Of its headings, as GitHub makes them."""
    found = set()
    fenced = False
    for line in page.splitlines():
        fenced ^= line.startswith("```")
        title = None if fenced else HEADING.match(line)
        if title:
            text = CODE_SPAN.sub(r"\2", LINK.sub(r"\1", title[1])).lower()
            found.add(re.sub(r"[^\w\- ]", "", text).replace(" ", "-"))
    return found


def lines_with_links(page: str) -> Iterator[tuple[int, str]]:
    fenced = False
    for number, line in enumerate(page.splitlines(), 1):
        fenced ^= line.startswith("```")
        if not fenced and not line.startswith("    "):
            yield number, line


def link_breaches(root: Path, name: str, page: str) -> Iterator[str]:
    for line, text in lines_with_links(page):
        for link in LINK.finditer(text):
            target, _, anchor = link[2].partition("#")
            if ":" in target:
                continue  # elsewhere
            file = (root / name).parent / target
            if not file.exists():
                yield f"{name}:{line}: {link[2]}   <- there is no such file"
            elif anchor and anchor not in anchors(file.read_text(encoding="utf-8") if target else page):
                yield f"{name}:{line}: {link[2]}   <- the page has no such heading"


def map_breaches(root: Path, readme: str) -> Iterator[str]:
    linked = {link[2].partition("#")[0] for link in LINK.finditer(readme)}
    for page in sorted((root / "docs").glob("*.md")):
        name = f"docs/{page.name}"
        if name not in linked:
            yield f"README.md:1: {name}   <- the README leads to every page of docs"


def stored_breaches(root: Path) -> Iterator[str]:
    """The stored runs, without what is drawn from them, are small enough to be cloned by everybody."""
    drawn = {"figures", "report.html", "report.md"}
    stored = [file for file in (root / "results/reference").rglob("*") if file.is_file() and drawn.isdisjoint(file.parts)]
    megabytes = sum(file.stat().st_size for file in stored) / 1e6
    if len(stored) > MOST_STORED or megabytes > MOST_STORED_MEGABYTES:
        yield (f"results/reference:1: {len(stored)} files, {megabytes:.1f} MB   "
               f"<- at most {MOST_STORED} files and {MOST_STORED_MEGABYTES} MB")  # fmt: skip


def program_text(root: Path) -> str:
    """All sources, with strings that go on in the next line joined."""
    texts = []
    for folder in SOURCES:
        for file in sorted((root / folder).rglob("*")):
            if file.is_file() and file.suffix in {"", ".cpp", ".hpp", ".cu", ".py"} and "pages" not in file.parts:
                texts.append(file.read_text(encoding="utf-8", errors="replace"))
    return re.sub(r'"\s*\n\s*"', "", "\n".join(texts)).replace('\\"', '"')


def message_breaches(name: str, page: str, program: str) -> Iterator[str]:
    """The first column of each table has messages, of which every piece must be in the sources."""
    for number, line in enumerate(page.splitlines(), 1):
        if not line.startswith("| "):
            continue
        for span in CODE_SPAN.finditer(line.split(" | ")[0]):
            for piece in STANDS_FOR_ANY.split(PUT_BEFORE.sub("", span[2])):
                words = piece.strip(" '\":;,")
                if len(words) >= LEAST_LETTERS and words not in program:
                    yield f"{name}:{number}: {words}   <- no program prints that"


def check(root: Path) -> list[str]:
    breaches: list[str] = []
    pages = [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").glob("*.md"))]
    pages += [file for pattern in OTHER_PAGES for file in sorted(root.glob(pattern))]
    for file in pages:
        breaches += link_breaches(root, file.relative_to(root).as_posix(), file.read_text(encoding="utf-8"))
    breaches += map_breaches(root, (root / "README.md").read_text(encoding="utf-8"))
    breaches += stored_breaches(root)
    troubles = root / "docs" / "troubleshooting.md"
    breaches += message_breaches("docs/troubleshooting.md", troubles.read_text(encoding="utf-8"), program_text(root))
    return breaches


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
    breaches = check(root)
    for breach in breaches:
        print(breach)
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
