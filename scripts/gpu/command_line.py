# SPDX-License-Identifier: Apache-2.0
# scripts/verify_gpu: options, one step after the other, and the summary.
from __future__ import annotations

import argparse
import csv
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

from gpu.card import first_card, folder_name
from gpu.steps import STEPS, Context, Step, named
from gpu.verdict import Verdict, exit_code, not_run

ROOT = Path(__file__).resolve().parent.parent.parent
MPI_AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
NO_CARD = 4


def arguments_of(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/verify_gpu", description="every check and measurement that needs a card, with its target"
    )
    parser.add_argument("--list", action="store_true", help="print the steps with targets and commands, run nothing")
    parser.add_argument("--only", default="", metavar="STEP", help="comma-separated names of --list")
    parser.add_argument("--out", type=Path, help="folder for rows, logs and the summary; default: results/reference/CARD")
    parser.add_argument("--build", type=Path, default=Path("build/release"), help="what cmake built")
    parser.add_argument("--timeout", type=float, default=3600, help="seconds a command may take")
    options = parser.parse_args(argv)
    try:
        options.steps = named([name for name in options.only.split(",") if name])
    except ValueError as error:
        parser.error(str(error))
    if options.timeout <= 0:
        parser.error(f"--timeout {options.timeout:g}: must be positive")
    return options


def run(step: Step, here: Context, timeout: float) -> Verdict:
    """Its commands, whose output goes to a log; the judge sees it all. A command that cannot start is not run."""
    log = here.out / "logs" / f"{step.name}.txt"
    log.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(here.out / step.name, ignore_errors=True)  # of an earlier run
    output, commands = "", step.commands(here)
    if not commands:
        return not_run(f"nothing in {here.build} to run it on: build with CUDA first")
    for command in commands:
        print(f"  $ {shlex.join(command)}", flush=True)
        output += f"$ {shlex.join(command)}\n"
        if shutil.which(command[0]) is None:
            return not_run(f"no program {command[0]}")
        try:
            done = subprocess.run(
                command, cwd=ROOT, env={**os.environ, **MPI_AS_ROOT}, text=True, check=False, timeout=timeout,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace",
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            log.write_text(output, encoding="utf-8")
            return not_run(f"not done after {timeout:.0f} s")
        output += done.stdout
        log.write_text(output, encoding="utf-8")
        if done.returncode in (2, 5) or done.returncode < 0:  # refused, or broken
            last = (done.stdout.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
            return not_run(f"exit code {done.returncode}: {last}")
    return step.judge(here, output)


def write_summary(out: Path, card: str, results: list[tuple[Step, Verdict, float]], here: Context) -> None:
    """Rows of this run replace those of the same steps from an earlier one."""
    path = out / "verify.csv"
    head = ["step", "status", "detail", "target", "seconds", "command"]
    rows: dict[str, list[str]] = {}
    if path.exists():
        with path.open(newline="", encoding="utf-8") as lines:
            rows = {row["step"]: [row[column] for column in head] for row in csv.DictReader(lines)}
    for step, verdict, seconds in results:
        command = " && ".join(shlex.join(words) for words in step.commands(here))
        rows[step.name] = [step.name, verdict.status, verdict.detail, step.target, f"{seconds:.0f}", command]
    ordered = [rows[step.name] for step in STEPS if step.name in rows]
    with path.open("w", newline="", encoding="utf-8") as lines:
        csv.writer(lines).writerows([head, *ordered])
    table = "".join(f"| {row[0]} | {row[3]} | {row[1]} | {row[2]} |\n" for row in ordered)
    commands = "".join(f"    {row[5]}\n" for row in ordered)
    (out / "verify.md").write_text(
        f"# {card}\n\n| step | target | | measured |\n|---|---|---|---|\n{table}\nEach step by its command:\n\n{commands}",
        encoding="utf-8",
    )


def main(argv: list[str]) -> int:
    options = arguments_of(argv)
    if options.out is not None:
        options.out = Path(os.path.relpath(options.out, ROOT))
    os.chdir(ROOT)  # commands are as anyone would type them there
    if options.list:
        here = Context(options.build, options.out or Path("results/reference/CARD"))
        for step in options.steps:
            print(f"{step.name}: {step.target}")
            for command in step.commands(here):
                print(f"  $ {shlex.join(command)}")
        return 0
    card, why = first_card()
    if card is None:
        print(f"verify_gpu: no card here: {why}", file=sys.stderr)
        return NO_CARD
    out = options.out or Path("results/reference") / folder_name(card)
    out.mkdir(parents=True, exist_ok=True)
    here = Context(options.build, out)
    results = []
    for step in options.steps:
        print(f"{step.name}: {step.target}", flush=True)
        begin = time.monotonic()
        verdict = run(step, here, options.timeout)
        print(f"  {verdict.line()}", flush=True)
        results.append((step, verdict, time.monotonic() - begin))
        write_summary(out, card, results, here)
    print(f"summary: {out / 'verify.md'}")
    return exit_code([verdict for _, verdict, _ in results])
