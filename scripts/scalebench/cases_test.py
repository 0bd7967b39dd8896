# SPDX-License-Identifier: Apache-2.0
# Names of cases: short, and no number without what it is of.
from __future__ import annotations

import unittest

from scalebench.cases import ALLREDUCE, STRATEGY, short_names
from scalebench.rows import Row


class ShortNamesTest(unittest.TestCase):
    def names(self, **cells: tuple[str, str]) -> list[str]:
        rows = [Row({"transport": "mpi", **{column: pair[place] for column, pair in cells.items()}}) for place in (0, 1)]
        return list(short_names([tuple(row[column] for column in ALLREDUCE) for row in rows], ALLREDUCE).values())

    def test_what_differs_is_said_in_words(self) -> None:
        self.assertEqual(self.names(cache=("warm", "cold")), ["mpi · warm", "mpi · cold"])
        self.assertEqual(self.names(nodes=("1", "2"), op=("sum", "sum")), ["mpi · 1 host", "mpi · 2 hosts"])
        self.assertEqual(self.names(register=("0", "2")), ["mpi · register 0", "mpi · register 2"])

    def test_steps_on_several_hosts_and_threads(self) -> None:
        names = short_names([("cpu", "1", "1"), ("cpu", "4", "2")], ("device", "threads", "nodes"))
        self.assertEqual(list(names.values()), ["cpu · 1 thread · 1 host", "cpu · 4 threads · 2 hosts"])

    def test_a_strategy_that_is_not_known_is_named_so(self) -> None:
        keys = [("", "", "", "", "", layout, "") for layout in ("", "1 a host")]
        self.assertEqual([*short_names(keys, STRATEGY).values()], ["strategy unknown", "strategy unknown · 1 a host"])


if __name__ == "__main__":
    unittest.main()
