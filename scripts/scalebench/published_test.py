# SPDX-License-Identifier: Apache-2.0
# The shipped tables of configs/: a number is what its source prints, as the row itself quotes it.
from __future__ import annotations

import csv
import re
import unittest

from scalebench.published import SHIPPED, read_published

NUMBERS = ("images_per_s_per_gpu", "speedup", "busbw_gb_per_s")  # the others are printed in other units, or rounded


class PublishedTest(unittest.TestCase):
    def test_a_quoted_number_is_the_printed_one(self) -> None:
        for row in read_published():
            printed = {float(text) for text in re.findall(r"\d+(?:\.\d+)?", row["printed"])}
            for column in NUMBERS:
                if row["kind"] == "quoted" and row[column]:
                    self.assertIn(row.number(column), printed, f"{row['name']}: {column}, {row['printed']}")

    def test_half_a_board_has_half_of_what_its_source_says_of_it(self) -> None:
        boards = 0
        with open(SHIPPED.with_name("instances.csv"), encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                for tflops, gb_per_s in re.findall(r"board ([\d.]+) TF[^/]* / (\d+) GB/s .* halved", row["price_source"]):
                    boards += 1
                    self.assertEqual(float(row["fp32_tflops_per_gpu"]), float(tflops) / 2, row["name"])
                    self.assertEqual(float(row["mem_bw_gbs_per_gpu"]), float(gb_per_s) / 2, row["name"])
        self.assertGreater(boards, 0)


if __name__ == "__main__":
    unittest.main()
