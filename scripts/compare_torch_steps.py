# SPDX-License-Identifier: Apache-2.0
# compare_torch_steps.py: one device's matrix product and training steps beside Python's PyTorch,
# eager and compiled, each against its target. Each start runs every leg once, in random order; ratios
# are taken within a start, and their medians over the starts are judged. Everything measured is in --out
# after each leg: compiling takes minutes, and whoever is cut off there keeps the legs before it. Needs a
# Python with torch, of the LibTorch that the suite was built with. On a CPU the cases are small and have
# no targets: there it shows that the comparison works.
# Exit: 0 done, 1 a target was missed, 2 usage, 3 some legs failed, 130 and 143 interrupted.
from __future__ import annotations

import argparse
import csv
import dataclasses
import json
import os
import random
import shlex
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from compare.shared import (
    MPI_AS_ROOT,
    ROOT,
    require_models,
    require_new,
    require_programs,
    require_torch,
    write_rows,
)
from gpu import endings

REFERENCE = Path("scripts/compare/pytorch/steps.py")
# Images/s of resnet50 in bfloat16 on one H200, training, batch 256: what is to be exceeded.
PUBLISHED_RESNET50 = 3079.0


@dataclasses.dataclass(frozen=True)
class Case:
    """Ours against each leg of `targets`: the smallest ratio of speeds that reaches it, if any."""

    name: str  # of --models
    model: str  # or gemm
    batch: int  # side of gemm
    precision: str
    targets: dict[str, float | None]
    step: str = "eager"  # of ours
    channels_last: bool = False  # of both; a fused step of ours always is
    images_per_s: float | None = None  # to be exceeded

    def legs(self) -> list[str]:
        return ["ours", *self.targets]


CASES = {
    "cuda": [
        Case("gemm", "gemm", 8192, "bfloat16", {"eager": 0.97}),
        Case("resnet50", "resnet50", 256, "bfloat16", {"eager": 1.0, "compile": 1.0, "max-autotune": 1.0}, "graph", True,
             PUBLISHED_RESNET50),
        Case("mlp", "mlp", 16, "float32", {"eager": 5.0}, "graph"),
        Case("mnist_cnn", "mnist_cnn", 128, "float32", {"eager": 3.0}, "graph"),
        Case("mnist_cnn_fused", "mnist_cnn", 128, "float32", {"eager": 3.0}, "fused"),
        Case("resnet50_fused", "resnet50", 256, "bfloat16", {"graph": None, "compile": 1.0, "max-autotune": 1.0},
             "fused", True, PUBLISHED_RESNET50),
    ],
    "cpu": [
        Case("gemm", "gemm", 512, "float", {"eager": None}),
        Case("resnet20", "resnet20", 16, "bfloat16", {"eager": None}, channels_last=True),
        Case("mlp", "mlp", 16, "float32", {"eager": None, "compile": None, "max-autotune": None}),
        Case("mnist_cnn", "mnist_cnn", 128, "float32", {"eager": None}),
    ],
}  # fmt: skip
# PyTorch's ways, and our own step as a graph without fused layers.
LEGS = ("eager", "compile", "max-autotune", "graph")
COMPILED = {"compile": "default", "max-autotune": "max-autotune"}  # modes of torch.compile
SAMPLES = "start model batch precision step leg seconds leg_seconds command".split()
COLUMNS = (
    "model batch precision step device torch starts against ours_seconds against_seconds leg_seconds images_per_s "
    "ratio ratio_low ratio_high target verdict"
).split()
NOT_MEASURED = "not measured"
LINE = "{:>10} {:>6} {:>9} {:>6} {:>14} {:>11} {:>11} {:>8} {:>9} {:>7} {:>16} {:>7}  {}"
HEAD = LINE.format("model", "batch", "precision", "step", "against", "ours (ms)", "it (ms)", "leg (s)", "images/s", "ratio",
                   "range", "target", "verdict")  # fmt: skip


class Timed(NamedTuple):
    seconds: float  # of a step or product
    leg_seconds: float  # from start to end, so with what PyTorch compiles and tries out


Start = dict[str, Timed]  # by leg: those measured by now


