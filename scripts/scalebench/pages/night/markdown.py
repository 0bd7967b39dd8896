# SPDX-License-Identifier: Apache-2.0
# A night as GitHub-flavoured Markdown, for a step's summary (1 MiB at most) or a message.
from __future__ import annotations

from scalebench.pages.markdown import table, text_of
from scalebench.pages.night.record import MEANINGS, Change, Night, against, before_after, change, label

SIGNS = {"PASS": "✅", "UNSURE": "⚠️"}
MOST = 100


def write_markdown(night: Night) -> str:
    parts = [
        f"# {SIGNS.get(night.verdict, '❌')} {text_of(night.title(), 600)}",
        f"{text_of(night.name())}: {MEANINGS[night.verdict]}.",
        *(f"**host {text_of(host)}**" for host in night.hosts_at_fault()[:MOST]),
        text_of(night.text("suspect_line"), 600),
        *(f"**{text_of(doubt)}**" for doubt in night.doubts),
        listed(night.changed_programs(), "Programs that changed", ["name", "accepted", "tonight"]),
        listed(night.changes(), "What else changed since the last good night", ["what", "before", "after"]),
        cells(night),
        f"Run {text_of(night.text('run'))}, {text_of(night.text('started_utc'), 40)}, {text_of(night.text('host'))}. "
        "Everything: report.html and history.csv of the same folder.",
    ]  # fmt: skip
    return "\n\n".join(part for part in parts if part) + "\n"


def listed(changes: list[Change], title: str, columns: list[str]) -> str:
    rows = [[text_of(word, 120) or "–" for word in change] for change in changes]
    return f"## {title}\n\n{table(columns, rows[:MOST])}{more(len(rows))}" if rows else ""


def cells(night: Night) -> str:
    found = night.needing_a_look()
    if not found:
        return ""
    rows = [[text_of(text) for text in (cell["verdict"], label(cell), before_after(cell), change(cell), against(cell), cell["note"])]
            for cell in found[:MOST]]  # fmt: skip
    head = ["verdict", "cell", "before → after", "change \\[95 %\\]", "against", "why"]
    return f"## Cells that need a look\n\n{table(head, rows)}{more(len(found))}"


def more(count: int) -> str:
    return f"\n\n{count - MOST} more in history.csv and nightly.json" if count > MOST else ""
