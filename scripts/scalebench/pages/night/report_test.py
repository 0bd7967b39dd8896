# SPDX-License-Identifier: Apache-2.0
# report on made-up nights: four files that say the same, a night without measurement never
# looks like a pass, and nothing that a cell or a host says can act in any of them.
from __future__ import annotations

import contextlib
import io
import json
import re
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

from fixtures.files import COLUMNS, write_rows
from fixtures.night import EXIT_CODES, GOOD, NIGHT, cell_row, tool, write_night
from fixtures.page import Page
from scalebench.__main__ import main

FILES = ("report.html", "report.md", "junit.xml", "scalebench.prom")
EVIL = (
    '<script>alert(1)</script> "><img src=x onerror=alert(2)> =cmd|\' a|b `code`` \x1b[31mred\x1b[0m \u202egnirts nul\0nul ]]> '
    "line\n::warning::second @team [x](javascript:alert(3)) https://example.invalid/x \ud800 \ufffe </pre></style> a\"b\\c"
)
SERIES = re.compile(r'[a-z_]+\{(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*\} [-+.0-9e]+')


class Night(unittest.TestCase):
    def setUp(self) -> None:
        self.results = Path(self.enterContext(tempfile.TemporaryDirectory())) / "results"

    def report(self, folder: Path, code: int = 0) -> dict[str, str]:
        printed, said = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
            self.assertEqual(main(["report", str(folder)]), code, said.getvalue())
        self.assertNotIn("\x1b", printed.getvalue() + said.getvalue())
        self.assertEqual(printed.getvalue().split(), [str(folder / name) for name in FILES])
        written = {name: (folder / name).read_text(encoding="utf-8") for name in FILES}
        self.assert_well_formed(written)
        return written

    def assert_well_formed(self, written: dict[str, str]) -> None:
        page = Page(written["report.html"])
        self.assertEqual(page.misplaced, [])
        self.assertFalse({"script", "iframe", "object", "embed", "link", "base", "form"} & set(page.tags))
        for name, value in page.attributes:
            self.assertFalse(name.startswith("on"), name)
            if name in ("href", "src"):
                self.assertRegex(value, r"^([a-z]+\.(csv|json)|data:image/png;base64,[\w+/=]+)$")
        ElementTree.fromstring(written["junit.xml"])
        series = [line for line in written["scalebench.prom"].splitlines() if not line.startswith("#")]
        for line in series:
            self.assertTrue(SERIES.fullmatch(line), line)
        self.assertEqual(len(series), len({line.rsplit(" ", 1)[0] for line in series}))
        for name, text in written.items():
            self.assertNotRegex(text, "[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]", name)

    def text(self, written: dict[str, str]) -> str:
        return Page(written["report.html"]).text()

    def number(self, written: dict[str, str], series: str) -> float:
        (line,) = re.findall(rf"^scalebench_night_{series} (.*)$", written["scalebench.prom"], re.MULTILINE)
        return float(line)

    def outcomes(self, written: dict[str, str], kind: str) -> list[str]:
        cases = ElementTree.fromstring(written["junit.xml"]).iter("testcase")
        return [case.get("name", "") for case in cases if case.find(kind) is not None]


