# SPDX-License-Identifier: Apache-2.0
# The tables of a run, one specification each for the page and its Markdown: cells of the CSV files as they are,
# rounded for reading, never combined.
from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from scalebench import intervals, losses
from scalebench.cases import ALLREDUCE, apart, by_workload, how, short_names
from scalebench.losses import Account
from scalebench.numbers import byte_size, duration, five_digits, percent, three_digits
from scalebench.pages.render import Column, Section, Table, Toned, number, section, table, text, wide, with_ends
from scalebench.published import series_of
from scalebench.rows import Row, grouped, read_rows, say, usable
from scalebench.variants import read_cases

MOST_PANELS = 40  # of an allreduce
MOST_COLUMNS = 6  # algorithms of a table: the page is no wider


def not_measured(row: Row) -> bool:
    """Rows that say nothing about what was measured are set back."""
    return row["origin"] != "measured"


def cell(column: str, head: str, form: Callable[..., str], **more: bool) -> Column:
    """The number in that column, without an interval."""
    return Column(head, lambda row: form(row.number(column)), **more)


def word(column: str, head: str = "", **more: bool) -> Column:
    return text(head or column, lambda row: row[column], **more)


def ranks() -> Column:
    return Column("N", lambda row: row.ranks(), always=True)


def scaling(run: Path) -> Section | None:
    rows = usable(read_cases(run, "scaling.csv"))
    more = apart(rows)
    largest = {losses.key_of(account.case): largest_loss(account) for account in losses.accounts(run)}
    columns = [
        text("strategy", lambda row: how(row, *more), always=True),
        ranks(),
        word("origin"),
        *(cell(f"{time}_seconds", f"{time}, s".replace("h,", "H,"), five_digits, always=True)
          for time in ("h", "ideal", "measured")),
        cell("speedup", "speedup", three_digits, always=True),
        number("efficiency", percent, always=True),
        cell("lost_seconds", "lost, s", three_digits),
        text("largest loss, s", lambda row: largest.get(losses.key_of(row), "")),
        cell("efficiency_raw", "E_raw", percent, brief=False),
        cell("test_accuracy", "accuracy", percent, brief=False),
        cell("epochs_to_target", "epochs to target", three_digits, brief=False),
        number("efficiency_statistical", percent, "E_stat", brief=False),
        cell("joules", "J an epoch", three_digits, brief=False),
        number("energy_ratio", three_digits, "J₁/J_N", brief=False),
    ]
    words = (
        "S = ρ·H/T, E = ideal/T. H is one epoch on one device with the strategy's code; the ideal is ρ·H/N, in strong "
        "scaling H/N. E_raw is against a plain loop without that code. Accuracy: after the last epoch. "
        "E_stat: epochs to the target at 1 ÷ at N. J₁/J_N: joules "
        "of the GPUs for the same images on one device ÷ on N. A round starts every program once; times are means "
        "over the rounds in which one device and N are both ok, S and E ratios of these means. Grey: a loss that "
        f"cannot be told from 0.{in_brackets(intervals.told(rows, *intervals.EFFICIENCY))}"
    )
    return section("Scaling", columns, by_workload(rows), "scaling.csv", words, weak=not_measured)


def in_brackets(kind: str) -> str:
    """The sentence that says of what the intervals in a table are; '' without."""
    return f" In brackets: the {kind}." if kind else ""


def largest_loss(account: Account) -> Toned | str:
    """Grey where it cannot be told from nothing."""
    if not (name := account.largest()):
        return ""
    row = account.losses[name]
    return Toned(f"{losses.NAMES[name]} {with_ends(row, 'seconds', three_digits)}", "muted"
                 if intervals.covers(row, "seconds", 0) else "")


