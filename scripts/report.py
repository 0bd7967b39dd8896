# SPDX-License-Identifier: Apache-2.0
# report.py RUN writes report.html, one self-contained page from the CSV files, manifest.json and
# figures of a run, whichever of them are there, and report.md, its essence. It needs no library.
# With --published NAME[,NAME...] the page has a section of these series of configs/published.csv.
# Exit: 0 done, 2 usage.
from __future__ import annotations

import base64
import sys
from pathlib import Path

from view import account_table, allreduce_tables, links_table, provenance, tables
from view.files import write_whole
from view.inline_svg import inline_svg
from view.manifest import Manifest
from view.page import Html, element, joined, page, section
from view.published import UnknownSeries, published, published_option
from view.rows import say
from view.run_markdown import write_markdown

FIGURES = {
    "scaling": "Speedup and efficiency against the number of ranks, with intervals over launches.",
    "waterfall": "From the ideal H/N to the measured epoch: what was lost to what, mean over ranks.",
    "phases": "Where an epoch's seconds went; the bar is the ideal H/N.",
    "throughput": "Training steps without synchronisation: the drop from the dotted line is contention.",
    "batches": "Images a second of one device over the batch, in every way to compute a step that was measured.",
    "busbw": "Bus bandwidth of allreduce over message size, with intervals. Dashed: the fitted cost model. Black: "
    "what streaming through memory once would allow.",
    "monitor": "What the hosts did during the training launches (shaded), sampled twice a second.",
}


def figures(run: Path) -> Html:
    shown: list[object] = []
    for name, caption in FIGURES.items():
        drawing = inline_svg(run / "figures" / f"{name}.svg", caption) or inline_png(
            run / "figures" / f"{name}.png", caption
        )
        if drawing:
            shown.append(element("figure", drawing, element("figcaption", caption)))
    none = element(
        "p",
        "None were drawn. With matplotlib: scripts/python scripts/plot.py, then report.py again.",
        css="muted",
    )
    return section("Figures", *(shown or [none]))


def inline_png(path: Path, title: str) -> Html | None:
    try:
        data = base64.b64encode(path.read_bytes()).decode("ascii")
    except OSError:
        return None
    return Html(f'<img alt="{element("span", title)[6:-7]}" src="data:image/png;base64,{data}">')


def report(run: Path, manifest: Manifest, names: list[str]) -> str:
    study = manifest.text("study") or run.name
    body = joined(
        [
            element("h1", f"Scaling efficiency: {study}"),
            element(
                "p",
                " · ".join(
                    part for part in (manifest.text("started_utc"), manifest.host()) if part
                ),
                css="muted",
            ),
            provenance.verdict(run, manifest),
            tables.scaling(run),
            account_table.accounts(run),
            figures(run),
            account_table.ladder(run),
            published(names),
            allreduce_tables.certificate(run),
            links_table.links(run),
            allreduce_tables.bandwidth(run),
            allreduce_tables.fit(run),
            tables.throughput(run),
            tables.kernels(run),
            provenance.failures(run, manifest),
            provenance.environment(manifest),
            provenance.footer(run, manifest),
        ]
    )
    return page(f"{study} – scalebench", body)


def main(arguments: list[str]) -> int:
    arguments, names = published_option(arguments)
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        say(
            "usage: scripts/python scripts/report.py results/RUN [--published NAME,...] "
            "(a folder with the files of one run)"
        )
        return 2
    run = Path(arguments[0]).resolve()
    manifest = Manifest(run)
    try:
        html = report(run, manifest, names)
    except UnknownSeries as error:
        say(f"report.py: {error}")
        return 2
    for name, text in (("report.html", html), ("report.md", write_markdown(run, manifest))):
        write_whole(run / name, text)
        print(run / name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
