# SPDX-License-Identifier: Apache-2.0
# The report's account of itself: what was asked for, what failed and why, on which machine, with
# which warnings, and how to check it.
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from scalebench.cases import ALLREDUCE, apart, in_words
from scalebench.manifest import Manifest, Unreadable, read
from scalebench.numbers import byte_size, percent
from scalebench.pages.page import Html, element, joined, section, table
from scalebench.rows import Row, each_row
from scalebench.pages.run.cards import cards, unsure
from scalebench.pages.run.seal import Check, how_to_resume
from scalebench.pages.tables.hosts import between_hosts, no_suspect, suspects

FILES = ("scaling.csv", "epoch.csv", "throughput.csv", "allreduce.csv", "kernels.csv")
NAMES = (
    "bench",
    "kernel",
    "model",
    "gradient_sync",
    "algorithm",
    "transport",
    "dtype",
    "ranks",
    "rank",
)
# What else tells cases apart, told where it does.
MORE = ("memory_format", "step", "settings", "dataset", "scaling", "batch", "threads", *(name for name in ALLREDUCE if name not in NAMES))
ORIGINS = {
    "emulated": "ranks share cores or a device, or hosts a machine, so this says nothing about N devices",
    "predicted": "predicted, not measured",
    "quoted": "quoted from elsewhere, not measured here",
    "imported": "imported from another program's log",
}


def title_of(run: Path, manifest: Manifest) -> str:
    """What a page of the run is called: not every run is about scaling."""
    imported, is_study = manifest.text("import", "kind"), (run / "scaling.csv").exists()
    if imported:
        what = "Scaling efficiency, imported" if is_study else "Imported results"
        return f"{what} ({imported}): {manifest.text('run_id') or run.name}"
    return f"{'Scaling efficiency' if is_study else 'Measurements'}: {manifest.text('study') or run.name}"


def unfinished(run: Path, manifest: Manifest, check: Check) -> tuple[str, str, str]:
    """What is missing: (in bold, how to go on, the command for it); ('', '', '') where nothing is."""
    status, launches = manifest.text("status"), manifest.records("launches")
    failures = [launch for launch in unsuccessful(manifest) if launch.get("status") == "failed"]
    failed, refused = len(failures), all(launch.get("note", "").partition(":")[0] == "exit code 2" for launch in failures)
    partial = status not in ("complete", "")
    words = f"{failed} of {len(launches)} launch{'es' if len(launches) != 1 else ''} failed"
    if not partial:
        return (f"{words}.", "", "") if failed else ("", "", "")
    # Only a study has a plan, by which it can go on; one that was cut short has fewer launches than were planned, or one
    # that was interrupted.
    plan = planned(run)
    command = how_to_resume(check) if plan else ""
    if not failed or plan > len(launches) or any(launch.get("status") == "interrupted" for launch in launches):
        what = "it did not finish; what it had measured until then is below." + (" Go on with " if plan else "")
        return f"This run is {status}: ", f"{words}; {what}" if failed else what, command
    if refused:
        return f"This run is {status}: {words}.", " What they were asked for is not valid: mend the config, and run it anew.", ""
    return f"This run is {status}: {words}.", " Start again what failed: " if plan else "", command


def planned(run: Path) -> int:
    """How many launches plan.json has; 0 where it is not there."""
    try:
        return len(read(run / "plan.json")[0]["launches"])
    except (OSError, Unreadable, KeyError, TypeError):
        return 0