def accounts(run: Path) -> Section | None:
    """Lost time, from the cells of losses.csv and scaling.csv."""
    found = losses.accounts(run)
    told = [loss for loss in losses.NAMES if any(loss in account.told() for account in found)]
    more = apart([account.case for account in found])
    interval = losses.interval_of(found)
    columns = [
        text("strategy", lambda account: how(account.case, *more), always=True),
        Column("N", lambda account: account.case.ranks(), always=True),
        Column("ideal, s", lambda account: five_digits(account.case.number("ideal_seconds")), always=True),
        *(Column(losses.NAMES[loss], lambda account, loss=loss: share_of(account, loss), always=True) for loss in told),
        Column("measured, s", lambda account: five_digits(account.case.number("measured_seconds")), always=True),
        text("last rank", lambda account: account.case["last_rank"]),
    ]
    words = (
        "Losses are in % of the measured epoch; with the ideal they sum to it: all are means over ranks and over the "
        "rounds in which one device and N are both ok. "
        + (f"In brackets: the {interval}. Grey: it covers 0, so that the loss cannot be told from 0. " if interval
           else "Without an interval: nothing says what of it is chance. ")
        + "Negative: less than an equal part of one device's. Waiting is static as far as a rank is late each time, "
        "jitter as far as now one and now another is. Last rank: who came last most often, if launches agree."
    )  # fmt: skip
    groups = grouped_accounts(found)
    return section("Where the time went", columns, groups, "losses.csv", words,
                   weak=lambda account: not_measured(account.case), brief=False)


def grouped_accounts(found: list[Account]) -> dict[str, list[Account]]:
    of = {id(account.case): account for account in found}
    return {title: [of[id(row)] for row in rows] for title,
            rows in by_workload(account.case for account in found).items()}


def share_of(account: Account, loss: str) -> Toned | str:
    """'+10.6 % [9.7, 11.9]' of the measured epoch, grey where it cannot be told from 0."""
    if loss not in account.losses:
        return ""
    row, whole = account.losses[loss], account.case.number("measured_seconds")
    shown = percent(*(row.number(f"seconds{end}") / whole for end in ("", "_ci_low", "_ci_high")), plus=True)
    return Toned(shown, "muted" if intervals.covers(row, "seconds", 0) else "")


def epochs(run: Path) -> Section | None:
    """Epochs of a run without a scaling study."""
    rows = [] if usable(read_rows(run, "scaling.csv")) else usable(read_rows(run, "epoch.csv"))
    more = apart(rows)
    columns = [
        text("strategy", lambda row: how(row, *more), always=True),
        ranks(),
        word("origin", always=True),
        Column("epoch", lambda row: with_ends(row, "seconds", duration), always=True),
        Column("images/s", lambda row: three_digits(row.number("samples") / (row.number("seconds") or math.nan))),
        Column("epochs", lambda row: row["repetitions"]),
        cell("test_accuracy", "accuracy", percent),
    ]
    words = "Epochs as they were timed; this run has no speedups. Accuracy: after the last epoch."
    words += in_brackets(intervals.told(rows, "seconds_ci_low", "interval"))
    return section("Epochs", columns, by_workload(rows), "epoch.csv", words, weak=not_measured)


