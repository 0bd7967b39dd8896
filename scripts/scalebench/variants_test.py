# SPDX-License-Identifier: Apache-2.0
# Two trainings that differ in what epoch.csv alone says: each has its own result, words and panel.
from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from fixtures.account import loss_rows
from fixtures.files import Cells, known, write_csv
from fixtures.run import epoch_rows, scaling_rows
from scalebench import losses
from scalebench.cases import by_workload, how, workload
from scalebench.rows import Row
from scalebench.pages.run import answers
from scalebench.variants import read_cases, text_of

ONE = "mlp, strong scaling, global batch 64"


class VariantsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.run_folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def write(self, *cases: Cells) -> None:
        """A run whose trainings are done once for each of `cases`."""
        for name, rows in (("scaling.csv", scaling_rows), ("epoch.csv", epoch_rows)):
            each = [known(name, {**row, **case, "case_id": f"{row['gradient_sync']}{place}"}) for place, case in enumerate(cases)
                    for row in [*rows(["mlp"], [1], ["one_device"], cores=2), *rows(["mlp"], [2], ["flat"], cores=2)]]  # fmt: skip
            write_csv(self.run_folder, name, each)
            if name == "scaling.csv":
                write_csv(self.run_folder, "losses.csv", loss_rows(each))

    def test_both_have_a_result_an_account_and_a_panel(self) -> None:
        self.write({"samples": 1024, "optimizer": "adam"}, {"samples": 4096, "optimizer": "adam"})
        names = [f"{ONE}, 1024 images", f"{ONE}, 4096 images"]
        self.assertEqual([workload(row) for row in answers(self.run_folder)], names)
        self.assertEqual(list(dict.fromkeys(workload(account.case) for account in losses.accounts(self.run_folder))), names)
        for file, rows in (("scaling.csv", 2), ("epoch.csv", 2)):
            panels = by_workload(read_cases(self.run_folder, file))
            self.assertEqual({name: len(group) for name, group in panels.items()}, dict.fromkeys(names, rows))

    def test_the_case_is_named_where_nothing_else_differs(self) -> None:
        self.write({}, {})
        names = [how(row) for row in answers(self.run_folder)]
        self.assertEqual(names, ["flat · ring · mpi · case flat0", "flat · ring · mpi · case flat1"])

    def test_one_training_has_no_more_words(self) -> None:
        self.write({"samples": 1024})
        self.assertEqual([workload(row) for row in answers(self.run_folder)], [ONE])

    def test_images_are_the_same_on_every_number_of_ranks(self) -> None:
        weak = [Row(scaling="weak", samples=str(512 * n), ranks=str(n)) for n in (1, 2)]
        share = Row(scaling="strong", samples="512", ranks="1", share_of="2")
        self.assertEqual([text_of(row, "samples") for row in [*weak, share]], ["512 images per rank", "512 images per rank", "1024 images"])


if __name__ == "__main__":
    unittest.main()
