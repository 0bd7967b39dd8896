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

KINDS = {".svg": "image/svg+xml", ".png": "image/png"}  # the first that is there is taken
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
        files = {path.stem for pattern in (name, f"{name}-*") for path in (folder / "figures").glob(f"{pattern}.[sp][vn]g")}
        panels = [panel for file in sorted(files, key=numbers_in_order) if (panel := panel_of(folder, file))]
        room = min(MOST_OF.get(name, MOST_OPEN), MOST_OPEN - opened)
        opened += len(panels[:room])
        if panels:
            found.append(Figure(name, caption, panels[:room], panels[room:]))
    return found


def panel_of(folder: Path, name: str) -> Panel | None:
    for suffix, kind in KINDS.items():
        try:
            data = base64.b64encode((folder / "figures" / f"{name}{suffix}").read_bytes()).decode("ascii")
        except OSError:
            continue
        return Panel(name.replace("-", " "), Markup(f"data:{kind};base64,{data}"))
    return None


def numbers_in_order(name: str) -> list[tuple[int, str]]:
    """Sorts 'n-4' before 'n-16'."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split("([0-9]+)", name)]
