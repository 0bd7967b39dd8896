# SPDX-License-Identifier: Apache-2.0
# A comparison's page and Markdown: the answer in a sentence, what is not known, time and cost, the cells side
# by side, the prices, and where all of it is from. All of it is in compare.json and compare.csv.
from __future__ import annotations

from pathlib import Path

from scalebench import Refused
from scalebench.cases import origin_notes
from scalebench.manifest import Document, as_text, as_typed, read
from scalebench.numbers import duration, three_digits
from scalebench.pages.panels import figures_of
from scalebench.pages.render import Column, Section, Toned, render, section, sections, text, wide, with_ends
from scalebench.rows import Row, grouped, read_rows

CAPTION = "Time against cost. Down is faster, left is cheaper; a cross is quoted. N: GPUs (or CPU ranks) in use."
BEST = "Best: nothing else here is as fast and as cheap. A part of an instance is billed as the whole."


class Comparison(Document):
    def __init__(self, folder: Path) -> None:
        try:
            super().__init__(read(folder / "compare.json")[0])
        except (OSError, Refused) as error:
            raise Refused(f"{folder}/compare.json: {getattr(error, 'strerror', None) or error}") from error
        self.folder, self.cells = folder, read_rows(folder, "compare.csv")

    def title(self) -> str:
        runs, types = self.records("runs"), dict.fromkeys(row["instance"] for row in self.records("costs"))
        # One run's type is no title of two runs.
        without = len(runs) > 1 and any(not run["instance"] for run in runs)
        return " or ".join(types) if types and not without else " against ".join(run["run_id"] for run in runs)


def written(found: Comparison) -> dict[str, str]:
    """report.html and report.md"""
    said = found.value("answers")
    *open_ones, answer = [as_text(line) for line in said] if isinstance(said, list) and said else [""]
    sources = dict.fromkeys(row["price_source"] for row in found.records("instances") if row["price_source"])
    words = {
        "title": found.title(), "answer": answer, "open_ones": open_ones, "exit_code": found.value("exit_code"),
        "figures": figures_of(found.folder, {"cost": CAPTION}), "costs": sections([costs(found)]),
        "prices": sections([prices(found, list(sources))]),
        "notes": [f"[{place}] {source}" for place, source in enumerate(sources, 1)],
        "sections": sections([*cells(found), origins(found)]),
        "meanings": origin_notes(row["origin"] for row in [*found.records("costs"), *found.cells]),
        "command": as_typed(found.value("command")),
    }  # fmt: skip
    return {f"report.{kind}": render(f"comparison.{kind}.j2", **words) for kind in ("html", "md")}


def costs(found: Comparison) -> Section:
    rows = found.records("costs")

    def instances_of(row: Row) -> str:
        """'2 × p3.8xlarge', with the run where two were on the type."""
        several = any(other["instance"] == row["instance"] and other["run_id"] != row["run_id"] for other in rows)
        name = row["instance"] + (f" ({row['run_id']})" if several else "")
        return name if row["nodes"] in ("", "1") else f"{row['nodes']} × {name}"

    columns = [
        text("instances", instances_of, always=True),
        Column("time", lambda row: with_ends(row, "seconds", duration) or row["status"], always=True),
        Column("its cost", lambda row: three_digits(row.number("usd")), always=True),
        text("best", lambda row: row["best"] if row["seconds"] else ""),
        Column("images", lambda row: three_digits(row.number("images"))),
        text("what", lambda row: row["label"], always=True),
        text("known by", known_by),
        wide("note", lambda row: row["note"]),
    ]
    groups = {workload: group for (workload,), group in grouped(rows, ("workload",)).items()}
    return section("Time and cost", columns, groups, "compare.json", BEST, weak=lambda row: row["origin"] == "quoted")


def known_by(row: Row) -> str:
    launches = row["launches"]
    return f"{row['origin']}, {launches} launch{'es' if launches != '1' else ''}" if launches else row["origin"]


def prices(found: Comparison, sources: list[str]) -> Section | None:
    columns = [
        text("type", lambda row: row["name"], always=True),
        Column("an hour", lambda row: f"{row['usd_per_hour']} {row['currency']}" if row["usd_per_hour"]
               else "not known", always=True),
        text("of", lambda row: row["price_date"], always=True),
        text("source", lambda row: f"[{sources.index(row['price_source']) + 1}]" if row["price_source"] else "",
             always=True),
    ]
    return section("Prices", columns, {"": found.records("instances")}, "compare.json")


def cells(found: Comparison) -> list[Section]:
    """The cells of each run that was compared with A."""

    def of(letter: str, rows: list[Row]) -> Section:
        columns = [
            wide("cell", lambda row: row["label"], always=True),
            *(Column(side, lambda row, name=name: duration(row.number(name)), always=True) for side,
              name in (("A", "seconds_a"), (letter, "seconds_b"))),
            Column(f"ratio {letter}/A", lambda row: with_ends(row, "ratio", three_digits, "_low", "_high"),
                   always=True),
            Column("p", lambda row: three_digits(row.number("p_holm"))),
            text("verdict", lambda row: row["verdict"] or {"ok": "not tested"}.get(row["status"], row["status"]),
                 always=True),
            wide("note", lambda row: row["note"], always=True),
        ]
        return section(f"The same cell in A and {letter}", columns, {"": rows}, "compare.csv")

    return [of(letter, rows) for (letter,), rows in grouped(found.cells, ("letter",)).items()]


def origins(found: Comparison) -> Section:
    names = {"": "letter", "run": "run_id", "taken to be on": "instance", "origin": "origin"}
    columns = [wide(head, lambda row, name=name: row[name], always=True) for head, name in names.items()]
    columns.append(wide("SHA-256 of manifest.json", lambda row: Toned(row["manifest_sha256"], "code")))
    return section("Where the numbers are from", columns, {"": found.records("runs")}, "compare.json")
