# SPDX-License-Identifier: Apache-2.0
# A run's page and Markdown. The first screen: what was measured, how far from H/N it is, where the rest went,
# what spoils these numbers with its remedy, and what to type next. Then the tables and figures of whatever it
# measured, what failed, on which machine, and how to check it.
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from scalebench import Refused, intervals, losses
from scalebench.cases import apart, how, origin_notes, workload
from scalebench.manifest import Manifest, as_typed, read
from scalebench.numbers import five_digits, percent, three_digits
from scalebench.pages import tables
from scalebench.pages.failures import FILES, failures, unsuccessful
from scalebench.pages.hosts import hosts, remarks, suspects
from scalebench.pages.panels import figures_of
from scalebench.pages.render import Section, Toned, pairs, render, sections
from scalebench.pages.seal import Check, how_to_check, typed_here
from scalebench.rows import Row, each_row, usable
from scalebench.variants import read_cases

DIAGNOSTIC = ("none", "barrier_only")  # they train no common model
FIGURES = {
    "efficiency": "Efficiency against the number of ranks.",
    "waterfall": "From the ideal to the measured epoch: what was lost to what, means over ranks and rounds. Small "
    "parts: what is below 1 % of the epoch, but for the largest loss.",
    "batches": "Images a second of one device over the batch, in every way to compute a step that was measured.",
    "busbw": "Bus bandwidth of allreduce over message size. Black: what streaming through memory once would allow.",
    "monitor": "What the hosts did during the training launches (shaded), sampled twice a second.",
}


MORE = "Run six launches."


@dataclass(frozen=True)
class Card:
    """What a run found for one workload and strategy at its largest N."""

    name: str
    efficiency: str
    sentence: str
    lost: str  # where the rest went
    remark: str  # what its interval leaves open
    amber: bool


def written(run: Path, manifest: Manifest, names: list[str], given: str) -> dict[str, str]:
    """report.html and report.md; `given`: the folder as it was typed."""
    check = how_to_check(run, manifest, given)
    found = answers(run)
    results = [card(run, row, found) for row in found if row["gradient_sync"] not in DIAGNOSTIC]
    kinds = Counter((row["status"] or "unknown", row["origin"]) for name in FILES for row in each_row(run, name))
    counts: Counter[str] = Counter()
    for (status, _), many in kinds.items():
        counts[status] += many
    cut = unfinished(run, manifest, given)
    spoilt = spoilers(run, manifest)
    partial = manifest.text("status") not in ("complete", "")
    failed = counts["failed"] + counts["wrong"] + len(unsuccessful(manifest))
    doubtful = partial or failed or suspects(run) or throttled(run) or any(one.amber for one in results)
    measured = sections([
        tables.scaling(run), tables.accounts(run), tables.epochs(run),
        tables.published(names),
        hosts(run), tables.bandwidth(run), tables.cost_models(run), tables.throughput(run), tables.kernels(run),
    ])  # fmt: skip
    words = {
        "title": title_of(run, manifest),
        "about": " · ".join(filter(None, [manifest.text("started_utc"), manifest.host()])),
        "tone": " stop" if not counts["ok"] or counts["wrong"] else " warn" if doubtful else "",
        "cut": cut, "cards": results, "measured": counts["ok"] > 0,
        "diagnostics": [card(run, row, found) for row in found if row["gradient_sync"] in DIAGNOSTIC],
        "spoilt": spoilt, "remarks": remarks(run), "next": next_commands(run, results, cut, given),
        "rows": ", ".join(f"{many} {status}" for status, many in counts.items()),
        "notes": origin_notes(origin for _, origin in kinds),
        "figures": figures_of(run, FIGURES), "sections": measured, "failures": sections(failures(run, manifest)),
        "about_it": sections([environment(manifest), provenance(run, manifest), hashes(manifest)]), "check": check,
        "run_id": manifest.text("run_id") or run.name, "sha256": manifest.sha256 or "none",
    }  # fmt: skip
    return {f"report.{kind}": render(f"run.{kind}.j2", **words) for kind in ("html", "md")}


