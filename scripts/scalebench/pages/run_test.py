# SPDX-License-Identifier: Apache-2.0
# report on made-up runs: the page is one whole file, answers on its first screen, survives whatever is missing,
# and lets nothing through that a browser would run or fetch; its Markdown says the same.
from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Mapping
from pathlib import Path

from fixtures.account import loss_rows
from fixtures.files import seal, write_csv
from fixtures.page import Page
from fixtures.run import allreduce_rows, epoch_rows, scaling_rows, throughput_rows, write_manifest, write_run
from scalebench.__main__ import main
from scalebench.pages.failures import without_sizes
from scalebench.pages.seal import typed_here
from scalebench.rows import Row

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&"
NAME = "20260102T030405Z-quick-0a1b2c"


class ReportCase(unittest.TestCase):
    """A run in results/NAME of the current folder, and its report."""

    def setUp(self) -> None:
        self.addCleanup(os.chdir, Path.cwd())
        os.chdir(self.enterContext(tempfile.TemporaryDirectory()))
        self.run_folder = Path("results") / NAME
        self.run_folder.mkdir(parents=True)

    def called(self, *words: str) -> tuple[int, str]:
        """Exit code, and what was said."""
        said = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
            code = main(["report", str(self.run_folder), *words])
        return code, said.getvalue()

    def report(self, *words: str) -> tuple[str, str]:
        """The text of the page, and the Markdown, both with plain spaces."""
        code, said = self.called(*words)
        self.assertEqual(code, 0, said)
        page = Page(self.markup())
        self.assertEqual(page.misplaced, [])
        self.assertFalse({"script", "iframe", "object", "embed", "link", "base", "form"} & set(page.tags))
        self.assertIn(("http-equiv", "Content-Security-Policy"), page.attributes)
        for name, value in page.attributes:
            self.assertFalse(name.startswith("on"), name)
            if name in ("src", "href"):
                self.assertRegex(value, r"^data:image/(png|svg\+xml);base64,")
        self.attributes = page.attributes
        markdown = (self.run_folder / "report.md").read_text(encoding="utf-8")
        return page.text().replace("\u00a0", " "), markdown.replace("\u00a0", " ")

    def markup(self) -> str:
        return (self.run_folder / "report.html").read_text(encoding="utf-8")

    def screen(self) -> str:
        """The markup of the first screen."""
        return self.markup().split("<body>")[1].split("<section>")[0]

    def one_row(self, **cells: object) -> str:
        """The first screen of a run of one row on two ranks with these cells."""
        rows = scaling_rows(["mlp"], [2], ["flat"], cores=2)
        write_csv(self.run_folder, "scaling.csv", [{**rows[0], **cells}])
        self.report()
        return self.screen()


