# SPDX-License-Identifier: Apache-2.0
# What is made of the files of results: scripts/python -m scalebench COMMAND FOLDER. A command is imported when it is
# asked for: recompute needs Python's standard library alone.
# Exit: 0 done, 2 usage or a folder that cannot be read or written, 3 a library is missing; the rest each command says.
from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from scalebench import Refused

COMMANDS = {
    "report": ("pages.report", "report.html and report.md of a run, a comparison or a night, whose other reports, too"),
    "plot": ("figures.plot", "figures/ of a run, a comparison or a prediction"),
    "recompute": ("second_path.recompute", "the numbers of runs and comparisons once more, by the second path"),
    "otava": ("pages.night.otava", "a study's nights as Apache Otava reads them"),
}


def parsed(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scalebench", description="What is made of the files of results.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (_, words_of) in COMMANDS.items():
        command = commands.add_parser(name, help=words_of, description=words_of)
        command.add_argument("folder", type=Path, nargs="+" if name == "recompute" else None)
        if name in ("report", "plot"):
            command.add_argument("--published", type=lambda names: names.split(","), default=[], metavar="NAME,...",
                                 help="series of configs/published.csv to stand beside a run's own")  # fmt: skip
        if name == "otava":
            command.add_argument("file", type=Path)
    return parser.parse_args(words)


def main(words: list[str]) -> int:
    asked = vars(parsed(words))
    command = asked.pop("command")
    try:
        module = importlib.import_module(f"scalebench.{COMMANDS[command][0]}")
    except ImportError as error:
        libraries = "python3-matplotlib and python3-jinja2 (Debian), or `python3 -m pip install matplotlib jinja2`"
        print(f"{command}: {error}. Install {libraries}", file=sys.stderr)
        return 3
    try:
        return int(module.main(**asked))
    except Refused as error:
        print(f"{command}: {error}", file=sys.stderr)
    except OSError as error:
        where = error.filename or asked["folder"]
        print(f"{command}: {where}: {error.strerror}: copy the folder to where you may write", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
