# SPDX-License-Identifier: Apache-2.0
# Namespaces, links and queueing disciplines of a cluster: one namespace a host and one for the switch, a
# bridge; veth pairs between them, made inside them, so that the machine's own namespace never sees one. A
# token bucket at each end shapes both directions, and a rule of nftables there loses what is to get lost.
from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from .description import Cluster
from .words import UsageError

NAMESPACES = Path("/run/netns")
_MTU = 1500
# What a bucket holds passes faster than the link, so that it holds little more than a host hands down at once,
# which is no more than this: a smaller bucket would cut it up again.
_LARGEST_PACKET = 16384
_HEADERS = 1024  # of all segments of such a packet
_BUCKET_SECONDS = 0.00025  # two packets at 1 Gbit/s; with one, a timer that is late leaves the link empty
_PLUG_SECONDS = 5.0
_QUEUE_SECONDS = 0.02  # at most waiting in front of a link, as in a switch with deep buffers
_LEAST_QUEUE = 262144
_LOSS_UNIT = 10**6  # chances are whole millionths


def _run(command: list[str], text: str | None = None) -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = " ".join((done.stderr or done.stdout).split())
        raise RuntimeError(f"{' '.join(command)}: {reason or f'exit {done.returncode}'}")
    return done.stdout


def _ip(namespace: str, *lines: str) -> None:
    _run(["ip", "-netns", namespace, "-batch", "-"], "".join(line + "\n" for line in lines))


def _inside(namespace: str) -> list[str]:
    return ["nsenter", f"--net={NAMESPACES / namespace}"]


def burst_of(rate: int) -> int:
    """How many bytes pass a link of that rate at once."""
    return max(_LARGEST_PACKET + _HEADERS, round(rate / 8 * _BUCKET_SECONDS))


def bucket(rate: int) -> str:
    """Words for tc: a token bucket of that rate."""
    burst = burst_of(rate)
    queue = burst + max(_LEAST_QUEUE, round(rate / 8 * _QUEUE_SECONDS))
    return f"tbf rate {rate}bit burst {burst} limit {queue}"


def _shape(namespace: str, device: str, rate: int, delay: float) -> None:
    parent = "root"
    lines = []
    if delay > 0:
        lines.append(f"qdisc add dev {device} root handle 1: netem delay {delay * 1e6:g}us limit 100000")
        parent = "parent 1:1"
    lines.append(f"qdisc add dev {device} {parent} handle 10: {bucket(rate)}")
    _run(["tc", "-netns", namespace, "-batch", "-"], "".join(line + "\n" for line in lines))


def reshape(cluster: Cluster, host: str, rate: int) -> None:
    """Changes the rate of a link that is in use, both ways; what waits in its queues stays."""
    for namespace, device, delayed in (
        (cluster.namespace(host), "eth0", cluster.delay > 0),
        (cluster.switch, host, False),
    ):
        parent = "parent 1:1" if delayed else "root"
        words = f"qdisc change dev {device} {parent} handle 10: {bucket(rate)}"
        _run(["tc", "-netns", namespace, *words.split()])


def _loss_rules(device: str, share: float) -> str:
    """For nft: packets that come in through a device get lost with that chance. What it had before goes."""
    table = f"table netdev loss-{device}"
    lost = round(share * _LOSS_UNIT)
    hook = f'type filter hook ingress device "{device}" priority 0'
    rules = f"{table} {{\n chain in {{\n  {hook}\n  numgen random mod {_LOSS_UNIT} < {lost} drop\n }}\n}}\n"
    return f"{table}\ndelete {table}\n" + (rules if lost else "")


def lose(cluster: Cluster, host: str, share: float) -> None:
    """Messages to and from a host get lost from now on; 0: no more. Where they come in: what is refused where it
    goes out is no loss for its sender, who knows of it."""
    for namespace, device in ((cluster.namespace(host), "eth0"), (cluster.switch, host)):
        _run([*_inside(namespace), "nft", "-f", "-"], _loss_rules(device, share))


def why_no_loss() -> str:
    """Why no packet can be lost on purpose here; empty: it can."""
    if shutil.which("nft") is None:
        return "nft not found: apt-get install nftables"
    try:
        _run(["unshare", "--net", "nft", "-f", "-"], _loss_rules("lo", 0.5))
    except RuntimeError as error:
        return f"nft cannot lose packets with this kernel ({error}): boot one with nf_tables, its netdev family and numgen"
    return ""


def connect(cluster: Cluster, host: str, up: bool) -> None:
    """Plugs the cable of a host out of the switch, or in again: then all hosts reach it at once."""
    _run(["ip", "-netns", cluster.switch, "link", "set", host, "up" if up else "down"])
    if not up:
        return
    # The kernel looks at carriers once a second, and for some more a host keeps in mind whom it has not found.
    until = time.monotonic() + _PLUG_SECONDS
    while not _has_carrier(cluster.namespace(host)) and time.monotonic() < until:
        time.sleep(0.02)
    for one in cluster.host_names:
        _ip(cluster.namespace(one), "neigh flush dev eth0")


