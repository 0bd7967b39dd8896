# SPDX-License-Identifier: Apache-2.0
# The lines of pandas in results/README.md, run as they stand there on a summary.csv; and the notebook, cell by cell.
from __future__ import annotations

import importlib.util
import json
import os
import re
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "results" / "README.md"
NOTEBOOK = ROOT / "results" / "pandas.ipynb"
SUMMARY = """model,strategy,scaling,ranks,h_seconds,ideal_seconds,measured_seconds,speedup,efficiency,trust
mlp,one_device,strong,1,2,2,2,1,1,"measured, 3 rounds, range of rounds"
mlp,mirrored,strong,2,2,1,1.25,1.6,0.8,"measured, 3 rounds, range of rounds"
mlp,mirrored,strong,4,2,0.5,0.8,2.5,0.625,"measured, 3 rounds, range of rounds"
mlp,zero1,strong,2,,,,,,"failed: rank 1 died"
"""
MISSING = [name for name in ("pandas", "matplotlib") if importlib.util.find_spec(name) is None]


@unittest.skipIf(MISSING, f"no {' and no '.join(MISSING)}: install python3-pandas and python3-matplotlib")
class SixLines(unittest.TestCase):
    def test_draw_the_speedup(self) -> None:
        (code,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
        self.assertEqual(code.count("\n"), 6)
        self.addCleanup(os.chdir, os.getcwd())
        folder = self.enterContext(tempfile.TemporaryDirectory())
        os.environ.setdefault("MPLBACKEND", "Agg")
        os.chdir(folder)
        Path("results/RUN").mkdir(parents=True)
        Path("results/RUN/summary.csv").write_text(SUMMARY, encoding="utf-8")
        names: dict[str, object] = {}
        exec(code, names)
        lines = {line.get_label(): list(line.get_ydata()) for line in names["axes"].get_lines()}  # type: ignore[attr-defined]
        self.assertEqual(lines["ideal"], [1, 2, 4])
        self.assertEqual(lines["(mlp, mirrored, strong)"][1:], [1.6, 2.5])
        self.assertGreater(Path("speedup.png").stat().st_size, 1000)

    def test_the_notebook_runs_and_finds_what_is_stored(self) -> None:
        notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
        self.addCleanup(os.chdir, os.getcwd())
        os.environ.setdefault("MPLBACKEND", "Agg")
        os.chdir(NOTEBOOK.parent)
        names: dict[str, object] = {}
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                self.assertEqual((cell["outputs"], cell["execution_count"]), ([], None), "stored without what it printed")
                exec("".join(cell["source"]), names)
        differ = names["differ"]
        self.assertGreater(len(differ), 5)  # type: ignore[arg-type]
        self.assertLess(differ.max(), 1e-9)  # type: ignore[attr-defined]
        self.assertFalse(differ.isna().any())  # type: ignore[attr-defined]
        self.assertTrue(names["axes"].get_lines())  # type: ignore[attr-defined]

    def test_the_notebook_tells_layouts_apart(self) -> None:
        run = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (run / "summary.csv").write_text(SUMMARY, encoding="utf-8")
        seconds = {1: 2.0, 2: 5.0}  # the same case and N on one host and on two
        head, rows = "case_id,status,ranks,nodes,seconds", {n: f"a,ok,2,{n},{time}" for n, time in seconds.items()}
        (run / "epoch.csv").write_text("\n".join((head, *rows.values(), "")), encoding="utf-8")
        of_launches = (f"{n},{row}" for n, row in rows.items())
        (run / "launches").mkdir()
        (run / "launches" / "epoch.csv").write_text("\n".join((f"launch,{head}", *of_launches, "")), encoding="utf-8")
        samples = (f"epoch,a,{n},2,,{time}" for n, time in seconds.items())
        (run / "samples.csv").write_text("\n".join(("bench,case_id,launch,ranks,rank,seconds", *samples, "")), encoding="utf-8")
        cells = ["".join(cell["source"]) for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]]
        names: dict[str, object] = {}
        for cell in cells:
            if "RUN = " in cell or "differ = " in cell:
                exec(cell.replace('Path("reference/amd-epyc-2-cores/full")', f'Path("{run}")'), names)
        self.assertEqual(list(names["differ"]), [0, 0])  # type: ignore[call-overload]


if __name__ == "__main__":
    unittest.main()
