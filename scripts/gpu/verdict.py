# SPDX-License-Identifier: Apache-2.0
# How a step ended, and the worst of several.
from __future__ import annotations

from dataclasses import dataclass

REACHED = "reached"
MISSED = "missed"
NOT_RUN = "not run"


@dataclass(frozen=True)
class Verdict:
    status: str
    detail: str  # numbers against the target, or why there are none

    def line(self) -> str:
        return f"{self.status}: {self.detail}" if self.detail else self.status


def reached(detail: str) -> Verdict:
    return Verdict(REACHED, detail)


def missed(detail: str) -> Verdict:
    return Verdict(MISSED, detail)


def not_run(why: str) -> Verdict:
    return Verdict(NOT_RUN, why)


def grouped(value: float, digits: str = ".0f") -> str:
    """With a space between thousands."""
    return f"{value:,{digits}}".replace(",", " ")


def at_least(target: float | None, values: dict[str, float], unit: str = "") -> Verdict:
    """All of them reach the target, or the smallest is named. Without a target it is told."""
    if not values:
        return not_run("no row was measured")
    name, smallest = min(values.items(), key=lambda item: item[1])
    words = f"{name} {grouped(smallest, '.4g')}{unit}"
    of = f", the smallest of {len(values)}" if len(values) > 1 else ""
    if target is None:
        return reached(f"{words}{of}; no target")
    wanted = f"target {grouped(target, '.4g')}{unit}"
    return (reached if smallest >= target else missed)(f"{words}{of}; {wanted}")


def exit_code(verdicts: list[Verdict]) -> int:
    """1: a target was missed; 3: something could not be run; 0: all reached."""
    if any(verdict.status == MISSED for verdict in verdicts):
        return 1
    return 3 if any(verdict.status == NOT_RUN for verdict in verdicts) else 0