class FirstScreen(ReportCase):
    def test_it_answers_before_any_table(self) -> None:
        write_run(self.run_folder, models=["mnist_cnn"], syncs=["flat"])
        text, markdown = self.report()
        first = text.split("Scaling What the columns mean")[0]
        for words in ("mnist_cnn, strong scaling, global batch 64, flat · ring · mpi:", "91.7 %",
                      "(range of rounds 88.0 % to 94.4 %)",
                      "an epoch takes 16.361 s where the ideal is 15.000 s", "Most is lost to transfer 2.5 % ·",
                      "emulated: ranks share cores",
                      "AMD EPYC 7B13, 2 cores, 2 × NVIDIA H200",
                      "4 ranks share 2 cores → use --ranks 1,2, or a machine with 4 cores",
                      "scalebench verify results/"):  # fmt: skip
            self.assertIn(words, first)
        self.assertIn("mnist_cnn, strong scaling, global batch 64, flat · ring · mpi: **91.7 %** efficiency on 2 ranks",
                      markdown)
        places = [text.index(f" {title} ")
                  for title in ("Scaling", "Where the time went", "Allreduce", "Cost model", "Throughput", "Kernels",
                                                         "Failures and skips", "Environment",
                                "Provenance")]  # fmt: skip
        self.assertEqual(places, sorted(places))

    def test_a_card_is_amber_where_its_interval_is_wide_or_missing(self) -> None:
        wide = {"efficiency": 0.549, "efficiency_ci_low": 0.38, "efficiency_ci_high": 0.91, "rounds": 3}
        (self.run_folder / "config.toml").touch()
        shown = self.one_row(**wide)
        for words in ('class="card amber"', 'class="verdict warn"',
                      "Wide interval: a change of 10\u00a0% could hide in it. Run six launches.",
                      f"scalebench run results/{NAME}/config.toml --launches 6"):  # fmt: skip
            self.assertIn(words, shown)
        self.assertNotIn("Run six launches", self.one_row(**{**wide, "rounds": 6}))
        self.assertIn("No interval", self.one_row(efficiency_ci_low="", efficiency_ci_high=""))
        narrow = self.one_row(efficiency=0.9, efficiency_ci_low=0.85, efficiency_ci_high=0.95)
        self.assertIn('class="card"', narrow)
        self.assertIn('class="verdict"', narrow)

    def test_a_card_says_what_cannot_be_told_from_the_ideal(self) -> None:
        close = {"efficiency": 0.99, "efficiency_ci_low": 0.97}
        self.assertIn("Not distinguishable from the ideal. Run six launches.",
                      self.one_row(**close, efficiency_ci_high=1.01, rounds=3))
        self.assertNotIn("Not distinguishable", self.one_row(**close, efficiency_ci_high=0.999))

    def test_what_an_interval_is_of_is_said(self) -> None:
        for interval, words in {"range of rounds": "range of rounds", "95% of rounds": "95 % interval over rounds",
                                "odd": "interval"}.items():
            self.assertIn(f"({words} 88.0\u00a0% to 94.4\u00a0%)", self.one_row(interval=interval))
            self.assertIn(f"In brackets: the {words}.", self.markup())

    def test_what_does_not_synchronise_is_a_diagnostic(self) -> None:
        for name, rows in (("scaling.csv", scaling_rows), ("epoch.csv", epoch_rows)):
            write_csv(self.run_folder, name, rows(["mlp"], [2], ["flat", "none", "barrier_only"], cores=2))
        for text in self.report():
            result, diagnostics = text.split("## Scaling")[0].split("Diagnostics: these do not synchronise")
            self.assertIn("64, flat", result)
            self.assertNotIn("64, none", result)
            self.assertIn("mlp, strong scaling, global batch 64, none", diagnostics)

    def test_rows_of_two_layouts_and_data_sets_are_told_apart(self) -> None:
        rows = [{**row, "nodes": nodes, "case_id": dataset, "efficiency": efficiency}
                for nodes, dataset, efficiency in ((1, "mnist", 0.7), (2, "mnist", 0.9), (1, "synthetic", 0.7))
                for row in scaling_rows(["mlp"], [4], ["flat"], cores=4)]  # fmt: skip
        write_csv(self.run_folder, "scaling.csv", rows)
        write_csv(self.run_folder, "losses.csv", loss_rows(rows))
        epochs = [{**row, "nodes": nodes, "case_id": dataset, "dataset": dataset} for nodes,
                  dataset in ((1, "mnist"), (2, "mnist"), (1, "synthetic"))
                  for row in epoch_rows(["mlp"], [4], ["flat"], cores=4)]  # fmt: skip
        write_csv(self.run_folder, "epoch.csv", epochs)
        text, markdown = self.report()
        for name in ("mnist: **70.0 %** efficiency on 4 ranks", "synthetic: **70.0 %** efficiency on 4 ranks",
                     "mnist: **90.0 %** efficiency on 2×2 ranks"):
            self.assertEqual(markdown.count(f"flat · ring · mpi · {name}"), 1, name)
        account = text.split("Where the time went")[1]
        for name in ("mnist4", "mnist2×2", "synthetic4"):
            self.assertIn(f"flat · ring · mpi · {name}", account)
        self.assertEqual([Row(ranks=ranks, nodes=nodes).ranks() for ranks,
                          nodes in (("4", ""), ("4", "1"), ("4", "2"), ("7", "2"))], ["4", "4", "2×2", "7 on 2"])

    def test_one_rank_and_emulated_are_the_headline_where_nothing_else_was_measured(self) -> None:
        write_run(self.run_folder, models=["mlp"], syncs=["flat"], ranks=[1])
        self.assertIn("efficiency on 1 rank (", self.report()[0])
        write_run(self.run_folder, models=["mlp"], syncs=["flat"], ranks=[1, 4])
        self.assertIn("efficiency on 4 emulated ranks", self.report()[0])

    def write_hosts(self, why: str, notes: Mapping[tuple[int, int], str] = {}) -> None:
        """Four hosts, of which host3 is named, or none; and their links, of which some have notes."""
        common = {"status": "ok", "origin": "emulated", "ranks": 8, "nodes": 4, "launches": 4}
        rows: list[dict[str, object]] = [{**common, "host": f"host{n}", "verdict": "none", "messages": 240, "lost": 0,
                                          "accused": 0} for n in range(1, 5)]
        if why:
            rows[2] |= {"verdict": "link", "note": why, "accused": 3}
        rows += [{**common, "host": f"host{a}", "to_host": f"host{b}", "gb_per_s": 1.2, "latency_seconds": 2e-5,
                  "note": notes.get((a, b), "")}
                 for a in range(1, 5) for b in range(1, 5) if a != b]  # fmt: skip
        write_csv(self.run_folder, "hosts.csv", rows)

    def test_the_host_at_fault_and_what_lies_between_two_stand_there(self) -> None:
        write_run(self.run_folder, models=["mlp"], syncs=["flat"])
        self.assertNotIn("stands out", self.report()[0])
        note = "messages between host{} and host{} are lost or late: 5 of 80"
        why = "its link sends 10 % of the others' median (look at cable, port, driver)"
        self.write_hosts(why, {(a, b): note.format(a, b) for a, b in ((1, 2), (1, 3))})
        text, markdown = self.report()
        for shown in (text.split("Scaling What")[0], markdown):
            self.assertIn(f"Suspect: host3, {why} in 3 of 4 launches.", shown)
            self.assertIn(f"Between hosts: {note.format(1, 2)}.", shown)
            self.assertNotIn("between host1 and host3", shown, "who is named explains it")
        self.write_hosts("")
        for shown in self.report():
            self.assertIn("No host stands out.", shown)
            self.assertNotIn("Suspect", shown)

    def test_a_run_with_a_failed_launch_has_finished(self) -> None:
        write_csv(self.run_folder, "epoch.csv", epoch_rows(["mlp"], [2], ["flat"], cores=2))
        ok, failed = {"number": 1, "status": "ok"}, {"number": 2, "status": "failed",
                                                     "command": ["bench_epoch", "--data", "a b"]}
        refused = {"number": 2, "status": "failed", "note": "exit code 2: no such file"}
        for status, launches, planned, expected, resumes in (
            ("partial", [ok, failed], 2, "This run is partial: 1 of 2 launches failed.", True),
            ("partial", [failed], 1, "This run is partial: 1 of 1 launch failed.", True),
            ("partial", [ok, failed], 3, "it did not finish", True),
            ("partial", [ok], 2, "it did not finish", True),
            ("complete", [ok, failed], 2, "1 of 2 launches failed:", False),
            ("complete", [ok, ok], 2, "", False),
            ("partial", [ok, refused], 2, "mend the config", False),
            ("partial", [ok, failed], 0, "1 of 2 launches failed.", False),  # what has no plan is no study
            ("partial", [ok], 0, "what it had measured until then is below.", False),
        ):
            write_manifest(self.run_folder, status=status, launches=launches)
            (self.run_folder / "plan.json").write_text(json.dumps({"launches": [{}] * planned}), encoding="utf-8")
            for text in self.report():
                self.assertIn(expected, text)
                self.assertEqual(f"scalebench resume results/{NAME}" in text, resumes, (status, launches, planned))
            self.assertEqual("bench_epoch --data 'a b'" in self.report()[0], failed in launches)

    def test_a_throttled_gpu_is_said_and_what_it_drew_is_shown(self) -> None:
        step = {"model": "resnet50", "rank": "all", "ranks": 1, "nodes": 1, "images_per_s": 8600, "batch": 256,
                "device": "cuda"}
        for share in (0, 0.5):
            gpu = {"throttled_share": share, "power_capped_share": share, "gpu_watts": 697.8,
                   "gpu_joules_per_image": 0.0809, "mfu_published": 0.214}
            write_csv(self.run_folder, "throughput.csv", [{**step, **gpu}])
            text, markdown = self.report()
            for shown in (text, markdown):
                said = "A GPU was throttled in 1 row, in up to 50.0 % of the looks at it. Its power limit"
                self.assertEqual(said in shown, share > 0)
            for words in ("698", "0.0809", "21.4 %", f"{100 * share:.1f} %"):
                self.assertIn(words, text.split("Throughput")[1])
        write_csv(self.run_folder, "throughput.csv", [{**step, "device": "cpu"}] * 2)
        self.assertNotIn("MFU", self.report()[0])

    def test_nothing_measured(self) -> None:
        for text in self.report():
            self.assertIn("Nothing was measured", text)
            self.assertNotIn("Scaling", text.split("Nothing was measured")[1])
        write_manifest(self.run_folder, status="partial")
        for text in self.report():
            self.assertIn("This run is partial", text)


