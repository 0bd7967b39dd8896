# SPDX-License-Identifier: Apache-2.0
# What a run did not measure and why: a line for each case, one for all sizes of a case, and each launch that failed.
from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from scalebench.cases import ALLREDUCE, apart, in_words
from scalebench.manifest import Manifest
from scalebench.numbers import byte_size
from scalebench.pages.render import Column, Section, Toned, section, text, wide
from scalebench.rows import Row, each_row

FILES = ("scaling.csv", "epoch.csv", "throughput.csv", "allreduce.csv", "kernels.csv")
NAMES = ("bench", "kernel", "model", "gradient_sync", "algorithm", "transport", "dtype", "ranks", "rank")
# What else tells cases apart, told where it does.
MORE = ("memory_format", "step", "settings", "dataset", "scaling", "batch", "threads",
        *(name for name in ALLREDUCE if name not in NAMES))


def unsuccessful(manifest: Manifest) -> list[dict[str, str]]:
    return [launch for launch in manifest.records("launches") if launch["status"] not in ("ok", "")]


def failures(run: Path, manifest: Manifest) -> list[Section]:
    columns = (*NAMES, *MORE, "size_bytes", "status", "note")
    rows = [
        (name, Row({column: row[column] for column in columns if row[column]}))
        for name in FILES for row in each_row(run, name) if row["status"] != "ok"
    ]  # fmt: skip
    cases = section("Failures and skips", [
        text("file", lambda case: case[0], always=True),
        wide("case", lambda case: case[1], always=True),
        text("status", lambda case: Toned(case[2]["status"], "" if case[2]["status"] == "skipped" else "bad"),
             always=True),
        wide("why", lambda case: case[2]["note"], always=True),
    ], {"": without_sizes(rows)}, "the CSV files", brief=False)  # fmt: skip
    logs = any((run / "launches").glob("*/stderr.log"))
    words = "What each one printed is in launches/<number>-…/stderr.log." if logs else ""

    def word(name: str, **more: bool) -> Column:
        return text("N" if name == "ranks" else name, lambda launch: launch.get(name, ""), always=True, **more)

    launches = section("Failed launches", [
        word("number"), word("program"), word("ranks"),
        text("status", lambda launch: Toned(launch["status"], "bad"), always=True),
        wide("why", lambda launch: launch["note"], always=True),
        wide("command", lambda launch: Toned(launch["command"], "code"), always=True, brief=False),
    ], {"": unsuccessful(manifest)}, "manifest.json", words)  # fmt: skip
    return [cases, launches]


def describe(row: Row, more: Iterable[str]) -> str:
    words = [f"{column} {row[column]}" if column in ("ranks", "rank", "batch") else in_words(column, row[column])
             for column in (*NAMES, *more) if row[column]]  # fmt: skip
    return " · ".join(filter(None, [*words, byte_size(row.number("size_bytes"))]))


def without_sizes(rows: list[tuple[str, Row]]) -> list[tuple[str, str, Row]]:
    """(file, case, row): cases that differ in nothing but their size become one."""
    more = {name: apart([row for file, row in rows if file == name], MORE) for name in FILES}
    groups: dict[tuple[str, ...], list[Row]] = {}
    for place, (name, row) in enumerate(rows):
        case = describe(Row({**row, "size_bytes": ""}), more[name])
        groups.setdefault((name, case, row["status"], row["note"], "" if row["size_bytes"] else str(place)),
                          []).append(row)
    found = []
    for (name, case, *_), group in groups.items():
        sizes = len({row["size_bytes"] for row in group})
        several = f"{case} · {f'{sizes} sizes' if sizes > 1 else f'{len(group)} rows'}"
        found.append((name, several if len(group) > 1 else describe(group[0], more[name]), group[0]))
    return found
