# SPDX-License-Identifier: Apache-2.0
# What a cluster is: its hosts, links and the files that describe it to the programs inside. It is kept in
# /run/scalebench-box/NAME/box.json, whose folder goes with the cluster.
from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from .words import UsageError, show_rate

ROOT = Path("/run/scalebench-box")
SUBNET = "10.77.0"  # of every cluster: they are out of each other's reach


@dataclass
class Cluster:
    name: str
    hosts: int
    slots: int
    rate: int  # bits per second, each way, of every link that `slow` does not name
    delay: float = 0.0  # seconds, one way
    slow: dict[str, int] = field(default_factory=dict)  # host: bits per second
    loss: dict[str, float] = field(default_factory=dict)  # host: share of the packets to it, and from it

    @property
    def folder(self) -> Path:
        return ROOT / self.name

    @property
    def host_names(self) -> list[str]:
        return [f"host{number}" for number in range(1, self.hosts + 1)]

    @property
    def switch(self) -> str:
        return self.namespace("switch")

    def namespace(self, host: str) -> str:
        return f"sb-{self.name}-{host}"

    def address(self, host: str) -> str:
        return f"{SUBNET}.{host.removeprefix('host')}"

    def rate_of(self, host: str) -> int:
        return self.slow.get(host, self.rate)

    def text(self) -> str:
        """What is emulated, in one line: it stands in every manifest."""
        text = f"{self.hosts} hosts in network namespaces, {show_rate(self.rate)}"
        if self.delay > 0:
            text += f", {self.delay * 1e6:g}us"
        text += "".join(f", {host} at {show_rate(r)}" for host, r in sorted(self.slow.items()))
        return text + "".join(f", {host} loses {100 * share:g} %" for host, share in sorted(self.loss.items()))

    def save(self) -> None:
        path = self.folder / "box.json"
        path.with_suffix(".new").write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")
        path.with_suffix(".new").rename(path)


def read_cluster(name: str) -> Cluster:
    try:
        return Cluster(**json.loads((ROOT / name / "box.json").read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise UsageError(
            f"no cluster named {name} is up: scripts/cluster up --name {name} --hosts 4 --rate 1gbit"
        ) from None


def names_of_clusters() -> list[str]:
    return sorted(path.name for path in ROOT.iterdir()) if ROOT.is_dir() else []
