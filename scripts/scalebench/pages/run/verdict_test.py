# SPDX-License-Identifier: Apache-2.0
# What the first lines of a run's page say, and when they are green, amber or red.
from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path

from fixtures.files import write_csv
from fixtures.run import epoch_rows, scaling_rows, write_manifest
from scalebench.manifest import Manifest
from scalebench.pages.run.markdown import write_markdown
from scalebench.pages.run.provenance import failures, footer, verdict
from scalebench.pages.tables.allreduce import bandwidth
from scalebench.pages.tables.epochs import epochs
from scalebench.pages.tables.throughput import throughput

CHECK = ("", "scalebench verify results/one", "")


class VerdictTest(unittest.TestCase):
    def setUp(self) -> None:
        self.run_folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.manifest: dict[str, object] = {"warnings": [], "launches": []}

    def both(self) -> tuple[str, str]:
        """The box of the page, and the Markdown."""
        write_manifest(self.run_folder, **self.manifest)
        manifest = Manifest(self.run_folder)
        return str(verdict(self.run_folder, manifest, CHECK)), write_markdown(self.run_folder, manifest, CHECK)

    def test_epochs_without_a_scaling_study_have_a_table(self) -> None:
        rows = epoch_rows(["mlp"], [2], ["flat"], cores=2)
        write_csv(self.run_folder, "epoch.csv", rows)
        box, markdown = self.both()
        self.assertIn("its measurements are below", box)
        page = str(epochs(self.run_folder))
        for text in (page, markdown):
            for words in ("mlp, strong scaling, global batch 64", "flat · ring · mpi"):
                self.assertEqual(text.count(words), 1, "one row, of all ranks together")
        write_csv(self.run_folder, "scaling.csv", scaling_rows(["mlp"], [2], ["flat"], cores=2))
        self.assertEqual(epochs(self.run_folder), "")

    def test_a_run_with_a_failed_launch_has_finished(self) -> None:
        write_csv(self.run_folder, "epoch.csv", epoch_rows(["mlp"], [2], ["flat"], cores=2))
        ok, failed = {"number": 1, "status": "ok"}, {"number": 2, "status": "failed", "command": ["bench_epoch", "--data", "a b"]}
        resume = "scalebench resume results/one"
        for status, launches, planned, expected, command in (
            ("partial", [ok, failed], 2, "This run is partial: 1 of 2 launches failed.", True),
            ("partial", [failed], 1, "This run is partial: 1 of 1 launch failed.", True),
            ("partial", [ok, failed], 3, "it did not finish", True),
            ("partial", [ok], 2, "it did not finish", True),
            ("complete", [ok, failed], 2, "1 of 2 launches failed.", False),
            ("complete", [ok, ok], 2, "", False),
        ):
            self.manifest |= {"status": status, "launches": launches}
            (self.run_folder / "plan.json").write_text(json.dumps({"launches": [{}] * planned}), encoding="utf-8")
            box, markdown = self.both()
            for text in (box, markdown):
                self.assertIn(expected, text)
                self.assertEqual("failed." in text, "failed." in expected)
                self.assertEqual("it did not finish" in text, "finish" in expected)
                self.assertEqual(resume in text, command)
            if failed in launches:
                self.assertIn("bench_epoch --data &#x27;a b&#x27;", str(failures(self.run_folder, Manifest(self.run_folder))))
        refused = {"number": 2, "status": "failed", "note": "exit code 2: no such file"}
        for launches, again in (([ok, refused], False), ([failed, refused], True)):
            self.manifest |= {"status": "partial", "launches": launches}
            for text in self.both():
                self.assertEqual((resume in text, "mend the config" in text), (again, not again))
        # What has no plan is no study, and cannot be resumed.
        (self.run_folder / "plan.json").unlink()
        for launches, expected in (([ok], "what it had measured until then is below."), ([ok, failed], "1 of 2 launches failed.")):
            self.manifest |= {"status": "partial", "launches": launches}
            for text in self.both():
                self.assertIn(expected, text)
                self.assertNotRegex(text, "resume|Go on|Start again")
        self.manifest["command"] = ["scalebench", "run", "my study.toml"]
        self.both()
        self.assertIn("scalebench run &#x27;my study.toml&#x27;", str(footer(self.run_folder, Manifest(self.run_folder), CHECK)))

    def test_a_throttled_gpu_is_said_and_what_it_drew_is_shown(self) -> None:
        step = {"model": "resnet50", "rank": "all", "ranks": 1, "nodes": 1, "images_per_s": 8600, "batch": 256}
        for share, warned in ((0, False), (0.5, True)):
            gpu = {"throttled_share": share, "power_capped_share": share, "gpu_watts": 697.8, "gpu_joules_per_image": 0.0809, "mfu_published": 0.214}
            write_csv(self.run_folder, "throughput.csv", [{**step, **gpu}])
            for text in self.both():
                self.assertEqual("A GPU was throttled in 1 row, in up to 50.0\u00a0% of the looks at it. Its power limit" in text, warned)
            self.assertIn(f'<div class="verdict{" warn" if warned else ""}">', self.both()[0])
            table = str(throughput(self.run_folder))
            for words in ("697.8", "698", "0.0809", "21.4", f"{100 * share:.1f}"):
                self.assertEqual(words in table, words != "697.8", words)
        write_csv(self.run_folder, "throughput.csv", [step, {**step, "device": "cpu"}])
        self.assertNotIn("GPUs", str(throughput(self.run_folder)))

    def test_each_algorithm_stands_beside_the_librarys_own(self) -> None:
        row = {"size_bytes": 4, "ranks": 2, "busbw_gb_per_s": 1, "seconds_median": 1}
        faster = {"native_ratio": 1.204, "native_ratio_ci_low": 1.16, "native_ratio_ci_high": 1.25, "native_verdict": "FASTER"}
        write_csv(self.run_folder, "allreduce.csv", [{**row, "algorithm": "native"}, {**row, "algorithm": "ring", **faster}])
        shown = str(bandwidth(self.run_folder))
        self.assertEqual(shown.count("× native ["), 1)
        self.assertIn("1.20× native [1.16, 1.25] faster", shown)

    def test_wide_tables_are_parted(self) -> None:
        names = [f"algorithm{n}" for n in range(11)]
        rows = [{"algorithm": name, "size_bytes": 4, "ranks": 2, "busbw_gb_per_s": 1, "seconds_median": 1} for name in names]
        write_csv(self.run_folder, "allreduce.csv", rows)
        parts = str(bandwidth(self.run_folder)).split("<table>")[1:]
        self.assertEqual([part.count("<th") - part.count("<thead") for part in parts], [1 + 8, 1 + 3])
        for name in names:
            self.assertEqual(sum(f">{name}</th>" in part for part in parts), 1)

    def test_times_alone_are_not_called_rates(self) -> None:
        for ranks, rates in ((1, False), (2, True)):
            write_csv(self.run_folder, "allreduce.csv", [{"algorithm": "ring", "size_bytes": 4, "ranks": ranks, "busbw_gb_per_s": 0, "seconds_median": 1}])
            self.assertEqual("Bus bandwidth" in bandwidth(self.run_folder), rates)


if __name__ == "__main__":
    unittest.main()