def throughput(run: Path) -> Section | None:
    """Training steps without synchronisation, and what the GPUs did meanwhile."""
    rows = [row for row in usable(read_rows(run, "throughput.csv")) if row["rank"] == "all"]
    columns = [
        word("model", always=True),
        word("device"),
        Column("batch", lambda row: row["batch"], always=True),
        word("dtype"),
        word("memory_format", "memory format"),
        word("step"),
        Column("threads", lambda row: row["threads"]),
        ranks(),
        word("origin"),
        number("images_per_s", three_digits, "images/s", always=True),
        Column("a step", lambda row: duration(row.number("seconds_median")), brief=False),
        Column("of one rank's",
               lambda row: percent(*(row.number(name)
                                     for name in ("relative_to_one_rank", "relative_ci_low", "relative_ci_high")))),
        cell("mfu_published", "MFU", percent, brief=False),
        cell("sm_clock_mhz", "MHz", three_digits, brief=False),
        cell("throttled_share", "throttled", percent, brief=False),
        cell("power_capped_share", "by power", percent, brief=False),
        cell("gpu_watts", "W", three_digits, brief=False),
        cell("gpu_joules_per_image", "J an image", three_digits, brief=False),
    ]
    kinds = {"images/s": intervals.told(rows, "images_per_s_ci_low", "interval"),
             "the share of one rank": "interval over rounds" if any(row["relative_ci_low"] for row in rows)
             else ""}  # fmt: skip
    said = ", ".join(f"of {name} the {kind}" for name, kind in kinds.items() if kind)
    words = "Training steps without synchronisation, all ranks at once: what contention alone leaves."
    words += f" In brackets: {said}." if said else ""
    if any(row["device"] != "cpu" for row in rows):
        words += " MFU: of the FLOP/s that its maker says. Throttled: in what share of looks, by power."
    return section("Throughput", columns, {"": rows}, "throughput.csv", words, weak=not_measured)


def kernels(run: Path) -> Section | None:
    columns = [
        word("kernel", always=True),
        word("device"),
        word("dtype"),
        cell("bytes", "bytes moved", byte_size, always=True),
        cell("seconds_median", "time", duration, always=True),
        cell("gb_per_s", "GB/s", three_digits),
        cell("gflop_per_s", "GFLOP/s", three_digits),
    ]
    return section("Kernels", columns, {"": usable(read_rows(run, "kernels.csv"))}, "kernels.csv")


def cost_models(run: Path) -> Section | None:
    """What was fitted to each allreduce, with how far it is off."""
    rows = [row for row in read_rows(run, "fits.csv") if row["residual"]]
    labels = {row["label"]: row["label"].split() for row in rows}
    common = set.intersection(*map(set, labels.values())) if len(labels) > 1 else set()
    names = {label: " · ".join([*parts[:1], *(part for part in parts[1:] if part not in common)]) for label,
             parts in labels.items()}

    def scaled(name: str, times: float) -> Callable[[Row], str]:
        return lambda row: three_digits(times * row.number(name))

    columns = [
        text("allreduce", lambda row: names[row["label"]], always=True),
        Column("N", lambda row: row["ranks"].replace(";", ", "), always=True),
        word("origin"),
        Column("α, µs a step", scaled("alpha_seconds", 1e6), always=True),
        Column("β, ps a byte", scaled("beta_seconds_per_byte", 1e12), always=True),
        Column("γ, ps a byte", scaled("gamma_seconds_per_byte", 1e12)),
        Column("points", lambda row: row["points"]),
        cell("residual", "typically off", percent, always=True),
    ]
    words = (
        "t = α·steps + β·bytes sent + γ·bytes reduced, fitted to all sizes and numbers of ranks by relative errors; "
        "steps and bytes are the algorithm's own line. Without γ, β holds sending and reducing; for native, whose "
        "work is unknown, β is a byte of the buffer. Caches make the truth more than one line: where the model is far "
        "off, it predicts nothing."
    )
    return section("Cost model", columns, {"": rows}, "fits.csv", words, weak=not_measured, brief=False)


def published(names: list[str]) -> Section | None:
    """Published results, when they are asked for by their names."""
    rows = [(series, row) for series in series_of(names) for row in series.rows]

    def of(column: str, form: Callable[[float], str]) -> Callable[[tuple[object, Row]], str]:
        return lambda pair: form(pair[1].number(column))

    def either(whole: str, part: str, unit: str) -> Callable[[tuple[object, Row]], str]:
        return lambda pair: pair[1][whole] or (f"{pair[1][part]} {unit}" if pair[1][part] else "")

    columns = [
        text("published", lambda pair: pair[0].label(), always=True),
        Column("GPUs", lambda pair: pair[1]["gpus"], always=True),
        Column("img/s", either("images_per_s", "images_per_s_per_gpu", "a GPU")),
        Column("s", either("seconds", "seconds_per_epoch", "an epoch")),
        Column("speedup", of("speedup", three_digits)),
        Column("efficiency", of("efficiency", percent)),
        *(text(name, lambda pair, name=name: pair[1][name], always=True) for name in ("base", "kind")),
        wide("source", lambda pair: pair[0].source(), always=True),
        wide("note", lambda pair: pair[1]["note"]),
    ]
    words = (
        "Quoted from elsewhere, not measured here, and never in a ratio with what was. Derived: by arithmetic alone "
        "from the quoted rows of the same series; base: the number of GPUs that speedup and efficiency are relative "
        "to."
    )
    return section("Published results", columns, {"": rows}, "configs/published.csv", words)


