# SPDX-License-Identifier: Apache-2.0
# manifest.json, read defensively: whatever is missing or of another type reads as empty.
from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

from view.rows import say


class Manifest:
    def __init__(self, run: Path) -> None:
        self._content: dict[str, Any] = {}
        self.sha256 = ""
        try:
            raw = (run / "manifest.json").read_bytes()
            content = json.loads(raw)
        except (OSError, ValueError, RecursionError) as error:
            say(f"manifest.json: {error}: going on without it")
            return
        if isinstance(content, dict):
            self._content = content
            self.sha256 = hashlib.sha256(raw).hexdigest()
        else:
            say("manifest.json: not an object: going on without it")

    def text(self, *path: str) -> str:
        """The scalar at path as text, '' when there is none."""
        value: Any = self._content
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return as_text(value)

    def entries(self, *path: str) -> list[tuple[str, str]]:
        """The object at path as (name, text) pairs without the empty ones."""
        value: Any = self._content
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        pairs = value.items() if isinstance(value, dict) else []
        return [(str(name), as_text(item)) for name, item in pairs if as_text(item)]

    def records(self, name: str) -> list[dict[str, str]]:
        """The list of objects called name, every value as text."""
        value = self._content.get(name)
        items = value if isinstance(value, list) else []
        return [
            {str(k): as_text(v) for k, v in item.items()}
            for item in items
            if isinstance(item, dict)
        ]

    def host(self) -> str:
        """Processor, cores and devices in a few words."""
        cpu, cores = (self.text("environment", "key", name) for name in ("cpu_model", "cores"))
        gpus = counted(self.text("environment", "key", "gpus").split(", "))
        return ", ".join(part for part in (cpu, f"{cores} cores" if cores else "", gpus) if part)

    def fine_print(self, run_id: str) -> str:
        """One line for the foot of a figure: run, host, version."""
        version, commit = self.text("tool", "version"), self.text("tool", "commit")[:10]
        dirty = " (modified)" if self.text("tool", "dirty") == "true" else ""
        tool = f"scalebench {version} {commit}".strip() + dirty if version or commit else ""
        run = f"run {self.text('run_id') or run_id}"
        return "  ·  ".join(part for part in (run, self.host(), tool) if part)


def counted(names: list[str]) -> str:
    """['A', 'A', 'B'] -> '2 × A, B'."""
    return ", ".join(f"{n} × {name}" if n > 1 else name for name, n in Counter(names).items())


def as_text(value: Any) -> str:
    if value is None or value == {} or value == []:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, (str, int, float)) for item in value):
        return ", ".join(str(item) for item in value)
    return json.dumps(value, ensure_ascii=False)
