# SPDX-License-Identifier: Apache-2.0
# The part of a made-up run that the monitor would have written: a busy host, or several with GPUs.
from __future__ import annotations

import random
from collections.abc import Iterable, Mapping

COLUMNS = (
    "bench ranks launch host seconds utc_seconds cpu_share rank_cores_share core_shares steal_share clock_mhz "
    "context_switches_per_s ranks_memory_bytes memory_used_bytes memory_bytes disk_read_bytes_per_s "
    "disk_write_bytes_per_s network_received_bytes_per_s network_sent_bytes_per_s loopback_bytes_per_s "
    "sampling_seconds gpu gpu_share gpu_memory_used_bytes gpu_memory_bytes gpu_watts gpu_clock_mhz gpu_celsius "
    "gpu_throttle_reasons"
)


def rows_of(ranks: Iterable[int], hosts: int = 1, gpus: int = 0) -> list[Mapping[str, object]]:
    """Launches of 12 s with a pause between them, two samples a second."""
    dice = random.Random(3)
    rows: list[Mapping[str, object]] = []
    for number, n in enumerate(ranks):
        for sample in range(1, 25):
            for host in range(hosts):
                common = {
                    "bench": "epoch",
                    "ranks": n,
                    "launch": number + 1,
                    "host": f"host{host}",
                    "seconds": 15 * number + sample / 2,
                    "utc_seconds": 1.7e9 + 15 * number + sample / 2,
                }
                loading = sample < 4
                busy = min(1, n / 2) * (0.3 if loading else 1) * dice.uniform(0.94, 1)
                rows.append(
                    {
                        **common,
                        "cpu_share": f"{busy * 0.9:.3f}",
                        "rank_cores_share": f"{busy:.3f}",
                        "core_shares": f"0={busy:.2f}",
                        "steal_share": f"{dice.uniform(0, 0.03):.3f}",
                        "ranks_memory_bytes": int(n * 3e8 * min(1, sample / 4)),
                        "memory_used_bytes": int(2e9 + n * 3e8),
                        "memory_bytes": 16 << 30,
                        "disk_read_bytes_per_s": 9e7 if loading else 0,
                        "disk_write_bytes_per_s": 2e4,
                        "network_received_bytes_per_s": 3e6 * dice.random(),
                        "network_sent_bytes_per_s": 3e6 * dice.random(),
                        "sampling_seconds": 2e-4,
                    }
                )
                for gpu in range(gpus):
                    rows.append(
                        {
                            **common,
                            "gpu": gpu,
                            "gpu_share": 0 if loading else 0.97,
                            "gpu_memory_used_bytes": 4e10,
                            "gpu_memory_bytes": 1.5e11,
                            "gpu_watts": 120 if loading else 640 + 20 * dice.random(),
                            "gpu_clock_mhz": 1980 if loading else 1700,
                            "gpu_celsius": 55,
                            "gpu_throttle_reasons": "gpu_idle" if loading else "sw_power_cap",
                        }
                    )
    return rows
