# SPDX-License-Identifier: Apache-2.0
# What the wheel needs of PyPI, for scikit-build-core: the PyTorch that its programs are linked with, any patch of it.
from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version


def dynamic_metadata(field: str, settings: Mapping[str, object] | None = None) -> list[str]:
    assert field == "dependencies" and not settings
    minor = ".".join(version("torch").split(".")[:2])
    return ["openmpi >=5", f"torch =={minor}.*", "matplotlib", "jinja2"]


def get_requires_for_dynamic_metadata(settings: Mapping[str, object] | None = None) -> list[str]:
    return ["torch", "openmpi >=5"]
