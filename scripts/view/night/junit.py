# SPDX-License-Identifier: Apache-2.0
# A night as JUnit XML: a testcase for each cell, one for the night as a whole, one for each failed
# launch. Regression: failure. No valid value: error. Not judged: skipped.
from __future__ import annotations

from xml.etree import ElementTree

from view.manifest import as_text
from view.night import cell_words
from view.night.record import ABSENT, CELL_VERDICTS, MEANINGS, WORSE, Night
from view.plain import lines, plain
from view.rows import Row

NIGHT_OUTCOMES = {"PASS": "", "REGRESSED": "failure", "HOST SHIFT": "failure", "SUSPECT": "failure", "INSUFFICIENT": "skipped"}  # others: error


def write_junit(night: Night) -> str:
    name = f"scalebench nightly {plain(night.text('study') or night.folder.name, 80)}"
    suite = ElementTree.Element("testsuite", name=name, hostname=plain(night.text("host"), 120),
                                timestamp=plain(night.text("started_utc").removesuffix("Z"), 40))  # fmt: skip
    properties = ElementTree.SubElement(suite, "properties")
    for key in ("run", "previous_run", "pinned_run", "verdict", "exit_code"):
        ElementTree.SubElement(properties, "property", name=key, value=plain(night.text(key)))
    reason = " ".join([MEANINGS[night.verdict] + ".", *map(plain, night.doubts or [night.text("summary")])])
    add(suite, "night", "verdict", NIGHT_OUTCOMES.get(night.verdict, "error"), night.verdict, reason)
    for cell in night.cells:
        add_cell(suite, cell)
    for launch in night.records("failed_launches"):
        title = plain(as_text(launch.get("name")) or as_text(launch.get("number")))
        said = lines(launch.get("stderr_tail") or "")
        add(suite, "launch", title, "error", "FAILED", plain(as_text(launch.get("why"))), said)
    cases = list(suite.iter("testcase"))
    found = {kind: sum(case.find(kind) is not None for case in cases) for kind in ("failure", "error", "skipped")}
    counts = {"tests": len(cases), "failures": found["failure"], "errors": found["error"], "skipped": found["skipped"]}
    suites = ElementTree.Element("testsuites", name="scalebench")
    for element in (suite, suites):
        for key, count in counts.items():
            element.set(key, str(count))
    suites.append(suite)
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def add_cell(suite: ElementTree.Element, cell: Row) -> None:
    verdict = cell["verdict"]
    outcome = "skipped"  # AMBIGUOUS INSUFFICIENT EXCLUDED SKIPPED
    if verdict in WORSE:
        outcome = "failure"
    elif verdict in ABSENT or verdict not in CELL_VERDICTS:
        outcome = "error"
    elif verdict in ("OK", "IMPROVED"):
        outcome = ""
    case = add(suite, plain(cell["family"] or cell["bench"], 80), cell_words.label(cell), outcome, verdict, cell_words.one_line(cell))
    seconds = cell.number("after")
    if cell["metric"] == "seconds" and seconds == seconds:
        case.set("time", f"{seconds:.9f}")


def add(suite: ElementTree.Element, family: str, name: str, outcome: str, kind: str, message: str,
        text: str = "") -> ElementTree.Element:  # fmt: skip
    case = ElementTree.SubElement(suite, "testcase", classname=f"scalebench.{family or 'cell'}", name=name)
    if outcome:
        found = ElementTree.SubElement(case, outcome, message=f"{plain(kind, 40)}: {message}")
        if outcome != "skipped":
            found.set("type", plain(kind, 40))
        found.text = text or None
    return case
