# SPDX-License-Identifier: Apache-2.0
# What failed, as the report lists it: a line for each case, and one for all sizes of a case.
from __future__ import annotations

import unittest

from scalebench.rows import Row
from scalebench.pages.run.provenance import without_sizes

SKIPPED = {"algorithm": "native", "transport": "shared_memory", "ranks": "2", "status": "skipped", "note": "none"}
WRONG = {**SKIPPED, "status": "wrong", "nodes": "2", "size_bytes": "1024"}


def listed(*rows: dict[str, str]) -> list[str]:
    return [case for _, case, _ in without_sizes([("allreduce.csv", Row(row)) for row in rows])]


class WithoutSizesTest(unittest.TestCase):
    def test_rows_that_differ_in_size_alone_are_one_line(self) -> None:
        sizes = [{**SKIPPED, "size_bytes": str(4**n)} for n in range(5, 14)]
        self.assertEqual(listed(*sizes), ["native · shared_memory · ranks 2 · 9 sizes"])
        self.assertEqual(listed(sizes[0]), ["native · shared_memory · ranks 2 · 1 KiB"])

    def test_other_cases_of_one_size_are_lines_of_their_own(self) -> None:
        ways = [{"placement": placement, "op": op} for placement in ("in_place", "out_of_place") for op in ("sum", "max")]
        self.assertEqual(listed(SKIPPED, *({**WRONG, **way} for way in ways))[1:], [
            f"native · shared_memory · ranks 2 · {way['op']} · {way['placement']} · 2 hosts · 1 KiB" for way in ways])  # fmt: skip

    def test_rows_that_nothing_tells_apart_are_no_sizes(self) -> None:
        self.assertEqual(listed(WRONG, WRONG), ["native · shared_memory · ranks 2 · 2 rows"])


if __name__ == "__main__":
    unittest.main()
