# SPDX-License-Identifier: Apache-2.0
# Whether a run is sealed, and the sentence by which a reader checks its numbers.
from __future__ import annotations

import hashlib
import os
import shlex
from pathlib import Path

from scalebench.manifest import Manifest

# Before the command, the command, behind it.
Check = tuple[str, str, str]


def how_to_check(run: Path, manifest: Manifest, given: str) -> Check:
    """As far as the folder allows it; `given`: the folder as it was typed."""
    command = f"scalebench verify {typed_here(given)}"
    if not (run / "COMPLETE").is_file():
        return "", command, " recomputes every number from samples.csv and checks these hashes."
    if not holds(run, manifest):
        return "COMPLETE is there, but it, SHA256SUMS and manifest.json do not agree: ", command, " says what differs."
    words = " recomputes every number from samples.csv and checks the hash of every file."
    return "Complete and sealed: ", command, words



def holds(run: Path, manifest: Manifest) -> bool:
    """Whether manifest.json is the one that was sealed: COMPLETE has the hash of SHA256SUMS, which has its own."""
    try:
        sums = (run / "SHA256SUMS").read_bytes()
        complete = (run / "COMPLETE").read_bytes()
    except OSError:
        return False
    own = f"{manifest.sha256}  manifest.json".encode()
    return complete.split()[:1] == [hashlib.sha256(sums).hexdigest().encode()] and own in sums.splitlines()


def typed_here(given: str) -> str:
    """The folder for a command that is typed where the report was made. An absolute path helps nobody elsewhere: below
    here it is shortened, else it is RUN, as in the documentation."""
    path = Path(given)
    if path.is_absolute():
        path, here = path.resolve(), Path.cwd()
        if not path.is_relative_to(here):
            return "RUN"
        path = path.relative_to(here)
    text = os.path.normpath(path)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)
