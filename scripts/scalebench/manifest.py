# SPDX-License-Identifier: Apache-2.0
# manifest.json, read defensively: whatever is missing or of another type reads as empty.
from __future__ import annotations

import hashlib
import json
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

from scalebench import Refused
from scalebench.rows import say


class Manifest:
    def __init__(self, run: Path, strict: bool = False) -> None:
        """One that is missing reads as empty, and so does one that cannot be read, unless `strict`: then Refused
        is raised."""
        self._content: dict[str, Any] = {}
        self.sha256 = ""
        try:
            self._content, self.sha256 = read(run / "manifest.json")
        except (OSError, Refused) as error:
            if strict and not isinstance(error, FileNotFoundError):
                raise Refused(f"manifest.json: {error}") from error
            say(f"manifest.json: {error}: going on without it")

    def text(self, *path: str) -> str:
        """The scalar at path as text, '' when there is none."""
        value: Any = self._content
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return as_text(value)

    def command(self) -> str:
        """As it may be typed again."""
        return as_typed(self._content.get("command"))

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
            {str(k): as_typed(v) if k == "command" else as_text(v) for k, v in item.items()}
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


def read(path: Path) -> tuple[dict[str, Any], str]:
    """The object in the file, and the SHA-256 of all its bytes. Raises OSError, Refused."""
    raw = path.read_bytes()
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise Refused(f"not the JSON object that a run has there: {error}") from error
    if not isinstance(content, dict):
        raise Refused(f"not the JSON object that a run has there, but of type {type(content).__name__}")
    return content, hashlib.sha256(raw).hexdigest()


def counted(names: list[str]) -> str:
    """['A', 'A', 'B'] -> '2 × A, B'."""
    return ", ".join(f"{n} × {name}" if n > 1 else name for name, n in Counter(names).items())


def as_typed(value: Any) -> str:
    """The words of a command line, quoted where a shell needs it."""
    return shlex.join(map(str, value)) if isinstance(value, list) else as_text(value)


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
