#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is made of the files of results, by scripts/python -m scalebench COMMAND FOLDER:

  report     report.html and report.md of a run or a comparison; of a night JUnit XML and Prometheus' textfile, too
  plot       figures/ of a run, a comparison or a prediction
  recompute  a run's numbers once more, by the second path
  otava      a study's nights as Apache Otava reads them

Exit: 0 done, 2 usage, 3 a library is missing; what else there is each command says.
"""
from __future__ import annotations

import importlib
import sys

COMMANDS = {
    "report": "pages.report",
    "plot": "figures.plot",
    "recompute": "second_path.recompute",
    "otava": "pages.night.otava",
}


def main(words: list[str]) -> int:
    if not words or words[0] not in COMMANDS:
        print((__doc__ or "").strip(), file=sys.stderr)
        return 2
    command, *others = words
    try:
        module = importlib.import_module(f"scalebench.{COMMANDS[command]}")
    except ImportError as error:
        libraries = "python3-matplotlib and python3-jinja2 (Debian), or `python3 -m pip install matplotlib jinja2`"
        print(f"{command}: {error}. Install {libraries}", file=sys.stderr)
        return 3
    return int(module.main(others))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
