# SPDX-License-Identifier: Apache-2.0
# The report's table of kernels, from kernels.csv.
from __future__ import annotations

from pathlib import Path

from scalebench.numbers import byte_size, duration, three_digits
from scalebench.pages.page import Html, section, table
from scalebench.rows import read_rows, usable


def kernels(run: Path) -> Html:
    rows = usable(read_rows(run, "kernels.csv"))
    cells = [
        [
            row["kernel"], row["device"], row["dtype"], byte_size(row.number("bytes")),
            duration(row.number("seconds_median")), three_digits(row.number("gb_per_s")),
            three_digits(row.number("gflop_per_s")),
        ]
        for row in rows
    ]  # fmt: skip
    head = ["kernel", "device", "dtype", "bytes moved", "time", "GB/s", "GFLOP/s"]
    return (
        section("Kernels", table(head, cells, numbers=[3, 4, 5, 6], rest="kernels.csv"))
        if rows
        else Html("")
    )