def verdict(run: Path, manifest: Manifest, check: Check) -> Html:
    """The first thing a reader sees: what was measured, how well it scaled, what is missing."""
    kinds = kinds_of(run)
    counts: Counter[str] = Counter()
    for (status, _), number in kinds.items():
        counts[status] += number
    failures = counts["failed"] + counts["wrong"] + len(unsuccessful(manifest))
    partial = manifest.text("status") not in ("complete", "")
    words = [f"{number} {status}" for status, number in counts.items()]
    lines: list[object] = []
    bold, how, command = unfinished(run, manifest, check)
    if bold:
        lines.append(element("p", element("strong", bold), how, *([element("code", command)] if command else [])))
    named = suspects(run)
    lines += [element("p", element("strong", sentence)) for sentence in named]
    spoilt = [item.get("text", "") for item in manifest.records("warnings")]
    lines += [element("p", f"Machine: {'; '.join(spoilt)}.")] if spoilt else []
    if slowed := throttled(run):
        lines.append(element("p", element("strong", slowed)))
    shown = cards(run)
    if shown:
        lines += shown
    elif counts["ok"]:
        lines.append(element("p", "No scaling study in this run; its measurements are below."))
    else:
        lines.append(
            element(
                "p",
                element("strong", "Nothing was measured. "),
                "The reasons are under Failures and skips.",
            )
        )
    if remarks := [*filter(None, [no_suspect(run)]), *between_hosts(run)]:
        lines.append(element("p", " ".join(remarks)))
    if words:
        notes = origin_notes(origin for _, origin in kinds)
        said = [f"Rows: {', '.join(words)}.", *skipped(run), *notes]
        lines.append(element("p", " ".join(said), css="muted"))
    css = "verdict" + (
        " stop" if not counts["ok"] or counts["wrong"] else " warn" if partial or failures or named or slowed or unsure(run) else ""
    )
    return element("div", *lines, css=css)


def kinds_of(run: Path) -> Counter[tuple[str, str]]:
    """How many rows there are of each status and origin."""
    # As a stream: there may be a hundred thousand, and only these two columns are asked for.
    return Counter((row["status"] or "unknown", row["origin"]) for name in FILES for row in each_row(run, name))


def throttled(run: Path) -> str:
    """A warning where a GPU did not run as fast as it can; '' where none is known to."""
    rows = [row for name in FILES for row in each_row(run, name) if row["status"] == "ok" and row.number("throttled_share") > 0]
    if not rows:
        return ""
    most, by_power = max(row.number("throttled_share") for row in rows), any(row.number("power_capped_share") > 0 for row in rows)
    why = " Its power limit was a reason." if by_power else ""
    return f"A GPU was throttled in {len(rows)} row{'s' if len(rows) != 1 else ''}, in up to {percent(most)} of the looks at it.{why}"


def skipped(run: Path) -> list[str]:
    """Why rows were skipped, the most frequent reason first."""
    reasons = Counter(
        row["note"] for name in FILES for row in each_row(run, name) if row["status"] == "skipped"
    )
    if not reasons:
        return []
    told = "; ".join(f"{reason or 'no reason given'} ({number})" for reason, number in reasons.most_common(3))
    others = " More under Failures and skips." if len(reasons) > 3 else ""
    return [f"Skipped, since such a case cannot run here: {told}.{others}"]


def origin_notes(origins: Iterable[str]) -> list[str]:
    """What the origins other than `measured` mean that occur."""
    return [f"{origin}: {ORIGINS[origin]}." for origin in dict.fromkeys(origins) if origin in ORIGINS]


def unsuccessful(manifest: Manifest) -> list[dict[str, str]]:
    return [launch for launch in manifest.records("launches") if launch.get("status", "") not in ("ok", "")]


def describe(row: Row, more: Iterable[str]) -> str:
    size = row.number("size_bytes")
    words = [
        f"{column} {row[column]}" if column in ("ranks", "rank", "batch") else in_words(column, row[column])
        for column in (*NAMES, *more)
        if row[column]
    ]
    return " · ".join([*words, *([byte_size(size)] if row["size_bytes"] and size == size else [])])


def without_sizes(rows: list[tuple[str, Row]]) -> list[tuple[str, str, Row]]:
    """(file, case, row): cases that differ in nothing but their size become one."""
    groups: dict[tuple[str, ...], list[tuple[str, Row]]] = {}
    more = {name: apart([row for file, row in rows if file == name], MORE) for name in FILES}
    for place, (name, row) in enumerate(rows):
        sizeless = Row({**row, "size_bytes": ""})
        key = (name, describe(sizeless, more[name]), row["status"], row["note"], "" if row["size_bytes"] else str(place))
        groups.setdefault(key, []).append((name, row))
    return [
        (name, f"{case} · {several}" if (several := several_of([row for _, row in group])) else describe(group[0][1], more[name]), group[0][1])
        for (name, case, *_), group in groups.items()
    ]


