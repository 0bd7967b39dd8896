# SPDX-License-Identifier: Apache-2.0
# scripts/verify_gpu runs one step after the other and writes the summary.
from __future__ import annotations

import argparse
import contextlib
import math
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from peers.card import card_of, folder_name
from peers.harness import ROOT, Failed, read_rows, write_rows
from peers.judge import NOT_RUN, Verdict, not_run, worst
from peers.processes import GRACE, last_said, listen, running, say
from peers.proof_steps import STEPS, Context, Step, named

NO_CARD = 4
# scripts/compare_with, which is cut off, ends a leg within its own grace and then writes down what there was.
STEP_GRACE = 3 * GRACE
SUMMARY = "step status detail target seconds command".split()


def arguments_of(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/verify_gpu", description="every check and measurement that needs a card, with its target"
    )
    parser.add_argument("--list", action="store_true", help="print the steps with targets and commands, run nothing")
    parser.add_argument("--only", default="", metavar="STEP", help="comma-separated names of --list")
    parser.add_argument("--out", type=Path, help="of rows, logs and the summary; default: results/reference/CARD")
    parser.add_argument("--build", type=Path, default=ROOT / "build/release", help="what cmake built")
    parser.add_argument("--programs", type=Path, help="instead of a build: where those of scripts/wheel --tests lie")
    depth = parser.add_mutually_exclusive_group()
    depth.add_argument("--quick", action="store_true", help="what fits into ten minutes, most valuable first")
    depth.add_argument("--deep", action="store_true", help="the rest")
    parser.add_argument("--budget", type=float, default=math.inf, metavar="SECONDS", help="for all steps together")
    parser.add_argument("--archive", type=Path, help="packed anew after each step; default with --quick: OUT.tar.gz")
    options = parser.parse_args(argv)
    try:
        options.steps = named([name for name in options.only.split(",") if name])
    except Failed as error:
        parser.error(str(error))
    if options.quick or options.deep:
        options.steps = [step for step in options.steps if step.deep == options.deep]
    if not options.steps:
        parser.error(f"--only {options.only}: none of them is {'deep' if options.deep else 'quick'}")
    if options.budget <= 0:
        parser.error(f"--budget {options.budget:g}: must be positive")
    if options.programs is not None and not (options.programs / "scalebench").exists():
        parser.error(f"--programs {options.programs}: no scalebench there")
    return options


