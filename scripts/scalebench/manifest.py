# SPDX-License-Identifier: Apache-2.0
# manifest.json, and other JSON of a run.
from __future__ import annotations

import hashlib
import json
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

from scalebench import Refused
from scalebench.rows import Row, say


class Document:
    """A JSON object, read defensively: whatever is missing or of another type reads as empty."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.content = content

    def value(self, *path: str) -> Any:
        value: Any = self.content
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return value

    def text(self, *path: str) -> str:
        """The scalar at path as text, '' when there is none."""
        return as_text(self.value(*path))

    def entries(self, *path: str) -> dict[str, str]:
        """The members of the object at path as text, without the empty ones."""
        value = self.value(*path)
        return {str(name): as_text(one) for name, one in value.items()
                if as_text(one)} if isinstance(value, dict) else {}

    def records(self, name: str) -> list[Row]:
        """The list of objects called name, every value as text, a command as it may be typed again."""
        value = self.value(name)
        items = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
        return [Row({str(k): as_typed(v) if k == "command" else as_text(v) for k, v in item.items()}) for item in items]


class Manifest(Document):
    def __init__(self, run: Path, strict: bool = False) -> None:
        """One that is missing reads as empty, and so does one that cannot be read, unless `strict`: then Refused
        is raised."""
        super().__init__({})
        self.sha256 = ""
        try:
            self.content, self.sha256 = read(run / "manifest.json")
        except (OSError, Refused) as error:
            if strict and not isinstance(error, FileNotFoundError):
                raise Refused(f"manifest.json: {error}") from error
            say(f"manifest.json: {error}: going on without it")

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
