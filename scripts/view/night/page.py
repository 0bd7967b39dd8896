# SPDX-License-Identifier: Apache-2.0
# A night's page: the verdict first, then what may be the cause, the cells, how far the gate can be
# trusted, and how to check it all.
from __future__ import annotations

import hashlib
import math

from view.manifest import Manifest, as_text
from view.night import cells
from view.night.cell_words import between, signed_percent
from view.night.record import CELL_VERDICTS, MEANINGS, Night, as_number, canary_words, cost_beside, facts
from view.numbers import duration, percent
from view.page import Html, element, joined, link, page, section, table
from view.plain import plain
from view.run.seal import typed_here

# All others are red: a verdict that is not known must not look like a pass.
TONES = {"PASS": "pass", "INSUFFICIENT": "warn", "INCOMPLETE": "warn"}
STYLE = """
.night b.big { font-size: 2.2rem; line-height: 1.1; letter-spacing: .01em; color: var(--bad); display: block; }
.verdict.night { border-color: var(--bad); } .verdict.night.pass { border-color: var(--good); }
.verdict.night.warn { border-color: var(--note); } .night.pass b.big { color: var(--good); }
.night.warn b.big, .odd { color: var(--note); }
.good { color: var(--good); font-weight: 600; } .odd { font-weight: 600; }
.tiles { display: flex; flex-wrap: wrap; gap: .4rem 1.6rem; margin-top: .8rem; font-variant-numeric: tabular-nums; }
.tiles b { font-size: 1.25rem; }
.cell { display: grid; grid-template-columns: minmax(14rem, 1fr) 21rem 155px; gap: .1rem 1.4rem; padding: .6rem 0;
  border-bottom: 1px solid var(--line); align-items: center; font-variant-numeric: tabular-nums; break-inside: avoid; }
.cell .what { overflow-wrap: anywhere; } .cell .word { font-size: .8rem; letter-spacing: .03em; display: block; }
.cell .why { grid-column: 1 / -1; font-size: .82rem; color: var(--muted); display: flex; flex-wrap: wrap; gap: 0 1.2rem; }
.cell .why b { font-weight: 600; color: var(--ink); }
.cell .note { grid-column: 1 / -1; font-size: .86rem; font-weight: 400; color: inherit; overflow-wrap: anywhere; }
.spark { display: block; } small { color: var(--muted); } .much > * { white-space: nowrap; }
pre { background: var(--soft); padding: .6rem .8rem; overflow-x: auto; font-size: .8rem; line-height: 1.4;
  white-space: pre-wrap; overflow-wrap: anywhere; }
pre.diff b { font-weight: 400; color: var(--bad); } pre.diff i { font-style: normal; color: var(--good); }
@media (max-width: 46rem) { .cell { grid-template-columns: 1fr; } td.wrap { min-width: 6rem; } }
"""  # fmt: skip


def write_page(night: Night) -> str:
    body = joined(
        [
            element("h1", f"Night of {plain(night.text('started_utc')[:10] or 'an unknown day', 20)}: "
                          f"{plain(night.text('study') or night.folder.name, 80)}"),
            element("p", plain(night.text("host")), css="muted"),
            verdict(night), cells.open_regressions(night), cells.changed(night), changes(night),
            cells.without_value(night), self_checks(night), annotations(night), cells.all_cells(night),
            footer(night),
        ]
    )  # fmt: skip
    return page(f"{night.verdict}: {plain(night.text('study') or night.folder.name, 80)}", body, STYLE)


def verdict(night: Night) -> Html:
    tone = TONES.get(night.verdict, "stop")
    parts: list[object] = [element("b", night.verdict, css="big"), element("p", MEANINGS[night.verdict] + ".")]
    if night.text("summary") and not night.doubts:
        parts.append(element("p", plain(night.text("summary"), 600)))
    if hosts := night.text("suspect_line"):
        parts.append(element("p", element("strong", plain(hosts, 600)) if night.records("suspects") else plain(hosts, 600)))
    parts += [element("p", plain(doubt), ".", css="bad") for doubt in night.doubts]
    also = [state for state in night.strings("states") if state.lower() != night.verdict.lower()]
    if also:
        parts.append(element("p", "States: " + plain(", ".join(also)), css="muted"))
    counts = night.counts()
    tiles = [element("span", element("b", f"{night.tested()} of {night.expected()}"), " expected cells tested")]
    tiles += [element("span", element("b", counts[name]), f" {name.lower()}") for name in CELL_VERDICTS if counts[name]]
    parts.append(element("div", *tiles, css="tiles"))
    return element("div", *parts, css=f"verdict night {tone}".strip())


