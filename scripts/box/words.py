# SPDX-License-Identifier: Apache-2.0
# What may stand on the command line of scripts/cluster, and what is said when it does not: rates
# (1gbit), delays (50us), losses (2%), hosts (host3), names of clusters. Decimal units, as tc has them.
from __future__ import annotations

import re

_RATES = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
_MOST_RATE = 100 * 10**9
_LEAST_RATE = 10**5  # less than a packet in 100 ms is no link
MOST_HOSTS = 64


class UsageError(Exception):
    """One line for the user: what is wrong and what would be right."""


def _number_with(unit_table: dict[str, float], text: str) -> float | None:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([a-z]+|%)", text)
    if not found or found[2] not in unit_table:
        return None
    return float(found[1]) * unit_table[found[2]]


def parse_rate(text: str) -> int:
    """Bits per second."""
    rate = _number_with(_RATES, text)
    if rate is None or not _LEAST_RATE <= rate <= _MOST_RATE:
        raise UsageError(
            f"rate '{text}': want a number and kbit, mbit or gbit, such as 1gbit (100kbit to 100gbit)"
        )
    return round(rate)


def show_rate(rate: int) -> str:
    for unit in ("gbit", "mbit", "kbit"):
        if rate >= _RATES[unit]:
            return f"{rate / _RATES[unit]:g}{unit}"
    return f"{rate}bit"


def parse_delay(text: str) -> float:
    """Seconds."""
    delay = _number_with(_SECONDS, text)
    if delay is None or not 1e-6 <= delay <= 10:
        raise UsageError(f"delay '{text}': want a number and us, ms or s, such as 50us (1us to 10s)")
    return delay


def parse_host(text: str, hosts: int) -> int:
    """Its number, from 1."""
    found = re.fullmatch(r"host([1-9]\d{0,2})", text)
    if not found or int(found[1]) > hosts:
        raise UsageError(f"host '{text}': the hosts are host1 to host{hosts}")
    return int(found[1])


def parse_host_rate(text: str, hosts: int) -> tuple[int, int]:
    """Number of the host and bits per second, of host3=100mbit."""
    host, equals, rate = text.partition("=")
    if not equals:
        raise UsageError(f"'{text}': want HOST=RATE, such as host3=100mbit")
    return parse_host(host, hosts), parse_rate(rate)


def parse_host_loss(text: str, hosts: int) -> tuple[int, float]:
    """Number of the host and the share of its packets, of host3=2%."""
    host, equals, share = text.partition("=")
    if not equals:
        raise UsageError(f"'{text}': want HOST=SHARE, such as host3=2%")
    number = _number_with({"%": 0.01}, share) if share.endswith("%") else None
    if number is None or number > 0.5:
        raise UsageError(f"loss '{share}': want a number and %, such as 2% (0% to 50%)")
    return parse_host(host, hosts), number


def parse_name(text: str) -> str:
    if not re.fullmatch(r"[a-z0-9]{1,16}", text):
        raise UsageError(f"name '{text}': want 1 to 16 small letters and digits")
    return text


def parse_count(what: str, text: str, least: int, most: int) -> int:
    if not re.fullmatch(r"\d{1,4}", text) or not least <= int(text) <= most:
        raise UsageError(f"{what} '{text}': want a number from {least} to {most}")
    return int(text)
