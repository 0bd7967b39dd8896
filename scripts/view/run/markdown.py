# SPDX-License-Identifier: Apache-2.0
# A run as Markdown: its sentences, the scaling table, what failed and why, and how to check it.
from __future__ import annotations

import re
from html import unescape
from pathlib import Path

from view import intervals
from view.cases import apart, how, workload
from view.manifest import Manifest
from view.markdown import table, text_of
from view.numbers import percent, three_digits
from view.rows import Row, usable
from view.run.cards import TITLE, diagnostics, results
from view.run.provenance import kinds_of, origin_notes, unsuccessful
from view.run.seal import Check
from view.tables.hosts import between_hosts, no_suspect, suspects
from view.tables.scaling import sentence
from view.variants import read_cases

MOST = 200


def write_markdown(run: Path, manifest: Manifest, check: Check) -> str:
    kinds = kinds_of(run)
    status = manifest.text("status")
    found = results(run)
    sentences = [bullet(sentence(row, apart(found))) for row in found[:MOST]]
    sentences += [f"- {text_of(words)}" for words in [no_suspect(run), *between_hosts(run)] if words]
    # What is at fault comes first.
    sentences = [*(f"- **{text_of(words, 500)}**" for words in suspects(run)), *sentences]
    checks = [bullet(words) for words in diagnostics(run)[:MOST]]
    if not any(kind == "ok" for kind, _ in kinds):
        sentences = ["**Nothing was measured.**"]
    parts = [
        f"# Scaling efficiency: {text_of(manifest.text('study') or run.name, 80)}",
        text_of(" · ".join(part for part in (manifest.text("started_utc"), manifest.host()) if part)),
        f"**This run is {text_of(status, 40)}.**" if status not in ("complete", "") else "",
        "\n".join(sentences),
        f"{TITLE}\n\n" + "\n".join(checks) if checks else "",
        " ".join(text_of(note) for note in origin_notes(origin for _, origin in kinds)),
        scaling(run), failures(manifest),
        f"Run {text_of(manifest.text('run_id') or run.name)}, SHA-256 of manifest.json: {manifest.sha256 or 'none'}. {text_of(''.join(check), 500)}",
    ]  # fmt: skip
    return "\n\n".join(part for part in parts if part) + "\n"


def bullet(markup: str) -> str:
    return f"- {text_of(words_of(markup), 500)}"


def words_of(markup: str) -> str:
    return unescape(re.sub("<[^<>]*>", "", markup))


def scaling(run: Path) -> str:
    rows = usable(read_cases(run, "scaling.csv"))
    if not rows:
        return ""
    head = ["workload", "strategy", "N", "origin", "epoch, s", "ideal, s", "speedup", "efficiency"]
    kind = intervals.told(rows, *intervals.SPEEDUP)
    more = [f"In brackets: the {kind}."] if kind else []
    more += [f"{len(rows) - MOST} more rows in scaling.csv"] if len(rows) > MOST else []
    lines = [scaling_line(row, apart(rows)) for row in rows[:MOST]]
    return "\n\n".join(["## Scaling", table(head, lines), *more])


def scaling_line(row: Row, columns: tuple[str, ...]) -> list[str]:
    interval = [percent(row.number(f"efficiency_ci_{end}")) for end in ("low", "high")]
    efficiency = percent(row.number("efficiency")) + (f" [{interval[0]}, {interval[1]}]" if all(interval) else "")
    numbers = [three_digits(row.number(name)) for name in ("seconds_median", "ideal_seconds", "speedup")]
    return [text_of(cell) for cell in (workload(row), how(row, *columns), row.ranks(), row["origin"], *numbers, efficiency)]


def failures(manifest: Manifest) -> str:
    failed = unsuccessful(manifest)
    rows = [[text_of(launch.get(name, "")) for name in ("number", "program", "ranks", "status", "note")] for launch in failed[:MOST]]
    return "## Failed launches\n\n" + table(["launch", "program", "N", "status", "why"], rows) if rows else ""