class Tables(ReportCase):
    def test_published_series_only_when_asked(self) -> None:
        write_run(self.run_folder)
        self.assertNotIn("Published results", self.report()[0])
        text = self.report("--published", "simple_sagemaker_imagenet")[0]
        for words in ("Published results", "76.4 %", "26614", "a poor scaling experiment", "quoted", "derived"):
            self.assertIn(words, text)
        self.assertEqual(self.called("--published", "nosuch")[0], 2)

    def test_accuracy_and_energy_where_they_were_counted(self) -> None:
        write_run(self.run_folder, models=["mlp"], syncs=["flat"])
        for words in ("epochs to target", "J an epoch"):
            self.assertNotIn(words, self.report()[0])
        row, (epoch,) = scaling_rows(["mlp"], [2], ["flat"], cores=2)[0], epoch_rows(["mlp"], [2], ["flat"], cores=2)
        write_csv(self.run_folder, "epoch.csv",
                  [{**epoch, "target_accuracy": 0.9, "epochs_to_target": 10, "seconds": 16.4}])
        more = {"efficiency_statistical": 0.8, "efficiency": 0.9175, "joules": 812.4, "energy_ratio": 0.871}
        write_csv(self.run_folder, "scaling.csv", [{**row, **more}])
        text = self.report()[0]
        for words in ("epochs to target", "10.080.0 %8120.871"):
            self.assertIn(words, text)

    def test_losses_have_intervals_and_those_that_may_be_0_are_set_back(self) -> None:
        write_run(self.run_folder, models=["mnist_cnn"], syncs=["flat"], ranks=[1, 2])
        account = self.report()[0].split("Where the time went")[1]
        self.assertIn("In brackets: the range of rounds. Grey: it covers 0", account)
        self.assertIn('<span class="muted">+0.5\u00a0%<small> [−0.3, 1.2]</small></span>', self.markup())
        self.assertIn('<span>+2.1\u00a0%<small> [1.7, 2.5]</small></span>', self.markup())
        rows = loss_rows(scaling_rows(["mnist_cnn"], [2], ["flat"], cores=2))
        write_csv(self.run_folder, "losses.csv", [{**row, "seconds_ci_low": "", "seconds_ci_high": ""} for row in rows])
        account = self.report()[0].split("Where the time went")[1]
        self.assertIn("Without an interval: nothing says what of it is chance", account)
        self.assertIn("15.000+2.1 %+1.2 %", account)
        (self.run_folder / "losses.csv").unlink()
        self.assertNotIn("Where the time went", self.report()[0])

    def test_a_value_that_is_the_same_in_every_row_is_said_once(self) -> None:
        write_run(self.run_folder, models=["mlp"], syncs=["flat"], ranks=[1, 2])
        self.report()
        table = self.markup().split("<h2>Scaling</h2>")[1].split("<h2>")[0]
        self.assertIn("In every row: origin measured, accuracy 87.3\u00a0%.", table)
        self.assertNotIn(">origin</th>", table)
        self.assertIn('data-head="efficiency"', table, "on a telephone a cell names its column")

    def test_steps_computed_in_other_ways_are_told_apart(self) -> None:
        step = {"model": "resnet50", "device": "cuda", "dtype": "float", "memory_format": "contiguous", "step": "eager",
                "threads": 1, "batch": 64, "ranks": 1, "nodes": 1, "rank": "all", "images_per_s": 1000}  # fmt: skip
        graph = {**step, "memory_format": "channels_last", "step": "graph", "status": "failed", "note": "out of memory"}
        other = {**step, "dtype": "bfloat16", "memory_format": "channels_last"}
        write_csv(self.run_folder, "throughput.csv", [step, other, graph, {**graph, "step": "compiled"}])
        shown, failed = self.report()[0].split("Throughput")[1].split("Failures and skips")
        for words in ("floatcontiguous1", "bfloat16channels_last1", "step eager, threads 1"):
            self.assertIn(words, shown)
        for way in ("graph", "compiled"):
            self.assertIn(f"ranks 1 · rank all · {way}", failed)

    def test_without_a_study_it_is_called_what_it_is_and_its_measurements_are_in_both(self) -> None:
        write_csv(self.run_folder, "allreduce.csv", allreduce_rows(["ring"], ["mpi"], [2], cores=2))
        write_csv(self.run_folder, "throughput.csv", throughput_rows(["mlp"], [1], cores=2))
        write_csv(self.run_folder, "epoch.csv", epoch_rows(["mlp"], [2], ["flat"], cores=2))
        write_manifest(self.run_folder, study="import", run_id="nccl", **{"import": {"kind": "nccl-tests"}},
                       environment={})
        text, markdown = self.report()
        for shown in (text, markdown):
            self.assertIn("Imported results (nccl-tests): nccl", shown)
            self.assertEqual(shown.count("flat · ring · mpi"), 1)
        self.assertIn("its measurements are below", text)
        self.assertNotIn("Environment", text)
        self.assertIn("### mpi, 2 ranks\n\n| size | ring |", markdown)
        self.assertIn("| mlp | ", markdown)
        write_manifest(self.run_folder)
        self.assertIn("# Measurements: quick\n", self.report()[1])

    def test_each_algorithm_stands_beside_the_librarys_own_in_parts(self) -> None:
        row = {"size_bytes": 4, "ranks": 2, "busbw_gb_per_s": 1, "seconds_median": 1}
        faster = {"native_ratio": 1.204, "native_ratio_ci_low": 1.16, "native_ratio_ci_high": 1.25,
                  "native_verdict": "FASTER"}
        names = ["native", *(f"algorithm{n}" for n in range(10))]
        write_csv(self.run_folder, "allreduce.csv",
                  [{**row, "algorithm": name, **(faster if name == "algorithm0" else {})} for name in names])
        text, markdown = self.report()
        for shown in (text, markdown.replace("\\", "")):
            self.assertEqual(shown.count("1.20 [1.16, 1.25] × native: faster"), 1)
        parts = self.markup().split("<h2>Allreduce")[1].split("<table>")[1:3]
        self.assertEqual([part.count("<th ") for part in parts], [1 + 6, 1 + 5])
        for ranks, rates in ((1, False), (2, True)):
            write_csv(self.run_folder, "allreduce.csv", [{**row, "algorithm": "ring", "ranks": ranks}])
            self.assertEqual("us bandwidth in GB/s" in self.report()[0], rates)

    def test_an_allreduce_without_a_size_is_left_out_and_named(self) -> None:
        row = {**allreduce_rows(["ring"], ["mpi"], [2], cores=2)[0], "case_id": "aa11"}
        write_csv(self.run_folder, "allreduce.csv", [{**row, "size_bytes": ""}, {**row, "size_bytes": "4 KiB"}, row])
        lines = [line for line in self.called()[1].splitlines() if "allreduce" in line]
        self.assertEqual(lines, [f"allreduce.csv: size_bytes of case 'aa11' is '{cell}', no number: left out"
                                 for cell in ("", "4 KiB")])

    def test_fit_is_shown_with_how_far_it_is_off(self) -> None:
        write_run(self.run_folder, models=["mlp"])
        cost_model = self.report()[0].split("Cost model")[1]
        self.assertIn("2, 4", cost_model)
        self.assertIn("12.0 %", cost_model)

    def test_skips_failures_and_hashes_are_shown_with_reasons(self) -> None:
        write_run(self.run_folder)
        log = self.run_folder / "launches" / "002-x" / "stderr.log"
        log.parent.mkdir(parents=True)
        log.touch()
        text, markdown = self.report()
        for words in ("built without CUDA: configure with -DSCALEBENCH_CUDA=ON", "mpirun -np 4 bench_epoch",
                      "0123456789abcdef", "stderr.log"):
            self.assertIn(words, text)
        for shown in (text, markdown):
            self.assertIn("rank 3 was killed by signal 9", shown)
            self.assertRegex(shown, r"SHA-256 of manifest\.json(: )?[0-9a-f]{64}")

    def test_cases_that_differ_in_size_alone_are_one_line(self) -> None:
        skipped = {"algorithm": "native", "transport": "shared_memory", "ranks": "2", "status": "skipped",
                   "note": "none"}

        def listed(*rows: dict[str, str]) -> list[str]:
            return [case for _, case, _ in without_sizes([("allreduce.csv", Row(row)) for row in rows])]

        sizes = [{**skipped, "size_bytes": str(4**n)} for n in range(5, 14)]
        self.assertEqual(listed(*sizes), ["native · shared_memory · ranks 2 · 9 sizes"])
        self.assertEqual(listed(sizes[0]), ["native · shared_memory · ranks 2 · 1 KiB"])
        self.assertEqual(listed(sizes[0], sizes[0]), ["native · shared_memory · ranks 2 · 2 rows"])
        ways = [{"placement": placement, "op": op, "nodes": "2"} for placement in ("in_place", "out_of_place")
                for op in ("sum", "max")]
        self.assertEqual(listed(skipped, *({**sizes[0], **way} for way in ways))[1:], [
            f"native · shared_memory · ranks 2 · {way['op']} · {way['placement']} · 2 hosts · 1 KiB"
            for way in ways])  # fmt: skip

    def test_long_tables_end_and_say_where_the_rest_is(self) -> None:
        write_csv(self.run_folder, "kernels.csv", [{"kernel": "add", "status": "skipped", "note": "no device"}] * 1000)
        self.assertIn("600 more rows in the CSV files", self.report()[0])