def arguments_of(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/compare_torch_steps.py",
        description="products and training steps of this suite beside Python's PyTorch, against targets",
    )
    parser.add_argument("--programs", type=Path, default=ROOT / "build/release/bin")
    parser.add_argument("--python", default="python3", help="interpreter that has torch")
    parser.add_argument("--device", choices=CASES, default="cuda")
    parser.add_argument("--models", help="comma-separated; default: all of the device")
    parser.add_argument("--legs", default=",".join(LEGS), help="comma-separated; PyTorch's, and graph of ours: default all")
    parser.add_argument("--starts", type=int, default=3, help="of every leg")
    parser.add_argument("--max-seconds", type=float, default=5, help="of timed steps in a leg")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, help="a new folder")
    options = parser.parse_args(argv)
    known = [case.name for case in CASES[options.device]]
    models = known if options.models is None else options.models.split(",")
    require_models(parser, models, known)
    legs = options.legs.split(",")
    if unknown := [leg for leg in legs if leg not in LEGS]:
        parser.error(f"unknown leg {unknown[0]!r}; valid: {', '.join(LEGS)}")
    options.cases = [
        dataclasses.replace(case, targets={leg: target for leg, target in case.targets.items() if leg in legs})
        for case in CASES[options.device] if case.name in models and set(legs) & set(case.targets)
    ]  # fmt: skip
    if not options.cases:
        parser.error(f"--legs {options.legs}: no case of {options.models} has it")
    if options.starts < 1:
        parser.error(f"--starts {options.starts}: must be at least 1")
    require_new(parser, options.out)
    require_programs(parser, options.programs, "bench_kernels", "bench_throughput")
    require_torch(parser, options.python)
    return options


def our_command(options: argparse.Namespace, case: Case) -> list[str]:
    if case.model == "gemm":
        memory = "host" if options.device == "cpu" else "device"
        name = f"gemm/{case.precision}/{case.batch} x {case.batch}/{memory}"
        kernels = [str(options.programs / "bench_kernels"), "--device", options.device, "--format", "csv"]
        return [*kernels, f"--benchmark_filter=^{name}($|/)"]
    return [
        str(options.programs / "bench_throughput"), "--model", case.model, "--batch-per-rank", str(case.batch),
        "--precision", case.precision, "--step", case.step,
        "--channels-last", "yes" if case.channels_last or case.step == "fused" else "no",
        "--data", f"synthetic:{4 * case.batch}", "--device", options.device,
        "--max-seconds", str(options.max_seconds), "--quiet", "--format", "json",
    ]  # fmt: skip


def torch_command(options: argparse.Namespace, case: Case, leg: str) -> list[str]:
    command = [options.python, str(ROOT / REFERENCE), "--model", case.model, "--device", options.device]
    command += ["--max-seconds", str(options.max_seconds)]
    if case.model == "gemm":
        return [*command, "--side", str(case.batch), "--dtype", case.precision]
    command += ["--batch-per-rank", str(case.batch), "--precision", case.precision]
    if case.channels_last:
        command.append("--channels-last")
    return [*command, "--compile", COMPILED[leg]] if leg in COMPILED else command


def output_of(command: list[str]) -> str:
    environment = {**MPI_AS_ROOT, **os.environ}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or done.stdout.strip().splitlines()
        raise RuntimeError((said or [f"ended with {done.returncode}"])[-1])
    return done.stdout


def our_seconds(case: Case, output: str) -> float:
    """The median of the case's one row that ranks share, whose note says why there is none."""
    if case.model == "gemm":
        rows = list(csv.DictReader(output.splitlines()))
    else:
        rows = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        rows = [row for row in rows if str(row["rank"]) == "all"]
    if len(rows) != 1:
        raise RuntimeError(f"{len(rows)} rows instead of one: has this build the case?")
    if rows[0]["status"] != "ok":
        raise RuntimeError(f"{rows[0]['status']}: {rows[0]['note']}")
    return float(rows[0]["seconds_median"])


def judged(ratio: float, target: float | None) -> str:
    return "no target" if target is None else "reached" if ratio >= target else "missed"


def median(starts: list[Start], leg: str, what: str = "seconds") -> str:
    values = [getattr(start[leg], what) for start in starts if leg in start]
    return f"{statistics.median(values):.6g}" if values else ""


def summary_rows(case: Case, starts: list[Start], torch: str, device: str) -> list[dict[str, str]]:
    """One for each leg that ours is compared with, and one for what is to be exceeded; also for what is not measured yet."""
    common = {"model": case.model, "batch": str(case.batch), "precision": case.precision, "device": device}
    common |= {"step": "" if case.model == "gemm" else case.step, "torch": torch}

    def row_of(against: str, target: float | None, of: list[Start], theirs: str, ratios: list[float]) -> dict[str, str]:
        ours = median(of, "ours")
        row = common | {"starts": str(len(ratios)), "against": against, "ours_seconds": ours, "against_seconds": theirs}
        row |= {"target": "" if target is None else f"{target:g}", "verdict": NOT_MEASURED}
        if ours and case.model != "gemm":
            row["images_per_s"] = f"{case.batch / float(ours):.1f}"
        if ratios:
            ratio = statistics.median(ratios)
            row |= {"ratio": f"{ratio:.3f}", "verdict": judged(ratio, target)}
        return row

    rows = []
    for leg, target in case.targets.items():
        both = [start for start in starts if "ours" in start and leg in start]
        of = both or starts  # one of the two may be measured
        ratios = [start[leg].seconds / start["ours"].seconds for start in both]
        row = row_of(leg, target, of, median(of, leg), ratios) | {"leg_seconds": median(of, leg, "leg_seconds")}
        if ratios:
            row |= {"ratio_low": f"{min(ratios):.3f}", "ratio_high": f"{max(ratios):.3f}"}
        rows.append(row)
    if case.images_per_s is not None:
        published = case.batch / case.images_per_s
        ratios = [published / start["ours"].seconds for start in starts if "ours" in start]
        rows.append(row_of(f"{case.images_per_s:g} images/s", 1.0, starts, f"{published:.6g}", ratios))
    return rows


