# SPDX-License-Identifier: Apache-2.0
# From the ideal down to the measured epoch: a figure for each workload, strategy and N, one bar for
# each loss and one for all small ones, where the one before ends. Gains go back to the left; a whisker is a loss's
# interval. The axis begins at 0, so that a loss looks as long as it is. All lengths are cells of losses.csv and
# scaling.csv.
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
from scalebench.numbers import five_digits
from scalebench.rows import Row, grouped, say

MOST_PANELS = 16
LARGE = 0.01  # of the epoch
SMALL = "#8a5a2b"  # parts
COLORS = {
    "compute": "#0072b2",
    "batch": "#56b4e9",
    "contention": "#0072b2",
    "transfer": "#d55e00",
    "transfer_and_wait": "#d55e00",
    "wait_static": "#e69f00",
    "wait_jitter": "#b98a2f",
    "input": "#009e73",
    "evaluation": "#cc79a7",
    "host": "#7a9a01",
}


def draw(run: Path) -> dict[str, Figure]:
    found = losses.accounts(run)
    if not found:
        raise theme.NothingToDraw("there is no account of lost time in losses.csv")
    names = short_names(list(grouped((account.case for account in found), STRATEGY)), STRATEGY)
    shown = chosen(found)
    if len(shown) < len(found):
        say(f"waterfall: {len(shown)} of {len(found)} accounts; all are in losses.csv")
    titles = []
    for account in shown:
        case = account.case
        name = theme.with_origin(names[tuple(case[part] for part in STRATEGY)], case["origin"])
        titles.append(f"{workload(case)}, {name}, N = {case.ranks()}")
    figures = {}
    for file, title, account in zip(theme.names_of("waterfall", titles), titles, shown):
        figure, (axes,) = theme.panel(title, 1.1 + 0.27 * (len(large(account)) + 3))
        draw_waterfall(axes, account)
        figures[file] = figure
    return figures


def large(account: Account) -> list[str]:
    """The losses that are a hundredth of the epoch or more, either way, and the largest; the others are one bar."""
    least = LARGE * account.case.number("measured_seconds")
    largest = account.largest()
    return [loss for loss in account.told() if loss == largest or abs(account.seconds(loss)) >= least]


def chosen(accounts: list[Account]) -> list[Account]:
    """All, or when they are too many to look at, the largest N of each workload and strategy, those
    with the most lost first."""
    if len(accounts) <= MOST_PANELS:
        return accounts
    largest: dict[tuple[str, ...], Account] = {}
    for account in accounts:
        case = account.case
        key = (workload(case), *(case[part] for part in STRATEGY))
        if key not in largest or case.integer("ranks") > largest[key].case.integer("ranks"):
            largest[key] = account
    lost = sorted(largest.values(), key=lambda account: account.case.number("efficiency"))[:MOST_PANELS]
    return [account for account in accounts if account in lost]


def draw_waterfall(axes: Axes, account: Account) -> None:
    case, told = account.case, large(account)
    measured = case.number("measured_seconds")
    hollow = case["origin"] == "emulated"
    at = longest = case.number("ideal_seconds")
    bar(axes, 0, 0, at, theme.INK, hollow)
    label(axes, 0, at, f"{five_digits(at)} s")
    for place, loss in enumerate(told, start=1):
        row, seconds = account.losses[loss], account.seconds(loss)
        uncertain = intervals.covers(row, "seconds", 0)
        step(axes, place, at)
        bar(axes, place, at, seconds, theme.NEUTRAL if uncertain else COLORS[loss], hollow)
        end = max([at, at + seconds, *whisker(axes, place, at, row)])
        last = f"  rank {case['last_rank']} is last" if loss == "wait_static" and case["last_rank"] else ""
        label(axes, place, end, f"{share_of(seconds, measured)}{last}", theme.MUTED if uncertain else theme.INK)
        at, longest = at + seconds, max(longest, end)
    place = len(told) + 1
    # Whatever is left is one bar, so that the sum is what was measured.
    step(axes, place, at)
    bar(axes, place, at, measured - at, SMALL, hollow)
    label(axes, place, max(at, measured), share_of(measured - at, measured))
    place += 1
    at = measured
    step(axes, place, at)
    bar(axes, place, 0, measured, theme.INK, hollow)
    efficiency = case.number("efficiency")
    share = "" if math.isnan(efficiency) else f"  E = {100 * efficiency:.1f} %"
    label(axes, place, measured, f"{five_digits(measured)} s{share}")
    axes.set_xlim(0, 1.75 * max(longest, measured))  # the text right of the longest bar needs its place
    axes.set_ylim(place + 0.6, -0.6)
    axes.set_yticks(range(place + 1), [f"ideal {ideal(case)}", *(losses.NAMES[loss] for loss in told), "small parts", "measured"])
    axes.tick_params(axis="y", labelcolor=theme.INK)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(words_of(account))


def share_of(seconds: float, whole: float) -> str:
    return f"{100 * seconds / whole:+.1f} %".replace("-", "−")


def words_of(account: Account) -> str:
    """Of what the means and whiskers are, and what a grey bar says."""
    rounds, interval = account.case.integer("rounds"), losses.interval_of([account])
    over = "seconds an epoch; losses: % of it,\nmeans" + (f" over {rounds} round(s)" if rounds else ", nothing is paired")
    return over + (f"\nwhisker: {interval}\ngrey: cannot be told from 0" if interval else ", without an interval")


def step(axes: Axes, place: int, at: float) -> None:
    """From the end of the bar above to the begin of this one."""
    axes.plot([at, at], [place - 1.36, place + 0.36], color=theme.MUTED, linewidth=0.6, zorder=1)


def bar(axes: Axes, place: int, begin: float, length: float, color: str, hollow: bool) -> None:
    filled = {"facecolor": color, "edgecolor": color}
    hatched = {"facecolor": theme.PAPER, "edgecolor": color, "hatch": "/////"}
    axes.barh(place, length, left=begin, height=0.72, linewidth=0.6, zorder=3, **(hatched if hollow else filled))


def whisker(axes: Axes, place: int, begin: float, row: Row) -> list[float]:
    """Of a bar that begins there; returns its ends, none for a loss without an interval."""
    ends = [begin + row.number(f"seconds_ci_{end}") for end in ("low", "high")]
    if math.isnan(sum(ends)):
        return []
    axes.plot(ends, [place, place], color=theme.INK, linewidth=0.9, marker="|", markersize=3, zorder=4)
    return ends


def label(axes: Axes, place: int, end: float, text: str, color: str = theme.INK) -> None:
    axes.annotate(
        text,
        (end, place),
        xytext=(6, 0),
        textcoords="offset points",
        va="center",
        fontsize=10,
        color=color,
        zorder=5,
        bbox={"facecolor": theme.PAPER, "edgecolor": "none", "pad": 0.4},
    )