def _has_carrier(namespace: str) -> bool:
    return json.loads(_run(["ip", "-netns", namespace, "-json", "link", "show", "eth0"]))[0]["operstate"] == "UP"


def is_connected(cluster: Cluster, host: str) -> bool:
    link = json.loads(_run(["ip", "-netns", cluster.switch, "-json", "link", "show", host]))[0]
    return "UP" in link["flags"]


def _new_namespace(name: str) -> None:
    _run(["ip", "netns", "add", name])
    # Otherwise the machine's default, which may keep a link half empty.
    settings = "echo reno >/proc/sys/net/ipv4/tcp_congestion_control; "
    # What waits for a host that is cut off gives up after some 13 s, not a quarter of an hour.
    settings += "echo 5 >/proc/sys/net/ipv4/tcp_retries2; "
    settings += "! [ -e /proc/sys/net/ipv6/conf/all/disable_ipv6 ] || "
    settings += "echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6"
    _run([*_inside(name), "sh", "-ec", settings])
    _ip(name, "link set lo up")


def require_queueing(cluster: Cluster) -> None:
    """Refuses what this kernel cannot do, before anything is made; uses a namespace for a moment."""
    probe = cluster.namespace("probe")
    wanted = {"tbf": bucket(cluster.rate)}
    if cluster.delay > 0:
        wanted["netem"] = "netem delay 1ms"
    try:
        _run(["ip", "netns", "add", probe])
    except RuntimeError as error:
        raise UsageError(f"no network namespace can be made here ({error}): needs CAP_SYS_ADMIN") from None
    try:
        for kind, words in wanted.items():
            try:
                _run(["tc", "-netns", probe, "qdisc", "add", "dev", "lo", "root", *words.split()])
            except RuntimeError as error:
                remedy = "leave out --delay, or boot" if kind == "netem" else "boot"
                raise UsageError(
                    f"this kernel has no queueing discipline {kind} ({error}): {remedy} one with sch_{kind} (Debian's has it)"
                ) from None
            _run(["tc", "-netns", probe, "qdisc", "del", "dev", "lo", "root"])
    finally:
        _run(["ip", "netns", "del", probe])


def build(cluster: Cluster) -> None:
    _new_namespace(cluster.switch)
    _ip(
        cluster.switch,
        "link add bridge type bridge forward_delay 0 stp_state 0",
        "link set bridge up",
    )
    for host in cluster.host_names:
        namespace = cluster.namespace(host)
        _new_namespace(namespace)
        _ip(
            namespace,
            f"link add eth0 mtu {_MTU} type veth peer name {host} mtu {_MTU} netns {cluster.switch}",
            f"link set eth0 gso_max_size {_LARGEST_PACKET}",
            f"address add {cluster.address(host)}/24 dev eth0",
            "link set eth0 up",
        )
        _ip(cluster.switch, f"link set {host} master bridge", f"link set {host} up")
        _shape(namespace, "eth0", cluster.rate_of(host), cluster.delay)
        _shape(cluster.switch, host, cluster.rate_of(host), 0)
        if host in cluster.loss:
            lose(cluster, host, cluster.loss[host])


def namespaces_of(name: str) -> list[str]:
    if not NAMESPACES.is_dir():
        return []
    return sorted(path.name for path in NAMESPACES.glob(f"sb-{name}-*"))


def _identity(namespace: Path) -> tuple[int, int]:
    found = namespace.stat()
    return found.st_dev, found.st_ino  # a name that lost its namespace is a file of another device


def processes_in(namespaces: list[str]) -> list[int]:
    wanted = set()
    for namespace in namespaces:
        with contextlib.suppress(OSError):
            wanted.add(_identity(NAMESPACES / namespace))
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            if _identity(entry / "ns/net") in wanted:
                found.append(int(entry.name))
    return found


def _end_processes(namespaces: list[str]) -> None:
    for kind, seconds in ((signal.SIGTERM, 1.0), (signal.SIGKILL, 5.0)):
        until = time.monotonic() + seconds
        processes = processes_in(namespaces)
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, kind)
        while processes and time.monotonic() < until:
            time.sleep(0.02)
            processes = processes_in(namespaces)
        if not processes:
            return
    raise RuntimeError(f"processes {processes_in(namespaces)} cannot be ended")


def demolish(name: str) -> None:
    """Ends what runs inside and removes every namespace of the cluster, whichever there are."""
    namespaces = namespaces_of(name)
    _end_processes(namespaces)
    for namespace in namespaces:
        _run(["ip", "netns", "del", namespace])
