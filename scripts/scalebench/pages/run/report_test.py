# SPDX-License-Identifier: Apache-2.0
# report on made-up runs: the page is one whole file, says the verdict first, survives whatever is
# missing, and lets nothing through that a browser would run or fetch.
from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Mapping
from collections.abc import Callable
from pathlib import Path

from fixtures.account import loss_rows
from fixtures.files import Cells, write_csv
from fixtures.page import Page
from fixtures.run import SHARE, epoch_rows, scaling_rows, write_manifest, write_run
from scalebench.rows import Row

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&"


class ReportTest(unittest.TestCase):
    def setUp(self) -> None:
        self.run_folder = Path(self.enterContext(tempfile.TemporaryDirectory())) / "20260102T030405Z-quick-0a1b2c"

    def report(self, *words: str) -> Page:
        done = subprocess.run(
            [sys.executable, "-m", "scalebench", "report", str(self.run_folder), *words],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        page = Page((self.run_folder / "report.html").read_text(encoding="utf-8"))
        self.assertEqual(page.misplaced, [])
        self.assert_harmless(page)
        return page

    def assert_harmless(self, page: Page) -> None:
        self.assertFalse(
            {"script", "iframe", "object", "embed", "link", "base", "form"} & set(page.tags)
        )
        self.assertIn(("http-equiv", "Content-Security-Policy"), page.attributes)
        for name, value in page.attributes:
            self.assertFalse(name.startswith("on"), name)
            if name in ("src", "href", "xlink:href"):
                self.assertRegex(value, r"^(#|data:image/(png|svg\+xml);base64,)")

    def test_shows_published_series_only_when_asked(self) -> None:
        write_run(self.run_folder)
        self.report()
        page = self.run_folder / "report.html"
        self.assertNotIn("Published results", page.read_text(encoding="utf-8"))
        self.report("--published", "simple_sagemaker_imagenet")
        text = page.read_text(encoding="utf-8")
        for words in ("Published results", "76.4\u00a0%", "26614", "a poor scaling experiment", "quoted", "derived"):
            self.assertIn(words, text)

    def test_verdict_comes_first(self) -> None:
        write_run(self.run_folder, models=["mnist_cnn"], syncs=["flat"])
        text = self.report().text()
        verdict, rest = text.split("Scaling What the columns mean", 1)
        self.assertIn(
            "mnist_cnn, strong scaling, global batch 64, flat · ring · mpi: 91.7 % efficiency on 2 ranks",
            verdict,
        )
        self.assertIn("(range of rounds 88.0 % to 94.4 %)", verdict)
        self.assertIn("an epoch takes 16.361 s where the ideal is 15.000 s", verdict)
        self.assertIn("emulated: ranks share cores", verdict)
        self.assertIn("AMD EPYC 7B13, 2 cores, 2 × NVIDIA H200", verdict)
        order = [
            "Allreduce",
            "Cost model",
            "Throughput",
            "Kernels",
            "Failures and skips",
            "Warnings",
            "Environment",
            "provenance",
        ]
        places = [rest.index(title) for title in order]
        self.assertEqual(places, sorted(places))

    def test_time_to_accuracy_is_shown_where_a_target_was_given(self) -> None:
        write_run(self.run_folder, models=["mlp"], syncs=["flat"])
        self.assertNotIn("E_tta", self.report().text())
        rows = scaling_rows(["mlp"], [2], ["flat"], cores=2)
        (epoch,) = epoch_rows(["mlp"], [2], ["flat"], cores=2)
        write_csv(self.run_folder, "epoch.csv", [{**epoch, "target_accuracy": 0.9, "epochs_to_target": 10, "seconds": 16.4}])
        write_csv(self.run_folder, "scaling.csv", [{**rows[0], "efficiency_statistical": 0.8, "efficiency": 0.9175}])
        text = self.report().text().replace("\u00a0", " ")
        self.assertIn("90.0 %10.016480.0 %73.4 %", text)

    def test_energy_is_shown_where_it_was_counted(self) -> None:
        write_run(self.run_folder, models=["mlp"], syncs=["flat"])
        self.assertNotIn("J an epoch", self.report().text())
        rows = scaling_rows(["mlp"], [2], ["flat"], cores=2)
        energy = {"joules": 812.4, "energy_ratio": 0.871}
        write_csv(self.run_folder, "scaling.csv", [{**rows[0], **energy}])
        text = self.report().text().replace("\u00a0", " ")
        self.assertIn("8120.871", text)

    def test_losses_have_intervals_and_those_that_may_be_0_are_set_back(self) -> None:
        write_run(self.run_folder, models=["mnist_cnn"], syncs=["flat"], ranks=[1, 2])
        account = self.report().text().replace("\u00a0", " ").split("Where the time went")[1]
        self.assertIn("In brackets: the range of rounds. Grey: it covers 0", account)
        self.assertIn("15.000+2.1 % [1.7, 2.5]", account)
        markup = (self.run_folder / "report.html").read_text(encoding="utf-8")
        self.assertIn('<span class="muted">+0.5\u00a0%<small class="under"> [−0.3, 1.2]</small></span>', markup)
        self.assertIn('<span>+2.1\u00a0%<small class="under"> [1.7, 2.5]</small></span>', markup)
        (self.run_folder / "losses.csv").unlink()
        self.assertNotIn("Where the time went", self.report().text())

    def test_losses_of_one_round_have_no_interval(self) -> None:
        write_run(self.run_folder, models=["mlp"], syncs=["flat"])
        alone = {"seconds_ci_low": "", "seconds_ci_high": ""}
        rows = loss_rows(scaling_rows(["mlp"], [2], ["flat"], cores=2))
        write_csv(self.run_folder, "losses.csv", [{**row, **alone} for row in rows])
        account = self.report().text().replace("\u00a0", " ").split("Where the time went")[1]
        self.assertIn("Without an interval: nothing says what of it is chance", account)
        self.assertIn("15.000+2.1 %+1.2 %", account)

    def test_what_an_interval_is_of_is_said(self) -> None:
        rows = scaling_rows(["mlp"], [2], ["flat"], cores=2)
        kinds = {"range of rounds": "range of rounds", "95% of rounds": "95 % interval over rounds", "odd": "interval"}
        for speedup, words in kinds.items():
            write_csv(self.run_folder, "scaling.csv", [{**rows[0], "interval": speedup}])
            text = self.report().text().replace("\u00a0", " ")
            self.assertIn(f"({words} 88.0 % to 94.4 %)", text)
            self.assertIn(f"In brackets: the {words}.", text)

    def card(self, **cells: object) -> str:
        """The markup above the tables, of one row on two ranks with these cells."""
        rows = scaling_rows(["mlp"], [2], ["flat"], cores=2)
        write_csv(self.run_folder, "scaling.csv", [{**rows[0], **cells}])
        self.report()
        return (self.run_folder / "report.html").read_text(encoding="utf-8").split("<body>")[1].split("<h2>")[0]

    def test_a_card_is_amber_where_its_interval_is_wide_or_missing(self) -> None:
        wide = {"efficiency": 0.549, "efficiency_ci_low": 0.38, "efficiency_ci_high": 0.91, "rounds": 3}
        shown = self.card(**wide)
        self.assertIn('class="card amber"', shown)
        self.assertIn('class="verdict warn"', shown)
        self.assertIn("Wide interval: a change of 10\u00a0% could hide in it. Run six launches.", shown)
        self.assertNotIn("Run six launches", self.card(**{**wide, "rounds": 6}))
        self.assertIn("No interval", self.card(efficiency_ci_low="", efficiency_ci_high=""))
        narrow = self.card(efficiency=0.9, efficiency_ci_low=0.85, efficiency_ci_high=0.95)
        self.assertIn('class="card"', narrow)
        self.assertIn('class="verdict"', narrow)

    def test_a_card_says_what_cannot_be_told_from_the_ideal(self) -> None:
        close = {"efficiency": 0.99, "efficiency_ci_low": 0.97}
        shown = self.card(**close, efficiency_ci_high=1.01, rounds=3)
        self.assertIn("Not distinguishable from the ideal. Run six launches.", shown)
        self.assertNotIn("Not distinguishable", self.card(**close, efficiency_ci_high=0.999))

    def test_what_does_not_synchronise_is_a_diagnostic(self) -> None:
        for name, rows in (("scaling.csv", scaling_rows), ("epoch.csv", epoch_rows)):
            write_csv(self.run_folder, name, rows(["mlp"], [2], ["flat", "none", "barrier_only"], cores=2))
        result, diagnostics = self.report().text().split("Diagnostics: ")
        self.assertIn("flat", result)
        self.assertNotIn("64, none", result)
        self.assertIn("mlp, strong scaling, global batch 64, none", diagnostics)
        markdown = (self.run_folder / "report.md").read_text(encoding="utf-8").split("## Scaling")[0]
        result, diagnostics = markdown.split("Diagnostics: these do not synchronise gradients, so they are no result.")
        self.assertEqual((result.count("\n- "), diagnostics.count("\n- ")), (1, 2))
        self.assertIn("64, flat", result)

    def test_rows_of_two_layouts_and_data_sets_are_told_apart(self) -> None:
        def of_each(make: Callable[..., list[Cells]]) -> list[dict[str, object]]:
            return [{**row, "nodes": nodes, "case_id": f"{row['gradient_sync']} {dataset}", **({"dataset": dataset} if make is epoch_rows else {})}
                    for nodes, dataset in ((1, "mnist"), (2, "mnist"), (1, "synthetic"))
                    for row in make(["mlp"], [4], ["flat", "none", "barrier_only"], cores=4)]  # fmt: skip

        rows = of_each(scaling_rows)
        write_csv(self.run_folder, "epoch.csv", of_each(epoch_rows))
        # flat, none and barrier_only of each
        for row, efficiency in zip(rows, (0.7, 0.8, 0.75, 0.9, 0.95, 0.92, 0.7, 0.8, 0.75)):
            row["efficiency"] = efficiency
        write_csv(self.run_folder, "scaling.csv", rows)
        write_csv(self.run_folder, "losses.csv", loss_rows(rows))
        self.report()
        markdown = (self.run_folder / "report.md").read_text(encoding="utf-8")
        for name in ("flat · ring · mpi · mnist: 70.0 % efficiency on 4 ranks",
                     "flat · ring · mpi · synthetic: 70.0 % efficiency on 4 ranks",
                     "flat · ring · mpi · mnist: 90.0 % efficiency on 2×2 ranks"):  # fmt: skip
            self.assertEqual(markdown.replace("\u00a0", " ").count(name), 1, name)
        for line in ("flat · ring · mpi · mnist | 2×2 |", "flat · ring · mpi · synthetic | 4 |"):
            self.assertIn(line, markdown)
        account = self.report().text().split("Where the time went")[1].split("Figures")[0]
        for name in ("flat · ring · mpi · mnist4", "flat · ring · mpi · mnist2×2", "flat · ring · mpi · synthetic4"):
            self.assertIn(name, account)

    def test_ranks_say_how_they_lie_on_hosts(self) -> None:
        shown = [Row(ranks=ranks, nodes=nodes).ranks() for ranks, nodes in (("4", ""), ("4", "1"), ("4", "2"), ("7", "2"))]
        self.assertEqual(shown, ["4", "4", "2×2", "7 on 2"])

    def test_steps_computed_in_other_ways_are_told_apart(self) -> None:
        step = {"model": "resnet50", "device": "cuda", "dtype": "float", "memory_format": "contiguous", "step": "eager",
                "threads": 1, "batch": 64, "ranks": 1, "nodes": 1, "rank": "all", "images_per_s": 1000}  # fmt: skip
        graph = {**step, "memory_format": "channels_last", "step": "graph", "status": "failed", "note": "out of memory"}
        other = {**step, "dtype": "bfloat16", "memory_format": "channels_last"}
        write_csv(self.run_folder, "throughput.csv", [step, other, graph, {**graph, "step": "compiled"}])
        shown, failed = self.report().text().split("Throughput")[1].split("Failures and skips")
        self.assertIn("floatcontiguous1", shown)
        self.assertIn("bfloat16channels_last1", shown)
        self.assertIn("In every row: step eager, threads 1.", shown)
        for way in ("graph", "compiled"):
            self.assertIn(f"ranks 1 · rank all · {way}", failed)

    def test_load_stands_above_the_cards_and_skips_have_their_reason(self) -> None:
        write_run(self.run_folder)
        verdict = self.report().text().split("Scaling What")[0]
        self.assertLess(verdict.index("Machine: 4 ranks share 2 cores"), verdict.index("efficiency on"))
        self.assertIn("skipped. Skipped, since such a case cannot run here: one node: nothing to divide", verdict)

    def test_a_value_that_is_the_same_in_every_row_is_said_once(self) -> None:
        write_run(self.run_folder, models=["mlp"], syncs=["flat"], ranks=[1, 2])
        self.report()
        markup = (self.run_folder / "report.html").read_text(encoding="utf-8")
        table = markup.split("<h2>Scaling</h2>")[1].split("<h2>")[0]
        self.assertIn("In every row: origin measured, rounds 5, accuracy 87.3\u00a0%.", table)
        self.assertNotIn(">origin</th>", table)
        self.assertIn('data-head="efficiency"', table, "on a telephone a cell names its column")

    def test_emulated_is_the_headline_only_where_nothing_else_was_measured(self) -> None:
        write_run(self.run_folder, models=["mlp"], syncs=["flat"], ranks=[1, 4])
        self.assertIn("efficiency on 4 emulated ranks", self.report().text())

    def write_hosts(self, why: str, notes: Mapping[tuple[int, int], str] = {}) -> None:
        """Four hosts, of which host3 is named, or none; and their links, of which some have notes."""
        common = {"status": "ok", "origin": "emulated", "ranks": 8, "nodes": 4, "launches": 4}
        rows: list[dict[str, object]] = [
            {**common, "note": "", "host": f"host{number}", "verdict": "none", "messages": 240, "lost": 0, "accused": 0}
            for number in range(1, 5)
        ]
        if why:
            rows[2] |= {"verdict": "link", "note": why, "accused": 3}
        rows += [
            {**common, "host": f"host{a}", "to_host": f"host{b}", "gb_per_s": 1.2, "latency_seconds": 2e-5, "note": notes.get((a, b), "")}
            for a in range(1, 5) for b in range(1, 5) if a != b
        ]  # fmt: skip
        write_csv(self.run_folder, "hosts.csv", rows)

    def headline(self) -> str:
        return self.report().text().replace("\u00a0", " ").split("Scaling What the columns mean")[0]

    def test_the_host_at_fault_stands_in_the_headline(self) -> None:
        write_run(self.run_folder, models=["mlp"], syncs=["flat"])
        self.assertNotIn("GB/s of one message from host to host", self.report().text())
        why = "its link sends 10 % of the others' median (look at cable, port, driver)"
        self.write_hosts(why)
        headline = self.headline()
        self.assertIn(f"Suspect: host3, {why} in 3 of 4 launches.", headline)
        self.assertNotIn("Suspect: host1", headline)
        self.assertIn("GB/s of one message from host to host", self.report().text())
        markdown = (self.run_folder / "report.md").read_text(encoding="utf-8")
        self.assertIn("**Suspect: host3, its link sends 10 %", markdown)

    def test_what_lies_between_two_hosts_stands_below_who_is_at_fault(self) -> None:
        write_run(self.run_folder, models=["mlp"], syncs=["flat"])
        note = "messages between host{} and host{} are lost or late: 5 of 80"
        self.write_hosts("its link is slow", {(a, b): note.format(a, b) for a, b in ((1, 2), (1, 3))})
        headline = self.headline()
        self.assertIn(f"Between hosts: {note.format(1, 2)}.", headline)
        self.assertNotIn("between host1 and host3", headline, "who is named explains it")
        markdown = (self.run_folder / "report.md").read_text(encoding="utf-8")
        self.assertIn(note.format(1, 2), markdown)
        self.assertNotIn(note.format(1, 3), markdown)

    def test_where_no_host_stands_out_the_headline_says_so(self) -> None:
        write_run(self.run_folder, models=["mlp"], syncs=["flat"])
        self.assertNotIn("stands out", self.headline())
        self.write_hosts("")
        headline = self.headline()
        self.assertIn("No host stands out.", headline)
        self.assertNotIn("Suspect", headline)
        self.assertIn("No host stands out.", (self.run_folder / "report.md").read_text(encoding="utf-8"))

    def test_one_rank(self) -> None:
        write_run(self.run_folder, models=["mlp"], syncs=["flat"], ranks=[1])
        self.assertIn("efficiency on 1 rank (", self.report().text())

    def test_skips_failures_warnings_and_hashes_are_shown_with_reasons(self) -> None:
        write_run(self.run_folder)
        text = self.report().text()
        self.assertIn("built without CUDA: configure with -DSCALEBENCH_CUDA=ON", text)
        self.assertIn("rank 3 was killed by signal 9", text)
        self.assertIn("mpirun -np 4 bench_epoch", text)
        self.assertIn("4 ranks share 2 cores", text)
        self.assertIn("use --ranks 1,2, or a machine with 4 cores", text)
        self.assertIn("0123456789abcdef", text)
        self.assertRegex(text, r"SHA-256 of manifest\.json[0-9a-f]{64}")

    def test_partial_run_and_nothing_measured(self) -> None:
        write_manifest(self.run_folder, status="partial")
        text = self.report().text()
        self.assertIn("This run is partial", text)
        self.assertIn("Nothing was measured", text)
        self.assertIn("None were drawn", text)

    def test_works_without_any_file(self) -> None:
        self.run_folder.mkdir()
        self.assertIn("Nothing was measured", self.report().text())

    def test_manifest_of_other_shape(self) -> None:
        write_run(self.run_folder)
        shapes = [
            "{}",
            '{"environment": 3, "warnings": {}, "launches": [1, null], "tool": "x", "files": []}',
        ]
        for shape in shapes:
            (self.run_folder / "manifest.json").write_text(shape, encoding="utf-8")
            self.assertIn("91.7 % efficiency", self.report().text())

    def test_an_import_says_that_its_file_knows_no_machine(self) -> None:
        write_run(self.run_folder, models=["mlp"], syncs=["flat"])
        record = {"kind": "log", "files": []}
        nothing = {"key": {}, "treatment": {"reasons": {}}, "observation": {}}
        write_manifest(self.run_folder, **{"import": record}, environment=nothing, warnings=[])
        text = self.report().text()
        self.assertIn("Environment The imported file says nothing about the machine", text)
        self.assertNotIn("{}", text.split("Environment")[1])
        write_manifest(self.run_folder, **{"import": record}, environment={"key": {"gpus": ["H100"]}})
        self.assertIn("H100", self.report().text().split("Environment")[1])

    def test_everything_is_escaped(self) -> None:
        kernel = {"kernel": EVIL, "status": "failed", "note": EVIL, "device": EVIL}
        write_run(
            self.run_folder, models=[EVIL], syncs=[EVIL], algorithms=[EVIL], transports=[EVIL]
        )
        write_csv(self.run_folder, "kernels.csv", [kernel, {**kernel, "status": "ok"}])
        environment = {"key": {EVIL: EVIL, "cpu_model": EVIL}, "treatment": {EVIL: [EVIL]}}
        launch = {"number": EVIL, "program": EVIL, "status": EVIL, "note": EVIL, "command": EVIL}
        warning = {"text": EVIL, "remedy": EVIL}
        write_manifest(
            self.run_folder,
            study=EVIL,
            command=EVIL,
            seed=EVIL,
            status=EVIL,
            tool={"version": EVIL, "commit": EVIL},
            environment=environment,
            launches=[launch],
            warnings=[warning],
            files={EVIL: EVIL},
        )
        self.assertGreater(self.report().text().count(EVIL), 20)

    def test_markdown_says_the_same_as_text_alone(self) -> None:
        write_run(self.run_folder, models=["mnist_cnn", EVIL + "|`x`[y](z)"], syncs=["flat"])
        self.report()
        text = (self.run_folder / "report.md").read_text(encoding="utf-8").replace("\u00a0", " ")
        self.assertIn("mnist_cnn, strong scaling, global batch 64, flat · ring · mpi: 91.7 % efficiency on 2 ranks", text)
        self.assertIn("rank 3 was killed by signal 9", text)
        self.assertIn("SHA-256 of manifest.json: ", text)
        self.assertNotRegex(text, r"<[a-zA-Z/]|(?<!\\)[`\[]")
        rows = [line for line in text.splitlines() if line.startswith("|")]
        self.assertEqual({len(re.findall(r"(?<!\\)\|", row)) for row in rows}, {9, 6})

    def test_markdown_of_nothing_measured(self) -> None:
        write_manifest(self.run_folder, status="partial")
        self.report()
        text = (self.run_folder / "report.md").read_text(encoding="utf-8")
        self.assertIn("This run is partial", text)
        self.assertIn("Nothing was measured", text)

    def test_figures_stand_in_the_page_as_images(self) -> None:
        write_run(self.run_folder)
        figures = self.run_folder / "figures"
        figures.mkdir()
        (figures / "efficiency.svg").write_bytes(b"<svg/>")
        (figures / "efficiency.png").write_bytes(b"\x89PNG")
        (figures / "busbw.png").write_bytes(b"\x89PNG")
        attributes = self.report().attributes
        self.assertIn(("src", "data:image/svg+xml;base64,PHN2Zy8+"), attributes)
        self.assertEqual(attributes.count(("src", "data:image/png;base64,iVBORw==")), 1, "where there is no other")

    def test_fit_is_shown_with_how_far_it_is_off(self) -> None:
        write_run(self.run_folder, models=["mlp"])
        cost_model = self.report().text().split("Cost model")[1]
        self.assertIn("2, 4", cost_model)
        self.assertIn("12.0 %", cost_model.replace("\u00a0", " "))
        (self.run_folder / "fits.csv").unlink()
        self.assertNotIn("Cost model", self.report().text())

    def test_skips_that_differ_in_size_alone_are_one_line(self) -> None:
        skipped = {"algorithm": "native", "transport": "shared_memory", "ranks": 2, "status": "skipped", "note": "none"}
        sizes = [{**skipped, "size_bytes": 4**n} for n in range(5, 14)]
        write_csv(self.run_folder, "allreduce.csv", sizes)
        text = self.report().text()
        self.assertIn("native · shared_memory · ranks 2 · 9 sizes", text)
        self.assertEqual(text.count("native · shared_memory"), 1)

    def test_long_tables_end_and_say_where_the_rest_is(self) -> None:
        skipped = {"kernel": "add", "status": "skipped", "note": "no device"}
        write_csv(self.run_folder, "kernels.csv", [skipped] * 1000)
        self.assertIn("600 more rows in the CSV files", self.report().text())

    def test_formula_apostrophe_is_removed_and_no_number_is_no_cell(self) -> None:
        rows = [
            {"kernel": "'=cmd()", "gb_per_s": "nan", "gflop_per_s": "fast", "seconds_median": ""}
        ]
        write_csv(self.run_folder, "kernels.csv", rows)
        text = self.report().text()
        self.assertIn("=cmd()", text)
        self.assertNotIn("'=cmd()", text)
        self.assertNotIn("nan", text.split("Kernels")[1].split("Failures")[0])


if __name__ == "__main__":
    unittest.main()
