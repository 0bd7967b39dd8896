# SPDX-License-Identifier: Apache-2.0
# What a comparison has found, as its page and its Markdown tell it: sentences, and tables of texts.
from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from view.cases import apart, batch_of, how
from view.manifest import as_text
from view.numbers import count, duration, three_digits, usd
from view.rows import Row, grouped, read_rows
from view.run.provenance import origin_notes
from view.variants import tell_images

Table = tuple[list[str], list[list[str]]]  # head, rows
WORKLOAD = ("model", "dataset", "scaling", "variant")  # `variant` is of view.variants
TOO_MANY_ROUNDS = 1000  # rounds_needed says no larger number
NOTHING_TESTED = "Nothing was tested between the runs' cells."
STEPS_ALONE = (
    "Training steps alone, on all ranks at once: no synchronisation, no input, no evaluation. They are no epoch and "
    "enter no decision. Part: of an instance that is billed as a whole one."
)
# Of a source as catalogs have it, the part about the price: 'price: WHERE; network: ...'.
PRICE_SOURCE = re.compile(r"price[^:=]*[:=]\s*((?:\([^)]*\)|[^;(])+)")


class NoComparison(Exception):
    """The folder holds none."""


@dataclass(frozen=True)
class Comparison:
    folder: Path
    document: dict[str, Any]  # compare.json
    decisions: list[Row]
    costs: list[Row]
    cells: list[Row]

    def runs(self) -> list[dict[str, str]]:
        runs = self.document.get("runs")
        listed = runs if isinstance(runs, list) else []
        return [{key: as_text(value) for key, value in run.items()} for run in listed if isinstance(run, dict)]

    def title(self) -> str:
        types = dict.fromkeys(row["instance"] for row in self.costs)
        # One run's type is no title of two runs.
        without = any(not run.get("instance") for run in self.runs())
        return " or ".join(types) if types and not (without and len(self.runs()) > 1) else " against ".join(run.get("run_id", "") for run in self.runs())

    def tested(self) -> int:
        return self.counted("tested")

    def counted(self, name: str) -> int:
        counts = self.document.get("counts")
        return as_count(counts.get(name)) if isinstance(counts, dict) else 0

    def open_cells(self) -> str:
        """How many rounds the cells would take that nothing was shown of; '' where all were decided."""
        needed = [int(row["rounds_needed"]) for row in self.cells if row["verdict"] == "UNDECIDED" and row["rounds_needed"]]
        if not needed:
            return ""
        rounds = f"{needed[0]}" if len(set(needed)) == 1 else f"{min(needed)} to {max(needed)}"
        more = " or more" if max(needed) >= TOO_MANY_ROUNDS else ""
        return f"{len(needed)} of {self.tested()} cells UNDECIDED: {rounds}{more} rounds would tell."

    def untested(self) -> bool:
        """Whether there was something to test, and nothing could be."""
        return len(self.runs()) > 1 and self.tested() == 0

    def undecided(self) -> bool:
        """Whether it leaves open what it was made for, or found something slower: exit codes other than 0 say so."""
        if any(row["status"] != "ok" for row in self.decisions) or not (self.decisions or self.tested()):
            return True
        return as_count(self.document.get("exit_code")) != 0


def as_count(value: object) -> int:
    return value if isinstance(value, int) else 0


def read_comparison(folder: Path) -> Comparison:
    path = folder / "compare.json"
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise NoComparison(f"{path}: {error}") from error
    if not isinstance(document, dict):
        raise NoComparison(f"{path}: not an object")
    costs, cells = (read_rows(folder, name) for name in ("cost.csv", "compare.csv"))
    decisions = [row_of(one) for one in document.get("decisions") or [] if isinstance(one, dict)]
    tell_images([*decisions, *costs])
    return Comparison(folder, document, decisions, costs, cells)


def row_of(members: dict[str, object]) -> Row:
    """As a file has it: what is null is empty."""
    return Row({name: "" if value is None else str(value) for name, value in members.items()})


def workload(row: Row) -> str:
    return " · ".join(row[name] for name in WORKLOAD if row[name])


def limits(found: Comparison) -> list[str]:
    """What the verdicts on cells cannot say, as the terminal has it."""
    if found.tested() == 0:
        return []
    floor, of_latency = (found.document.get(name) for name in ("floor", "latency_floor"))
    small = ""
    if isinstance(floor, (int, float)) and isinstance(of_latency, (int, float)):
        small = f"Differences up to {100 * floor:.0f}\u00a0% do not count, of latencies {100 * of_latency:.0f}\u00a0%."
    return [words for words in (found.open_cells(), small) if words]


def answers(found: Comparison) -> list[tuple[str, str, str]]:
    """(workload, sentence, what is not known) of each decision; the workload where there are several."""
    several = len({workload(row) for row in found.decisions}) > 1
    return [
        (workload(row) if several else "", sentence_of(row), unknown_of(row))
        for row in found.decisions
    ]


def sentence_of(row: Row) -> str:
    note = f" ({row['note']})" if row["note"] and row["status"] == "ok" else ""
    return f"{row['sentence']}{note}."


def unknown_of(row: Row) -> str:
    if not row["unknown"]:
        return ""
    return f"{'Not known' if row['status'] == 'ok' else 'What would help'}: {row['unknown']}."


def costs(found: Comparison, whole: bool) -> list[tuple[str, Table, list[str]]]:
    """(workload, table, origins of its rows): of whole instances, or of parts of one."""
    rows = [row for row in found.costs if row["bench"] != "throughput" and (row["whole"] == "1") == whole]
    tables = []
    for key, group in grouped(rows, WORKLOAD).items():
        target = any(row["seconds_to_target"] for row in group)
        head = ["instances", "an epoch", "its cost", "N", *(["best"] if whole else []),
                *(["to the target", "its cost"] if target else []), "how", "known by", "note"]  # fmt: skip
        ways = ways_of(group)
        lines = [[instances_of(found, row), *cost_line(row, way, whole, target)] for row, way in zip(group, ways)]
        tables.append((" · ".join(word for word in key if word), (head, lines), [row["origin"] for row in group]))
    return tables


