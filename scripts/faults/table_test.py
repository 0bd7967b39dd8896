# SPDX-License-Identifier: Apache-2.0
# docs/faults.md against the sources: every test that a row names is one that CTest runs. Nothing is started for that.
from __future__ import annotations

import ast
import re
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("kernels", "collectives", "models", "bench", "scripts", "cmake")
CPP_TEST = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)", re.M)
NAME = re.compile(r"`(\w+\.\w+)`")


def rows(page: str) -> list[list[str]]:
    """The cells of each row, without heads and rules."""
    lines = [line for line in page.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return [row for row in cells if row[-1] != "provoked by"]


def tests_named(row: list[str]) -> list[str]:
    return NAME.findall(row[-1])


def tests_in(file: Path, registered: str) -> set[str]:
    """`registered`: what bench/e2e has handed to CTest, class by class."""
    text = file.read_text(encoding="utf-8")
    if file.suffix in (".cpp", ".cu"):
        return {f"{suite}.{name}" for suite, name in CPP_TEST.findall(text)}
    if file.suffix != ".py" and "python" not in text.partition("\n")[0]:
        return set()
    found = set()
    for one in ast.parse(text).body:
        if isinstance(one, ast.ClassDef):
            names = {f"{one.name}.{part.name}" for part in one.body
                     if isinstance(part, ast.FunctionDef) and part.name.startswith("test_")}  # fmt: skip
            is_run = file.parent.name != "e2e" or f"scalebench_e2e_test({one.name} {file.name}" in registered
            found |= names if is_run else set()
    return found


def tests_of(root: Path) -> set[str]:
    registered = (root / "bench/e2e/CMakeLists.txt").read_text(encoding="utf-8")
    found: set[str] = set()
    for room in ROOMS:
        for file in sorted((root / room).rglob("*")):
            is_test = "test" in file.name and "__pycache__" not in file.parts
            if is_test and file.is_file():
                found |= tests_in(file, registered)
    return found


def problems(page: str, tests: set[str]) -> list[str]:
    found: list[str] = []
    for row in rows(page):
        names = tests_named(row)
        if not names:
            found.append(f"'{row[0]}' names no test")
        found += [f"'{row[0]}': no test is called {name}" for name in names if name not in tests]
    return found


class Table(unittest.TestCase):
    def test_every_test_that_is_named_exists(self) -> None:
        page = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
        self.assertEqual(problems(page, tests_of(ROOT)), [])

    def test_what_names_no_test_or_an_unknown_one_is_named(self) -> None:
        head = "| what happens | what it does | provoked by |\n|---|---|---|\n"
        page = head + "| a | b | `A.B` (needs a GPU) |\n| c | b | `A.C` |\n| A pipe \\| in a cell | b | nothing |\n"
        self.assertEqual(problems(page, {"A.B"}), ["'c': no test is called A.C", "'A pipe \\| in a cell' names no test"])

    def test_tests_are_found_as_they_are_written(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {
                "a_test.cpp": "TEST(A, B) {\nTEST_F(C,\n       D) {\n// TEST(No, Comment)\n",
                "e2e/b_test": "#!/usr/bin/env python3\nclass E(Case):\n    def test_f(self): ...\n    def other(self): ...\n",
                "e2e/c_test": "#!/bin/sh\nclass G: test_h\n",
            }.items():
                path = Path(folder) / name
                path.parent.mkdir(exist_ok=True)
                path.write_text(text, encoding="utf-8")
                found = tests_in(path, "scalebench_e2e_test(E b_test RUN_SERIAL ON)")
                self.assertEqual(found, {"a_test.cpp": {"A.B", "C.D"}, "e2e/b_test": {"E.test_f"}}.get(name, set()))
            self.assertEqual(tests_in(Path(folder) / "e2e/b_test", ""), set(), "a class that CTest does not know")


if __name__ == "__main__":
    unittest.main()
