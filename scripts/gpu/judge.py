# SPDX-License-Identifier: Apache-2.0
# What the output and the rows of each step say against its target. Needs no card: texts and rows in, a
# Verdict out.
from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence

from gpu.verdict import Verdict, at_least, grouped, missed, not_run, reached

Rows = Sequence[Mapping[str, str]]

COPIES = ("memcpy", "copy")  # the driver's and ours: the faster one is what the card can do
KERNELS = ("add", "cast_to_float", "cast_from_float", "pack", "unpack")


def ok(rows: Rows) -> Rows:
    return [row for row in rows if row["status"] == "ok"]


def reasons(rows: Rows) -> str:
    return "; ".join(sorted({row["note"] for row in rows if row["status"] != "ok" and row["note"]}))


def facts(output: str) -> Verdict:
    """The lines that name the cards, alike ones once, and libraries; a card is enough."""
    cards = [line for line in output.splitlines() if line.count(",") == 2 and line.endswith("MiB")]
    torch = [line for line in output.splitlines() if line.startswith("PyTorch ")]
    if not cards:
        return not_run("nvidia-smi names no card")
    return reached("; ".join([*dict.fromkeys(cards), *(torch or ["no PyTorch in python3"])]))


def tests(output: str) -> Verdict:
    """GoogleTest's summaries and the exit codes of all programs; a test that skips itself has not been run."""
    failed = sum(int(count) for count in re.findall(r"^\[  FAILED  \] (\d+) test", output, re.MULTILINE))
    passed = sum(int(count) for count in re.findall(r"^\[  PASSED  \] (\d+) test", output, re.MULTILINE))
    skipped = sum(int(count) for count in re.findall(r"^\[  SKIPPED \] (\d+) test", output, re.MULTILINE))
    skipped += len(re.findall(r"^skipped: ", output, re.MULTILINE))
    codes = [int(code) for code in re.findall(r"^\[exit code (-?\d+)\]$", output, re.MULTILINE)]
    words = f"{passed} tests passed, {skipped} skipped, {len(codes)} programs"
    if failed > 0 or any(codes):
        return missed(f"{words}; {failed} failed, exit codes {' '.join(map(str, codes))}")
    if passed > 0:
        return reached(words)
    why = re.search(r"(?:^skipped: |: Skipped\n)(.+)", output, re.MULTILINE)
    return not_run(f"{words}: {why[1]}" if why else words)


def sanitizer(output: str) -> Verdict:
    """Findings of every process that one of compute-sanitizer's tools looked at. A process that ended without a summary,
    or a test that failed, is no process without findings."""
    found = [int(count) for count in re.findall(r"(?:ERROR SUMMARY: |RACECHECK SUMMARY: )(\d+) (?:error|hazard)", output)]
    due = re.search(r"^due: (\d+) processes$", output, re.MULTILINE)
    words = f"{sum(found)} findings in {len(found)} {f'of {due[1]} ' if due else ''}processes"
    unfit = re.search(r"Device not supported.*", output)
    if unfit or not found:
        why = re.search(r"^skipped: (.*)", output, re.MULTILINE)
        return not_run(unfit[0] if unfit else why[1] if why else "compute-sanitizer ended without a summary")
    if sum(found) > 0:
        return missed(words)
    if due is None or len(found) < int(due[1]):
        return not_run(words)
    code = re.search(r"^\[exit code (-?\d+)\]$", output, re.MULTILINE)
    return reached(words) if code and code[1] == "0" else missed(f"{words}; exit code {code[1] if code else 'unknown'}")


def kernels(rows: Rows, at_least_bytes: int = 256 << 20, target: float = 0.9) -> Verdict:
    """GB/s of each kernel over the card's own copy, at sizes beyond its caches."""
    if wrong := [row for row in rows if row["status"] in ("wrong", "failed")]:
        return missed(f"{wrong[0]['kernel']} {wrong[0]['dtype']}: {wrong[0]['status']}, {wrong[0]['note']}")

    def rates(names: Sequence[str]) -> dict[str, float]:
        # bytes are those that a call moves: the array itself is a half or a third of them.
        large = [row for row in ok(rows) if row["device"] != "cpu" and int(row["bytes"]) >= at_least_bytes]
        return {f"{row['kernel']} {row['dtype']}": float(row["gb_per_s"]) for row in large if row["kernel"] in names}

    copies = rates(COPIES)
    if not copies:
        return not_run(reasons(rows) or "the card's copy was not measured")
    best = max(copies.values())
    verdict = at_least(target, {name: rate / best for name, rate in rates(KERNELS).items()})
    return Verdict(verdict.status, f"{verdict.detail} of the copy's {grouped(best)} GB/s")