def instances_of(found: Comparison, row: Row) -> str:
    """'2 × p3.8xlarge', with the run where two were on the type."""
    several = any(other["instance"] == row["instance"] and other["run_id"] != row["run_id"] for other in found.costs)
    name = row["instance"] + (f" ({row['run_id']})" if several else "")
    return name if row["nodes"] in ("", "1") else f"{row['nodes']} × {name}"


def throughput(found: Comparison) -> tuple[Table, list[str]] | None:
    """What images of training steps alone cost, and the origins of its rows."""
    rows = [row for row in found.costs if row["bench"] == "throughput"]
    head = ["instances", "images/s", "cost of a million", "N", "best", "model", "how", "known by", "note"]
    more = apart(rows, ("memory_format",))
    lines = [[instances_of(found, row), *throughput_line(row, more)] for row in rows]
    return ((head, lines), [row["origin"] for row in rows]) if rows else None


def throughput_line(row: Row, more: tuple[str, ...]) -> list[str]:
    rate = count(*(row.number(f"images_per_s{name}") for name in ("", "_ci_low", "_ci_high")))
    if row["status"] != "ok":
        rate = row["status"]
    best = {"1": "yes", "0": "no"}.get(row["efficient"], "") if row["whole"] == "1" else "part"
    words = [row["dtype"], *(row[column] for column in more), row["step"], f"batch {row['batch']}" if row["batch"] else ""]
    return [rate, usd(row.number("usd_per_million_images")), row["ranks"], best, row["model"],
            " · ".join(word for word in words if word), known_by(row), row["note"]]  # fmt: skip


def ways_of(rows: list[Row]) -> list[str]:
    """How each was trained, with what else differs between them."""
    more = apart(rows, ("dtype", "memory_format"))
    batches = [batch_of(row) for row in rows]
    several = len(set(batches)) > 1
    return [" · ".join([how(row, *more), *([batch] if several and batch else [])]) for row, batch in zip(rows, batches)]


def cost_line(row: Row, way: str, whole: bool, target: bool) -> list[str]:
    time = duration(*(row.number(f"seconds_{name}") for name in ("median", "ci_low", "ci_high")))
    cost = usd(*(row.number(f"usd_per_epoch{name}") for name in ("", "_ci_low", "_ci_high")))
    if row["status"] != "ok":
        time, cost = row["status"], ""
    to_target = [duration(row.number("seconds_to_target")), usd(row.number("usd_to_target"))] if target else []
    best = [{"1": "yes", "0": "no"}.get(row["efficient"], "")] if whole else []
    return [time, cost, row["ranks"], *best, *to_target, way, known_by(row), row["note"]]


def known_by(row: Row) -> str:
    launches = row["launches"]
    return f"{row['origin']}, {launches} launch{'es' if launches != '1' else ''}" if launches else row["origin"]


def prices(found: Comparison) -> tuple[Table, list[str]]:
    """Prices, each with the number of its source, and the sources."""
    rows = dict.fromkeys(
        (row["instance"], f"{row['usd_per_hour']} {row['currency'] or 'usd'}" if row["usd_per_hour"] else "not known", row["price_date"], price_source(row))
        for row in found.costs
    )
    numbers: dict[str, int] = {}
    lines = []
    for *cells, source in rows:
        number = f"[{numbers.setdefault(source, len(numbers) + 1)}]" if source else ""
        lines.append([*cells, number])
    notes = [f"[{number}] {source}" for source, number in numbers.items()]
    return (["type", "an hour", "of", "source"], lines), notes


def price_source(row: Row) -> str:
    """Where the price was read, without where all else about the type was."""
    match = PRICE_SOURCE.match(row["price_source"])
    return match[1].strip() if match else row["price_source"]


def sources(found: Comparison) -> Table:
    names = ("letter", "run_id", "instance", "origin", "manifest_sha256")
    rows = [[run.get(name, "") for name in names] for run in found.runs()]
    return ["", "run", "taken to be on", "origin", "SHA-256 of manifest.json"], rows


def meanings(found: Comparison) -> list[str]:
    """What the origins mean that occur, measured ones included."""
    origins = list(dict.fromkeys(row["origin"] for row in [*found.costs, *found.cells]))
    measured = ["measured: by this suite, on the machine that the run names."] if "measured" in origins else []
    return measured + origin_notes(origins)


def cells(found: Comparison) -> list[tuple[str, Table]]:
    """(title, table) of each run that was compared with A."""
    tables = []
    for (letter,), rows in grouped(found.cells, ("letter",)).items():
        head = ["cell", "A", letter, f"ratio {letter}/A", "interval", "p", "verdict", "note"]
        tables.append((f"The same cell in A and {letter}", (head, [cell_line(row) for row in rows])))
    return tables


def cell_line(row: Row) -> list[str]:
    ends = [three_digits(row.number(name)) for name in ("ratio_low", "ratio_high")]
    times = [duration(row.number(f"seconds_{side}")) for side in "ab"]
    label = row["label"] + (f" ({row['differs']})" if row["differs"] else "")
    return [label, *times, three_digits(row.number("ratio")), " to ".join(ends) if all(ends) else "",
            three_digits(row.number("p_holm")), row["verdict"] or {"ok": "not tested"}.get(row["status"], row["status"]), row["note"]]  # fmt: skip
