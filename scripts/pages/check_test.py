#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Breaks each rule of pages.check in made-up pages, and expects to be told.
from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from pages import check

LONG = "One " + " ".join(["word"] * 25) + "."


class Prose(unittest.TestCase):
    def breaches(self, page: str, name: str = "docs/a.md") -> list[str]:
        return list(check.prose_breaches(name, page))

    def test_a_long_sentence_is_named_with_its_line(self) -> None:
        (breach,) = self.breaches(f"# A\n\nShort. {LONG}\n")
        self.assertTrue(breach.startswith("docs/a.md:3: 26 words: One word"), breach)

    def test_a_sentence_over_lines_is_one(self) -> None:
        self.assertEqual(len(self.breaches("\n".join(["word " * 13, "word " * 13]))), 1)

    def test_a_long_paragraph_is_named(self) -> None:
        (breach,) = self.breaches("One. Two. Three. Four. Five.\n")
        self.assertIn("5 sentences", breach)
        self.assertEqual(self.breaches("One. Two. Three. Four.\n\nFive.\n"), [])

    def test_entries_of_a_list_are_paragraphs(self) -> None:
        self.assertEqual(self.breaches("- One. Two. Three.\n- Four. Five.\n  Six.\n1. Seven. Eight.\n"), [])
        self.assertEqual(len(self.breaches(f"- Short.\n- {LONG}\n")), 1)

    def test_code_tables_and_headings_are_no_prose(self) -> None:
        self.assertEqual(self.breaches(f"# {LONG}\n\n    {LONG}\n\n| {LONG} |\n\n```\n{LONG}\n```\n"), [])

    def test_code_is_one_word_and_a_link_is_its_text(self) -> None:
        self.assertEqual(self.breaches(f"See `{LONG}` and [this](a/b.md).\n"), [])

    def test_a_version_ends_no_sentence(self) -> None:
        self.assertEqual(check.sentences("Open MPI 4.1.4 as installed. `doctor` says 1.5 times. **So** it is."),
                         ["Open MPI 4.1.4 as installed.", "CODE says 1.5 times.", "So it is."])

    def test_cells_of_the_columns_are_prose(self) -> None:
        page = f"Short.\n\n| `a` | s | {LONG} |\n\n{LONG}\n"
        lines = [breach.partition(": ")[0] for breach in check.column_breaches("r.md", page)]
        self.assertEqual(sorted(lines), ["r.md:3", "r.md:5"])


class Links(unittest.TestCase):
    def setUp(self) -> None:
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.root / "docs").mkdir()
        (self.root / "docs" / "b.md").write_text("# B: `code`, and more\n\n```\n# no heading\n```\n", encoding="utf-8")

    def breaches(self, page: str) -> list[str]:
        return list(check.link_breaches(self.root, "docs/a.md", page))

    def test_links_lead_to_files_and_headings(self) -> None:
        good = "# A\n\n[b](b.md) [b](b.md#b-code-and-more) [up](../docs) [me](#a) [web](https://a.b/c)\n"
        self.assertEqual(self.breaches(good), [])
        (breach,) = self.breaches("\n[b](c.md)\n")
        self.assertIn("docs/a.md:2: c.md   <- there is no such file", breach)
        (breach,) = self.breaches("| [b](b.md#no-heading) |\n")
        self.assertIn("no such heading", breach)

    def test_code_has_no_links(self) -> None:
        self.assertEqual(self.breaches("    [b](c.md)\n\n```\n[b](c.md)\n```\n"), [])

    def test_the_readme_leads_to_every_page(self) -> None:
        (breach,) = check.map_breaches(self.root, "[a](docs/a.md)")
        self.assertIn("docs/b.md", breach)
        self.assertEqual(list(check.map_breaches(self.root, "[b](docs/b.md#b)")), [])


class Messages(unittest.TestCase):
    PROGRAM = 'fail("{} ranks on {} core(s) or device(s): ranks that share one")'

    def breaches(self, cell: str) -> list[str]:
        page = f"| what you see | cause |\n| {cell} | `of no program at all` |\n"
        return list(check.message_breaches("t.md", page, self.PROGRAM))

    def test_what_no_program_prints_is_named(self) -> None:
        self.assertEqual(self.breaches("`N ranks on M core(s) or device(s): …`"), [])
        (breach,) = self.breaches("`N ranks on M core(s) or card(s): …`")
        self.assertIn("t.md:2: core(s) or card(s)", breach)

    def test_a_message_of_several_lines_of_source_is_one(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "bench").mkdir()
            (Path(folder) / "bench" / "a.cpp").write_text('fail("first half, "\n     "second half")', encoding="utf-8")
            self.assertIn("first half, second half", check.program_text(Path(folder)))


if __name__ == "__main__":
    unittest.main()
