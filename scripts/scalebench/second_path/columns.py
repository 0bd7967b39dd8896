# SPDX-License-Identifier: Apache-2.0
"""What has no second path, and why: all other cells of a run's tables are made again, or recompute says that they are
not. COPIED: what a row says of its case; it has to stand so in the row of a launch, or of the table it follows."""
from __future__ import annotations

NAMES = "a name, no result"
# Files in a run's folder that are no table of results made of its samples.
FILES_WITHOUT = {
    "samples.csv": "the raw samples themselves",
    "monitor.csv": "raw: each look at a host",
    "hosts.csv": "verdicts on hosts, from what the hosts alone know",
    "compare.csv": "of two runs: scalebench compare makes it again",
}

WITHOUT = {
    ("", "run_id"): NAMES,
    ("", "case_id"): "a hash of the parameters, by which rows are found here",
    ("", "note"): "words",
    ("allreduce.csv", "pages"): "what older runs say of all of their buffers in host memory",
    ("summary.csv", "trust"): "words, of what scaling.csv says",
}

def is_difference(table: str, column: str) -> bool:
    """Of numbers that are about equal, which leaves of their rounding more than a part in 1e9: 1e-14 is nothing."""
    return table == "losses.csv" or column in ("lost_seconds", "karp_flatt") or "residual" in column


SHARED = "run_id case_id origin".split()
EXCHANGE = "algorithm transport memory dtype op placement mode cache register size_bytes ranks nodes".split()
TRAINING = "model gradient_sync allreduce transport device dataset scaling global_batch batch ranks nodes".split()

COPIED = {
    "allreduce.csv": [*SHARED, "entry", *EXCHANGE],
    "throughput.csv": (
        "model device dtype memory_format step threads batch ranks nodes rank entry"
    ).split() + SHARED,
    "epoch.csv": (
        "dtype settings threads optimizer target_accuracy share_of entry"
    ).split() + SHARED + TRAINING,
    "scaling.csv": [*SHARED, *"entry model gradient_sync scaling ranks nodes".split()],
    "losses.csv": [*SHARED, *"entry gradient_sync ranks nodes".split()],
}