def title_of(run: Path, manifest: Manifest) -> str:
    """What a page of the run is called: not every run is about scaling."""
    imported, is_study = manifest.text("import", "kind"), (run / "scaling.csv").exists()
    if imported:
        what = "Scaling efficiency, imported" if is_study else "Imported results"
        return f"{what} ({imported}): {manifest.text('run_id') or run.name}"
    return f"{'Scaling efficiency' if is_study else 'Measurements'}: {manifest.text('study') or run.name}"


def answers(run: Path) -> list[Row]:
    """A row for each workload and strategy at its largest measured N; where only one rank was
    measured, at the largest N of another origin."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in usable(read_cases(run, "scaling.csv")):
        if row["efficiency"]:
            groups.setdefault((workload(row), how(row, "device", "dataset", "layout")), []).append(row)
    highest = {key: max(row.integer("ranks") for row in group) for key, group in groups.items()}
    compared = {name for (name, _), n in highest.items() if n > 1}
    found = []
    for key, group in groups.items():
        if key[0] in compared and highest[key] == 1:
            continue  # a base of the comparison, not its outcome
        measured = [row for row in group if row["origin"] == "measured" and row.integer("ranks") > 1]
        found.append(max(measured or group, key=lambda row: row.integer("ranks")))
    return found


def card(run: Path, row: Row, others: list[Row]) -> Card:
    alike = [other for other in others
             if (other["gradient_sync"] in DIAGNOSTIC) == (row["gradient_sync"] in DIAGNOSTIC)]
    ends = [percent(row.number(f"efficiency_ci_{end}")) for end in ("low", "high")]
    interval = f" ({intervals.told([row], *intervals.EFFICIENCY)} {ends[0]} to {ends[1]})" if all(ends) else ""
    origin = "" if row["origin"] == "measured" else f"{row['origin']} "
    sentence = (
        f"efficiency on {row.ranks()} {origin}rank{'s' if row['ranks'] != '1' else ''}{interval}: an epoch takes "
        f"{five_digits(row.number('measured_seconds'))} s where the ideal is "
        f"{five_digits(row.number('ideal_seconds'))} s, a speedup of {three_digits(row.number('speedup'))}."
    )
    wide = not row["efficiency_ci_low"] or intervals.wide(row)
    return Card(f"{workload(row)}, {how(row, *apart(alike))}", percent(row.number("efficiency")), sentence,
                lost_to(run, row), remark_of(row), wide)


def lost_to(run: Path, row: Row) -> str:
    """'Of the epoch: computation +10.6 % · transfer +2.3 %.': the three largest losses."""
    account = next((one for one in losses.accounts(run) if losses.key_of(one.case) == losses.key_of(row)), None)
    if not account:
        return ""
    told = [loss for loss in account.told() if account.seconds(loss) > 0]
    shares = [
        f"{losses.NAMES[loss]} {percent(account.seconds(loss) / row.number('measured_seconds'))}"
        + (" (may be 0)" if intervals.covers(account.losses[loss], "seconds", 0) else "")
        for loss in sorted(told, key=account.seconds, reverse=True)[:3]
    ]  # fmt: skip
    return f"Most is lost to {' · '.join(shares)} of the epoch." if shares else ""


def remark_of(row: Row) -> str:
    """What its interval leaves open, and what would help."""
    own = row["origin"] in ("measured", "emulated")
    more = f" {MORE}" if own and row.integer("rounds") < intervals.FULL else ""
    if not row["efficiency_ci_low"]:
        return "No interval: nothing says what of it is chance." + more
    if intervals.wide(row):
        return "Wide interval: a change of 10\u00a0% could hide in it." + more
    one = row["efficiency_ci_low"] == row["efficiency_ci_high"]  # compared with itself
    return "Not distinguishable from the ideal." + more if not one and intervals.covers(row, "efficiency", 1) else ""


def unfinished(run: Path, manifest: Manifest, given: str) -> tuple[str, str, str]:
    """What is missing: (in bold, how to go on, the command for it); ('', '', '') where nothing is."""
    status, launches = manifest.text("status"), manifest.records("launches")
    failed = [launch for launch in unsuccessful(manifest) if launch.get("status") == "failed"]
    words = f"{len(failed)} of {len(launches)} launch{'es' if len(launches) != 1 else ''} failed"
    if status in ("complete", ""):
        return (f"{words}: ", "see Failed launches.", "") if failed else ("", "", "")
    # Only a study has a plan, by which it can go on; one that was cut short has fewer launches than planned.
    try:
        plan = len(read(run / "plan.json")[0]["launches"])
    except (OSError, Refused, KeyError, TypeError):
        plan = 0
    command = f"scalebench resume {typed_here(given)}" if plan else ""
    if not failed or plan > len(launches) or any(launch.get("status") == "interrupted" for launch in launches):
        what = "it did not finish; what it had measured until then is below." + (" Go on with " if plan else "")
        return f"This run is {status}: ", f"{words}; {what}" if failed else what, command
    if all(launch["note"].partition(":")[0] == "exit code 2" for launch in failed):
        return f"This run is {status}: {words}.", " It was asked for what is not valid: mend the config.", ""
    return f"This run is {status}: {words}.", " Start again what failed: " if plan else "", command


def spoilers(run: Path, manifest: Manifest) -> list[tuple[str, str, str]]:
    """What spoils the numbers, its remedy, and its tone."""
    slowed = throttled(run)
    return [
        *((sentence, "leave it out with --hosts", "bad") for sentence in suspects(run)),
        *([(slowed, "look at cooling and power limit (nvidia-smi -q -d PERFORMANCE)", "bad")] if slowed else []),
        *((item["text"], item["remedy"], "") for item in manifest.records("warnings")),
    ]


def throttled(run: Path) -> str:
    """A warning where a GPU did not run as fast as it can; '' where none is known to."""
    rows = [row for name in FILES for row in each_row(run, name)
            if row["status"] == "ok" and row.number("throttled_share") > 0]
    if not rows:
        return ""
    most, by_power = max(row.number("throttled_share") for row in rows), any(row.number("power_capped_share") > 0
                                                                             for row in rows)
    why = " Its power limit was a reason." if by_power else ""
    where = f"{len(rows)} row{'s' if len(rows) != 1 else ''}"
    return f"A GPU was throttled in {where}, in up to {percent(most)} of the looks at it.{why}"


def next_commands(run: Path, results: list[Card], cut: tuple[str, str, str], given: str) -> list[tuple[str, str]]:
    """What to type next, and what for."""
    folder = typed_here(given)
    again = any(MORE in one.remark for one in results) and (run / "config.toml").is_file() and not cut[2]
    return [
        *([(cut[2], "measures what is missing")] if cut[2] else []),
        *([(f"scalebench run {folder}/config.toml --launches {intervals.FULL}", "makes the intervals narrower")]
          if again else []),
        *([(f"scalebench compare {folder} OTHER", "says which of two runs is faster")] if results else []),
        *([(f"scalebench verify {folder}", "makes every number once more")] if (run / "manifest.json").is_file() else []),
    ]


def environment(manifest: Manifest) -> Section | None:
    meaning = {"key": "Must be equal to compare runs", "treatment": "May be the cause of a difference",
               "observation": "Seen while it ran"}
    groups = {title: list(manifest.entries("environment", name).items()) for name, title in meaning.items()}
    return pairs("Environment", ("what", "value"), groups, "the machine and its software")


def provenance(run: Path, manifest: Manifest) -> Section | None:
    dirty = " with local changes" if manifest.text("tool", "dirty") == "true" else ""
    commit = manifest.text("tool", "commit")
    facts = {
        "run": manifest.text("run_id") or run.name, "command": as_typed(manifest.value("command")),
        "seed": manifest.text("seed"),
        "started": manifest.text("started_utc"), "finished": manifest.text("finished_utc"),
        "scalebench": " ".join(filter(None, [manifest.text("tool", "version"), commit + dirty if commit else ""])),
        "SHA-256 of manifest.json": manifest.sha256,
    }  # fmt: skip
    return pairs("Provenance", ("what", "value"),
                 {"": [(name, Toned(text, "code")) for name, text in facts.items() if text]})


def hashes(manifest: Manifest) -> Section | None:
    files = [(name, Toned(text, "code")) for name, text in manifest.entries("files").items()]
    return pairs("Files", ("file", "SHA-256"), {"": files}, f"SHA-256 of {len(files)} files")
