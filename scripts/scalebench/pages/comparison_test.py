# SPDX-License-Identifier: Apache-2.0
# report on made-up comparisons: the sentence first, numbers as people read them, whole
# instances apart from parts, and that no text of others becomes markup.
from __future__ import annotations

import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path

from fixtures.files import write_csv
from fixtures.page import Page
from scalebench.__main__ import main

SENTENCE = "p3.8xlarge: 31x faster and 39 % cheaper an epoch (imported, 3 launches, price of 2026-07-20)."
UNKNOWN = "Not known: how much the times of p3.8xlarge vary."
PRICE = {"usd_per_hour": 12.24, "currency": "usd", "price_date": "2026-07-20", "price_source": "price: a list"}


def cost(instance: str, ranks: int, seconds: float, usd: float, **cells: object) -> dict[str, object]:
    return {"origin": "imported", "instance": instance, "workload": "resnet50 imagenet strong",
            "label": f"epoch resnet50 ddp N={ranks}",
            "ranks": ranks, "nodes": 1, "images": 1281167, "launches": 3, "seconds": seconds, "usd": usd, "best": "yes",
            **cells}  # fmt: skip


COSTS = [
    cost("p3.8xlarge", 4, 998, 3.3932, seconds_ci_low=990, seconds_ci_high=1003),
    cost("p3.8xlarge", 1, 3573, 12.15024, best="part"),
    cost("g2.2xlarge", 1, 30585.6, 5.5224, best="no"),
    cost("g2.8xlarge", 4, 30585.6, 22.089, origin="quoted", launches="", note="<b>by hand|alone"),
]


class CompareReportTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.document = {
            "command": ["scalebench", "compare", "A", "B"], "exit_code": 0,
            "instances": [{"name": name, **PRICE} for name in ("p3.8xlarge", "g2.2xlarge", "g2.8xlarge")],
            "runs": [{"letter": "A", "run_id": "on_p3", "origin": "imported", "instance": "p3.8xlarge",
                      "manifest_sha256": "ab12"},
                     {"letter": "B", "run_id": "<script>", "origin": "imported", "instance": "g2.2xlarge"}],
        }  # fmt: skip

    def made(self) -> tuple[int, str]:
        """Exit code, and what was said."""
        (self.folder / "compare.json").write_text(json.dumps(self.document), encoding="utf-8")
        said = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
            return main(["report", str(self.folder)]), said.getvalue()

    def both(self) -> tuple[Page, str]:
        code, said = self.made()
        self.assertEqual(code, 0, said)
        page = Page((self.folder / "report.html").read_text(encoding="utf-8"))
        self.assertEqual(page.misplaced, [])
        return page, (self.folder / "report.md").read_text(encoding="utf-8")

    def test_says_the_answer_first_and_numbers_as_people_read_them(self) -> None:
        self.document["answers"] = [UNKNOWN, SENTENCE]
        self.document["costs"] = COSTS
        page, markdown = self.both()
        text = page.text().replace("\u00a0", " ")
        self.assertLess(text.index(SENTENCE), text.index(UNKNOWN))
        self.assertLess(text.index(UNKNOWN), text.index("Time and cost"))
        for part in ("16.6 min [16.5, 16.7]", "3.39", "8.50 h", "5.52", "part", "1 281 167", "epoch resnet50 ddp N=4",
                     "2026-07-20", "a list",
                     "imported, 3 launches", "imported from another"):  # fmt: skip
            self.assertIn(part, text)
            self.assertIn(part.replace("[", "\\[").replace("]", "\\]"), markdown)
        self.assertNotIn("12.150240", text)
        self.assertTrue(markdown.startswith("# p3.8xlarge or g2.2xlarge or g2.8xlarge\n\n**p3.8xlarge: 31x faster"))

    def test_the_winner_of_three_types_stands_on_the_page(self) -> None:
        winner = "p3.8xlarge is the cheapest of 3 types, 39 % cheaper than g2.2xlarge; none is told to be the fastest."
        self.document["answers"] = [winner]
        self.document["costs"] = COSTS
        page, markdown = self.both()
        self.assertIn(winner, page.text())
        self.assertIn(f"**{winner}**", markdown)

    def test_a_source_of_prices_is_named_once(self) -> None:
        odd = [{}, {}, {"price_source": "given by the user", "usd_per_hour": 4},
               {"price_source": "file.go", "usd_per_hour": None}]
        self.document["instances"] = [{"name": f"type{place}", **PRICE, **cells} for place, cells in enumerate(odd)]
        page, markdown = self.both()
        for text in (page.text(), markdown.replace("\\", "")):
            prices = text[text.index("Prices") : text.index("Where the numbers")]
            for words in ("[1] price: a list", "[2] given by the user", "[3] file.go", "not known"):
                self.assertEqual(prices.count(words), 1)

    def test_small_costs_are_no_powers_of_ten(self) -> None:
        self.document["costs"] = [cost("p3.8xlarge", 4, 0.2, 7.161e-4)]
        self.assertIn("| 0.000716 |", self.both()[1])

    def test_two_runs_on_one_type_are_told_apart(self) -> None:
        self.document["costs"] = [{**COSTS[0], "run_id": "first"}, {**COSTS[0], "run_id": "second", "nodes": 2},
                                     {**COSTS[2], "run_id": "third"}]  # fmt: skip
        page, markdown = self.both()
        for text in (page.text(), markdown):
            self.assertIn("p3.8xlarge (first)", text)
            self.assertIn("2 × p3.8xlarge (second)", text)
            self.assertNotIn("(third)", text)

    def test_each_workload_has_a_table_and_what_failed_its_word(self) -> None:
        other = {**COSTS[0], "workload": "mlp mnist strong"}
        self.document["costs"] = [COSTS[0], other, {**other, "status": "failed", "seconds": "", "usd": ""}]
        page, markdown = self.both()
        for text in (page.text(), markdown):
            self.assertEqual(text.count("mlp mnist strong"), 1)
            self.assertIn("failed", text)

    def test_text_of_others_stays_text(self) -> None:
        self.document["costs"] = COSTS
        page, markdown = self.both()
        self.assertNotIn("script", page.tags)
        self.assertIn("<b>by hand|alone", page.text())
        self.assertNotIn("<b>", markdown)
        self.assertIn("hand\\|alone", markdown)

    def test_what_cannot_be_decided_is_amber(self) -> None:
        self.document |= {"answers": ["B against A: nothing was tested",
                                      "p3.8xlarge or g2.2xlarge cannot be decided: why."], "exit_code": 3}
        page, _ = self.both()
        self.assertIn("cannot be decided: why.", page.text())
        self.assertIn(("class", "verdict warn"), page.attributes)

    def test_without_costs_there_are_the_cells(self) -> None:
        self.document |= {"answers": ["B against A: SLOWER in 1 of 1 cells"], "instances": []}
        cell = {"letter": "B", "label": "allreduce ring", "seconds_a": 2e-5, "seconds_b": 3e-5, "ratio": 1.5,
                "ratio_low": 1.4, "ratio_high": 1.6, "p_holm": 0.01, "verdict": "SLOWER"}  # fmt: skip
        write_csv(self.folder, "compare.csv", [cell])
        page, markdown = self.both()
        for part in ("SLOWER in 1 of 1 cells", "allreduce ring", "20.0 µs", "1.50 [1.40, 1.60]"):
            self.assertIn(part, page.text())
        self.assertNotIn("Prices", page.text())
        self.assertIn("## The same cell in A and B\n\n| cell | A | B | ratio B/A |", markdown)
        self.assertIn("| allreduce ring |", markdown)
        write_csv(self.folder, "compare.csv", [{**cell, "verdict": "", "note": "A is imported: shown, not tested"}])
        self.assertIn("| not tested | A is imported", self.both()[1])

    def test_one_runs_type_is_no_title_of_two_runs(self) -> None:
        self.document["costs"] = COSTS[:1]
        self.assertTrue(self.both()[1].startswith("# p3.8xlarge\n"))
        self.document["runs"][1]["instance"] = None
        self.assertTrue(self.both()[1].startswith("# on_p3 against &lt;script&gt;\n"))

    def test_each_other_run_has_a_table_with_its_own_letter(self) -> None:
        cells = [{"letter": letter, "label": f"cell of {letter}", "seconds_a": 1, "seconds_b": 2, "ratio": 2}
                 for letter in "BC"]
        write_csv(self.folder, "compare.csv", cells)
        page, markdown = self.both()
        for text in (page.text(), markdown):
            before, after = text.split("The same cell in A and C")
            for letter, part in (("B", before), ("C", after)):
                self.assertIn(f"ratio {letter}/A", part)
                self.assertIn(f"cell of {letter}", part)

    def test_the_figure_has_a_heading_and_its_words_with_parts_alone_too(self) -> None:
        (self.folder / "figures").mkdir()
        for name in ("cost-a", "cost-b"):
            (self.folder / "figures" / f"{name}.svg").touch()
        for rows in (COSTS, COSTS[1:2]):
            self.document["costs"] = rows
            page = self.both()[0]
            self.assertEqual(page.tags.count("img"), 2)
            text = page.text()
            self.assertLess(text.index("Time and cost"), text.index("Down is faster, left is cheaper"))

    def test_a_damaged_comparison_is_refused_in_one_line(self) -> None:
        self.document = []
        code, said = self.made()
        self.assertEqual((code, said.count("\n")), (2, 1))
        self.assertIn("not the JSON object", said)


if __name__ == "__main__":
    unittest.main()
