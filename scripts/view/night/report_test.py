# SPDX-License-Identifier: Apache-2.0
# nightly_report.py on made-up nights: five files that say the same, a night without measurement never
# looks like a pass, and nothing that a cell, a host or a log says can act in any of them.
from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

from fixtures.files import COLUMNS
from fixtures.night import BOTH_BUILDS, CASES, NIGHT, RERUN, gate_row, history_rows, labels, write_night, write_table
from fixtures.page import Page
from view.markdown import code

SCRIPTS = Path(__file__).resolve().parents[2]
FILES = ("report.html", "report.md", "junit.xml", "scalebench.prom", "github.txt")
ATTACKS = (
    "<script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "=cmd|' /C calc'!A0", "::error::forged", "a|b", "`code``",
    "\x1b[31mred\x1b[0m", "\u202egnirts", "nul\0nul", "]]>", "line\n::warning::second\r\n::set-output name=a::b", "@team",
    "[x](javascript:alert(3))", "https://example.invalid/x", "\ud800", "\ufffe", "{{7*7}}", "</pre></style>", 'a"b\\c',
)  # fmt: skip
EVIL = " ".join(ATTACKS)
SERIES = re.compile(r'[a-z_]+\{(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*\} [-+.0-9e]+')


class Night(unittest.TestCase):
    def setUp(self) -> None:
        self.results = Path(self.enterContext(tempfile.TemporaryDirectory())) / "results"

    def report(self, folder: Path, code: int = 0, **environment: str) -> dict[str, str]:
        done = subprocess.run([sys.executable, str(SCRIPTS / "nightly_report.py"), str(folder)], capture_output=True, text=True,
                              timeout=120, check=False, env={**os.environ, **environment}, stdin=subprocess.DEVNULL)  # fmt: skip
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        self.assertNotIn("\x1b", done.stdout + done.stderr)
        self.assertEqual(done.stdout.split("\n")[:-1], [str(folder.resolve() / name) for name in FILES])
        written = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir() if path.name in FILES}
        self.assertEqual(sorted(written), sorted(FILES))
        self.assertEqual([path.name for path in folder.iterdir() if path.name.startswith(".")], [])
        self.assert_well_formed(written)
        return written

    def assert_well_formed(self, written: dict[str, str]) -> None:
        page = Page(written["report.html"])
        self.assertEqual(page.misplaced, [])
        self.assertFalse({"script", "iframe", "object", "embed", "link", "base", "form", "img", "image"} & set(page.tags))
        self.assertIn(("http-equiv", "Content-Security-Policy"), page.attributes)
        for name, value in page.attributes:
            self.assertFalse(name.startswith("on") or name in ("src", "srcset", "xlink:href"), name)
            if name == "href":
                self.assertRegex(value, r"^(\.\./\.\./[A-Za-z0-9._-]+/)?[a-z]+\.(csv|html|json)$")
            self.assertNotIn("url(", value)
        ElementTree.fromstring(written["junit.xml"])
        for line in written["scalebench.prom"].splitlines():
            if not line.startswith("#"):
                self.assertRegex(line, SERIES)
                self.assertTrue(SERIES.fullmatch(line), line)
        series = [line.rsplit(" ", 1)[0] for line in written["scalebench.prom"].splitlines() if line[0] != "#"]
        self.assertEqual(len(series), len(set(series)))
        kinds = []
        for line in written["github.txt"].splitlines():
            self.assertRegex(line, r"^::(error|warning|notice) title=[^:,]*::.*$")
            kinds.append(line.split()[0])
        self.assertLessEqual(max(map(kinds.count, kinds), default=0), 10)
        self.assertLessEqual(len(written["report.md"].encode()), 1 << 20)
        for name, text in written.items():
            self.assertNotRegex(text, "[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]", name)

    def text(self, written: dict[str, str]) -> str:
        return Page(written["report.html"]).text().replace("\u00a0", " ")

    def number(self, written: dict[str, str], name: str) -> float | None:
        found = re.search(rf"^scalebench_night_{name}\{{[^}}]*\}} (.*)$", written["scalebench.prom"], re.MULTILINE)
        return float(found[1]) if found else None

    def cases(self, written: dict[str, str], kind: str) -> list[str]:
        return [case.get("name", "") for case in ElementTree.fromstring(written["junit.xml"]).iter("testcase")
                if case.find(kind) is not None]  # fmt: skip


class Verdicts(Night):
    def test_regressed_night_says_so_first_in_every_file(self) -> None:
        written = self.report(write_night(self.results))
        text = self.text(written)
        order = ["REGRESSED", "30 of 35 expected cells tested", "Open regressions", "Changed cells", "What changed", "Suspects",
                 "Not judged, missing and failed", "How far to trust it", "Annotations", "provenance"]  # fmt: skip
        places = [text.index(words) for words in order]
        self.assertEqual(places, sorted(places))
        for words in (
            "0123456789ab → 89abcdef0123", "Open MPI 4.1.4Open MPI 4.1.6", "-launches = 3 +launches = 5",
            "20.3 µs → 22.6 µs −10.2 % [−11.5, −9.0 %] −10.4 % as measured", "p < 0.0001", "q 0.004", "finds from 4.2 %", "nights 20",
            "expected from the baseline, not measured: its launch failed", "rank 3 was killed by signal 9",
            "(Killed)", "0 of 4 cells differ from themselves", "2 cells would not show a drop of 10.0 %", "0.50 (Jaccard)",
            "14 to 19 % as measured: 6 of its 6 cells became suspects (without a rerun), 6.0 expected; 1 more were slowed by too much to tell",
            "up to 24 rounds, 12.5 s of the sweep's time", "changed since under both builds: /usr/lib/libmpi.so.40",
            "against 24 rounds beside the accepted build", "against the nights before",
            "open since 20260112T030000Z-nightly-aabbcc", "as found −10.2 %", "commits 0123456789ab → 89abcdef0123",
            "−10.2 % [−11.5, −9.0 %] 24 rounds beside the accepted build",
            "repeat: scalebench run results/20260201T030000Z-nightly-3d4e5f/config.toml",
            f"repeat: {BOTH_BUILDS}",
            "new algorithm for small messages", "partial: it was interrupted", "powersave on 8 cores",
        ):  # fmt: skip
            self.assertIn(words, text)
        page = Page(written["report.html"])
        self.assertIn(("href", f"../../{NIGHT}/samples.csv"), page.attributes)
        self.assertNotIn(("href", f"../../{RERUN}/samples.csv"), page.attributes)  # it is not there
        self.assertIn("# ❌ REGRESSED", written["report.md"])
        self.assertIn("6 of its 6 cells became suspects (without a rerun), 6.0 expected", written["report.md"])
        self.assertIn("The accepted build beside took 12.5 s of the sweep's time.", written["report.md"])
        self.assertEqual(len(self.cases(written, "failure")), 5)  # the night and four cells
        self.assertEqual(len(self.cases(written, "error")), 3)  # MISSING, INVALID and the launch
        self.assertEqual(len(self.cases(written, "skipped")), 5)
        self.assertEqual(self.number(written, "open_regressions"), 2)
        self.assertIn("## Open regressions", written["report.md"])
        self.assertIn(f"{BOTH_BUILDS} |", written["report.md"])
        self.assertEqual(self.number(written, "verdict_code"), 1)
        self.assertIsNone(self.number(written, "last_success_timestamp_seconds"))
        self.assertTrue(written["github.txt"].startswith("::error title=Night%3A REGRESSED::"))

    def test_pass_is_a_success_and_is_told_with_what_was_tested(self) -> None:
        written = self.report(write_night(self.results, "PASS"))
        self.assertIn("PASSEvery expected cell was measured", self.text(written))
        self.assertIn("34 of 35 expected cells tested", self.text(written))
        self.assertEqual(self.cases(written, "failure") + self.cases(written, "error"), [])
        self.assertEqual(self.number(written, "last_success_timestamp_seconds"), 1770004150)
        self.assertEqual(self.number(written, "last_run_timestamp_seconds"), 1770004150)
        self.assertNotIn("::error", written["github.txt"])

    def test_a_night_without_measurement_never_looks_like_a_pass(self) -> None:
        for verdict in ("NOTHING MEASURED", "INSUFFICIENT", "BLIND", "INCOMPLETE", "HOST SHIFT"):
            with self.subTest(verdict):
                written = self.report(write_night(self.results / verdict.split()[0], verdict))
                self.assert_no_pass(written, verdict)

    def assert_no_pass(self, written: dict[str, str], verdict: str) -> None:
        self.assertRegex(written["report.html"], rf'<div class="verdict night (warn|stop)"><b class="big">{verdict}</b>')
        self.assertNotIn("PASS", self.text(written).split("What changed")[0].replace("states PASS", ""))
        self.assertNotIn("✅", written["report.md"])
        night = ElementTree.fromstring(written["junit.xml"]).find(".//testcase[@name='verdict']")
        self.assertIsNotNone(night)
        self.assertEqual(len(night), 1)
        self.assertIsNone(self.number(written, "last_success_timestamp_seconds"))
        self.assertNotEqual(self.number(written, "verdict_code"), 0)
        self.assertNotIn("::notice", written["github.txt"])

    def test_the_host_at_fault_is_named_whatever_the_verdict(self) -> None:
        line = "suspect: host3, its link sends 12 % of the others' median (look at cable, port, driver)"
        hosts = {"suspects": [{"host": "host3", "verdict": "link", "why": "its link"}], "suspect_line": line}
        written = self.report(write_night(self.results / "pass", "PASS", **hosts))
        self.assertIn(line, self.text(written).split("What changed")[0])
        self.assertIn("**suspect: host3, its link sends 12 %", written["report.md"])
        folder = write_night(self.results / "suspect", "PASS", exit_code=1, **hosts)
        content = json.loads((folder / "nightly.json").read_text())
        (folder / "nightly.json").write_text(json.dumps({**content, "verdict": "SUSPECT"}), encoding="utf-8")
        written = self.report(folder)
        self.assert_no_pass(written, "SUSPECT")
        self.assertEqual(len(self.cases(written, "failure")), 1)
        fine = self.report(write_night(self.results / "fine", "PASS", suspects=[], suspect_line="no host stands out"))
        self.assertIn("no host stands out", self.text(fine).split("What changed")[0])

    def test_a_shift_of_all_cells_is_one_alarm_and_no_verdict_on_cells(self) -> None:
        text = self.text(self.report(write_night(self.results, "HOST SHIFT")))
        self.assertIn("0 of 35 expected cells tested", text)
        self.assertIn("34 unjudged", text)
        for words in ("REGRESSED", "CONFIRMED", "IMPROVED"):
            self.assertNotIn(words, text)
        self.assertIn("−6.1 % [−6.4, −5.8 %], by 35 cells of the cells under test; −5.9 % in the rerun: an alarm", text)
        self.assertIn("not judged tonight", text)  # open since an earlier night, and still said

    def test_a_stated_pass_that_the_cells_do_not_bear_out_is_none(self) -> None:
        cases = {
            "NOTHING MEASURED": {"cells": 0},
            "INSUFFICIENT": {"special": ["INSUFFICIENT"] * 4, "cells": 4},
            "REGRESSED": {"special": ["DRIFT"]},
            "INCOMPLETE": {"special": ["MISSING"]},
            "UNKNOWN": {"special": ["GREAT"]},
        }
        for verdict, arguments in cases.items():
            with self.subTest(verdict):
                folder = write_night(self.results / verdict.split()[0], "PASS", **arguments)
                written = self.report(folder, code=3)
                self.assert_no_pass(written, verdict)
                self.assertIn("nightly.json states PASS" if verdict != "UNKNOWN" else "'GREAT', which is none", self.text(written))
        folder = write_night(self.results / "gone", "PASS")
        (folder / "gate.csv").unlink()
        self.assert_no_pass(self.report(folder, code=3), "NOTHING MEASURED")
        self.assertIn("No cell was tested", self.text(self.report(folder, code=3)))
        folder = write_night(self.results / "open", "PASS", open=[{"key": "*"}])
        self.assert_no_pass(self.report(folder, code=3), "REGRESSED")
        folder = write_night(self.results / "libraries", "HOST SHIFT", exit_code=1, open=[{"key": "a", "label": "ring", "accepted_too": True}])
        self.assertIn("in the accepted build too: no commit", self.text(self.report(folder)))
        folder = write_night(self.results / "code", "PASS", exit_code=3)
        self.assert_no_pass(self.report(folder, code=3), "UNKNOWN")

    def test_the_end_says_how_to_check_and_links_what_is_there(self) -> None:
        folder = write_night(self.results, "PASS")
        (self.results / NIGHT / "report.html").write_text("", encoding="utf-8")
        (folder / "history.csv").unlink()
        here = Path.cwd()
        os.chdir(self.results.parent)
        self.addCleanup(os.chdir, here)
        page = self.report(Path("results") / "nightly" / NIGHT, code=0)["report.html"]
        self.assertIn(f"<code>scalebench verify results/{NIGHT}</code>", page)
        self.assertNotIn("`", page.split("<footer>")[1])
        self.assertEqual(re.findall('href="([^"]*)"', page.split("<footer>")[1]), [f"../../{NIGHT}/report.html", "gate.csv", "nightly.json"])
        (self.results / NIGHT / "report.html").unlink()
        self.assertNotIn("own report", self.report(folder.resolve())["report.html"])
        shutil.rmtree(self.results / NIGHT)
        self.assertNotIn("scalebench verify", self.report(folder.resolve())["report.html"])

    def test_files_of_other_shape(self) -> None:
        folder = write_night(self.results)
        for content in ("{", "[]", '{"schema_version": 2, "verdict": "PASS"}', '{"schema_version": 1}', "\0", "[" * 200_000):
            (folder / "nightly.json").write_text(content, encoding="utf-8")
            self.assert_no_pass(self.report(folder, code=3), "UNKNOWN")
        odd = {name: 3 for name in ("counts", "host_shift", "beside", "open", "changes", "self_checks", "steps", "failed_launches", "annotations",
                                    "doctor", "baseline_runs", "summary", "run", "study", "host", "states")}  # fmt: skip
        for value in (3, None, [1, None, {}], {"a": [1]}, "x", True, 1e999, 10**400):
            changed = {"schema_version": 1, "verdict": "REGRESSED", **dict.fromkeys(odd, value)}
            (folder / "nightly.json").write_text(json.dumps(changed), encoding="utf-8")
            self.report(folder)
        (folder / "gate.csv").write_text("run_id,verdict\n1,OK\n1\n\x1b[31m2,OK\n", encoding="utf-8")
        (folder / "history.csv").write_bytes(b"\xff\xfe\0")
        self.report(folder)

    def test_what_is_no_night_is_refused(self) -> None:
        self.results.mkdir()
        for words in ([str(self.results)], [], ["--help"], ["a", "b"], [str(self.results / "no")]):
            done = subprocess.run([sys.executable, str(SCRIPTS / "nightly_report.py"), *words], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertEqual(done.stderr.count("\n"), 1)
            self.assertEqual("usage: " in done.stderr, len(words) != 1 or words == ["--help"])

    def test_a_case_on_as_many_ranks_of_other_hosts_has_its_own_past(self) -> None:
        folder = write_night(self.results, cells=1)
        gate, past = [], []
        for hosts, seconds in (("4", 0.001), ("2x2", 0.01)):
            row = {**gate_row(0, "allreduce", f"allreduce ring mpi 1 MiB N={hosts}", 4, seconds, "REGRESSED"),
                   "before": seconds, "after": seconds}  # fmt: skip
            gate.append(row)
            past += history_rows(0, row, seconds, 5)
        write_table(folder / "gate.csv", COLUMNS["gate.csv"], gate, NIGHT)
        write_table(folder / "history.csv", COLUMNS["history.csv"], past, NIGHT)
        sparks = re.findall(r'<svg[^>]*class="spark".*?</svg>', self.report(folder)["report.html"])
        self.assertEqual(["5 nights" in spark for spark in sparks], [True, True])

    def test_last_success_is_that_of_the_latest_night_that_passed(self) -> None:
        folder = write_night(self.results)

        def earlier(day: int, **changes: object) -> None:
            other = folder.parent / f"2026010{day}T030000Z-nightly-{day:06}"
            other.mkdir()
            content = {**json.loads((folder / "nightly.json").read_text()), "verdict": "PASS", "exit_code": 0, "open": [],
                       "finished_utc": f"2026-01-0{day}T04:00:00Z", **changes}  # fmt: skip
            (other / "nightly.json").write_text(json.dumps(content))
            gate = gate_row(20, "allreduce", "ring", 2, 1.0, "OK")
            write_table(other / "gate.csv", COLUMNS["gate.csv"], [gate], other.name)

        earlier(2)
        earlier(3)
        earlier(4, verdict="INSUFFICIENT")
        earlier(5, study="other")
        earlier(6, exit_code=3)
        earlier(7, host="another")
        self.assertEqual(self.number(self.report(folder), "last_success_timestamp_seconds"), 1767412800)

    def test_gaps_where_a_night_is_missing(self) -> None:
        folder = write_night(self.results, cells=1, nights=5, special=["REGRESSED"])
        text = (folder / "history.csv").read_text().splitlines()
        cells = text[3].split(",")
        cells[text[0].split(",").index("value")] = ""
        (folder / "history.csv").write_text("\n".join([*text[:3], ",".join(cells), *text[4:]]) + "\n")
        spark = re.search(r'<svg[^>]*class="spark".*?</svg>', self.report(folder)["report.html"])
        self.assertIsNotNone(spark)
        self.assertIn("5 nights, 1 without a value", spark[0])
        self.assertRegex(spark[0], r'd="M[^M]*L[^M]*M[^M]*L[^M]*"')


class Injection(Night):
    def evil(self, value: object) -> object:
        if isinstance(value, dict):
            return {key: self.evil(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.evil(item) for item in value]
        return EVIL if isinstance(value, str) else value

    def write_evil(self) -> Path:
        folder = write_night(self.results)
        content = json.loads((folder / "nightly.json").read_text())
        kept = {key: content[key] for key in ("schema_version", "verdict", "exit_code", "run", "previous_run", "pinned_run")}
        (folder / "nightly.json").write_text(json.dumps({**self.evil(content), **kept}), encoding="utf-8")
        gate = []
        for place, row in enumerate(labels(12)):
            verdict = list(CASES)[place % len(CASES)]
            for text in (EVIL, *ATTACKS):
                evil = {"label": text, "note": text, "family": text, "bench": text, "case_id": text, "rerun_run": text, "metric": text}
                if place % 2:
                    evil.pop("metric")
                gate.append({**gate_row(place, *row, verdict), **evil})
        clean = [{key: str(value).encode("utf-8", "replace").decode() for key, value in row.items()} for row in gate]
        write_table(folder / "gate.csv", COLUMNS["gate.csv"], clean, NIGHT)
        return folder

    def test_nothing_that_a_file_says_acts_in_a_report(self) -> None:
        written = self.report(self.write_evil())  # the rest is checked for every report
        page = Page(written["report.html"])
        for words in ("<script>alert(1)</script>", "<img src=x onerror=alert(2)>", "]]>", "=cmd|", "nul\\x00nul", "\\u202e"):
            self.assertIn(words, page.text(), words)
        self.assertEqual(page.tags.count("style"), 1)

    def test_markdown_shows_it_as_text(self) -> None:
        text = self.report(self.write_evil())["report.md"]
        outside = re.sub(r"^(`{3,})text\n.*?\n\1$", "", text, flags=re.MULTILINE | re.DOTALL)
        self.assertNotRegex(outside.replace("<!-- -->", ""), "<[a-zA-Z/!]")
        self.assertNotRegex(outside, r"(?<!\\)[`\[]")
        self.assertNotRegex(outside, r"@\w|://|(?<!\\)\]\(")
        for line in outside.splitlines():
            if line.startswith("|"):
                self.assertIn(len(re.findall(r"(?<!\\)\|", line)), (4, 5, 7, 10), line)
            self.assertFalse(line.startswith("::"))
        # A log's own fences do not end the block that it stands in.
        self.assertEqual(code("a\n````\nb").count("`````"), 2)

    def test_annotations_are_one_line_each(self) -> None:
        lines = self.report(self.write_evil())["github.txt"].splitlines()
        self.assertLessEqual(len(lines), 20)
        self.assertTrue(all(line.startswith(("::error title=", "::warning title=")) for line in lines))
        self.assertEqual(sum(" more: see" in line for line in lines), 2)

    def test_a_run_of_another_folder_is_not_read(self) -> None:
        for name in ("../../../etc", "..", ".", "", "/etc", "a/b", "x" * 300, "a\0b"):
            folder = write_night(self.results / str(abs(hash(name))), run=name, previous_run=name)
            self.assertNotIn("/etc", "".join(value for _, value in Page(self.report(folder)["report.html"]).attributes))

    def test_a_link_in_place_of_a_report_is_replaced_not_followed(self) -> None:
        folder = write_night(self.results)
        victim = self.results / "victim"
        victim.write_text("mine")
        (folder / "report.html").symlink_to(victim)
        self.report(folder)
        self.assertEqual(victim.read_text(), "mine")
        self.assertFalse((folder / "report.html").is_symlink())

    def test_secrets_of_the_environment_are_in_no_file(self) -> None:
        folder = write_night(self.results)
        for text in self.report(folder, SCALEBENCH_CANARY="c4n4ry-s3cret", AWS_SECRET_ACCESS_KEY="c4n4ry-s3cret").values():
            self.assertNotIn("c4n4ry", text)

    def test_without_a_terminal_or_a_locale(self) -> None:
        folder = write_night(self.results)
        first = self.report(folder)
        self.assertEqual(first, self.report(folder, TERM="", COLUMNS="0", LC_ALL="C", LANG="", PYTHONUTF8="0"))


class Size(Night):
    def test_ten_thousand_cells_are_the_most_urgent_and_a_link(self) -> None:
        folder = write_night(self.results, cells=10_000, nights=5, special=["REGRESSED"] * 10_000)
        written = self.report(folder)
        self.assertLess(len(written["report.html"]), 1 << 20)
        self.assertIn("9800 more in gate.csv", self.text(written))
        self.assertIn("9900 more in gate.csv", written["report.md"])
        self.assertEqual(len(ElementTree.fromstring(written["junit.xml"]).findall(".//testcase")), 10_001)
        self.assertEqual(written["scalebench.prom"].count("scalebench_night_cell_seconds{"), 200)
        self.assertEqual(self.number(written, "cells_left_out"), 9800)
        self.assertEqual(written["github.txt"].count("::error"), 10)
        self.assertIn("9992 more", written["github.txt"])

    def test_numbers_without_sense_are_drawn_without_end(self) -> None:
        folder = write_night(self.results, cells=3, nights=4)
        for name in ("1e308", "-1e308", "nan", "inf", "1e-320", "0"):
            row = gate_row(0, "allreduce", "ring", 2, 1.0, "REGRESSED")
            numbers = {key: name for key in ("before", "after", "change", "change_low", "change_high", "p_value", "q_value", "mde", "critical_drop", "as_measured", "rounds", "ranks")}
            write_table(folder / "gate.csv", COLUMNS["gate.csv"], [{**row, **numbers}], "x")
            history = [{**cells, "value": name, "ranks": name} for cells in history_rows(0, row, 1.0, 4)]
            write_table(folder / "history.csv", COLUMNS["history.csv"], history, "x")
            self.assertNotRegex(self.report(folder)["report.html"], r'(?i)[ "](nan|inf)[ "]')

    def test_endless_texts_end(self) -> None:
        long = "x" * 3_000_000
        folder = write_night(
            self.results, summary=long, host=long, failed_launches=[{"name": long, "why": long, "stderr_tail": long}] * 30,
            changes={"config": ["+" + long] * 3}, annotations=[{"kind": long, "reason": long}] * 3,
        )  # fmt: skip
        written = self.report(folder)
        self.assertLess(sum(map(len, written.values())), 1_000_000)


if __name__ == "__main__":
    unittest.main()