def changes(night: Night) -> Html:
    parts: list[object] = []
    before, after = (plain(night.text("changes", "commit", side), 60) for side in ("before", "after"))
    if before or after:
        dirty = " with local changes" if night.text("changes", "commit", "dirty") == "true" else ""
        same = before == after
        shown = [element("code", after[:12]), f"{dirty}, as last night" if same else dirty]
        if not same:
            shown = [element("code", before[:12] or "unknown"), " → ", *shown]
        parts.append(element("p", "Code: ", *shown))
    suspects = facts(night, "treatment")
    if suspects:
        parts += [element("h3", "Suspects: what changed since the last night and may be the cause"),
                  table(["what", "before", "after"], suspects, wrap=[1, 2], rest="nightly.json")]  # fmt: skip
    elif before or after:
        parts.append(element("p", "Nothing else that may be a cause: same libraries, compiler, kernel, settings."))
    diff = night.strings("changes", "config")
    if diff:
        marked = []
        for text in diff[:200]:
            tag = "b" if text.startswith("-") else "i" if text.startswith("+") else "span"
            marked.append(joined([element(tag, plain(text)), ""]))
        parts += [element("h3", "Config"), element("pre", *marked, css="diff")]
    seen = facts(night, "observation")
    if seen:
        summary = element("summary", f"seen to differ, seldom a cause: {len(seen)}")
        shown = table(["what", "before", "after"], seen, wrap=[1, 2], weak=range(len(seen)), rest="nightly.json")
        parts.append(element("details", summary, shown))
    return section("What changed", *(parts or [element("p", "No earlier night to compare with.")]))


def self_checks(night: Night) -> Html:
    checks = [(name, sentence) for name, sentence in (
        ("A against A", same_against_same(night)), ("slow-down on purpose", canary(night)), ("what it sees", sensitivity(night)),
        ("beside the accepted build", beside(night)), ("all cells together", host_shift(night)), ("flags", flags(night))) if sentence]  # fmt: skip
    steps = [
        [plain(as_text(step.get("name")), 40),
         element("span", plain(as_text(step.get("status")), 40), css={"failed": "bad", "warning": "odd"}.get(str(step.get("status")), "")),
         duration(as_number(step.get("seconds"))), plain(as_text(step.get("note")))]
        for step in night.records("steps")[:50]
    ]  # fmt: skip
    found = [
        [*(plain(as_text(item.get(column))) for column in ("level", "what")),
         joined([element("div", plain(as_text(item.get("text")))), element("div", plain(as_text(item.get("remedy"))), css="muted")])]
        for item in night.records("doctor")[:50]
        if item.get("level") != "ok"
    ]  # fmt: skip
    parts: list[object] = [table(["check", "outcome"], checks, wrap=[1])] if checks else [
        element("p", "None was made: nothing says whether this gate could have found a regression.", css="bad")]  # fmt: skip
    parts += unseeing(night)
    if found:
        parts += [element("h3", "What the doctor says"), table(["level", "what", "finding, and remedy"], found, wrap=[2])]
    if steps:
        parts += [element("h3", "Steps"), table(["step", "status", "took", "note"], steps, numbers=[2], wrap=[3])]
    left_out = [[plain(as_text(record.get(name))) for name in ("run", "why")] for record in night.records("left_out")]
    if left_out:
        parts += [element("h3", "Runs that are no part of the baseline"),
                  table(["run", "why"], left_out[:50], wrap=[0, 1], rest="nightly.json"),
                  element("p", f"{len(left_out) - 50} more in nightly.json", css="muted") if len(left_out) > 50 else ""]  # fmt: skip
    return section("How far to trust it", *parts)


def same_against_same(night: Night) -> str:
    if not night.entries("self_checks", "aa"):
        return "not measured tonight"
    cells, differing = (night.text("self_checks", "aa", name) for name in ("cells", "differing"))
    spread, smallest = (percent(night.number("self_checks", "aa", name)) for name in ("spread", "smallest_effect"))
    return plain(f"{differing or '?'} of {cells or '?'} cells differ from themselves"
                 + (f"; spread {spread}" if spread else "") + (f"; would find {smallest} four times in five" if smallest else ""))  # fmt: skip


def canary(night: Night) -> str:
    return plain(canary_words(night))


def sensitivity(night: Night) -> str:
    check = night.entries("self_checks", "sensitivity")
    if not check:
        return ""
    drop, blind = percent(as_number(check.get("drop"))), len(night.records("self_checks", "sensitivity", "unseeing"))
    if not night.tested():
        return "no cell was tested"
    return plain(f"{blind} cells would not show a drop of {drop}" if blind else f"every tested cell would show a drop of {drop}")


def unseeing(night: Night) -> list[Html]:
    """Cells that would not show the drop, with what it would take."""
    found = night.records("self_checks", "sensitivity", "unseeing")
    if not found:
        return []
    rows = [
        [element("bdi", plain(as_text(cell.get("label")), 160)), percent(as_number(cell.get("mde"))),
         plain(as_text(cell.get("rounds")) or as_text(cell.get("launches")), 20),
         plain(as_text(cell.get("launches_needed")), 20) or "more"]
        for cell in found[:50]
    ]  # fmt: skip
    drop = percent(night.number("self_checks", "sensitivity", "drop"))
    words = (
        "Needs: so many launches, or rounds beside the accepted build, would do; more: no number up to 1000, because nights "
        "differ by more than launches do. An accepted build beside takes that out."
    )
    parts = [element("h3", f"Cells that would not show a drop of {drop}"), element("p", words, css="muted"),
             table(["cell", "finds from", "has", "needs"], rows, numbers=[1, 2, 3], wrap=[0], rest="gate.csv")]  # fmt: skip
    if len(found) > 50:
        parts.append(element("p", f"{len(found) - 50} more in gate.csv", css="muted"))
    return parts


