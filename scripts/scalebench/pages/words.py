# SPDX-License-Identifier: Apache-2.0
# What words mean that more than one page uses.
from __future__ import annotations

from collections.abc import Iterable

ORIGINS = {
    "emulated": "ranks share cores or a device, or hosts a machine, so this says nothing about N devices",
    "predicted": "predicted, not measured",
    "quoted": "quoted from elsewhere, not measured here",
    "imported": "imported from another program's log",
}


def origin_notes(origins: Iterable[str]) -> list[str]:
    """What the origins other than `measured` mean that occur."""
    return [f"{origin}: {ORIGINS[origin]}." for origin in dict.fromkeys(origins) if origin in ORIGINS]
