# SPDX-License-Identifier: Apache-2.0
# What the PyTorch of this interpreter is, as one JSON object on stdout, for TorchFolder.cmake:
# {"error": "why there is none"}, or version, cuda, folder, cmake_prefix_path, cxx11_abi, nccl_version,
# nccl_folder, library_folders and architectures. What is unknown is an empty string or list.
# Ends with 0 also where torch is missing or broken: the caller has another choice then.
from __future__ import annotations

import importlib.util
import json
import warnings
from pathlib import Path


def nvidia_folders() -> list[Path]:
    """Those of the nvidia-* wheels, which hold the CUDA libraries that a PyTorch of pip loads."""
    spec = importlib.util.find_spec("nvidia")
    roots = [Path(place) for place in (spec.submodule_search_locations or [])] if spec else []
    return sorted(folder for root in roots for folder in root.iterdir() if (folder / "lib").is_dir())


def nccl_version(torch: object) -> str:
    try:
        version = torch.cuda.nccl.version()
    except Exception:  # a build without NCCL
        return ""
    # Before 1.11 it was one number.
    return ".".join(map(str, version)) if isinstance(version, tuple) else ""


def architectures(torch: object) -> list[str]:
    try:  # torch.cuda.get_arch_list() says nothing where no device is
        return (torch._C._cuda_getArchFlags() or "").split()
    except Exception:
        return []


def facts() -> dict[str, object]:
    try:
        import torch

        cuda = torch.version.cuda or ""
        folders = nvidia_folders() if cuda else []
        # Some link NCCL statically; a version without a folder says so.
        nccl = [folder for folder in folders if list(folder.glob("lib/libnccl.so*"))]
        return {
            "version": torch.__version__,
            "cuda": cuda,
            "folder": str(Path(torch.__file__).resolve().parent),
            "cmake_prefix_path": torch.utils.cmake_prefix_path,
            "cxx11_abi": bool(torch.compiled_with_cxx11_abi()),
            "nccl_version": nccl_version(torch) if cuda else "",
            "nccl_folder": str(nccl[0]) if nccl else "",
            "library_folders": [str(folder / "lib") for folder in folders],
            "architectures": architectures(torch) if cuda else [],
        }
    except Exception as error:
        return {"error": (str(error).strip().splitlines() or [type(error).__name__])[0]}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps({key: str(value) if key == "version" else value for key, value in facts().items()}))
