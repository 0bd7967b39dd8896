# SPDX-License-Identifier: Apache-2.0
# The judges say how the output and the rows of each step stand against its target. They need no card.
from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from peers.harness import MISSED, REACHED, Rows, judged

NOT_RUN = "not run"
COPIES = ("memcpy", "copy")  # The faster one, the driver's or ours, is what the card can do.
KERNELS = ("add", "cast_to_float", "cast_from_float", "pack", "unpack")


class Verdict(NamedTuple):
    status: str
    detail: str  # It has numbers against the target, or why there are none.

    def line(self) -> str:
        return f"{self.status}: {self.detail}"


reached, missed, not_run = (partial(Verdict, status) for status in (REACHED, MISSED, NOT_RUN))


def grouped(value: float, digits: str = ".4g") -> str:
    """A space stands between thousands."""
    return f"{value:,{digits}}".replace(",", " ")


def at_least(target: float | None, values: dict[str, float], unit: str = "") -> Verdict:
    """All of them reach the target, or the smallest is named. Without a target it is told."""
    if not values:
        return not_run("no row was measured")
    name, smallest = min(values.items(), key=lambda item: item[1])
    of = f", the smallest of {len(values)}" if len(values) > 1 else ""
    wanted = "no target" if target is None else f"target {grouped(target)}{unit}"
    status = MISSED if judged(smallest, target) == MISSED else REACHED
    return Verdict(status, f"{name} {grouped(smallest)}{unit}{of}; {wanted}")


def worst(verdicts: list[Verdict]) -> int:
    """The exit code is 1 where a target was missed, 3 where something could not be run, and 0 where all was reached."""
    said = {verdict.status for verdict in verdicts}
    return 1 if MISSED in said else 3 if NOT_RUN in said else 0


def ok(rows: Rows) -> Rows:
    return [row for row in rows if row["status"] == "ok"]


def reasons(rows: Rows) -> str:
    return "; ".join(sorted({row["note"] for row in rows if row["status"] != "ok" and row["note"]}))


def facts(said: str, rows: Rows) -> Verdict:
    """It tells the lines that name cards, alike ones once, and libraries; a card is enough."""
    cards = [line for line in said.splitlines() if line.count(",") == 2 and line.endswith("MiB")]
    torch = [line for line in said.splitlines() if line.startswith("PyTorch ")]
    if not cards:
        return not_run("nvidia-smi names no card")
    return reached("; ".join([*dict.fromkeys(cards), *(torch or ["no PyTorch in python3"])]))


def tests(said: str, rows: Rows) -> Verdict:
    """GoogleTest's summaries and the exit codes of all programs decide; a test that skips itself has not been run."""

    def count(status: str) -> int:
        return sum(int(count) for count in re.findall(rf"^\[{status}\] (\d+) test", said, re.MULTILINE))

    failed, passed = count("  FAILED  "), count("  PASSED  ")
    skipped = count("  SKIPPED ") + len(re.findall(r"^skipped: ", said, re.MULTILINE))
    codes = [int(code) for code in re.findall(r"^\[exit code (-?\d+)\]$", said, re.MULTILINE)]
    words = f"{passed} tests passed, {skipped} skipped, {len(codes)} programs"
    if failed > 0 or any(codes):
        return missed(f"{words}; {failed} failed, exit codes {' '.join(map(str, codes))}")
    if passed > 0:
        return reached(words)
    why = re.search(r"(?:^skipped: |: Skipped\n)(.+)", said, re.MULTILINE)
    return not_run(f"{words}: {why[1]}" if why else words)


def sanitizer(said: str, rows: Rows) -> Verdict:
    """Findings count of every process that one of compute-sanitizer's tools looked at. A process that ended without a
    summary, or a test that failed, is no process without findings."""
    found = [int(n) for n in re.findall(r"(?:ERROR SUMMARY: |RACECHECK SUMMARY: )(\d+) (?:error|hazard)", said)]
    due = re.search(r"^due: (\d+) processes$", said, re.MULTILINE)
    words = f"{sum(found)} findings in {len(found)} {f'of {due[1]} ' if due else ''}processes"
    unfit = re.search(r"Device not supported.*", said)
    if unfit or not found:
        why = re.search(r"^skipped: (.*)", said, re.MULTILINE)
        return not_run(unfit[0] if unfit else why[1] if why else "compute-sanitizer ended without a summary")
    if sum(found) > 0:
        return missed(words)
    if due is None or len(found) < int(due[1]):
        return not_run(words)
    code = re.search(r"^\[exit code (-?\d+)\]$", said, re.MULTILINE)
    return reached(words) if code and code[1] == "0" else missed(f"{words}; exit code {code[1] if code else 'unknown'}")


def rates(rows: Rows, names: Sequence[str], at_least_bytes: int = 0) -> dict[tuple[str, int], float]:
    """Returns GB/s on the card by kernel and by the bytes that a call moves; an array is a half or third of them."""
    return {(f"{row['kernel']} {row['dtype']}", int(row["bytes"])): float(row["gb_per_s"]) for row in ok(rows)
            if row["kernel"] in names and row["device"] != "cpu" and int(row["bytes"]) >= at_least_bytes}  # fmt: skip


