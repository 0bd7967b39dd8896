# SPDX-License-Identifier: Apache-2.0
# The words and numbers of one cell of gate.csv as every report of a night writes them.
from __future__ import annotations

import math
from collections.abc import Callable

from view.night.record import TESTED, WORSE
from view.numbers import duration, percent
from view.plain import plain
from view.rows import Row


def form_of(cell: Row) -> Callable[[float], str]:
    """How a value of the cell's metric is written."""
    return percent if cell["metric"] == "efficiency" else duration


def label(cell: Row) -> str:
    return named(cell, "" if cell["metric"] == "seconds" else cell["metric"])


def label_of_all_metrics(cell: Row) -> str:
    """The same for the time and the efficiency of a case, so that a dashboard finds both by it."""
    return named(cell, "")


def named(cell: Row, metric: str) -> str:
    words = cell["label"] or " ".join(cell[name] for name in ("bench", "case_id", "ranks") if cell[name])
    origin = "" if cell["origin"] in ("measured", "") else cell["origin"]
    return " · ".join(plain(part, 160) for part in (words, metric, origin) if part)


def before_after(cell: Row) -> str:
    """'1.02 ms → 1.11 ms'; a side that is not known is a dash."""
    form = form_of(cell)
    sides = [form(cell.number(column)) or "–" for column in ("before", "after")]
    return " → ".join(sides) if sides != ["–", "–"] else ""


def signed_percent(value: float, digits: int = 1) -> str:
    """'−10.2 %' with a true minus sign; '' for an unknown number."""
    if math.isnan(value):
        return ""
    text = f"{100 * abs(value):.{digits}f}"
    sign = "" if float(text) == 0 else "−" if value < 0 else "+"
    return f"{sign}{text}\u00a0%"


def between(low: float, high: float) -> str:
    """'[−11.5, −9.0 %]'; '' when an end is not known."""
    ends = [signed_percent(low), signed_percent(high)]
    return f"[{ends[0].removesuffix(chr(0xA0) + '%')}, {ends[1]}]" if all(ends) else ""


def interval(cell: Row) -> str:
    return between(cell.number("change_low"), cell.number("change_high"))


def as_measured(cell: Row) -> str:
    """'−3.1 % as measured': the change with nothing taken out."""
    text = signed_percent(cell.number("as_measured"))
    return f"{text} as measured" if text else ""


def against(cell: Row) -> str:
    """What the verdict rests on."""
    return {"beside": f"{plain(cell['rounds'], 20)} rounds beside the accepted build", "history": "the nights before"}.get(cell["basis"], "")


def probability(value: float) -> str:
    return "" if math.isnan(value) else "< 0.0001" if value < 1e-4 else f"{value:.2g}"


def evidence(cell: Row) -> list[tuple[str, str]]:
    """What the verdict rests on, by name; nothing for a cell that was not tested."""
    pinned, drift = cell.number("pinned_change"), cell.number("drift_change")
    said = [
        ("p", probability(cell.number("p_value"))),
        ("q", probability(cell.number("q_value"))),
        ("suspect from", percent(cell.number("critical_drop"))),
        ("finds from", percent(cell.number("mde"))),
        ("against", against(cell)),
        ("launches", plain(cell["launches"], 20)),
        ("nights", plain(cell["nights"], 20)),
        ("against the pinned run", signed_percent(pinned)),
        ("drift", signed_percent(drift)),
    ]
    return [(name, text) for name, text in said if text] if cell["verdict"] in TESTED else []


def tone(verdict: str) -> str:
    """The class that colours a verdict's word."""
    if verdict in WORSE or verdict in ("MISSING", "INVALID"):
        return "bad"
    return {"IMPROVED": "good", "AMBIGUOUS": "odd", "OK": ""}.get(verdict, "muted")


def one_line(cell: Row) -> str:
    """'allreduce ring 64 MiB N=2: 1.02 ms → 1.13 ms, −9.9 % as measured, −10.2 % [−11.5, −9.0 %], p 0.00002, q 0.004: why'"""
    numbers = [before_after(cell), as_measured(cell)]
    numbers += [" ".join(part for part in (signed_percent(cell.number("change")), interval(cell)) if part)]
    numbers += [f"{name} {text}" for name, text in evidence(cell)[:2]]
    said = ", ".join(part for part in numbers if part)
    return ": ".join(part for part in (label(cell), said, plain(cell["note"])) if part)
