# SPDX-License-Identifier: Apache-2.0
# A night as JUnit XML: a testcase for the night, for each host at fault, and for each cell. Slower:
# failure. No value: error. Undecided: skipped.
from __future__ import annotations

from xml.etree import ElementTree

from scalebench.pages.night.record import MEANINGS, Night, label, one_line
from scalebench.plain import plain

NIGHTS = {"PASS": "", "SLOWER": "failure", "MACHINE": "failure"}  # others: error
CELLS = {"SLOWER": "failure", "MACHINE": "failure", "UNDECIDED": "skipped", "WATCHED": "", "FASTER": "", "SAME": ""}


def write_junit(night: Night) -> str:
    suite = ElementTree.Element("testsuite", name=f"scalebench nightly {night.name()}",
                                hostname=plain(night.text("host"), 120),
                                timestamp=plain(night.text("started_utc").removesuffix("Z"), 40))  # fmt: skip
    add(suite, "night", "verdict", NIGHTS.get(night.verdict, "error"), f"{night.title()}. {MEANINGS[night.verdict]}.")
    for host in night.hosts_at_fault():
        add(suite, "host", host.split(":")[0], "error", host)
    for cell in night.cells:
        outcome = CELLS.get(cell["verdict"], "error")
        case = add(suite, "cell", label(cell), outcome, f"{plain(cell['verdict'], 40)}: {one_line(cell)}")
        seconds = cell.number("seconds")
        if seconds == seconds:
            case.set("time", f"{seconds:.9f}")
    cases = list(suite.iter("testcase"))
    suites = ElementTree.Element("testsuites", name="scalebench")
    counts = {"tests": len(cases)}
    for kind, name in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        counts[name] = sum(case.find(kind) is not None for case in cases)
    for element in (suite, suites):
        for key, count in counts.items():
            element.set(key, str(count))
    suites.append(suite)
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def add(suite: ElementTree.Element, family: str, name: str, outcome: str, message: str) -> ElementTree.Element:
    case = ElementTree.SubElement(suite, "testcase", classname=f"scalebench.{family}", name=name)
    if outcome:
        ElementTree.SubElement(case, outcome, message=message)
    return case
