# SPDX-License-Identifier: Apache-2.0
# What tells rows apart, and what they are called by it: the columns of a case, short names for those
# that differ, and the workload that training rows are about.
from __future__ import annotations

from collections.abc import Iterable, Sequence

from scalebench.rows import Row

# How an allreduce was run, beside its algorithm, size and ranks.
ALLREDUCE = ("transport", "memory", "dtype", "op", "placement", "mode", "cache", "register", "nodes")
# How a workload was trained, beside the number of ranks.
STRATEGY = ("gradient_sync", "allreduce", "transport", "device", "dataset", "layout", "twin")
# What origins other than `measured` mean.
ORIGINS = {
    "emulated": "ranks share cores or a device, or hosts a machine, so this says nothing about N devices",
    "predicted": "predicted, not measured",
    "quoted": "quoted from elsewhere, not measured here",
    "imported": "imported from another program's log",
}
# What a number is of, which says nothing alone.
COUNTED = {"nodes": "host", "threads": "thread"}


def short_names(keys: Sequence[tuple[str, ...]], columns: Sequence[str]) -> dict[tuple[str, ...], str]:
    """A name for each key, the cells of `columns`: its first part, and those that differ between the keys."""
    places = range(len(keys[0]) if keys else 0)
    shown = [place for place in places if place == 0 or len({key[place] for key in keys}) > 1]

    def name_of(key: tuple[str, ...]) -> str:
        words = [in_words(columns[place], key[place]) for place in shown if key[place]]
        unknown = columns[0] == STRATEGY[0] and not any(key[:3])  # as how() has it
        return " · ".join(["strategy unknown", *words] if unknown else words)

    return {key: name_of(key) for key in keys}


def in_words(column: str, cell: str) -> str:
    """'2 hosts' for a 2 in the column `nodes`; most cells are words."""
    if column in COUNTED:
        return f"{cell} {COUNTED[column]}{'' if cell == '1' else 's'}"
    return f"register {cell}" if column == "register" else cell


def apart(rows: Sequence[Row], columns: Sequence[str] = ("device", "dataset")) -> tuple[str, ...]:
    """Those of `columns` that differ between the rows; of training rows, what how(), workload() and N leave out."""
    return tuple(column for column in columns if len({row[column] for row in rows}) > 1)


def how(row: Row, *more: str) -> str:
    """'flat · ring · mpi': how a training row was synchronised, and the columns `more`; imports may not say.
    `twin` is of variants.py."""
    words = [row[name] for name in ("gradient_sync", "allreduce", "transport", *more, "twin") if row[name]]
    return " · ".join(words) or "strategy unknown"


def workload(row: Row) -> str:
    """'mnist_cnn, strong scaling, global batch 64': what a training row is about; `variant` is of variants.py."""
    words = [row["model"], f"{row['scaling']} scaling" if row["scaling"] else "", batch_of(row), row["variant"]]
    return ", ".join(word for word in words if word)


def batch_of(row: Row) -> str:
    """'global batch 64': the batch that stays as N grows."""
    if row["scaling"] == "strong" and row["global_batch"]:
        return f"global batch {row['global_batch']}"
    return f"batch {row['batch']} per rank" if row["scaling"] == "weak" and row["batch"] else ""


def ideal(row: Row) -> str:
    """What the ideal time is: with weak scaling N ranks do ρ times the work."""
    return "ρ·H/N" if row["scaling"] == "weak" else "H/N"


def by_workload(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Workloads in order of first appearance, each with its rows."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(workload(row), []).append(row)
    return groups


def origin_notes(origins: Iterable[str]) -> list[str]:
    """What the origins other than `measured` mean that occur."""
    return [f"{origin}: {ORIGINS[origin]}." for origin in dict.fromkeys(origins) if origin in ORIGINS]
