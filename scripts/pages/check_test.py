#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Breaks each rule of pages.check in made-up pages, and expects to be told.
from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from pages import check


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


class Stored(unittest.TestCase):
    def test_what_is_stored_has_a_budget_and_what_is_drawn_has_none(self) -> None:
        root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        run = root / "results" / "reference" / "machine" / "run"
        (run / "figures").mkdir(parents=True)
        for number in range(check.MOST_STORED):
            (run / f"{number}.csv").touch()
            (run / "figures" / f"{number}.png").touch()
        self.assertEqual(list(check.stored_breaches(root)), [])
        (run / "more.csv").touch()
        (breach,) = check.stored_breaches(root)
        self.assertIn("901 files, 0.0 MB", breach)
        (run / "more.csv").unlink()
        with open(run / "0.csv", "wb") as file:
            file.truncate(21_000_000)
        (breach,) = check.stored_breaches(root)
        self.assertIn("900 files, 21.0 MB", breach)


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