def beside(night: Night) -> str:
    run = night.text("beside", "run")
    if not run:
        return ""
    commit, cells, rounds = (night.text("beside", name) for name in ("commit", "cells", "rounds"))
    text = f"the build of {run}, commit {commit[:12] or 'unknown'}: {cells or '?'} cells, up to {rounds or '?'} rounds"
    cost = duration(cost_beside(night))
    text += f", {cost} of the sweep's time" if cost else ""
    if night.number("beside", "slower_too") > 0:
        text += f"; {night.text('beside', 'slower_too')} cells slower in it too: the machine or its libraries"
    changed = night.strings("beside", "changed_libraries")
    text += f"; changed since under both builds: {', '.join(changed[:20])}" if changed else ""
    together = signed_percent(night.number("beside", "all_cells", "change"))
    if together:
        text += f"; all cells together {together} "
        text += between(night.number("beside", "all_cells", "low"), night.number("beside", "all_cells", "high"))
    return plain(text)


def host_shift(night: Night) -> Html | str:
    if not night.entries("host_shift"):
        return "too few cells to tell what they share"
    change = signed_percent(night.number("host_shift", "change"))
    text = "not known tonight"
    if change:
        within = between(night.number("host_shift", "low"), night.number("host_shift", "high"))
        text = f"{change} {within}, by {night.text('host_shift', 'cells') or '?'} cells of {night.text('host_shift', 'of') or 'tonight'}"
    again = signed_percent(night.number("host_shift", "rerun_change"))
    text += f"; {again} in the rerun" if again else ""
    drift = signed_percent(night.number("host_shift", "drift"))
    text += f"; drifted {drift} over the last nights" if drift else ""
    alarm = night.text("host_shift", "alarm") == "true"
    return element("span", plain(f"{text}: an alarm"), css="bad") if alarm else plain(text)


def flags(night: Night) -> str:
    worse, better = (night.text("self_checks", "flags", name) for name in ("regressed", "improved"))
    if not worse and not better:
        return ""
    overlap = night.number("self_checks", "flags", "jaccard_with_previous")
    rest = "" if math.isnan(overlap) else f"; overlap with last night's {overlap:.2f} (Jaccard)"
    return plain(f"{worse or '?'} slower, {better or '?'} faster{rest}")


def annotations(night: Night) -> Html:
    rows = [
        [plain(as_text(record.get("kind")), 40),
         plain(" · ".join(as_text(record.get(column)) for column in ("run", "cells") if record.get(column))),
         plain(as_text(record.get("reason")))]
        for record in night.records("annotations")
    ]  # fmt: skip
    if not rows:
        return Html("")
    return section("Annotations", table(["what", "run, cells", "reason"], rows, wrap=[1, 2], rest="annotations.toml"))


def footer(night: Night) -> Html:
    run = night.text("run")
    folder = night.run_folder(run)
    manifest = Manifest(folder) if folder else None

    def said(*path: str) -> str:
        return manifest.text(*path) if manifest else ""

    commit = said("tool", "commit") + (" with local changes" if said("tool", "dirty") == "true" else "")
    rows: list[tuple[str, object]] = [
        ("run", run), ("scheduled", night.text("scheduled_utc")), ("started", night.text("started_utc")),
        ("finished", night.text("finished_utc")), ("exit code", night.text("exit_code")),
        ("scalebench", f"{said('tool', 'version')} {commit}".strip()),
        ("SHA-256 of the run's manifest.json", manifest.sha256 if manifest else ""),
        *((f"SHA-256 of {name}", hashed(night, name)) for name in ("nightly.json", "gate.csv", "history.csv")),
        ("last night", night.text("previous_run")), ("pinned run", night.text("pinned_run")),
        ("baseline", ", ".join(night.strings("baseline_runs")[:40])),
    ]  # fmt: skip
    shown = [(name, element("code", plain(text, 2000))) for name, text in rows if text]
    checks: list[object] = []
    links: list[Html] = []
    if folder:
        checks = [element("code", f"scalebench verify {typed_here(str(folder))}"), " recomputes every number of the run from its samples. "]
        links = [link(f"../../{run}/report.html", "The run's own report")] if (folder / "report.html").is_file() else []
    links += [link(name, name) for name in ("gate.csv", "history.csv", "nightly.json") if (night.folder / name).is_file()]
    for place, each in enumerate(links):
        checks += [", ", each] if place else [each]
    return element("footer", table(["provenance", ""], shown, wrap=[1]), element("p", *checks))


def hashed(night: Night, name: str) -> str:
    try:
        return hashlib.sha256((night.folder / name).read_bytes()).hexdigest()
    except OSError:
        return ""

