# SPDX-License-Identifier: Apache-2.0
# A figure's SVG made fit to stand inside a page: only drawing elements and harmless attributes
# survive, ids become unique to the figure, and four colours follow the page's light or dark mode.
from __future__ import annotations

import base64
import re
from pathlib import Path
from xml.etree import ElementTree

from view.page import Html, markup
from view.rows import say

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
ELEMENTS = {
    "svg",
    "g",
    "defs",
    "path",
    "use",
    "clipPath",
    "rect",
    "text",
    "tspan",
    "pattern",
    "style",
    "circle",
}
ATTRIBUTES = set(
    "viewBox d id x y x1 y1 x2 y2 width height transform style clip-path clip-rule fill fill-opacity opacity stroke "
    "stroke-width r cx cy patternUnits font-size text-anchor".split()
)
# The colours of view/figures/theme.py, which only plot.py can import: it needs matplotlib.
COLOURS = {
    "#1f2328": "var(--ink)",
    "#59636e": "var(--muted)",
    "#dfe3e8": "var(--line)",
    "#ffffff": "var(--paper)",
}


def figure(folder: Path, name: str, caption: str) -> Html | None:
    """The drawing of that name in a folder's figures/, whose title is the caption; None where there is none."""
    at = folder / "figures" / name
    return inline_svg(at.with_suffix(".svg"), caption) or inline_png(at.with_suffix(".png"), caption)


def panels(folder: Path, name: str, caption: str) -> list[Html]:
    """Those of a figure that has a file for each of its panels, or one."""
    files = {path.stem for pattern in (name, f"{name}-*") for path in (folder / "figures").glob(f"{pattern}.[sp][vn]g")}
    return [panel for file in sorted(files, key=numbers_in_order) if (panel := figure(folder, file, caption))]


def numbers_in_order(name: str) -> list[tuple[int, str]]:
    """Sorts 'n-4' before 'n-16'."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split("([0-9]+)", name)]


def inline_png(path: Path, title: str) -> Html | None:
    try:
        data = base64.b64encode(path.read_bytes()).decode("ascii")
    except OSError:
        return None
    return Html(f'<img alt="{markup(title)}" src="data:image/png;base64,{data}">')


def inline_svg(path: Path, title: str) -> Html | None:
    """The markup, or None when the file is missing or no plain SVG."""
    try:
        text = path.read_text(encoding="utf-8")
        if "<!ENTITY" in text:
            raise ValueError("it declares entities")
        root = ElementTree.fromstring(text)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, ElementTree.ParseError) as error:
        say(f"{path.name}: not taken into the report: {error}. Run scripts/plot.py again")
        return None
    if root.tag != f"{{{SVG}}}svg":
        return None
    clean(root)
    # A third larger than in the file, or as wide as the page: a single panel should not fill it.
    points = re.fullmatch(r"([\d.]+)pt", root.attrib.pop("width", ""))
    root.attrib.pop("height", None)
    root.set("style", f"max-width: {float(points[1]) * 1.33:.0f}pt" if points else "")
    root.set("role", "img")
    root.set("aria-label", title)
    # The namespaces go: HTML knows svg and xlink:href by name, and ElementTree's prefixes it does not.
    for node in root.iter():
        node.tag = node.tag.rpartition("}")[2]
        for name in [name for name in node.attrib if name.startswith(f"{{{XLINK}}}")]:
            node.set("href", node.attrib.pop(name))
    shown = ElementTree.tostring(root, encoding="unicode")
    shown = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{path.stem}-", shown)
    for colour, variable in COLOURS.items():
        shown = shown.replace(colour, variable)
    return Html(shown)


def clean(node: ElementTree.Element) -> None:
    """Drops elements and attributes that a drawing does not need, here and below."""
    for child in list(node):
        if not isinstance(child.tag, str) or child.tag.rpartition("}")[2] not in ELEMENTS:
            node.remove(child)
        else:
            clean(child)
    for name, value in list(node.attrib.items()):
        link = name == f"{{{XLINK}}}href" and value.startswith("#")
        foreign = re.search(r"url\((?!#)|@import|expression|javascript:", value, re.IGNORECASE)
        if not link and (name not in ATTRIBUTES or foreign):
            del node.attrib[name]
    if node.tag == f"{{{SVG}}}style":
        node.text = "*{stroke-linejoin: round; stroke-linecap: butt}"