class Files(ReportCase):
    def test_manifest_of_other_shape(self) -> None:
        write_run(self.run_folder)
        for shape in ("{}", '{"environment": 3, "warnings": {}, "launches": [1, null], "tool": "x", "files": []}'):
            (self.run_folder / "manifest.json").write_text(shape, encoding="utf-8")
            self.assertIn("91.7 % efficiency", self.report()[0])

    def test_a_manifest_that_cannot_be_read_is_refused_in_one_line(self) -> None:
        for text, reason in {"": "Expecting value", "{": "Expecting property name", "[]": "of type list",
                             "3": "of type int"}.items():
            (self.run_folder / "manifest.json").write_text(text, encoding="utf-8")
            code, said = self.called()
            self.assertEqual((code, said.count("\n")), (2, 1), text)
            self.assertIn("report: manifest.json: not the JSON object", said)
            self.assertIn(reason, said)

    def test_everything_is_escaped(self) -> None:
        kernel = {"kernel": EVIL, "status": "failed", "note": EVIL, "device": EVIL}
        write_run(self.run_folder, models=[EVIL, EVIL + "|`x`[y](z)"], syncs=[EVIL], algorithms=[EVIL],
                  transports=[EVIL])
        write_csv(self.run_folder, "kernels.csv", [kernel, {**kernel, "status": "ok"}])
        write_manifest(
            self.run_folder, study=EVIL, command=EVIL, seed=EVIL, status=EVIL, tool={"version": EVIL, "commit": EVIL},
            files={EVIL: EVIL},
            environment={"key": {EVIL: EVIL, "cpu_model": EVIL}, "treatment": {EVIL: [EVIL]}},
            warnings=[{"text": EVIL, "remedy": EVIL}],
            launches=[{"number": EVIL, "program": EVIL, "status": EVIL, "note": EVIL, "command": EVIL}],
        )  # fmt: skip
        text, markdown = self.report()
        self.assertGreater(text.count(EVIL), 20)
        self.assertNotRegex(markdown.replace("<!-- -->", ""), r"<[a-zA-Z/]|(?<!\\)[`\[]")
        for table in re.findall(r"(?m)(?:^\|.*\n)+", markdown):
            self.assertEqual(len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}), 1, table)

    def test_formula_apostrophe_is_removed_and_no_number_is_no_cell(self) -> None:
        write_csv(self.run_folder, "kernels.csv",
                  [{"kernel": "'=cmd()", "gb_per_s": "nan", "gflop_per_s": "fast", "seconds_median": "",
                    "bytes": "many"}])
        text = self.report()[0].split("Kernels")[1].split("Provenance")[0]
        self.assertIn("=cmd()", text)
        for words in ("'=cmd()", "nan", "fast"):
            self.assertNotIn(words, text)

    def test_the_largest_measured_n_stands_first_and_what_is_emulated_last(self) -> None:
        figures = self.run_folder / "figures"
        figures.mkdir()
        for name in [*(f"waterfall-n-{n}" for n in (16, "2-emulated", 128, 4, 8)), *"efficiency busbw busbw-2 busbw-10".split()]:
            (figures / f"{name}.svg").write_bytes(b"<svg/>")
        self.report()
        shown = [value for name, value in self.attributes if name == "alt"]
        self.assertEqual(shown, ["efficiency", *(f"waterfall n {n}" for n in (128, 16, 8, 4, "2 emulated")), "busbw", "busbw 2", "busbw 10"])
        self.assertIn(("src", "data:image/svg+xml;base64,PHN2Zy8+"), self.attributes)
        self.assertEqual([part.count("<img") for part in self.screen().split("<details>")], [5, 1 + 1, 2])

    def test_a_file_that_cannot_be_written_is_one_line(self) -> None:
        write_run(self.run_folder, ranks=[1])
        # Root may write to what is read-only, and nobody to these.
        (self.run_folder / "report.html").mkdir()
        (self.run_folder / "figures").touch()
        for command in ("report", "plot"):
            done = subprocess.run([sys.executable, "-m", "scalebench", command, self.run_folder], capture_output=True,
                                  text=True, check=False)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
            self.assertIn("copy the folder to where you may write", done.stderr)

    def test_without_a_library_it_is_one_line(self) -> None:
        for command, library in (("report", "jinja2"), ("plot", "matplotlib")):
            Path(library).mkdir()
            Path(library, "__init__.py").write_text(f"raise ImportError('no {library} here')\n", encoding="utf-8")
            path = f"{Path.cwd()}:{os.environ.get('PYTHONPATH', '')}"
            done = subprocess.run([sys.executable, "-m", "scalebench", command, self.run_folder],
                                  env={**os.environ, "PYTHONPATH": path},
                                  capture_output=True, text=True, check=False)  # fmt: skip
            self.assertEqual((done.returncode, done.stderr.count("\n")), (3, 1), done.stderr)
            self.assertIn(f"no {library} here. Install python3-matplotlib and python3-jinja2", done.stderr)
            self.assertEqual([*self.run_folder.iterdir()], [])


