# SPDX-License-Identifier: Apache-2.0
# The made-up account of lost time in run_fixture.py's folders.
from __future__ import annotations

from collections.abc import Iterable, Mapping

def losses(lost: float, strategy: int) -> dict[str, object]:
    """Parts that sum to what was lost; the first strategy ran with a share of the batch alone."""
    computation = {"batch": 0.25, "contention": 0.15} if strategy == 0 else {"compute": 0.4}
    parts = {"work": 0.0, **computation, "transfer": 0.3, "wait_static": 0.22, "wait_jitter": 0.06, "input": -0.05,
             "evaluation": 0.02, "host": 0.04, "unattributed": 0.01}  # fmt: skip
    return {
        **{f"lost_{name}_seconds": f"{share * lost:.6g}" for name, share in parts.items()},
        "last_rank": 1,
        "last_rank_share": "0.8",
    }


RUNGS = {"share": 0.2, "together": 0.2, "input": 0.0, "barrier": 0.3, "strategy": 0.3}


def ladder_rows(cases: Iterable[Mapping[str, object]]) -> list[Mapping[str, object]]:
    """The rungs of each case, which has the columns that ladder.csv and scaling.csv share."""
    rows: list[Mapping[str, object]] = []
    for case in cases:
        lost = float(str(case["lost_seconds"]))
        for rung, share in RUNGS.items():
            measured = {"lost_seconds": f"{share * lost:.4g}", "trace_seconds": f"{1.1 * share * lost:.4g}"}
            skipped = {"status": "skipped", "note": "input is in memory", "seconds_median": "", "lost_seconds": ""}
            rows.append({**case, "rung": rung, "disagrees": int(rung == "strategy"),
                         **(skipped if rung == "input" else measured)})  # fmt: skip
    return rows
