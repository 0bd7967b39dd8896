# SPDX-License-Identifier: Apache-2.0
# The report's table of what a lost rank cost a training, from the manifest.
from __future__ import annotations

from view.manifest import Manifest
from view.numbers import duration
from view.page import Html, element, section, table

TITLE = "What a lost rank costs"
HEAD = ("noticed", "ended", "restart", "down", "lost images")


def rows(manifest: Manifest) -> list[list[str]]:
    """One, as HEAD has it; none of a run that is no recovery, or has nothing to tell."""
    if manifest.text("recovery", "status") != "ok":
        return []
    times = [duration(float(manifest.text("recovery", f"{name}_seconds") or "nan")) for name in ("noticed", "ended", "restart", "down")]
    return [[*times, manifest.text("recovery", "lost_samples").removesuffix(".0")]]


def recovery(manifest: Manifest) -> Html:
    if not rows(manifest):
        failed = manifest.text("recovery", "status") == "failed"
        return section(TITLE, element("p", f"The training did not go on: {manifest.text('recovery', 'note')}")) if failed else Html("")
    kind, _, where = manifest.text("recovery", "fault").partition(":")
    rank, _, step = where.partition("@")
    fault = f"Rank {rank} was {'killed' if kind == 'kill' else 'stopped'} at step {step}. Noticed, ended and down count from there."
    return section(TITLE, element("p", fault, css="muted"), table(HEAD, rows(manifest), numbers=range(5)))