def table_line(row: dict[str, str]) -> str:
    cell = lambda name: row.get(name, "") or "-"  # noqa: E731
    number = lambda name, factor, digits: f"{factor * float(row[name]):.{digits}f}" if row.get(name) else "-"  # noqa: E731
    spread = f"[{row['ratio_low']}, {row['ratio_high']}]" if "ratio_low" in row else "-"
    return LINE.format(row["model"], row["batch"], row["precision"], cell("step"), row["against"],
                       number("ours_seconds", 1e3, 3), number("against_seconds", 1e3, 3), number("leg_seconds", 1, 1),
                       cell("images_per_s"), cell("ratio"), spread, cell("target"), row["verdict"])  # fmt: skip


def print_table(rows: list[dict[str, str]]) -> None:
    print(f"# {rows[0]['device']}, PyTorch {rows[0]['torch'] or 'not asked'}; ratio: times as fast as PyTorch, medians of starts")
    print(HEAD)
    for row in rows:
        print(table_line(row))


def run_leg(options: argparse.Namespace, case: Case, leg: str) -> dict[str, object]:
    """seconds, the command, and of a PyTorch leg also its torch and device."""
    if leg in ("ours", "graph"):
        command = our_command(options, case if leg == "ours" else dataclasses.replace(case, step=leg))
        return {"seconds": our_seconds(case, output_of(command)), "command": shlex.join(command)}
    command = torch_command(options, case, leg)
    said = json.loads(output_of(command).splitlines()[-1])
    return said | {"seconds": statistics.median(said["seconds"]), "command": shlex.join(command)}


class Kept:
    """What there is by now, in the files after every leg: whoever is cut off has it."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.about: dict[str, object] = {"torch": "", "device": options.device}  # until a leg of PyTorch knows better
        self.samples: list[dict[str, str]] = []
        self.starts: dict[str, list[Start]] = {case.name: [] for case in options.cases}
        self.rows: list[dict[str, str]] = []
        self.write()

    def write(self) -> None:
        torch, device = str(self.about["torch"]), str(self.about["device"])
        self.rows = [row for case in self.options.cases for row in summary_rows(case, self.starts[case.name], torch, device)]
        write_rows(self.options.out / "samples.csv", SAMPLES, self.samples)
        write_rows(self.options.out / "compare_torch_steps.csv", COLUMNS, self.rows)

    def add(self, number: int, case: Case, leg: str, done: dict[str, object], leg_seconds: float) -> None:
        """Each row that has a ratio more is also a line."""
        self.about |= {name: done[name] for name in self.about if name in done}
        timed = Timed(float(str(done["seconds"])), leg_seconds)
        self.starts[case.name][number][leg] = timed
        sample = {"start": str(number), "model": case.model, "batch": str(case.batch), "precision": case.precision}
        sample |= {"step": "" if case.model == "gemm" else case.step, "leg": leg, "seconds": f"{timed.seconds:.9g}"}
        self.samples.append(sample | {"leg_seconds": f"{leg_seconds:.2f}", "command": str(done["command"])})
        before = self.rows
        self.write()
        for row, old in zip(self.rows, before):
            if row["starts"] != old["starts"]:
                print(table_line(row), flush=True)


def measure(options: argparse.Namespace, kept: Kept) -> int:
    """How many legs failed."""
    shuffled = random.Random(options.seed)
    failed = 0
    for number in range(options.starts):
        for case in options.cases:
            kept.starts[case.name].append({})
            for leg in shuffled.sample(case.legs(), len(case.legs())):
                print(f"[{number + 1}/{options.starts}] {case.name} {leg}", file=sys.stderr)
                begin = time.monotonic()
                try:
                    done = run_leg(options, case, leg)
                except RuntimeError as error:
                    failed += 1
                    print(f"compare_torch_steps: {case.name} {leg}: {error}", file=sys.stderr)
                    continue
                kept.add(number, case, leg, done, time.monotonic() - begin)
    return failed


def main(argv: list[str]) -> int:
    options = arguments_of(argv)
    options.out.mkdir(parents=True)
    kept = Kept(options)
    print(HEAD, flush=True)
    try:
        failed = measure(options, kept)
    finally:  # also of an interrupt
        print_table(kept.rows)
    if failed:
        return 3
    return 1 if any(row["verdict"] == "missed" for row in kept.rows) else 0


if __name__ == "__main__":
    endings.listen()
    sys.exit(main(sys.argv[1:]))
