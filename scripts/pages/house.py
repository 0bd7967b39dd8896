#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# docs/architecture.svg is the table of scripts/check_rooms as a drawing: a room stands above all that it may include.
# python -m pages.house [ROOT] exits with 1 when it is of another table; with --write it draws it anew.
from __future__ import annotations

import argparse
import runpy
import sys
import textwrap
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

SCRIPTS = Path(__file__).resolve().parents[1]
DRAWING = "docs/architecture.svg"
TESTS = {"bench/e2e", "bench/fuzz"}  # rooms of tests stand outside the house
COLUMNS = ["what is computed and moved", "training", "one benchmark", "a study"]
COLOURS = {"kernels": "#dbe7f5", "collectives": "#d6efe0", "models": "#fbe8cf", "bench": "#eadff3"}
WIDTH, GAP, MARGIN, TITLE = 256, 12, 16, 40  # a room is as wide as the longest name, bench/study/import/collectives
LINE, CHARACTERS = 15, 34  # of a description


class Room(NamedTuple):
    name: str
    what: str
    column: int
    level: int


def column_of(room: str) -> int:
    floor = room.split("/")[0]
    if floor in ("kernels", "collectives"):
        return 0
    if floor == "models":
        return 1
    return 3 if room == "bench" or room.startswith("bench/study") else 2


def house(check: dict[str, Any]) -> list[Room]:
    """Each room one level above the highest that it may include, or of which it may include a file."""
    may = check["read_rooms"](check["ROOMS"])
    levels: dict[str, int] = {}

    def level_of(room: str) -> int:
        if room not in levels:
            uses = {one if one in may else check["room_of"](one) for one in may[room]} | {"kernels"}
            levels[room] = 1 + max((level_of(one) for one in uses - TESTS - {room}), default=-1)
        return levels[room]

    rows = [(name, what) for name, _, what, _ in check["rows"](check["ROOMS"]) if name not in TESTS]
    return [Room(name, what, column_of(name), level_of(name)) for name, what in rows]


def height_of(room: Room) -> int:
    return 28 + LINE * len(textwrap.wrap(room.what, CHARACTERS))


def drawing(rooms: list[Room]) -> str:
    width = 2 * MARGIN + len(COLUMNS) * WIDTH + (len(COLUMNS) - 1) * GAP
    parts = []
    for column, title in enumerate(COLUMNS):
        middle = MARGIN + column * (WIDTH + GAP) + WIDTH / 2
        parts.append(f'<text x="{middle:g}" y="26" text-anchor="middle" class="title">{title}</text>')
    top = TITLE
    for level in range(max(room.level for room in rooms), -1, -1):
        lowest = top
        for column in range(len(COLUMNS)):
            y, x = top, MARGIN + column * (WIDTH + GAP)
            for room in rooms:
                if (room.level, room.column) != (level, column):
                    continue
                high = height_of(room)
                colour = COLOURS[room.name.split("/")[0]]
                parts.append(f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{high}" rx="4" fill="{colour}"/>')
                parts.append(f'<text x="{x + 8}" y="{y + 18}" class="name">{escape(room.name)}</text>')
                for number, line in enumerate(textwrap.wrap(room.what, CHARACTERS)):
                    parts.append(f'<text x="{x + 8}" y="{y + 34 + LINE * number}">{escape(line)}</text>')
                y += high + 4
            lowest = max(lowest, y)
        parts.append(f'<line x1="{MARGIN}" x2="{width - MARGIN}" y1="{lowest + 3}" y2="{lowest + 3}"/>')
        top = lowest + 10
    parts.pop()  # no line below the ground
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top}" width="{width}" height="{top}">',
        "<style>text { font: 12px sans-serif; fill: #222 } .name { font: bold 13px monospace }"
        " .title { font: bold 14px sans-serif } line { stroke: #ccc }</style>",
        f'<rect width="{width}" height="{top}" fill="#fff"/>',
        *parts,
        "</svg>\n",
    ])  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m pages.house", description="docs/architecture.svg and the table of check_rooms")
    parser.add_argument("root", type=Path, nargs="?", default=SCRIPTS.parent)
    parser.add_argument("--write", action="store_true", help="draw it anew")
    words = parser.parse_args()
    made = drawing(house(runpy.run_path(str(SCRIPTS / "check_rooms"), run_name="check_rooms")))
    file = words.root / DRAWING
    if words.write:
        file.write_text(made, encoding="utf-8")
    elif not file.is_file() or file.read_text(encoding="utf-8") != made:
        print(f"{DRAWING}: is not the table of scripts/check_rooms; draw it anew: cd scripts; ./python -m pages.house --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
