# SPDX-License-Identifier: Apache-2.0
# A run as Markdown: its sentences, the scaling table or what else was measured, what failed and why, and how to check it.
from __future__ import annotations

import re
from html import unescape
from pathlib import Path

from scalebench import intervals
from scalebench.cases import ALLREDUCE, apart, how, short_names, workload
from scalebench.manifest import Manifest
from scalebench.pages.markdown import table, text_of
from scalebench.numbers import byte_size, duration, five_digits, percent, three_digits
from scalebench.rows import Row, grouped, read_rows, usable
from scalebench.pages.run.cards import TITLE, diagnostics, results
from scalebench.pages.run.provenance import kinds_of, origin_notes, throttled, title_of, unfinished, unsuccessful
from scalebench.pages.run.seal import Check
from scalebench.pages.tables.epochs import HEAD, images_per_s, without_scaling
from scalebench.pages.tables.hosts import between_hosts, no_suspect, suspects
from scalebench.pages.tables.scaling import sentence
from scalebench.variants import read_cases

MOST = 200


def write_markdown(run: Path, manifest: Manifest, check: Check) -> str:
    kinds = kinds_of(run)
    bold, how, command = unfinished(run, manifest, check)
    found = results(run)
    sentences = [bullet(sentence(row, apart(found))) for row in found[:MOST]]
    sentences += [f"- {text_of(words)}" for words in [no_suspect(run), *between_hosts(run)] if words]
    # What is at fault comes first.
    sentences = [*(f"- **{text_of(words, 500)}**" for words in [*suspects(run), throttled(run)] if words), *sentences]
    checks = [bullet(words) for words in diagnostics(run)[:MOST]]
    if not any(kind == "ok" for kind, _ in kinds):
        sentences = ["**Nothing was measured.**"]
    parts = [
        f"# {text_of(title_of(run, manifest), 100)}",
        text_of(" · ".join(part for part in (manifest.text("started_utc"), manifest.host()) if part)),
        f"**{text_of(bold.strip(), 80)}** {text_of(how)} {text_of(command)}".strip() if bold else "",
        "\n".join(sentences),
        f"{TITLE}\n\n" + "\n".join(checks) if checks else "",
        " ".join(text_of(note) for note in origin_notes(origin for _, origin in kinds)),
        scaling(run) or measurements(run, manifest), failures(run, manifest),
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
    kind = intervals.told(rows, *intervals.EFFICIENCY)
    more = [f"In brackets: the {kind}."] if kind else []
    more += [f"{len(rows) - MOST} more rows in scaling.csv"] if len(rows) > MOST else []
    lines = [scaling_line(row, apart(rows)) for row in rows[:MOST]]
    return "\n\n".join(["## Scaling", table(head, lines), *more])


def scaling_line(row: Row, columns: tuple[str, ...]) -> list[str]:
    interval = [percent(row.number(f"efficiency_ci_{end}")) for end in ("low", "high")]
    efficiency = percent(row.number("efficiency")) + (f" [{interval[0]}, {interval[1]}]" if all(interval) else "")
    times = [five_digits(row.number(name)) for name in ("measured_seconds", "ideal_seconds")]
    return [text_of(cell) for cell in (workload(row), how(row, *columns), row.ranks(), row["origin"], *times, three_digits(row.number("speedup")), efficiency)]


def measurements(run: Path, manifest: Manifest) -> str:
    """Of a run without a scaling study: its tables in short."""
    rows = usable(read_rows(run, "allreduce.csv"))
    names = short_names(list(grouped(rows, ALLREDUCE)), ALLREDUCE)
    allreduce = [
        [row["algorithm"], names[tuple(row[column] for column in ALLREDUCE)], row.ranks(), row["origin"], byte_size(row.number("size_bytes")),
         duration(row.number("seconds_median")), three_digits(row.number("busbw_gb_per_s"))]
        for row in rows
    ]  # fmt: skip
    throughput = [
        [row["model"], row["device"], row["dtype"], row["step"], row["batch"], row.ranks(), row["origin"], three_digits(row.number("images_per_s"))]
        for row in usable(read_rows(run, "throughput.csv")) if row["rank"] == "all"
    ]  # fmt: skip
    kernels = [
        [row["kernel"], row["device"], row["dtype"], duration(row.number("seconds_median")),
         three_digits(row.number("gb_per_s")), three_digits(row.number("gflop_per_s"))]
        for row in usable(read_rows(run, "kernels.csv"))
    ]  # fmt: skip
    trained = without_scaling(run)
    epochs = [
        [workload(row), how(row, *apart(trained)), row.ranks(), row["origin"],
         duration(*(row.number(name) for name in ("seconds", "seconds_ci_low", "seconds_ci_high"))), three_digits(images_per_s(row)),
         row["repetitions"], percent(row.number("test_accuracy"))]
        for row in trained
    ]  # fmt: skip
    parts = [
        listed("Epochs", ["workload", *HEAD], epochs, "epoch.csv"),
        listed("Allreduce", ["algorithm", "over", "N", "origin", "size", "time", "bus bandwidth, GB/s"], allreduce, "allreduce.csv"),
        listed("Throughput", ["model", "device", "dtype", "step", "batch", "N", "origin", "images/s"], throughput, "throughput.csv"),
        listed("Kernels", ["kernel", "device", "dtype", "time", "GB/s", "GFLOP/s"], kernels, "kernels.csv"),
    ]
    return "\n\n".join(filter(None, parts))


def listed(title: str, head: list[str], rows: list[list[str]], rest: str) -> str:
    if not rows:
        return ""
    more = [f"{len(rows) - MOST} more rows in {rest}"] if len(rows) > MOST else []
    return "\n\n".join([f"## {title}", table(head, [list(map(text_of, row)) for row in rows[:MOST]]), *more])


def failures(run: Path, manifest: Manifest) -> str:
    failed = unsuccessful(manifest)
    rows = [[text_of(launch.get(name, "")) for name in ("number", "program", "ranks", "status", "note")] for launch in failed[:MOST]]
    return "## Failed launches\n\n" + table(["launch", "program", "N", "status", "why"], rows) if rows else ""
