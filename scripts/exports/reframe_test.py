# SPDX-License-Identifier: Apache-2.0
# configs/reframe/scalebench_check.py with a stand-in for ReFrame: which rows of an earlier run are the same case, and
# where a path that was typed leads.
from __future__ import annotations

import contextlib
import importlib.util
import sys
import tempfile
import types
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from fixtures.files import write_csv
from fixtures.run import SHARE

CHECK = Path(__file__).resolve().parents[2] / "configs/reframe/scalebench_check.py"


def same(of: Any) -> Any:
    return of


def after(_: str) -> Callable[[Any], Any]:
    return same


def loaded() -> Any:
    """The check, as ReFrame imports it in the folder where it was started."""
    modules = {
        "reframe": types.SimpleNamespace(simple_test=same, RunOnlyRegressionTest=object),
        "reframe.utility": types.SimpleNamespace(sanity=None),
        "reframe.utility.sanity": types.SimpleNamespace(
            all=all, assert_true=lambda value, _: bool(value), assert_false=lambda value, _: not value, defer=same,
            make_performance_function=lambda value, _: value),
        "reframe.core": types.SimpleNamespace(),
        "reframe.core.builtins": types.SimpleNamespace(
            run_after=after, run_before=after, sanity_function=same, variable=lambda _, value: value),
    }  # fmt: skip
    modules["reframe"].utility = modules["reframe.utility"]
    modules["reframe.utility"].sanity = modules["reframe.utility.sanity"]
    spec = importlib.util.spec_from_file_location("scalebench_check", CHECK)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with mock.patch.dict(sys.modules, modules):  # type: ignore[arg-type]
        spec.loader.exec_module(module)
    return module


class CheckTest(unittest.TestCase):
    def test_a_case_is_compared_with_the_same_case_from_any_folder(self) -> None:
        case = {**SHARE, "algorithm": "ring", "transport": "mpi", "size_bytes": 8, "ranks": 2, "status": "ok", "note": ""}
        ways = [{"dtype": dtype, "placement": placement} for dtype in ("float", "half") for placement in ("in_place", "out_of_place")]
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for run, base in (("before", 1), ("now", 10)):
                write_csv(folder / run, "allreduce.csv",
                          [{**case, **way, "busbw_gb_per_s": base + place} for place, way in enumerate(ways)])  # fmt: skip
            (folder / "stage").mkdir()
            with contextlib.chdir(folder):
                check = loaded().scalebench_allreduce()
            check.reference_csv, check.stagedir = "before/allreduce.csv", str(folder / "now")
            check.stdout, check.perf_variables = types.SimpleNamespace(evaluate=lambda: "allreduce.csv"), {}
            with contextlib.chdir(folder / "stage"):
                self.assertTrue(check.sums_are_right())
                check.compare()
        names = [f"ring_mpi_{way['dtype']}_{way['placement']}_8_bytes" for way in ways]
        self.assertEqual(check.perf_variables, dict(zip(names, (10.0, 11.0, 12.0, 13.0))))
        self.assertEqual({key: value[0] for key, value in check.reference["*"].items()}, dict(zip(names, (1.0, 2.0, 3.0, 4.0))))


if __name__ == "__main__":
    unittest.main()