def several_of(rows: list[Row]) -> str:
    """'4 sizes', or '4 rows' where no column tells them apart."""
    sizes = len({row["size_bytes"] for row in rows})
    return f"{sizes} sizes" if sizes > 1 else f"{len(rows)} rows" if len(rows) > 1 else ""


def failures(run: Path, manifest: Manifest) -> Html:
    parts: list[object] = []
    columns = (*NAMES, *MORE, "size_bytes", "status", "note")
    rows = [
        (name, Row({column: row[column] for column in columns if row[column]}))
        for name in FILES
        for row in each_row(run, name)
        if row["status"] != "ok"
    ]
    cells = [
        [
            name,
            case,
            element("span", row["status"], css="" if row["status"] == "skipped" else "bad"),
            row["note"],
        ]
        for name, case, row in without_sizes(rows)
    ]
    if cells:
        parts.append(
            table(["file", "case", "status", "why"], cells, wrap=[1, 3], rest="the CSV files")
        )
    launches = [
        [
            launch.get("number", ""), launch.get("program", ""), launch.get("ranks", ""),
            element("span", launch.get("status", ""), css="bad"), launch.get("note", ""),
            element("code", launch.get("command", "")),
        ]
        for launch in unsuccessful(manifest)
    ]  # fmt: skip
    if launches:
        head = ["launch", "program", "N", "status", "why", "command"]
        parts.append(element("h3", "Launches"))
        parts.append(table(head, launches, numbers=[0, 2], wrap=[4, 5], rest="manifest.json"))
        if any((run / "launches").glob("*/stderr.log")):
            parts.append(
                element("p", "What each one printed is in launches/<number>-…/stderr.log.", css="muted")
            )
    return section(
        "Failures and skips", *(parts or [element("p", "None: every case and every launch is ok.")])
    )


def environment(manifest: Manifest) -> Html:
    parts: list[object] = []
    meaning = {
        "key": "Must be equal to compare runs",
        "treatment": "May be the cause of a difference",
        "observation": "Seen while it ran",
    }
    for name, title in meaning.items():
        pairs = manifest.entries("environment", name)
        if pairs:
            parts.append(element("h3", title))
            parts.append(
                table(
                    ["what", "value"],
                    [(key.replace("_", " "), text) for key, text in pairs],
                    wrap=[1],
                )
            )
    warnings = [
        (item.get("text", ""), item.get("remedy", "")) for item in manifest.records("warnings")
    ]
    shown = []
    if warnings:
        shown.append(
            section(
                "Warnings", table(["what spoils these numbers", "remedy"], warnings, wrap=[0, 1])
            )
        )
    if parts:
        shown.append(
            section(
                "Environment",
                element("details", element("summary", "the machine and its software"), *parts),
            )
        )
    elif manifest.text("import", "kind"):
        text = "The imported file says nothing about the machine that measured this."
        shown.append(section("Environment", element("p", text, css="muted")))
    return joined(shown)


def footer(run: Path, manifest: Manifest, check: Check) -> Html:
    dirty = " with local changes" if manifest.text("tool", "dirty") == "true" else ""
    commit = manifest.text("tool", "commit")
    facts = [
        ("run", manifest.text("run_id") or run.name),
        ("command", manifest.command()),
        ("seed", manifest.text("seed")),
        ("started", manifest.text("started_utc")),
        ("finished", manifest.text("finished_utc")),
        (
            "scalebench",
            " ".join(
                part
                for part in (manifest.text("tool", "version"), commit + dirty if commit else "")
                if part
            ),
        ),
        ("SHA-256 of manifest.json", manifest.sha256),
    ]
    cells = [(name, element("code", text)) for name, text in facts if text]
    files = [(name, element("code", text)) for name, text in manifest.entries("files")]
    listing = element(
        "details",
        element("summary", f"SHA-256 of {len(files)} files"),
        table(["file", "SHA-256"], files),
    )
    before, command, after = check
    return element(
        "footer", table(["provenance", ""], cells, wrap=[1]), *([listing] if files else []),
        element("p", before, element("code", command), after),
    )  # fmt: skip
