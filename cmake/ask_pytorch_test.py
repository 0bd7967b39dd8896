# SPDX-License-Identifier: Apache-2.0
# ask_pytorch.py in interpreters that have a made-up PyTorch, a broken one, or none.
from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ASK = Path(__file__).resolve().parent / "ask_pytorch.py"
PYTORCH = """
from types import SimpleNamespace as _Has
__version__ = "2.11.0+cu130"
version = _Has(cuda={cuda!r})
utils = _Has(cmake_prefix_path="/site/torch/share/cmake")
cuda = _Has(nccl=_Has(version=lambda: (2, 28, 9)))
_C = _Has(_cuda_getArchFlags=lambda: "sm_80 sm_90")
def compiled_with_cxx11_abi():
    return True
"""


class AskPytorch(unittest.TestCase):
    def setUp(self) -> None:
        self.site = Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()

    def answer(self, pytorch: str | None) -> dict[str, object]:
        if pytorch is not None:
            (self.site / "torch").mkdir()
            (self.site / "torch/__init__.py").write_text(pytorch, encoding="utf-8")
        # -S: whatever PyTorch this interpreter has lies in its site-packages.
        done = subprocess.run(
            [sys.executable, "-S", str(ASK)],
            env={"PYTHONPATH": str(self.site)}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return json.loads(done.stdout)

    def wheel(self, name: str, library: str) -> None:
        folder = self.site / "nvidia" / name / "lib"
        folder.mkdir(parents=True)
        (folder / library).touch()

    def test_tells_a_cuda_build_with_its_nccl(self) -> None:
        self.wheel("nccl", "libnccl.so.2")
        self.wheel("cu13", "libcublas.so.13")
        said = self.answer(PYTORCH.format(cuda="13.0"))
        nvidia = self.site / "nvidia"
        self.assertEqual(said["version"], "2.11.0+cu130")
        self.assertEqual(said["cuda"], "13.0")
        self.assertEqual(said["folder"], str(self.site / "torch"))
        self.assertEqual(said["cmake_prefix_path"], "/site/torch/share/cmake")
        self.assertIs(said["cxx11_abi"], True)
        self.assertEqual((said["nccl_version"], said["nccl_folder"]), ("2.28.9", str(nvidia / "nccl")))
        self.assertEqual(said["library_folders"], [str(nvidia / "cu13/lib"), str(nvidia / "nccl/lib")])
        self.assertEqual(said["architectures"], ["sm_80", "sm_90"])

    def test_an_nccl_inside_libtorch_has_a_version_and_no_folder(self) -> None:
        said = self.answer(PYTORCH.format(cuda="12.1"))
        self.assertEqual((said["nccl_version"], said["nccl_folder"]), ("2.28.9", ""))

    def test_a_cpu_build_has_no_cuda(self) -> None:
        self.wheel("nccl", "libnccl.so.2")  # of something else
        said = self.answer(PYTORCH.format(cuda=None))
        self.assertEqual((said["cuda"], said["nccl_folder"], said["library_folders"]), ("", "", []))

    def test_says_why_there_is_none(self) -> None:
        self.assertEqual(self.answer(None), {"error": "No module named 'torch'"})

    def test_says_why_it_cannot_be_imported(self) -> None:
        text = "libcudart.so.13: cannot open shared object file"
        self.assertEqual(self.answer(f"raise OSError({text!r})"), {"error": text})

    def test_a_folder_named_torch_is_no_pytorch(self) -> None:
        self.assertIn("error", self.answer(""))


if __name__ == "__main__":
    unittest.main()
