# SPDX-License-Identifier: Apache-2.0
# A run's page: the verdict first, then the tables and figures of whatever it measured, what failed, and
# where the numbers come from.
from __future__ import annotations

from pathlib import Path

from scalebench import losses
from scalebench.manifest import Manifest
from scalebench.pages.page import Html, element, joined, page, section
from scalebench.pages.run import provenance
from scalebench.pages.run.panels import panels
from scalebench.pages.run.seal import Check
from scalebench.pages.tables.accounts import accounts
from scalebench.pages.tables.allreduce import bandwidth
from scalebench.pages.tables.epochs import epochs
from scalebench.pages.tables.fits import cost_models
from scalebench.pages.tables.hosts import hosts
from scalebench.pages.tables.kernels import kernels
from scalebench.pages.tables.published import published
from scalebench.pages.tables.scaling import scaling
from scalebench.pages.tables.throughput import throughput

FIGURES = {
    "efficiency": "Efficiency against the number of ranks.",
    "waterfall": "From the ideal to the measured epoch: what was lost to what, means over ranks and rounds. Small "
    "parts: what is below 1 % of the epoch, but for the largest loss.",
    "phases": "Where an epoch's seconds went; the black mark is the ideal.",
    "throughput": "Training steps without synchronisation: the drop from the ideal is contention.",
    "batches": "Images a second of one device over the batch, in every way to compute a step that was measured.",
    "busbw": "Bus bandwidth of allreduce over message size. Black: what streaming through memory once would allow, where that was measured.",
    "monitor": "What the hosts did during the training launches (shaded), sampled twice a second.",
}


def of_name(run: Path, name: str, caption: str) -> Html | None:
    """The panels of a figure beside each other, and its caption once."""
    drawn = panels(run, name, caption)
    if name == "waterfall":
        caption += left_out(run, len(drawn))
    return element("figure", element("div", *drawn, css="panels"), element("figcaption", caption)) if drawn else None


def left_out(run: Path, drawn: int) -> str:
    """What plot does not draw where it would be too many."""
    accounts = len(losses.accounts(run))
    return f" Drawn: {drawn} of {accounts}, of the largest N those with the most lost; all are in losses.csv." if drawn < accounts else ""


def figures(run: Path) -> Html:
    shown = [drawn for name, caption in FIGURES.items() if (drawn := of_name(run, name, caption))]
    none = element(
        "p",
        "None were drawn. Whatever there is to draw, scripts/python -m scalebench plot draws with matplotlib; then report again.",
        css="muted",
    )
    return section("Figures", *(shown or [none]))


def write_page(run: Path, manifest: Manifest, names: list[str], check: Check) -> str:
    title = provenance.title_of(run, manifest)
    body = joined(
        [
            element("h1", title),
            element(
                "p",
                " · ".join(
                    part for part in (manifest.text("started_utc"), manifest.host()) if part
                ),
                css="muted",
            ),
            provenance.verdict(run, manifest, check),
            scaling(run),
            epochs(run),
            accounts(run),
            figures(run),
            published(names),
            hosts(run),
            bandwidth(run),
            cost_models(run),
            throughput(run),
            kernels(run),
            provenance.failures(run, manifest),
            provenance.environment(manifest),
            provenance.footer(run, manifest, check),
        ]
    )
    return page(f"{title} – scalebench", body)
