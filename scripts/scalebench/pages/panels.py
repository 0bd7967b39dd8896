# SPDX-License-Identifier: Apache-2.0
# The figures of a folder as images within a page, which needs no other file then. A page has at most six open: the
# others are folded.
from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from markupsafe import Markup

MOST_OPEN = 6
MOST_OF = {"efficiency": 2, "waterfall": 4}  # of which there may be many


@dataclass(frozen=True)
class Panel:
    title: str
    data: Markup  # base64 is no text to be escaped


@dataclass
class Figure:
    """The panels of one kind."""

    name: str
    caption: str
    open: list[Panel] = field(default_factory=list)
    folded: list[Panel] = field(default_factory=list)


def figures_of(folder: Path, captions: Mapping[str, str]) -> list[Figure]:
    """Those that were drawn, by the names and captions of their kinds; what comes first stands open."""
    found, opened = [], 0
    for name, caption in captions.items():
        files = [*(folder / "figures").glob(f"{name}.svg"), *(folder / "figures").glob(f"{name}-*.svg")]
        panels = [Panel(file.stem.replace("-", " "), data_of(file)) for file in sorted(files, key=answers_first if name == "waterfall" else numbers_in_order)]
        room = min(MOST_OF.get(name, MOST_OPEN), MOST_OPEN - opened)
        opened += len(panels[:room])
        if panels:
            found.append(Figure(name, caption, panels[:room], panels[room:]))
    return found


def data_of(file: Path) -> Markup:
    return Markup("data:image/svg+xml;base64," + base64.b64encode(file.read_bytes()).decode("ascii"))


def answers_first(file: Path) -> tuple[bool, bool, int, str]:
    """Sorts the largest N of what was measured first, and what only helps to explain it last."""
    ends = re.search(r"-n-([0-9]+)(?:x([0-9]+))?", file.stem)
    ranks = int(ends[1]) * int(ends[2] or 1) if ends else 0
    explains = re.search("-(none|barrier-only)-", file.stem) is not None
    return explains, "emulated" in file.stem, -ranks, file.stem


def numbers_in_order(file: Path) -> list[tuple[int, str]]:
    """Sorts 'n-4' before 'n-16'."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split("([0-9]+)", file.stem)]