class Reports(Night):
    def test_every_verdict_is_said_everywhere_and_only_a_pass_looks_like_one(self) -> None:
        for verdict in EXIT_CODES:
            written = self.report(write_night(self.results / verdict.split()[0], verdict))
            with self.subTest(verdict):
                self.assertIn(verdict, self.text(written))
                self.assertIn(verdict, written["report.md"].splitlines()[0])
                self.assertEqual(self.number(written, f'verdict{{study="nightly",verdict="{verdict}"}}'), 1)
                good = verdict == "PASS"
                self.assertEqual("big good" in written["report.html"], good)
                self.assertEqual("✅" in written["report.md"], good)
                bad = self.outcomes(written, "failure") + self.outcomes(written, "error")
                self.assertEqual("verdict" in bad, not good)

    def test_change_and_times_have_one_sign(self) -> None:
        written = self.report(write_night(self.results))
        for text in (self.text(written), written["report.md"], written["junit.xml"]):
            self.assertRegex(text.replace("\\", ""), r"10\.0 µs → 13\.0 µs\D*\+30\.2\s%")

    def test_the_program_that_changed_is_named_though_the_commits_are_equal(self) -> None:
        written = self.report(write_night(self.results))
        for text in (self.text(written), written["report.md"]):
            self.assertIn("bench_allreduce", text)
            self.assertIn("a" * 15, text)
            self.assertIn("Open MPI 4.1.6", text)
        same = self.report(write_night(self.results / "same", "PASS", tool=tool("a")))
        self.assertIn("byte for byte", self.text(same))

    def test_a_host_that_is_dead_or_at_fault_stands_in_every_file(self) -> None:
        for verdict in EXIT_CODES:
            for name, text in self.report(write_night(self.results / verdict.split()[0], verdict)).items():
                self.assertIn("host3", text, f"{verdict} {name}")

    def test_a_rehearsal_says_so(self) -> None:
        written = self.report(write_night(self.results, rehearsal="slower=0.3"))
        for name in ("report.html", "report.md", "junit.xml"):
            self.assertIn("REHEARSAL (slower=0.3)", written[name])
        self.assertEqual(self.number(written, 'rehearsal{study="nightly"}'), 1)

    def test_success_is_what_the_night_says_it_is(self) -> None:
        written = self.report(write_night(self.results))
        self.assertEqual(self.number(written, 'last_success_timestamp_seconds{study="nightly"}'), 1769917800)
        self.assertIn(GOOD, self.text(written))
        never = self.report(write_night(self.results / "never", last_success=None))
        self.assertNotIn("last_success", never["scalebench.prom"])

    def test_a_pass_that_the_cells_do_not_bear_out_is_none(self) -> None:
        cases: dict[str, dict[str, object]] = {
            "no cell": {"cells": 0}, "cells SLOWER": {"special": ["SLOWER"]}, "cells MISSING": {"special": ["MISSING"]},
            "cells GREAT": {"special": ["GREAT"]},
        }  # fmt: skip
        for why, arguments in cases.items():
            written = self.report(write_night(self.results / why.replace(" ", ""), "PASS", **arguments), code=3)
            self.assertIn(why, self.text(written))
            self.assertEqual(self.number(written, 'verdict{study="nightly",verdict="PASS"}'), 0)

    def test_files_of_other_shape(self) -> None:
        folder = write_night(self.results)
        for content in ("{", "[]", '{"schema_version": 2, "verdict": "PASS"}', '{"schema_version": 1}', "\0",
                        "[" * 200_000):
            (folder / "nightly.json").write_text(content, encoding="utf-8")
            self.assertIn("UNKNOWN", self.report(folder, code=3)["report.md"])
        content = json.loads(json.dumps({"schema_version": 1, "verdict": "SLOWER"}))
        names = ("title", "run", "study", "host", "accepted", "accepted_now", "tool", "last_success", "good_before",
                 "suspects", "software", "libraries", "hosts", "history", "rehearsal", "exit_code",
                 "suspect_line")  # fmt: skip
        for value in (3, None, [1, None, {}], {"a": [1]}, "x", "../../etc/history.csv", True):
            (folder / "nightly.json").write_text(json.dumps({**content, **dict.fromkeys(names, value)}),
                                                 encoding="utf-8")
            self.report(folder)
        (folder / "history.csv").write_text("run_id,verdict\n1,OK\n1\n\x1b[31m2,OK\n", encoding="utf-8")
        self.report(folder)

    def test_a_cells_nights_are_a_line_with_gaps_since_it_was_accepted(self) -> None:
        folder = write_night(self.results, cells=1)
        self.assertIn('alt="30 nights, 1 without a value', self.report(folder)["report.html"])
        history = next(folder.parent.glob("*/history.csv"))
        lines = history.read_text().splitlines()
        history.write_text("\n".join([*lines[:11], lines[10].replace("SAME", "ACCEPTED"), *lines[11:]]) + "\n")
        self.assertIn("21 nights", self.report(folder)["report.html"])

    def test_nothing_that_a_file_says_acts_in_a_report(self) -> None:
        folder = write_night(self.results, title=EVIL, study=EVIL, host=EVIL, rehearsal=EVIL, suspect_line=EVIL,
                             history=EVIL,
                             suspects=[dict.fromkeys(("host", "verdict", "why"), EVIL)],
                             tool={"commit": EVIL, "binaries": {EVIL: EVIL}},
                             software={EVIL: EVIL}, hosts=[{"host": EVIL, "found": EVIL}], reasons=[EVIL])  # fmt: skip
        text = EVIL.encode("utf-8", "replace").decode()
        rows = [{**cell_row(place, "SLOWER"), "label": text, "note": text, "key": text, "origin": text}
                for place in range(3)]
        write_rows(folder / "history.csv", COLUMNS["history.csv"], rows)
        written = self.report(folder)
        self.assertIn("<script>alert(1)</script>", self.text(written))
        outside = written["report.md"].replace("<!-- -->", "")
        self.assertNotRegex(outside, "<[a-zA-Z/!]")
        self.assertNotRegex(outside, r"@\w(?<!\\)\]\(")

    def test_ten_thousand_cells_are_the_most_urgent_and_a_link(self) -> None:
        written = self.report(write_night(self.results, cells=10_000, special=["SLOWER"] * 10_000))
        self.assertLess(len(written["report.html"]), 1 << 20)
        self.assertIn("9950 more rows in history.csv", written["report.md"])
        self.assertEqual(written["scalebench.prom"].count("scalebench_night_cell_seconds{"), 200)
        self.assertEqual(self.number(written, 'cells_left_out{study="nightly"}'), 9800)

    def test_a_link_in_place_of_a_report_is_replaced_not_followed(self) -> None:
        folder = write_night(self.results)
        victim = self.results / "victim"
        victim.write_text("mine")
        (folder / "report.html").symlink_to(victim)
        self.report(folder)
        self.assertEqual(victim.read_text(), "mine")
        self.assertEqual(NIGHT, folder.name)


if __name__ == "__main__":
    unittest.main()
