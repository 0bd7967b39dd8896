#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# docs/cli.md is what the programs say with --help-all, page by page.
# python -m pages.reference FOLDER_OF_PROGRAMS [ROOT] prints what differs; exit 1 when something does, 77 when no
# program is there. With --write it makes the page anew, which needs all of them.
from __future__ import annotations

import argparse
import difflib
import re
import sys
from pathlib import Path
from typing import Iterator

from pages.commands import PROGRAMS, Programs

PAGE = "docs/cli.md"
TITLE = """# Command line

Every program, verb and option, as `--help-all` prints them; `--help` shows the usual ones only. This page is made
by `cd scripts; ./python -m pages.reference --write ../build/release/bin`, and a test holds it against the programs.
"""
SECTION = re.compile(r"^##+ ([^\n]+)\n\n```text\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
# On every page, and here said once, by scalebench.
REPEATED = re.compile(r"\n\nExit code: .*\Z|\n  (-h, --help +this page|--help-all +all options|-V, --version +the version of this program)(?=\n|\Z)")


def without_repetitions(page: str) -> str:
    return REPEATED.sub("", page.rstrip("\n"))


def sections(programs: Programs, names: list[str]) -> Iterator[tuple[str, str]]:
    """Heading, text: of each program, and behind scalebench its verbs in the order of their list."""
    for name in names:
        page = programs.help(name)
        yield name, page.rstrip("\n") if name == "scalebench" else without_repetitions(page)
        if name == "scalebench":
            for verb in re.findall(r"^  ([a-z-]+) ", page.partition("\nVerbs:\n")[2].partition("\n\n")[0], re.MULTILINE):
                yield f"{name} {verb}", without_repetitions(programs.help(name, verb))


def page_of(found: list[tuple[str, str]]) -> str:
    parts = [TITLE]
    for heading, text in found:
        level = "##" if " " not in heading else "###"
        parts.append(f"{level} {heading}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


def differences(page: str, found: list[tuple[str, str]], left_out: list[str]) -> Iterator[str]:
    there = dict(SECTION.findall(page))
    for heading, text in found:
        if heading not in there:
            yield f"{PAGE}: no section {heading}"
        elif there[heading] != text:
            yield from difflib.unified_diff(there[heading].splitlines(), text.splitlines(), f"{PAGE}: {heading}",
                                            f"{heading} --help-all", n=0, lineterm="")  # fmt: skip
    known = {heading for heading, _ in found}
    for heading in there:
        if heading not in known and heading.split()[0] not in left_out:
            yield f"{PAGE}: {heading} is no program or verb"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m pages.reference", description="docs/cli.md against --help-all")
    parser.add_argument("folder", type=Path, help="with the programs")
    parser.add_argument("root", type=Path, nargs="?", default=Path(__file__).resolve().parents[2])
    parser.add_argument("--write", action="store_true", help="make the page anew")
    words = parser.parse_args()
    programs = Programs(words.folder, words.root)
    there = [name for name in PROGRAMS if programs.has(name)]
    left_out = [name for name in PROGRAMS if name not in there]
    if not there:
        print(f"skipped: none of {', '.join(PROGRAMS)} in {words.folder}")
        return 77
    found = list(sections(programs, there))
    file = words.root / PAGE
    if words.write:
        if left_out:
            parser.error(f"not in this build: {', '.join(left_out)}; the page has all programs")
        file.write_text(page_of(found), encoding="utf-8")
        return 0
    wrong = list(differences(file.read_text(encoding="utf-8"), found, left_out))
    print("\n".join([*wrong, f"{len(found)} pages of help" + (": make docs/cli.md anew as it says" if wrong else "")]))
    if left_out:
        print(f"not in this build, and so not looked at: {', '.join(left_out)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
