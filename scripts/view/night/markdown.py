# SPDX-License-Identifier: Apache-2.0
# A night as GitHub-flavoured Markdown, for a step's summary (1 MiB at most) or a message.
from __future__ import annotations

from view.manifest import as_text
from view.markdown import LIMIT, code, table, text_of
from view.night import cell_words
from view.night.record import ABSENT, MEANINGS, MOST_OF_A_COMMAND, WORSE, Night, as_number, canary_words, cost_beside, facts
from view.numbers import duration
from view.rows import Row, grouped

SIGNS = {"PASS": "✅", "INSUFFICIENT": "⚠️", "INCOMPLETE": "⚠️"}


def write_markdown(night: Night) -> str:
    """Fewer cells rather than more than LIMIT."""
    for most in (100, 25, 5):
        text = written(night, most)
        if len(text.encode("utf-8", "replace")) <= LIMIT:
            return text
    raise AssertionError("every text in it is bounded")


def written(night: Night, most: int) -> str:
    parts = [
        f"# {SIGNS.get(night.verdict, '❌')} {night.verdict}: {text_of(night.text('study') or night.folder.name, 80)}",
        f"{MEANINGS[night.verdict]}. {text_of(night.text('summary'), 600) if not night.doubts else ''}".strip(),
        hosts(night),
        *(f"**{text_of(doubt)}**" for doubt in night.doubts),
        counts(night), self_checks(night), open_regressions(night, most), changed(night, most), changes(night, most), without_value(night, most), launches(night, most // 5),
        f"Run {text_of(night.text('run'))}, {text_of(night.text('started_utc'), 40)}, {text_of(night.text('host'))}. "
        "Everything: report.html and gate.csv of the same folder.",
    ]  # fmt: skip
    return "\n\n".join(part for part in parts if part) + "\n"


def hosts(night: Night) -> str:
    line = text_of(night.text("suspect_line"), 600)
    return f"**{line}**" if line and night.records("suspects") else line


def counts(night: Night) -> str:
    found = [f"{number} {verdict.lower()}" for verdict, number in sorted(night.counts().items())]
    return f"**{night.tested()} of {night.expected()} expected cells tested**" + (
        ": " + text_of(", ".join(found), 600) if found else "")  # fmt: skip


def self_checks(night: Night) -> str:
    parts = []
    if told := canary_words(night):
        parts.append(f"Slow-down on purpose: {text_of(told)}.")
    if cost := duration(cost_beside(night)):
        parts.append(f"The accepted build beside took {cost} of the sweep's time.")
    return " ".join(parts)


def changes(night: Night, most: int) -> str:
    rows = [[text_of(cell) for cell in row] for row in facts(night, "treatment")[:most]]
    before, after = (night.text("changes", "commit", side)[:12] for side in ("before", "after"))
    if before != after:
        rows.insert(0, ["commit", text_of(before) or "–", text_of(after) or "–"])
    return "## Suspects\n\n" + table(["what", "before", "after"], rows) if rows else ""


def open_regressions(night: Night, most: int) -> str:
    entries = night.records("open")
    rows = []
    for entry in entries[:most]:
        commits = " → ".join(as_text(entry.get(name))[:12] or "unknown" for name in ("good_commit", "bad_commit"))
        commits = "no commit: the machine or its libraries" if entry.get("accepted_too") is True else commits
        change = [cell_words.signed_percent(as_number(entry.get(name))) for name in ("found_change", "change")]
        texts = (as_text(entry.get("label")), as_text(entry.get("since_run")), *change, commits)
        rows.append([*map(text_of, texts), text_of(as_text(entry.get("command")), MOST_OF_A_COMMAND)])
    if not rows:
        return ""
    return "## Open regressions\n\n" + table(["what", "open since", "as found", "tonight", "commits", "repeat"], rows) + more(entries, most)


def changed(night: Night, most: int) -> str:
    cells = night.with_verdict(*WORSE, "AMBIGUOUS", "IMPROVED")
    if not cells:
        return ""
    head = ["verdict", "cell", "before → after", "as measured", "Δ \\[95 %\\]", "p", "q", "finds from", "why"]
    return "## Changed cells\n\n" + table(head, [cell_line(cell) for cell in cells[:most]]) + more(cells, most)


def cell_line(cell: Row) -> list[str]:
    evidence = dict(cell_words.evidence(cell))
    change = f"{cell_words.signed_percent(cell.number('change'))} {cell_words.interval(cell)}"
    cells = [cell["verdict"], cell_words.label(cell), cell_words.before_after(cell),
             cell_words.signed_percent(cell.number("as_measured")), change,
             *(evidence.get(name, "") for name in ("p", "q", "finds from")), cell["note"]]  # fmt: skip
    return [text_of(text) for text in cells]


def without_value(night: Night, most: int) -> str:
    groups = grouped(night.with_verdict(*ABSENT, "UNJUDGED", "INSUFFICIENT", "EXCLUDED", "SKIPPED"), ("verdict", "note"))
    if not groups:
        return ""
    rows = [
        [text_of(verdict), str(len(group)), text_of("; ".join(cell_words.label(cell) for cell in group[:4])), text_of(note)]
        for (verdict, note), group in list(groups.items())[:most]
    ]
    return "## Not judged, missing and failed\n\n" + table(["verdict", "cells", "which", "why"], rows) + more(list(groups), most)


def launches(night: Night, most: int) -> str:
    parts = []
    failed = night.records("failed_launches")
    for launch in failed[: max(1, most)]:
        why = text_of(as_text(launch.get("why")) or "no reason given")
        parts.append(f"Launch {text_of(as_text(launch.get('name')) or as_text(launch.get('number')), 80)}: {why}")
        if launch.get("stderr_tail"):
            parts.append(code(launch["stderr_tail"]))
    return "\n\n".join(parts) + (more(failed, max(1, most)) if parts else "")


def more(items: list, most: int) -> str:
    return f"\n\n{len(items) - most} more in gate.csv and nightly.json" if len(items) > most else ""
