# SPDX-License-Identifier: Apache-2.0
# scripts/compare_with knows which programs are held against this suite, and the options that all comparisons have.
from __future__ import annotations

import argparse
import os
from pathlib import Path

from peers import epochs, harness, mpi, processes, steps, tools
from peers.harness import MISSED, PROGRAMS, Failed, Kept, measure, positive

PEERS = {"mpi": mpi, "tools": tools, "torch": epochs, "steps": steps}


def arguments_of(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/compare_with", description="this suite beside others, in turns")
    names = parser.add_subparsers(dest="name", required=True, metavar="|".join(PEERS))
    for name, peer in PEERS.items():
        one = names.add_parser(name, help=peer.WHAT, description=peer.WHAT)
        one.add_argument("--out", type=Path, required=True, help="a new folder")
        one.add_argument("--programs", type=Path, default=PROGRAMS, help="folder of this suite's programs")
        one.add_argument("--starts", type=positive, default=6, help="of every leg")
        one.add_argument("--seed", type=int, default=1, help="of the order of legs")
        if name != "steps":
            one.add_argument("--ranks", type=positive, default=2)
        peer.add_options(one)
        one.set_defaults(peer=peer, parser=one)
    options = parser.parse_args(argv)
    for program in options.peer.OURS:
        if not (options.programs / program).exists():
            options.parser.error(f"no {program} in {options.programs}: build first")
    # Paths are kept as typed from here: another machine's absolute path in a manifest helps nobody.
    options.programs, options.out = (Path(os.path.relpath(folder)) for folder in (options.programs, options.out))
    try:
        options.groups, options.ratios = options.peer.legs_of(options)
    except Failed as error:
        options.parser.error(str(error))
    return options


def main(argv: list[str]) -> int:
    options = arguments_of(argv)
    processes.listen()
    try:
        options.out.mkdir(parents=True)
    except OSError as error:
        options.parser.error(f"--out {options.out}: {error.strerror}")
    kept = Kept(options.out, options.ratios)
    try:
        failed = measure(kept, options.groups, options.starts, options.seed)
    finally:  # An interrupt comes here, too.
        getattr(options.peer, "print_table", harness.print_table)(kept.rows)
    if failed or not any(row["ratio"] for row in kept.rows):
        return 3
    return 1 if any(row["verdict"] == MISSED for row in kept.rows) else 0