def kernels(said: str, rows: Rows, at_least_bytes: int = 256 << 20, target: float = 0.9) -> Verdict:
    """Each kernel's GB/s are held against the card's own copy, at sizes beyond its caches."""
    if wrong := [row for row in rows if row["status"] in ("wrong", "failed")]:
        return missed(f"{wrong[0]['kernel']} {wrong[0]['dtype']}: {wrong[0]['status']}, {wrong[0]['note']}")
    best = max(rates(rows, COPIES, at_least_bytes).values(), default=0.0)
    if not best:
        return not_run(reasons(rows) or "the card's copy was not measured")
    shares = {name: rate / best for (name, _), rate in rates(rows, KERNELS, at_least_bytes).items()}
    verdict = at_least(target, shares)
    return Verdict(verdict.status, f"{verdict.detail} of the copy's {grouped(best, '.0f')} GB/s")


def images(said: str, rows: Rows, target: float) -> Verdict:
    """The fastest way counts among the rows of all ranks together."""
    all_ranks = [row for row in ok(rows) if row["rank"] == "all"]
    if not all_ranks:
        return not_run(reasons(rows) or "no row was measured")
    best = max(all_ranks, key=lambda row: float(row["images_per_s"]))
    way = f"{best['model']} {best['dtype']} {best['memory_format']} {best['step']} batch {best['batch']}"
    mfu = f", mfu {float(best['mfu_published']):.2f}" if best.get("mfu_published") else ""
    verdict = at_least(target, {way: float(best["images_per_s"])}, " images/s")
    return Verdict(verdict.status, verdict.detail + mfu)


def steady(said: str, rows: Rows, column: str, spread: float, unit: str) -> Verdict:
    """The starts of one case are apart by a share of the one in the middle."""
    values = sorted(float(row[column]) for row in ok(rows) if row["rank"] == "all" and row.get(column))
    if len(values) < 2:
        return not_run(reasons(rows) or f"{column} of fewer than two starts")
    middle = statistics.median(values)
    apart = (values[-1] - values[0]) / middle
    words = f"{len(values)} starts of {middle:.4g} {unit}, {100 * apart:.1f} % apart; target {100 * spread:g} %"
    return reached(words) if apart <= spread else missed(words)


def complete(said: str, rows: Rows) -> Verdict:
    """A sweep has no target: every case was measured, or says why the device cannot."""
    if not ok(rows):
        return not_run(reasons(rows) or "no row was measured")
    cases = [row for row in rows if row.get("rank", "all") == "all"]
    failed = [row for row in cases if row["status"] in ("failed", "wrong")]
    words = f"{len(ok(cases))} of {len(cases)} cases measured"
    return missed(f"{words}; {reasons(failed)}") if failed else reached(words)


# p ranks on one card move so many times the n bytes of each. ring: (p-1) n are read twice and written once to be added,
# and as many read and written to be gathered. direct: each rank reads its share p times and writes it p times.
MOVED = {"ring": lambda ranks: 5 * (ranks - 1), "direct": lambda ranks: 2 * ranks}


def shared(said: str, rows: Rows, at_least_bytes: int = 64 << 20) -> Verdict:
    """An allreduce over the card's own memory is held against what its bytes take at the rate of the faster copy of the
    largest size, which is among the rows. Ranks that take turns on the card have no target; those that had a card
    each share none, and are not emulated."""
    copies = rates([row for row in rows if "kernel" in row], COPIES)
    copy = max((rate for (_, size), rate in copies.items() if size == max(one for _, one in copies)), default=None)
    why = {"status": "skipped", "note": "the ranks had a card each"}
    rows = [row if row["status"] != "ok" or row["origin"] == "emulated" else {**row, **why}
            for row in rows if "kernel" not in row]  # fmt: skip
    if copy is None:
        return not_run(reasons(rows) or "the card's copy was not measured (step kernels)")
    shares = {}
    for row in ok(rows):
        size, ranks = int(row["size_bytes"]), int(row["ranks"])
        if size < at_least_bytes or row["algorithm"] not in MOVED or row["transport"] != "cuda_ipc":
            continue
        bound = MOVED[row["algorithm"]](ranks) * size / (copy * 1e9)
        shares[f"{row['algorithm']}, {ranks} ranks, {size >> 20} MiB:"] = bound / float(row["seconds_median"])
    if not shares:
        return not_run(reasons(rows) or f"no row of {at_least_bytes >> 20} MiB or more")
    return at_least(None, shares)


def comparison(said: str, rows: Rows) -> Verdict:
    """`scripts/compare_with steps` has judged each ratio. A leg without one is named, and why it failed. Where the step
    was cut off, the ratios that there are decide."""
    told = [row for row in rows if row["target"] or row["against"] == "graph"]
    ratios = [f"{row['case']} {row['ratio']} of {row['against']} ({row['verdict']})" for row in told if row["ratio"]]
    absent = [row for row in told if not row["ratio"]]
    legs = [
        f"{row['case']} {leg}" for row in absent
        for leg, seconds in (("ours", row["ours_seconds"]), (row["against"], row["theirs_seconds"]))
        if not seconds or (row["ours_seconds"] and row["theirs_seconds"])  # In no start there were both.
    ]  # fmt: skip
    parts = [*ratios, f"not measured: {', '.join(dict.fromkeys(legs))}"] if legs else ratios
    if absent or not ratios:
        parts = [*parts, *dict.fromkeys(re.findall(r"^compare_with: (.+: .+)", said, re.MULTILINE))]
    words = "; ".join(parts) or "scripts/compare_with judged nothing"
    if any(row["verdict"] == MISSED for row in told):
        return missed(words)
    cut_off = re.search(r"^\[ended after", said, re.MULTILINE)
    return reached(words) if ratios and (cut_off or not absent) else not_run(words)
