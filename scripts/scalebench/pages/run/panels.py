# SPDX-License-Identifier: Apache-2.0
# The figures of a folder as images within a page, which needs no other file then.
from __future__ import annotations

import base64
import re
from pathlib import Path

from scalebench.pages.page import Html, markup

KINDS = {".svg": "image/svg+xml", ".png": "image/png"}  # the first that is there is taken


def figure(folder: Path, name: str, caption: str) -> Html | None:
    """The drawing of that name in a folder's figures/, whose title is the caption; None where there is none."""
    for suffix, kind in KINDS.items():
        path = folder / "figures" / f"{name}{suffix}"
        try:
            data = base64.b64encode(path.read_bytes()).decode("ascii")
        except OSError:
            continue
        return Html(f'<img alt="{markup(caption)}" src="data:{kind};base64,{data}">')
    return None


def panels(folder: Path, name: str, caption: str) -> list[Html]:
    """Those of a figure that has a file for each of its panels, or one."""
    files = {path.stem for pattern in (name, f"{name}-*") for path in (folder / "figures").glob(f"{pattern}.[sp][vn]g")}
    return [panel for file in sorted(files, key=numbers_in_order) if (panel := figure(folder, file, caption))]


def numbers_in_order(name: str) -> list[tuple[int, str]]:
    """Sorts 'n-4' before 'n-16'."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split("([0-9]+)", name)]
