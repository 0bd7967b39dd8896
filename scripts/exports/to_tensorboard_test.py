# SPDX-License-Identifier: Apache-2.0
# What to_tensorboard.py writes, read back by TensorBoard's own reader.
from __future__ import annotations

import csv
import importlib.util
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).with_name("to_tensorboard.py")
COLUMNS = "model gradient_sync scaling global_batch ranks launch epoch seconds seconds_so_far train_loss test_loss test_accuracy".split()
ROWS = [
    ["mlp", "mirrored", "strong", "256", "2", launch, epoch, "0.5", str(0.5 * int(epoch)), loss, "", accuracy]
    for launch, epoch, loss, accuracy in (("1", "1", "0.7", "0.8"), ("1", "2", "0.5", "0.85"), ("2", "1", "0.6", ""))
]


class TensorBoard(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.run_folder = self.folder / "run"
        self.run_folder.mkdir()
        (self.run_folder / "manifest.json").write_text(json.dumps({"started_utc": "2026-03-01T04:05:06Z"}), encoding="utf-8")
        with open(self.run_folder / "accuracy.csv", "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([COLUMNS, *ROWS])

    def written(self, run: Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(SCRIPT), str(run), "--logdir", str(self.folder / "logs")]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    @unittest.skipIf(importlib.util.find_spec("tensorboard") is None, "no TensorBoard here (pip install tensorboard)")
    def test_its_own_reader_finds_the_epochs(self) -> None:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        done = self.written(self.run_folder)
        self.assertEqual((done.returncode, done.stdout[:24]), (0, "2 trainings, 8 values: t"), done.stderr)
        folders = sorted(path.parent for path in (self.folder / "logs").rglob("events.*"))
        self.assertEqual([folder.name for folder in folders], ["launch 1", "launch 2"])
        self.assertEqual(folders[0].parent.name, "mlp, mirrored, N=2, global batch 256")
        read = EventAccumulator(str(folders[0]))
        read.Reload()
        self.assertEqual([(one.step, round(one.value, 5)) for one in read.Scalars("loss/train")], [(1, 0.7), (2, 0.5)])
        self.assertEqual([round(one.value, 5) for one in read.Scalars("accuracy/test")], [0.8, 0.85])
        self.assertEqual(read.Scalars("epoch/seconds")[1].wall_time, 1772337906 + 1)

    def test_what_is_no_run_is_refused_in_one_line(self) -> None:
        done = self.written(self.folder)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr.splitlines()[-1], "no run with accuracy.csv|needs TensorBoard")


if __name__ == "__main__":
    unittest.main()