def bandwidth(run: Path) -> Section | None:
    """A table of sizes and algorithms for each way and number of ranks."""
    rows = [row for row in usable(read_rows(run, "allreduce.csv")) if row["busbw_gb_per_s"] or row["seconds_median"]]
    for row in rows:
        if math.isnan(row.number("size_bytes")):
            say(f"allreduce.csv: size_bytes of case '{row['case_id']}' is '{row['size_bytes']}', no number: left out")
    ways = grouped([row for row in rows if not math.isnan(row.number("size_bytes"))], (*ALLREDUCE, "ranks", "origin"))
    names = short_names(list(dict.fromkeys(key[:-2] for key in ways)), ALLREDUCE)
    tables: list[Table] = []
    for (*way, n, origin), group in ways.items():
        title = f"{names[tuple(way)]}, {n} {'' if origin == 'measured' else f'{origin} '}rank{'s' if n != '1' else ''}"
        by_size = [{row["algorithm"]: row for row in of_size} for of_size in grouped(
            sorted(group, key=lambda row: row.number("size_bytes")), ("size_bytes",)).values()]  # fmt: skip
        algorithms = list(dict.fromkeys(row["algorithm"] for row in group))
        for first in range(0, len(algorithms), MOST_COLUMNS):
            columns = [Column("size", size_of),
                       *(Column(name, rate_of(name)) for name in algorithms[first : first + MOST_COLUMNS])]
            tables.append(table(columns, by_size, "allreduce.csv", title))
    rates = any(row["ranks"] != "1" and row["busbw_gb_per_s"] for row in rows)  # one rank has no bus bandwidth
    kind = intervals.told(rows, "seconds_ci_low", "launches")
    words = "Median time of one allreduce." if not rates else (
        f"Median time, and bus bandwidth in GB/s (10⁹ bytes){f' with its {kind}' if kind else ''}. busbw = bytes / "
        "seconds · 2(p−1)/p, so that algorithms and numbers of ranks can be compared."
    )  # fmt: skip
    if any(row["native_ratio"] for row in rows):
        words += " × native: the time of the library's own over this one, paired by round: above 1 this one is faster."
    left_out = f"{len(tables) - MOST_PANELS} more tables in allreduce.csv" if len(tables) > MOST_PANELS else ""
    return Section("Allreduce", tables[:MOST_PANELS], words, left_out)


def size_of(found: dict[str, Row]) -> str:
    return byte_size(next(iter(found.values())).number("size_bytes"))


def rate_of(algorithm: str) -> Callable[[dict[str, Row]], object]:
    return lambda found: rate_cell(found[algorithm]) if algorithm in found else ""


def rate_cell(row: Row) -> Toned:
    """'20.0 µs · 5.24 [5.10, 5.30]', and under it '1.20 [1.16, 1.25] × native: faster'"""
    rate = "" if row["ranks"] == "1" else three_digits(row.number("busbw_gb_per_s"), *intervals.of_bandwidth(row))
    native = f"{with_ends(row, 'native_ratio', three_digits)} × native: {row['native_verdict'].lower()}"
    return Toned(" · ".join(filter(None, [duration(row.number("seconds_median")), rate])), small=native
                 if row["native_ratio"] else "")