def images(rows: Rows, target: float) -> Verdict:
    """The fastest way among the rows of all ranks together."""
    all_ranks = [row for row in ok(rows) if row["rank"] == "all"]
    if not all_ranks:
        return not_run(reasons(rows) or "no row was measured")
    best = max(all_ranks, key=lambda row: float(row["images_per_s"]))
    way = f"{best['model']} {best['dtype']} {best['memory_format']} {best['step']} batch {best['batch']}"
    mfu = f", mfu {float(best['mfu_published']):.2f}" if best.get("mfu_published") else ""
    verdict = at_least(target, {way: float(best["images_per_s"])}, " images/s")
    return Verdict(verdict.status, verdict.detail + mfu)


def steady(rows: Rows, column: str, spread: float, unit: str) -> Verdict:
    """How far the starts of one case are apart, as a share of the one in the middle."""
    values = sorted(float(row[column]) for row in ok(rows) if row["rank"] == "all" and row.get(column))
    if len(values) < 2:
        return not_run(reasons(rows) or f"{column} of fewer than two starts")
    middle = statistics.median(values)
    apart = (values[-1] - values[0]) / middle
    words = f"{len(values)} starts of {middle:.4g} {unit}, {100 * apart:.1f} % apart; target {100 * spread:g} %"
    return reached(words) if apart <= spread else missed(words)


def complete(rows: Rows) -> Verdict:
    """A sweep without a target: every case was measured, or says why the device cannot."""
    if not ok(rows):
        return not_run(reasons(rows) or "no row was measured")
    cases = [row for row in rows if row.get("rank", "all") == "all"]
    failed = [row for row in cases if row["status"] in ("failed", "wrong")]
    words = f"{len(ok(cases))} of {len(cases)} cases measured"
    return missed(f"{words}; {reasons(failed)}") if failed else reached(words)


# Bytes that p ranks on one card move for n bytes each, in n. ring: (p-1) n are read twice and written once to be added,
# and as many read and written to be gathered. direct: each rank reads its share p times and writes it p times.
MOVED = {"ring": lambda ranks: 5 * (ranks - 1), "direct": lambda ranks: 2 * ranks}


def shared(rows: Rows, copy_gb_per_s: float | None, at_least_bytes: int = 64 << 20) -> Verdict:
    """Seconds of an allreduce over the card's own memory against what its bytes take at the copy's rate. Ranks that take
    turns on the card have no target; those that had a card each share none, and are not emulated."""
    why = {"status": "skipped", "note": "the ranks had a card each"}
    rows = [row if row["status"] != "ok" or row["origin"] == "emulated" else {**row, **why} for row in rows]
    if copy_gb_per_s is None:
        return not_run(reasons(rows) or "the card's copy was not measured (step kernels)")
    shares = {}
    for row in ok(rows):
        size, ranks = int(row["size_bytes"]), int(row["ranks"])
        if size < at_least_bytes or row["algorithm"] not in MOVED or row["transport"] != "cuda_ipc":
            continue
        bound = MOVED[row["algorithm"]](ranks) * size / (copy_gb_per_s * 1e9)
        shares[f"{row['algorithm']}, {ranks} ranks, {size >> 20} MiB:"] = bound / float(row["seconds_median"])
    if not shares:
        return not_run(reasons(rows) or f"no row of {at_least_bytes >> 20} MiB or more")
    return at_least(None, shares)


def copy_rate(rows: Rows) -> float | None:
    """The faster copy of the largest size, in GB/s read and written."""
    copies = [row for row in ok(rows) if row["kernel"] in COPIES and row["device"] != "cpu"]
    if not copies:
        return None
    largest = max(int(row["bytes"]) for row in copies)
    return max(float(row["gb_per_s"]) for row in copies if int(row["bytes"]) == largest)


def comparison(rows: Rows, output: str = "") -> Verdict:
    """`scripts/compare_with steps` has judged each ratio. A leg without one is named, and why it failed. Where the step was cut
    off, the ratios that there are decide."""
    told = [row for row in rows if row["target"] or row["against"] == "graph"]
    said = [f"{row['case']} {row['ratio']} of {row['against']} ({row['verdict']})" for row in told if row["ratio"]]
    absent = [row for row in told if not row["ratio"]]
    legs = [
        f"{row['case']} {leg}" for row in absent
        for leg, seconds in (("ours", row["ours_seconds"]), (row["against"], row["theirs_seconds"])) if not seconds
    ]  # fmt: skip
    parts = list(said)
    if legs:
        parts.append(f"not measured: {', '.join(dict.fromkeys(legs))}")
    if absent or not said:
        parts += dict.fromkeys(re.findall(r"^compare_with: (.+: .+)", output, re.MULTILINE))
    words = "; ".join(parts) or "scripts/compare_with judged nothing"
    if any(row["verdict"] == "missed" for row in told):
        return missed(words)
    cut_off = re.search(r"^\[ended after", output, re.MULTILINE)
    return reached(words) if said and (cut_off or not absent) else not_run(words)
