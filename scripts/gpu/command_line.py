# SPDX-License-Identifier: Apache-2.0
# scripts/verify_gpu: options, one step after the other, and the summary.
from __future__ import annotations

import argparse
import contextlib
import csv
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
from pathlib import Path
from typing import TextIO

from gpu.steps import STEPS, Context, Step, named
from gpu.verdict import NOT_RUN, Verdict, exit_code, not_run
from peers.card import card_of, folder_name
from peers.processes import GRACE, last_said, listen, running

ROOT = Path(__file__).resolve().parent.parent.parent
NO_CARD = 4


def arguments_of(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/verify_gpu", description="every check and measurement that needs a card, with its target"
    )
    parser.add_argument("--list", action="store_true", help="print the steps with targets and commands, run nothing")
    parser.add_argument("--only", default="", metavar="STEP", help="comma-separated names of --list")
    parser.add_argument("--out", type=Path, help="folder for rows, logs and the summary; default: results/reference/CARD")
    parser.add_argument("--build", type=Path, default=ROOT / "build/release", help="what cmake built")
    parser.add_argument("--bundle", type=Path, help="instead of a build: what scripts/bundle --tests made, unpacked")
    depth = parser.add_mutually_exclusive_group()
    depth.add_argument("--quick", action="store_true", help="what fits into ten minutes, most valuable first")
    depth.add_argument("--deep", action="store_true", help="the rest")
    parser.add_argument("--budget", type=float, default=math.inf, metavar="SECONDS", help="for all steps together")
    parser.add_argument("--archive", type=Path, help="packed anew after each step; default with --quick: OUT.tar.gz")
    options = parser.parse_args(argv)
    try:
        options.steps = named([name for name in options.only.split(",") if name])
    except ValueError as error:
        parser.error(str(error))
    if options.quick or options.deep:
        options.steps = [step for step in options.steps if step.deep == options.deep]
    if not options.steps:
        parser.error(f"--only {options.only}: none of them is {'deep' if options.deep else 'quick'}")
    if options.budget <= 0:
        parser.error(f"--budget {options.budget:g}: must be positive")
    if options.bundle is not None and not (options.bundle / "bin/scalebench").exists():
        parser.error(f"--bundle {options.bundle}: no bundle there")
    return options


def ended(command: list[str], log: TextIO, seconds: float) -> int | None:
    """Its exit code; None: it was ended after so many seconds. What it prints goes to the log and to stdout at once. Nothing
    of it is left, also when this program is ended."""
    code: int | None = None

    def follow(lines: Iterable[str]) -> None:
        for line in lines:
            log.write(line)
            log.flush()
            print(f"    {line}", end="", flush=True)

    with running(command, {}, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
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
        return step.judge(here, log.read_text(encoding="utf-8"))
    except Exception as error:  # noqa: BLE001
        return not_run(f"rows unreadable: {type(error).__name__}: {error}")


def run(step: Step, here: Context, seconds: float) -> Verdict:
    """Its commands, whose output goes to a log; the judge sees it all, or what there was of it after so many seconds. A
    command that cannot start is not run."""
    path = here.out / "logs" / f"{step.name}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(here.out / step.name, ignore_errors=True)  # of an earlier run
    until = time.monotonic() + seconds
    with path.open("w", encoding="utf-8") as log:
        for command in step.commands(here):
            print(f"  $ {shlex.join(command)}", flush=True)
            log.write(f"$ {shlex.join(command)}\n")
            if shutil.which(command[0]) is None:
                return not_run(f"no program {command[0]}")
            code = ended(command, log, max(0.0, until - time.monotonic()))
            if code is None:
                log.write(f"[ended after {seconds:.0f} s]\n")
                log.flush()
                by_now = judged(step, here, path)
                words = by_now.detail if by_now.status == NOT_RUN else by_now.line()
                return not_run(f"not done after {seconds:.0f} s; so far {words}")
            log.write(f"[exit code {code}]\n")
            log.flush()
            if code in (2, 5):  # refused
                return not_run(f"exit code {code}: {last_said(path.read_text(encoding='utf-8'))}")
    return judged(step, here, path)


def pack(out: Path, archive: Path) -> None:
    """What there is by now, also when the next step is the last one that this machine allows."""
    beside = archive.with_name(f".{archive.name}")
    with tarfile.open(beside, "w:gz") as file:
        file.add(out, arcname=out.name)
    beside.replace(archive)


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
    for name in ("build", "out", "bundle", "archive"):
        if getattr(options, name) is not None:
            setattr(options, name, Path(os.path.relpath(getattr(options, name), ROOT)))
    os.chdir(ROOT)  # commands are as anyone would type them there
    if options.list:
        here = Context(options.build, options.out or Path("results/reference/CARD"), options.bundle)
        for step in options.steps:
            print(f"{step.name}: {step.target}")
            for command in step.commands(here):
                print(f"  $ {shlex.join(command)}")
        return 0
    card, why = card_of(Context(options.build, Path(), options.bundle).program("bench_kernels"))
    if card is None:
        print(f"verify_gpu: no card here: {why}", file=sys.stderr)
        return NO_CARD
    out = options.out or Path("results/reference") / folder_name(card)
    out.mkdir(parents=True, exist_ok=True)
    archive = options.archive or (out.with_name(f"{out.name}.tar.gz") if options.quick else None)
    here = Context(options.build, out, options.bundle)
    listen()
    results = []
    until = time.monotonic() + options.budget
    for step in options.steps:
        print(f"{step.name}: {step.target}", flush=True)
        begin = time.monotonic()
        left = until - begin
        if left > 0:
            verdict = run(step, here, min(step.seconds, left))
        else:
            verdict = not_run(f"the budget of {options.budget:.0f} s is used up")
        print(f"  {verdict.line()}", flush=True)
        results.append((step, verdict, time.monotonic() - begin))
        write_summary(out, card, results, here)
        if archive is not None:
            pack(out, archive)
    print(f"summary: {out / 'verify.md'}{f', all of it: {archive}' if archive else ''}")
    return exit_code([verdict for _, verdict, _ in results])
