# SPDX-License-Identifier: Apache-2.0
# Text of others made fit to be shown anywhere: what a reader could not see (controls, marks that turn
# the direction of reading, lone surrogates) becomes visible, colours of a terminal go, no text is
# endless.
from __future__ import annotations

import re

COLOURS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
# All that XML 1.0 forbids is among them.
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffc\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)


def lines(text: object, most: int = 4000) -> str:
    """At most the last `most` characters: the end of a log says what happened."""
    clean = COLOURS.sub("", str(text)[-4 * most :].replace("\r\n", "\n"))
    clean = UNSEEN.sub(lambda match: visible(match[0]), clean)
    return clean if len(clean) <= most else "…" + clean[1 - most :]


def plain(text: object, most: int = 300) -> str:
    """One line, at most the first `most` characters."""
    clean = lines(str(text)[: 2 * most], 12 * most).replace("\n", " ").replace("\t", " ").strip()
    return clean if len(clean) <= most else clean[: most - 1] + "…"


def visible(letter: str) -> str:
    code = ord(letter)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
