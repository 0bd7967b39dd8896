# SPDX-License-Identifier: Apache-2.0
# Writing a file so that a reader finds the old one or the new one, never half of either.
from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Replaces `path`; a name of its own until then, so that two writers never share one."""
    handle, unfinished = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(handle)
        os.chmod(unfinished, 0o644)  # others read it: a collector, a web server
        os.replace(unfinished, path)
    except BaseException:
        os.unlink(unfinished)
        raise