class SealTest(ReportCase):
    def last_line(self) -> str:
        return self.report()[1].replace("\\", "").splitlines()[-1]

    def test_sealed_is_what_has_its_hashes(self) -> None:
        write_manifest(self.run_folder)
        self.assertIn(f". scalebench verify results/{NAME} recomputes every number", self.last_line())
        seal(self.run_folder)
        sealed = f"Complete and sealed: scalebench verify results/{NAME} recomputes every number"
        self.assertIn(sealed, self.last_line())
        self.assertIn(f"<code>scalebench verify results/{NAME}</code>", self.markup())
        # As the programs write it.
        complete = (self.run_folder / "COMPLETE").read_text(encoding="utf-8").strip()
        (self.run_folder / "COMPLETE").write_text(f"{complete}  SHA256SUMS\n", encoding="utf-8")
        self.assertIn(sealed, self.last_line())

    def test_what_was_changed_or_lost_behind_the_seal_is_not_sealed(self) -> None:
        changes = {"manifest.json": ["{}", '{"study": "another"}'], "SHA256SUMS": ["", None],
                   "COMPLETE": ["", "0" * 64]}
        for name, texts in changes.items():
            for text in texts:
                write_manifest(self.run_folder)
                seal(self.run_folder)
                path = self.run_folder / name
                path.unlink() if text is None else path.write_text(text, encoding="utf-8")
                self.assertNotIn("Complete and sealed", line := self.last_line(), (name, text))
                self.assertIn("SHA256SUMS and manifest.json do not agree", line, (name, text))

    def test_the_command_works_where_the_report_was_made(self) -> None:
        odd = "it's `a` folder"
        Path(odd).mkdir()
        for folder in (f"results/{NAME}", f"results/{NAME}/", f"./results/../results/{NAME}",
                       str(self.run_folder.resolve()), odd, "."):
            (typed,) = shlex.split(typed_here(folder))
            self.assertTrue(os.path.samefile(typed, folder), folder)
            self.assertFalse(Path(typed).is_absolute())
        self.assertEqual(typed_here("-run"), "./-run", "no option")
        here = Path.cwd()
        os.chdir(self.run_folder)
        self.assertEqual(typed_here("../other"), "../other")
        self.assertEqual(typed_here(str(here / "elsewhere")), "RUN")


if __name__ == "__main__":
    unittest.main()
