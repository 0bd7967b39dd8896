# SPDX-License-Identifier: Apache-2.0
# A made-up run folder for the tests of the scripts: every column of results/README.md, numbers that
# follow a simple model (work / N plus a ring), and one skipped and one failed row.
# `scripts/python scripts/run_fixture.py FOLDER` writes one to look at.
from __future__ import annotations

import csv
import json
import random
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import monitor_fixture
from account_fixture import ladder_rows, losses

COMMON = "schema_version run_id case_id origin status note"
STATISTICS = (
    "launches repetitions seconds_median seconds_ci_low seconds_ci_high interval seconds_min seconds_p5 "
    "seconds_p95 seconds_max seconds_mean outliers converged"
)
COLUMNS = {
    "kernels.csv": f"{COMMON} kernel memory device dtype count bytes flops {STATISTICS} gb_per_s gflop_per_s",
    "allreduce.csv": f"{COMMON} algorithm transport memory dtype op placement mode cache graph sync operations "
    f"clock_residual_seconds size_bytes count ranks nodes "
    f"{STATISTICS} warm first_call_seconds algbw_gb_per_s busbw_gb_per_s busbw_ci_low_gb_per_s "
    "busbw_ci_high_gb_per_s wire_bw_gb_per_s skew_seconds slowest_rank redone wrong",
    "bound.csv": f"{COMMON} transport memory size_bytes ranks kernel stream_gb_per_s seconds algbw_gb_per_s busbw_gb_per_s",
    "links.csv": f"{COMMON} ranks nodes from_host to_host message_bytes gb_per_s latency_seconds relative slow",
    "fit.csv": f"{COMMON} algorithm transport memory dtype op placement mode cache graph ranks nodes sizes points "
    "smallest_bytes largest_bytes alpha_seconds beta_seconds_per_byte gamma_seconds_per_byte rms_relative_residual "
    "worst_relative_residual worst_bytes",
    "fit_points.csv": f"{COMMON} algorithm transport memory dtype op placement mode cache graph size_bytes ranks nodes "
    "seconds busbw_gb_per_s relative_residual",
    "certificate.csv": f"{COMMON} algorithm transport memory dtype op placement mode cache graph size_bytes ranks nodes "
    "launches_a launches_b seconds_a seconds_b ratio ratio_low ratio_high p_value p_holm verdict floor smallest_effect",
    "throughput.csv": f"{COMMON} model parameters device dtype memory_format step threads batch largest batches_tried ranks nodes rank host "
    f"{STATISTICS} images_per_s images_per_s_ci_low images_per_s_ci_high relative_to_one_rank",
    "epoch.csv": f"{COMMON} model parameters gradient_sync allreduce transport device dtype memory_format threads dataset "
    f"scaling global_batch batch optimizer learning_rate epochs ranks workers nodes rank host {STATISTICS} samples images_per_s "
    "load_seconds forward_seconds backward_seconds sync_seconds update_seconds other_seconds "
    "compute_seconds transfer_seconds wait_seconds wait_static_seconds wait_jitter_seconds input_seconds "
    "evaluation_seconds host_seconds hidden_seconds last_rank last_rank_share evaluate_seconds "
    "checkpoint_seconds train_loss test_accuracy target_accuracy epochs_to_target seconds_to_target replicas_equal "
    "replica_divergence share_of loader_threads page_cache",
    "scaling.csv": f"{COMMON} model parameters gradient_sync allreduce transport device dataset scaling global_batch "
    "batch ranks nodes baseline h_seconds ideal_seconds seconds_median seconds_ci_low seconds_ci_high interval "
    "launches rho speedup speedup_ci_low speedup_ci_high efficiency efficiency_ci_low efficiency_ci_high "
    "h_raw_seconds efficiency_raw karp_flatt lost_seconds lost_work_seconds lost_compute_seconds lost_batch_seconds "
    "lost_contention_seconds lost_transfer_seconds lost_wait_static_seconds lost_wait_jitter_seconds lost_input_seconds "
    "lost_evaluation_seconds lost_host_seconds lost_unattributed_seconds last_rank last_rank_share test_accuracy target_accuracy epochs_to_target seconds_to_target "
    "efficiency_statistical efficiency_to_accuracy",
    "accuracy.csv": f"{COMMON} model gradient_sync dataset scaling global_batch ranks launch epoch seconds seconds_so_far "
    "samples train_loss test_loss test_accuracy",
    "monitor.csv": f"{COMMON} {monitor_fixture.COLUMNS}",
    "ladder.csv": f"{COMMON} model gradient_sync allreduce transport device dataset scaling global_batch batch ranks nodes "
    "rung seconds_median seconds_ci_low seconds_ci_high interval launches seconds_at_one lost_seconds trace_seconds "
    "disagrees",
}
Cells = Mapping[str, object]


