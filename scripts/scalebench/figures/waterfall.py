# SPDX-License-Identifier: Apache-2.0
# From the ideal down to the measured epoch: a figure for each workload, strategy and N, one bar for each loss and one
# for all small ones, where the one before ends. Gains go back to the left; a whisker is a loss's interval. The axis
# begins at 0, so that a loss looks as long as it is. All lengths are cells of losses.csv and scaling.csv.
from __future__ import annotations

import math
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from scalebench import intervals, losses
from scalebench.cases import STRATEGY, ideal, short_names, workload
from scalebench.figures import theme
from scalebench.losses import Account
from scalebench.numbers import five_digits, percent
from scalebench.rows import grouped, say

MOST_PANELS = 16
LARGE = 0.01  # of the epoch
SMALL = "#8a5a2b"  # parts
COLORS = {
    "compute": "#0072b2", "batch": "#56b4e9", "contention": "#0072b2", "transfer": "#d55e00",
    "transfer_and_wait": "#d55e00",
    "wait_static": "#e69f00", "wait_jitter": "#b98a2f", "input": "#009e73", "evaluation": "#cc79a7", "host": "#7a9a01",
}  # fmt: skip


def draw(run: Path) -> dict[str, Figure]:
    found = losses.accounts(run)
    if not found:
        raise theme.NothingToDraw("there is no account of lost time in losses.csv")
    names = short_names(list(grouped((account.case for account in found), STRATEGY)), STRATEGY)
    shown = sorted(found, key=lambda account: -account.case.integer("ranks"))[:MOST_PANELS]  # the largest N
    if len(shown) < len(found):
        say(f"waterfall: {len(shown)} of {len(found)} accounts; all are in losses.csv")

    def title_of(account: Account) -> str:
        case = account.case
        name = theme.with_origin(names[tuple(case[part] for part in STRATEGY)], case["origin"])
        return f"{workload(case)}, {name}, N = {case.ranks()}"

    titles, figures = list(map(title_of, shown)), {}
    for file, title, account in zip(theme.names_of("waterfall", titles), titles, shown):
        figures[file], (axes,) = theme.panel(title, 0.9 + 0.26 * (len(large(account)) + 3))
        draw_waterfall(axes, account)
    return figures


def large(account: Account) -> list[str]:
    """The losses that are a hundredth of the epoch or more, either way, and the largest; the others are one bar."""
    least, largest = LARGE * account.case.number("measured_seconds"), account.largest()
    return [loss for loss in account.told() if loss == largest or abs(account.seconds(loss)) >= least]


def draw_waterfall(axes: Axes, account: Account) -> None:
    case, told = account.case, large(account)
    first, measured, efficiency = (case.number(name) for name in ("ideal_seconds", "measured_seconds", "efficiency"))
    seconds = [account.seconds(loss) for loss in told]
    small = measured - first - sum(seconds)  # so that the sum is what was measured
    begins = [first + sum(seconds[:place]) for place in range(len(seconds) + 1)]
    widths = [first, *seconds, small, measured]
    unsure = [intervals.covers(account.losses[loss], "seconds", 0) for loss in told]
    colors = [theme.INK, *(theme.NEUTRAL if grey else COLORS[loss] for loss, grey in zip(told, unsure)), SMALL,
              theme.INK]
    ends = [[account.losses[loss].number(f"seconds_ci_{end}") for loss in told] for end in ("low", "high")]
    known = theme.around(seconds, *ends) or [[0.0] * len(told)] * 2
    whiskers = [[0.0, *(0.0 if math.isnan(end) else end for end in side), 0.0, 0.0] for side in known]
    hollow = case["origin"] == "emulated"
    bars = axes.barh(range(len(widths)), widths, left=[0, *begins, 0], xerr=whiskers, height=0.72, ecolor=theme.INK,
                     zorder=3,
                     linewidth=0.6, edgecolor=colors, color=theme.PAPER if hollow else colors, hatch="/////" if hollow
                     else None)  # fmt: skip
    last = [f"  rank {case['last_rank']} is last" if loss == "wait_static" and case["last_rank"] else ""
            for loss in told]
    share = "" if math.isnan(efficiency) else f"  E = {percent(efficiency)}"
    texts = [f"{five_digits(first)} s",
             *(percent(part / measured, plus=True) + more for part, more in zip(seconds, last)),
             percent(small / measured, plus=True), f"{five_digits(measured)} s{share}"]  # fmt: skip
    axes.bar_label(bars, texts, padding=5)
    axes.set_yticks(range(len(widths)),
                    [f"ideal {ideal(case)}", *(losses.NAMES[loss] for loss in told), "small parts", "measured"])
    axes.tick_params(axis="y", labelcolor=theme.INK)
    axes.set_xlim(0, 1.75 * max(measured, *begins))  # the text right of the longest bar needs its place
    axes.invert_yaxis()
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("seconds an epoch")
    rounds, interval = case.integer("rounds"), losses.interval_of([account])
    means = f"losses: % of the epoch, means{f' over {rounds} round(s)' if rounds else ', nothing is paired'}"
    theme.legend(axes, [f"{means}; whisker: {interval}; grey: cannot be told from 0" if interval
                        else f"{means}, without an interval"])
