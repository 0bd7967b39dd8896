# SPDX-License-Identifier: Apache-2.0
# report.py on made-up comparisons: the sentence first, numbers as people read them, whole
# instances apart from parts, and that no text of others becomes markup.
from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from fixtures.files import write_csv
from fixtures.page import Page

SCRIPTS = Path(__file__).resolve().parents[2]
SENTENCE = "p3.8xlarge: 31x faster and 39 % cheaper an epoch (imported, 3 launches, prices of 2026-07-20)"
DECISION = {"origin": "imported", "instance_a": "p3.8xlarge", "instance_b": "g2.2xlarge",
            "model": "resnet50", "dataset": "imagenet", "scaling": "strong", "sentence": SENTENCE,
            "unknown": "what an accuracy costs"}  # fmt: skip


def cost(instance: str, ranks: int, seconds: float, usd: float, **cells: object) -> dict[str, object]:
    return {"origin": "imported", "instance": instance, "usd_per_hour": 12.24, "price_date": "2026-07-20",
            "price_source": "price: a list", "whole": 1, "model": "resnet50", "gradient_sync": "ddp",
            "dataset": "imagenet", "scaling": "strong", "ranks": ranks, "nodes": 1, "launches": 3,
            "seconds_median": seconds, "usd_per_epoch": usd, "efficient": 1, **cells}  # fmt: skip


COSTS = [
    cost("p3.8xlarge", 4, 998, 3.3932, seconds_ci_low=990, seconds_ci_high=1003, usd_per_epoch_ci_low=3.366,
         usd_per_epoch_ci_high=3.41),
    cost("p3.8xlarge", 1, 3573, 12.15024, whole=0, efficient=""),
    cost("g2.2xlarge", 1, 30585.6, 5.5224, efficient=0),
    cost("g2.8xlarge", 4, 30585.6, 22.089, origin="predicted", launches="", note="<b>by TFLOPS|alone"),
]  # fmt: skip


class CompareReportTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.document = {
            "command": ["scalebench", "compare", "A", "B"], "counts": {"tested": 0},
            "runs": [{"letter": "A", "run_id": "on_p3", "origin": "imported", "instance": "p3.8xlarge",
                      "manifest_sha256": "ab12"},
                     {"letter": "B", "run_id": "<script>", "origin": "imported", "instance": "g2.2xlarge"}],
        }  # fmt: skip

    def decided(self, decisions: list[dict[str, object]]) -> None:
        self.document["decisions"] = [{"status": "ok", **decision} for decision in decisions]

    def made(self) -> subprocess.CompletedProcess[str]:
        (self.folder / "compare.json").write_text(json.dumps(self.document), encoding="utf-8")
        return subprocess.run([sys.executable, str(SCRIPTS / "report.py"), str(self.folder)],
                              capture_output=True, text=True, timeout=240, check=False)  # fmt: skip

    def both(self) -> tuple[Page, str]:
        done = self.made()
        self.assertEqual(done.returncode, 0, done.stderr)
        page = Page((self.folder / "report.html").read_text(encoding="utf-8"))
        self.assertEqual(page.misplaced, [])
        return page, (self.folder / "report.md").read_text(encoding="utf-8")

    def test_says_the_answer_first_and_numbers_as_people_read_them(self) -> None:
        self.decided([DECISION])
        write_csv(self.folder, "cost.csv", COSTS)
        page, markdown = self.both()
        text = page.text().replace("\u00a0", " ")
        self.assertLess(text.index(SENTENCE), text.index("Time and cost"))
        self.assertIn("Not known: what an accuracy costs.", text)
        for part in ("16.6 min [16.5, 16.7]", "3.39 [3.37, 3.41]", "8.50 h", "5.52", "2026-07-20", "a list",
                     "imported, 3 launches", "Nothing was tested between the runs' cells.", "imported from another"):  # fmt: skip
            self.assertIn(part, text)
            self.assertIn(part.replace("[", "\\[").replace("]", "\\]"), markdown)
        self.assertNotIn("12.150240", text)
        whole, parts = text.split("Parts of an instance")
        self.assertIn("12.15", parts)
        self.assertNotIn("12.15", whole.split("Time and cost")[1])
        self.assertTrue(markdown.startswith("# p3.8xlarge or g2.2xlarge or g2.8xlarge\n\n**p3.8xlarge: 31x faster"))

    def test_a_price_has_its_own_source_and_names_it_once(self) -> None:
        long = "price: o/list@1d92 a/zz.go (its header: made, by: x; 2026) (still priced); network: w.go; 15.7 TF: sheet"
        odd = [{"price_source": long}, {"price_source": long}, {"price_source": "given by the user", "usd_per_hour": 4},
               {"price_source": "price = one 1.52 + 4*2.48: file.go (n1 1.52) and more; 120 GB", "usd_per_hour": ""}]  # fmt: skip
        write_csv(self.folder, "cost.csv", [{**row, **cells} for row, cells in zip(COSTS, odd)])
        page, markdown = self.both()
        for text in (page.text(), markdown.replace("\\", "")):
            prices = text[text.index("Prices") : text.index("Where the numbers")].replace("<!-- -->", "")
            self.assertEqual(prices.count("[1] o/list@1d92 a/zz.go (its header: made, by: x; 2026) (still priced)"), 1)
            self.assertIn("[2] given by the user", prices)
            self.assertIn("[3] one 1.52 + 4*2.48: file.go (n1 1.52) and more", prices)
            for unwanted in ("w.go", "sheet", "120 GB"):
                self.assertNotIn(unwanted, prices)

    def test_small_costs_are_no_powers_of_ten(self) -> None:
        write_csv(self.folder, "cost.csv", [cost("p3.8xlarge", 4, 0.2, 7.161e-4, usd_per_epoch_ci_low=7.0e-4,
                                                 usd_per_epoch_ci_high=7.44e-4)])  # fmt: skip
        self.assertIn("0.000716 \\[0.000700, 0.000744\\]", self.both()[1])

    def test_two_runs_on_one_type_are_told_apart(self) -> None:
        write_csv(self.folder, "cost.csv", [{**COSTS[0], "run_id": "first"}, {**COSTS[0], "run_id": "second", "nodes": 2},
                                            {**COSTS[2], "run_id": "third"}])  # fmt: skip
        page, markdown = self.both()
        for text in (page.text(), markdown):
            self.assertIn("p3.8xlarge (first)", text)
            self.assertIn("2 × p3.8xlarge (second)", text)
            self.assertNotIn("(third)", text)

    def test_images_of_steps_alone_are_no_epoch(self) -> None:
        steps = {"bench": "throughput", "origin": "measured", "instance": "p3.8xlarge", "usd_per_hour": 12.24,
                 "price_date": "2026-07-20", "price_source": "list", "whole": 1, "model": "resnet50", "dtype": "bfloat16",
                 "step": "graph", "batch": 64, "ranks": 4, "nodes": 1, "launches": 3, "images_per_s": 12345.6,
                 "images_per_s_ci_low": 12001, "images_per_s_ci_high": 12999, "usd_per_million_images": 0.2754,
                 "efficient": 1}  # fmt: skip
        part = {**steps, "ranks": 1, "whole": 0, "images_per_s": 52.44, "images_per_s_ci_low": "", "efficient": "",
                "images_per_s_ci_high": ""}  # fmt: skip
        self.document["runs"] = self.document["runs"][:1]
        write_csv(self.folder, "cost.csv", [steps, part, {**steps, "status": "failed", "images_per_s": ""}])
        page, markdown = self.both()
        for text in (page.text(), markdown.replace("\\", "")):
            for words in ("12 346 [12 001, 12 999]", "0.275", "52.4", "part", "bfloat16 · graph · batch 64", "failed",
                          "They are no epoch and enter no decision"):  # fmt: skip
                self.assertIn(words, text.replace("12 346[", "12 346 ["))
            self.assertNotIn("Time and cost of an epoch", text)
            self.assertNotIn("Nothing was tested", text, "there is one run")

    def test_text_of_others_stays_text(self) -> None:
        write_csv(self.folder, "cost.csv", COSTS)
        page, markdown = self.both()
        self.assertNotIn("script", page.tags)
        self.assertIn("<b>by TFLOPS|alone", page.text())
        self.assertNotIn("<b>", markdown)
        self.assertIn("TFLOPS\\|alone", markdown)

    def test_what_cannot_be_decided_says_what_would_help(self) -> None:
        skipped = {**DECISION, "status": "skipped", "note": "why", "sentence": "cannot be decided: why",
                   "unknown": "measure p3.8xlarge on N = 4"}  # fmt: skip
        self.decided([skipped, {**DECISION, "model": "mlp"}])
        page, _ = self.both()
        self.assertIn("resnet50 · imagenet · strong: cannot be decided: why.", page.text())
        self.assertIn("What would help: measure p3.8xlarge on N = 4.", page.text())
        self.assertIn(("class", "verdict warn"), page.attributes)

    def test_without_costs_there_are_the_cells(self) -> None:
        self.document["counts"] = {"tested": 1}
        cell = {"letter": "B", "label": "allreduce ring", "seconds_a": 2e-5, "seconds_b": 3e-5, "ratio": 1.5,
                "ratio_low": 1.4, "ratio_high": 1.6, "p_holm": 0.01, "verdict": "SLOWER"}  # fmt: skip
        write_csv(self.folder, "compare.csv", [cell])
        page, markdown = self.both()
        for part in ("1 SLOWER", "allreduce ring", "20.0 µs", "1.50", "1.40 to 1.60"):
            self.assertIn(part, page.text())
        self.assertNotIn("Prices", page.text())
        self.assertIn("## The same cell in A and B\n\n| cell | A | B | ratio B/A |", markdown)
        self.assertIn("| allreduce ring |", markdown)
        write_csv(self.folder, "compare.csv", [{**cell, "verdict": "", "note": "A is imported: shown, not tested"}])
        self.assertIn("| not tested | A is imported", self.both()[1])

    def test_what_the_launches_could_not_show_is_said_and_what_is_open_amber(self) -> None:
        cell = {"letter": "B", "label": "allreduce ring", "seconds_a": 2, "seconds_b": 2, "ratio": 1}
        open_cells = [{**cell, "verdict": "UNDECIDED", "rounds_needed": needed} for needed in (7, 24)]
        for cells, code, words in ((open_cells, 3, "2 of 28 cells UNDECIDED: 7 to 24 rounds would tell."), (open_cells[:1], 0, "UNDECIDED: 7 rounds"),
                                   ([{**open_cells[0], "rounds_needed": 1000}], 0, "UNDECIDED: 1000 or more rounds"),
                                   ([{**cell, "verdict": "SAME"}], 0, ""), ([{**cell, "verdict": "SLOWER"}], 1, "")):  # fmt: skip
            self.document |= {"counts": {"tested": 28}, "floor": 0.03, "latency_floor": 0.05, "exit_code": code}
            for costs in ([], COSTS):
                self.decided([DECISION] if costs else [])
                write_csv(self.folder, "cost.csv", costs)
                write_csv(self.folder, "compare.csv", cells)
                page, markdown = self.both()
                self.assertEqual(("class", "verdict warn") in page.attributes, code != 0)
                for text in (page.text(), markdown):
                    self.assertIn(words, text)
                    self.assertEqual("would tell" in text, bool(words))
                    self.assertIn("Differences up to 3 % do not count, of latencies 5 %.", text.replace("\u00a0", " "))

    def test_one_runs_type_is_no_title_of_two_runs(self) -> None:
        write_csv(self.folder, "cost.csv", COSTS[:1])
        self.assertTrue(self.both()[1].startswith("# p3.8xlarge\n"))
        self.document["runs"][1]["instance"] = None
        self.assertTrue(self.both()[1].startswith("# on_p3 against &lt;script&gt;\n"))

    def test_each_other_run_has_a_table_with_its_own_letter(self) -> None:
        cells = [{"letter": letter, "label": f"cell of {letter}", "seconds_a": 1, "seconds_b": 2, "ratio": 2} for letter in "BC"]
        write_csv(self.folder, "compare.csv", cells)
        page, markdown = self.both()
        before, after = markdown.split("## The same cell in A and C")
        self.assertIn("| cell | A | B | ratio B/A |", before)
        self.assertIn("| cell | A | C | ratio C/A |", after)
        self.assertIn("cell of B", before)
        self.assertIn("cell of C", after)
        before, after = page.text().split("The same cell in A and C")
        self.assertIn("cell of C", after)
        self.assertNotIn("cell of B", after)
        self.assertIn("ratio B/A", before)
        self.assertIn("ratio C/A", after)

    def test_epochs_and_steps_done_in_other_ways_are_told_apart(self) -> None:
        batches = [{**COSTS[0], "global_batch": batch, "dtype": dtype} for batch, dtype in ((64, "float"), (128, "float"), (128, "bfloat16"))]
        steps = [{**COSTS[0], "bench": "throughput", "memory_format": name, "step": "graph"} for name in ("contiguous", "channels_last")]
        write_csv(self.folder, "cost.csv", [*batches, *steps])
        for way in ("ddp · float · global batch 64", "ddp · float · global batch 128", "ddp · bfloat16 · global batch 128",
                    "contiguous · graph", "channels_last · graph"):  # fmt: skip
            self.assertEqual(self.both()[1].count(f"| {way} |"), 1, way)

    def test_epochs_of_other_images_have_headings_and_tables_of_their_own(self) -> None:
        weak = {"scaling": "weak", "model": "mlp"}
        self.decided([{**DECISION, "samples": 2560}, {**DECISION, "samples": 5120},
                      {**DECISION, **weak, "samples": 5120, "ranks_a": 2}])  # fmt: skip
        write_csv(self.folder, "cost.csv", [{**COSTS[0], "samples": 2560}, {**COSTS[2], "samples": 5120},
                                            *({**COSTS[0], **weak, "samples": 2560 * n, "ranks": n} for n in (2, 4))])  # fmt: skip
        _, markdown = self.both()
        for images in (2560, 5120):
            self.assertEqual(markdown.count(f"resnet50 · imagenet · strong · {images} images: **"), 1)
            self.assertEqual(markdown.count(f"an epoch: resnet50 · imagenet · strong · {images} images\n"), 1)
        # Of another global batch a few images are left over.
        self.decided([{**DECISION, "samples": 49_984}])
        write_csv(self.folder, "cost.csv", [{**COSTS[0], "samples": 49_984}, {**COSTS[2], "samples": 49_920}])
        self.assertEqual(self.both()[1].count("an epoch: resnet50 · imagenet · strong\n"), 1)
        self.assertEqual(markdown.count("mlp · imagenet · weak: **"), 1, "as many a rank")
        self.assertEqual(markdown.count("an epoch: mlp · imagenet · weak\n"), 1)

    def test_the_figure_has_a_heading_and_its_words_with_parts_alone_too(self) -> None:
        (self.folder / "figures").mkdir()
        svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0"/></svg>'
        for name in ("cost-a", "cost-b"):
            (self.folder / "figures" / f"{name}.svg").write_text(svg, encoding="utf-8")
        for rows in (COSTS, COSTS[1:2]):
            write_csv(self.folder, "cost.csv", rows)
            page = self.both()[0]
            self.assertEqual(page.tags.count("img"), 2)
            text = page.text()
            self.assertLess(text.index("Time and cost of an epoch"), text.index("Down is faster, left is cheaper"))

    def test_a_damaged_comparison_is_refused_in_one_line(self) -> None:
        self.document = []
        done = self.made()
        self.assertEqual(done.returncode, 2)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertIn("compare.json: not an object", done.stderr)


if __name__ == "__main__":
    unittest.main()
