# SPDX-License-Identifier: Apache-2.0
# A night as annotations of GitHub Actions: it shows ten of a kind for a step, so nine and "n more".
from __future__ import annotations

from view.manifest import as_text
from view.night import cell_words
from view.night.record import ABSENT, MEANINGS, WORSE, Night
from view.plain import plain

MOST = 9
Message = tuple[str, str]  # title, text


def write_lines(night: Night) -> str:
    """To be printed to a step's stdout; every line is one command."""
    of_night = (f"Night: {night.verdict}", " ".join([MEANINGS[night.verdict] + ".", *(night.doubts or [night.text("summary")])]))
    launches = [
        (f"launch {plain(as_text(launch.get('name')), 80)}", plain(as_text(launch.get("why")) or "failed"))
        for launch in night.records("failed_launches")
    ]
    errors, warnings, notices = cells(night, *WORSE), cells(night, *ABSENT) + launches + cells(night, "AMBIGUOUS"), []
    if night.passed():
        notices.append(of_night)
    elif night.verdict in ("INCOMPLETE", "INSUFFICIENT"):
        warnings.insert(0, of_night)
    else:
        errors.insert(0, of_night)
    kinds = {"error": errors, "warning": warnings, "notice": notices}
    return "".join(command(kind, *message) for kind, messages in kinds.items() for message in limited(messages))


def cells(night: Night, *verdicts: str) -> list[Message]:
    found = night.with_verdict(*verdicts)
    return [(f"{cell['verdict']} {cell_words.label(cell)}", cell_words.one_line(cell)) for cell in found]


def limited(messages: list[Message]) -> list[Message]:
    rest = len(messages) - MOST
    return messages[:MOST] + ([(f"{rest} more", f"{rest} more: see report.html and gate.csv")] if rest > 0 else [])


def command(kind: str, title: str, text: str) -> str:
    return f"::{kind} title={escaped(plain(title, 120)).replace(':', '%3A').replace(',', '%2C')}::{escaped(plain(text, 500))}\n"


def escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