def write_csv(run: Path, name: str, rows: Iterable[Cells]) -> None:
    columns = COLUMNS[name].split()
    run.mkdir(parents=True, exist_ok=True)
    with open(run / name, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
        writer.writeheader()
        common = {"schema_version": 1, "run_id": run.name, "origin": "measured", "status": "ok"}
        writer.writerows({**common, **row} for row in rows)


def statistics(seconds: float, spread: float = 0.02) -> dict[str, object]:
    return {
        "launches": 5,
        "repetitions": 150,
        "seconds_median": f"{seconds:.6g}",
        "seconds_ci_low": f"{seconds * (1 - spread):.6g}",
        "seconds_ci_high": f"{seconds * (1 + spread):.6g}",
        "interval": "range",
        "converged": 1,
    }


def known(name: str, cells: Cells) -> dict[str, object]:
    """Those cells that the file has a column for."""
    return {column: cells[column] for column in COLUMNS[name].split() if column in cells}


def origin(ranks: int, cores: int) -> str:
    return "measured" if ranks <= cores else "emulated"


def scaling_rows(
    models: Iterable[str], ranks: Iterable[int], syncs: Iterable[str], cores: int
) -> list[Cells]:
    rows: list[Cells] = []
    for m, model in enumerate(models):
        base = 30.0 / (1 + m)
        for s, sync in enumerate(syncs):
            for n in ranks:
                seconds = base * (1.02 / min(n, cores) + (0.05 + 0.04 * s) * (n > 1) * n**0.5 / 2)
                speedup = base / seconds
                rows.append(
                    {
                        **known("scaling.csv", training(model, sync, n, cores)),
                        "baseline": "one_device",
                        "h_seconds": base,
                        "ideal_seconds": base / n,
                        "seconds_median": f"{seconds:.5g}",
                        "seconds_ci_low": f"{seconds * 0.97:.5g}",
                        "seconds_ci_high": f"{seconds * 1.04:.5g}",
                        "interval": "range",
                        "launches": 5,
                        "rho": 1,
                        "speedup": f"{speedup:.5g}",
                        "speedup_ci_low": f"{speedup * 0.96:.5g}",
                        "speedup_ci_high": f"{speedup * 1.03:.5g}",
                        "efficiency": f"{speedup / n:.5g}",
                        "efficiency_ci_low": f"{speedup / n * 0.96:.5g}",
                        "efficiency_ci_high": f"{speedup / n * 1.03:.5g}",
                        "h_raw_seconds": base * 0.97,
                        "efficiency_raw": f"{speedup / n * 0.97:.5g}",
                        "karp_flatt": f"{(1 / speedup - 1 / n) / (1 - 1 / n):.4f}" if n > 1 else "",
                        "lost_seconds": f"{seconds - base / n:.4g}",
                        "test_accuracy": "0.8731",
                        **(losses(seconds - base / n, s) if n > 1 else {}),
                    }
                )
    return rows


def training(model: str, sync: str, ranks: int, cores: int) -> dict[str, object]:
    return {
        "case_id": f"{abs(hash_of(model + sync)):012x}"[:12],
        "origin": origin(ranks, cores),
        "model": model,
        "parameters": 1199882,
        "gradient_sync": sync,
        "allreduce": "ring",
        "transport": "mpi",
        "device": "cpu",
        "dtype": "float32",
        "dataset": "fashion_mnist",
        "scaling": "strong",
        "global_batch": 64,
        "batch": 64 // ranks,
        "ranks": ranks,
        "nodes": 1,
    }


def hash_of(text: str) -> int:
    return sum(ord(letter) * 131**place for place, letter in enumerate(text[:9]))


def epoch_rows(
    models: Iterable[str], ranks: Iterable[int], syncs: Iterable[str], cores: int
) -> list[Cells]:
    rows: list[Cells] = []
    for scaling in scaling_rows(models, ranks, syncs, cores):
        seconds, n = float(str(scaling["seconds_median"])), int(str(scaling["ranks"]))
        ideal = float(str(scaling["ideal_seconds"]))
        parts = {
            "load": 0.03 * ideal,
            "forward": 0.3 * ideal,
            "backward": 0.57 * ideal,
            "update": 0.08 * ideal,
        }
        sync_seconds = max(seconds - sum(parts.values()), 0) * 0.8 * (n > 1)
        parts |= {"sync": sync_seconds, "other": seconds - sum(parts.values()) - sync_seconds}
        case = known("epoch.csv", scaling)
        for rank in ["all", *range(n)]:
            phases = {f"{phase}_seconds": f"{part:.5g}" for phase, part in parts.items()}
            rows.append(
                {
                    **case,
                    **statistics(seconds),
                    **phases,
                    "rank": rank,
                    "samples": 60000,
                    "epochs": 2,
                }
            )
    return rows


def throughput_rows(models: Iterable[str], ranks: Iterable[int], cores: int) -> list[Cells]:
    dice = random.Random(1)
    rows: list[Cells] = []
    for m, model in enumerate(models):
        for n in ranks:
            each = [
                (2400 + 9000 * m)
                * min(1, cores / n)
                * (1 - 0.05 * (n > 1))
                * dice.uniform(0.95, 1.0)
                for _ in range(n)
            ]
            for rank, speed in [("all", sum(each)), *enumerate(each)]:
                rows.append(
                    {
                        **known("throughput.csv", training(model, "", n, cores)),
                        **statistics(32 / speed),
                        "batch": 32,
                        "threads": 1,
                        "rank": rank,
                        "images_per_s": f"{speed:.6g}",
                        "images_per_s_ci_low": f"{speed * 0.98:.6g}",
                        "images_per_s_ci_high": f"{speed * 1.02:.6g}",
                        "relative_to_one_rank": f"{min(1, cores / n):.4g}",
                    }
                )
    return rows


SHARE = {"memory": "host", "dtype": "float32", "op": "sum", "placement": "in_place", "mode": "isolated",
         "cache": "warm", "graph": 0, "nodes": 1}  # fmt: skip
SIZES = [4**power for power in range(5, 14)]


def modelled_seconds(a: int, t: int, n: int, size: int, cores: int) -> float:
    """A latency a rank and a rate; ranks that share a core wait for each other."""
    latency = (2e-6 + 3e-6 * t) * (1 + 0.6 * ((7 * a) % 12)) * n * (1 if n <= cores else 8)
    return latency + size * (1 + 0.25 * a) * 2 * (n - 1) / n / (9e9 - 3e9 * t)


def busbw(size: int, seconds: float, n: int) -> float:
    return size / seconds * 2 * (n - 1) / n / 1e9


def allreduce_rows(
    algorithms: Iterable[str], transports: Iterable[str], ranks: Iterable[int], cores: int
) -> list[Cells]:
    dice = random.Random(2)
    rows: list[Cells] = []
    for t, transport in enumerate(transports):
        for a, algorithm in enumerate(algorithms):
            for n in ranks:
                for size in SIZES:
                    # Beyond the caches it is slower than any one line says.
                    slower = 1.4 if size > 2**22 else 1.0
                    seconds = modelled_seconds(a, t, n, size, cores) * slower * dice.uniform(0.93, 1.07)
                    rate = busbw(size, seconds, n)
                    rows.append(
                        {
                            **SHARE,
                            **statistics(seconds),
                            "case_id": f"{a}{t}{size:x}",
                            "origin": origin(n, cores),
                            "algorithm": algorithm,
                            "transport": transport,
                            "sync": "clock",
                            "size_bytes": size,
                            "count": size // 4,
                            "ranks": n,
                            "algbw_gb_per_s": f"{size / seconds / 1e9:.5g}",
                            "busbw_gb_per_s": f"{rate:.5g}",
                            "busbw_ci_low_gb_per_s": f"{rate * 0.92:.5g}",
                            "busbw_ci_high_gb_per_s": f"{rate * 1.06:.5g}",
                            "wrong": 0,
                        }
                    )
        rows.append({**SHARE, "algorithm": "hierarchical", "transport": transport, "ranks": 2, "size_bytes": 1024,
                     "status": "skipped", "note": "one node: nothing to divide"})  # fmt: skip
    rows.append({"algorithm": "native", "transport": "nccl", "ranks": 2, "size_bytes": 1024, "status": "skipped",
                 "note": "built without CUDA: configure with -DSCALEBENCH_CUDA=ON"})  # fmt: skip
    return rows


def fit_rows(algorithms: Iterable[str], transports: Iterable[str], ranks: Iterable[int]) -> list[Cells]:
    shown = [n for n in ranks if n > 1]
    return [
        {
            **SHARE,
            "algorithm": algorithm,
            "transport": transport,
            "ranks": ";".join(map(str, shown)),
            "sizes": len(SIZES),
            "points": len(SIZES) * len(shown),
            "smallest_bytes": SIZES[0],
            "largest_bytes": SIZES[-1],
            "alpha_seconds": 2e-6 + 3e-6 * t,
            "beta_seconds_per_byte": 1.1e-10 * (1 + a),
            "rms_relative_residual": 0.12,
            "worst_relative_residual": -0.31,
            "worst_bytes": SIZES[-1],
        }
        for t, transport in enumerate(transports)
        for a, algorithm in enumerate(algorithms)
        if shown
    ]


def fit_point_rows(
    algorithms: Iterable[str], transports: Iterable[str], ranks: Iterable[int], cores: int
) -> list[Cells]:
    rows: list[Cells] = []
    for t, transport in enumerate(transports):
        for a, algorithm in enumerate(algorithms):
            for n in (n for n in ranks if n > 1):
                for size in SIZES:
                    seconds = 1.1 * modelled_seconds(a, t, n, size, cores)
                    rows.append(
                        {
                            **SHARE,
                            "origin": "predicted",
                            "algorithm": algorithm,
                            "transport": transport,
                            "size_bytes": size,
                            "ranks": n,
                            "seconds": f"{seconds:.5g}",
                            "busbw_gb_per_s": f"{busbw(size, seconds, n):.5g}",
                        }
                    )
    return rows


def bound_rows(transports: Iterable[str], ranks: Iterable[int]) -> list[Cells]:
    return [
        {
            "transport": transport,
            "memory": "host",
            "size_bytes": size,
            "ranks": n,
            "kernel": "combine",
            "stream_gb_per_s": 80 if size <= 2**22 else 40,
            "busbw_gb_per_s": 40 if size <= 2**22 else 20,
        }
        for transport in transports
        for n in ranks
        if n > 1
        for size in SIZES
        if size >= 2**16
    ]


def write_manifest(run: Path, **changes: object) -> None:
    manifest: dict[str, object] = {
        "run_id": run.name,
        "study": "quick",
        "origin": "measured",
        "started_utc": "2026-01-02T03:04:05Z",
        "finished_utc": "2026-01-02T03:11:45Z",
        "status": "complete",
        "command": "scalebench run configs/quick.toml",
        "seed": 1,
        "tool": {"version": "0.1.0", "commit": "0123456789abcdef", "dirty": False},
        "environment": {
            "key": {"cpu_model": "AMD EPYC 7B13", "cores": 2, "memory_gib": 16, "gpus": ["NVIDIA H200", "NVIDIA H200"]},
            "treatment": {"kernel": "6.1.0", "compiler": "GCC 12.2.0", "mpi": "Open MPI 4.1.4", "libtorch": "1.13.1"},
            "observation": {"governor": None, "load": 0.4},
        },
        "warnings": [{"text": "4 ranks share 2 cores", "remedy": "use --ranks 1,2, or a machine with 4 cores"}],
        "launches": [
            {"number": 1, "program": "bench_epoch", "ranks": 2, "command": "mpirun -np 2 bench_epoch", "status": "ok",
             "note": "", "seconds": 41.2},
            {"number": 2, "program": "bench_epoch", "ranks": 4, "command": "mpirun -np 4 bench_epoch",
             "status": "failed", "note": "rank 3 was killed by signal 9", "seconds": 3.1},
        ],
        "files": {"scaling.csv": "ab" * 32},
    }  # fmt: skip
    run.mkdir(parents=True, exist_ok=True)
    (run / "manifest.json").write_text(json.dumps({**manifest, **changes}), encoding="utf-8")


def write_run(
    run: Path,
    models: Iterable[str] = ("mnist_cnn", "mlp"),
    ranks: Iterable[int] = (1, 2, 4),
    syncs: Iterable[str] = ("flat", "bucketed"),
    algorithms: Iterable[str] = ("naive", "ring", "native"),
    transports: Iterable[str] = ("mpi", "thread"),
    cores: int = 2,
) -> None:
    write_csv(run, "scaling.csv", scaling_rows(models, ranks, syncs, cores))
    several = [n for n in ranks if n > 1]
    scaled = scaling_rows(models, several, syncs, cores)
    write_csv(run, "ladder.csv", ladder_rows(known("ladder.csv", row) for row in scaled))
    write_csv(run, "epoch.csv", epoch_rows(models, ranks, syncs, cores))
    write_csv(run, "throughput.csv", throughput_rows(models, ranks, cores))
    write_csv(run, "allreduce.csv", allreduce_rows(algorithms, transports, ranks, cores))
    write_csv(run, "fit.csv", fit_rows(algorithms, transports, ranks))
    write_csv(run, "fit_points.csv", fit_point_rows(algorithms, transports, ranks, cores))
    write_csv(run, "bound.csv", bound_rows(transports, ranks))
    write_csv(run, "monitor.csv", monitor_fixture.rows_of(ranks))
    kernel = {
        "kernel": "add",
        "memory": "host",
        "device": "cpu",
        "dtype": "float32",
        "count": 1 << 20,
    }
    kernel |= {"bytes": 12 << 20, **statistics(1.1e-3), "gb_per_s": "11.4"}
    write_csv(run, "kernels.csv", [kernel])
    write_manifest(run)


if __name__ == "__main__":
    write_run(Path(sys.argv[1]))