def ended(command: list[str], log: TextIO, seconds: float) -> int | None:
    """Returns its exit code, or None where it was ended after so many seconds. What it prints goes to the log and to
    stdout at once. Nothing of it is left, also when this program is ended."""
    code: int | None = None

    def follow(lines: Iterable[str]) -> None:
        for line in lines:
            log.write(line)
            say(f"    {line}".rstrip("\n"))

    with running(command, {}, STEP_GRACE, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        # The thread is a daemon: what holds the pipe open must not hold us.
        follower = threading.Thread(target=follow, args=(process.stdout or (),), daemon=True)
        follower.start()
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = process.wait(seconds)
    follower.join(GRACE)
    if process.stdout is not None and not follower.is_alive():
        process.stdout.close()
    return code


def judged(step: Step, here: Context, log: Path) -> Verdict:
    """What a step that was cut off left may end within a row: that ends the step and not the proof."""
    try:
        return step.judged(here, log.read_text(encoding="utf-8"))
    except Exception as error:  # noqa: BLE001
        return not_run(f"rows unreadable: {type(error).__name__}: {error}")


def run(step: Step, here: Context, seconds: float) -> Verdict:
    """Its commands' output goes to a log; the judge sees it all, or what there was of it after so many seconds. A
    command that cannot start is not run."""
    path = here.out / "logs" / f"{step.name}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(here.out / step.name, ignore_errors=True)  # An earlier run may have left it.
    until = time.monotonic() + seconds
    with path.open("w", encoding="utf-8", buffering=1) as log:
        for command in step.commands(here):
            say(f"  $ {shlex.join(command)}")
            log.write(f"$ {shlex.join(command)}\n")
            if shutil.which(command[0]) is None:
                return not_run(f"no program {command[0]}")
            code = ended(command, log, max(0.0, until - time.monotonic()))
            if code is None:
                log.write(f"[ended after {seconds:.0f} s]\n")
                by_now = judged(step, here, path)
                words = by_now.detail if by_now.status == NOT_RUN else by_now.line()
                return not_run(f"not done after {seconds:.0f} s; so far {words}")
            log.write(f"[exit code {code}]\n")
            if code in (2, 5):  # The program refused.
                return not_run(f"exit code {code}: {last_said(path.read_text(encoding='utf-8'))}")
    return judged(step, here, path)


def pack(out: Path, archive: Path) -> None:
    """What there is by now is packed, also when the next step is the last one that this machine allows."""
    beside = archive.with_name(f".{archive.name}")
    with tarfile.open(beside, "w:gz") as file:
        file.add(out, arcname=out.name)
    beside.replace(archive)


def write_summary(out: Path, card: str, results: list[tuple[Step, Verdict, float]], here: Context) -> None:
    """Rows of this run replace those of the same steps from an earlier one."""
    rows = {row["step"]: row for row in read_rows(out / "verify.csv")}
    for step, verdict, seconds in results:
        command = " && ".join(shlex.join(words) for words in step.commands(here))
        rows[step.name] = dict(zip(SUMMARY, (step.name, *verdict, step.target, f"{seconds:.0f}", command)))
    ordered = [rows[step.name] for step in STEPS if step.name in rows]
    write_rows(out / "verify.csv", SUMMARY, ordered)
    table = "".join(f"| {row['step']} | {row['target']} | {row['status']} | {row['detail']} |\n" for row in ordered)
    commands = "".join(f"    {row['command']}\n" for row in ordered)
    head = f"# {card}\n\n| step | target | | measured |\n|---|---|---|---|\n"
    (out / "verify.md").write_text(f"{head}{table}\nEach step by its command:\n\n{commands}", encoding="utf-8")


def main(argv: list[str]) -> int:
    options = arguments_of(argv)
    for name in ("build", "out", "programs", "archive"):
        if getattr(options, name) is not None:
            setattr(options, name, Path(os.path.relpath(getattr(options, name), ROOT)))
    os.chdir(ROOT)  # Commands are as anyone would type them there.
    here = Context(options.build, options.out or Path("results/reference/CARD"), options.programs)
    if options.list:
        for step in options.steps:
            say(f"{step.name}: {step.target}")
            for command in step.commands(here):
                say(f"  $ {shlex.join(command)}")
        return 0
    card, why = card_of(str(here.programs / "bench_kernels"))
    if card is None:
        print(f"verify_gpu: no card here: {why}", file=sys.stderr)
        return NO_CARD
    out = options.out or here.out.with_name(folder_name(card))
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        print(f"verify_gpu: --out {out}: {error.strerror}", file=sys.stderr)
        return 2
    archive = options.archive or (out.with_name(f"{out.name}.tar.gz") if options.quick else None)
    here = replace(here, out=out)
    listen()
    results = []
    until = time.monotonic() + options.budget
    for step in options.steps:
        say(f"{step.name}: {step.target}")
        begin = time.monotonic()
        if until > begin:
            verdict = run(step, here, min(step.seconds, until - begin))
        else:
            verdict = not_run(f"the budget of {options.budget:.0f} s is used up")
        say(f"  {verdict.line()}")
        results.append((step, verdict, time.monotonic() - begin))
        write_summary(out, card, results, here)
        if archive is not None:
            pack(out, archive)
    say(f"summary: {out / 'verify.md'}{f', all of it: {archive}' if archive else ''}")
    return worst([verdict for _, verdict, _ in results])
