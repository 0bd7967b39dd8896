# SPDX-License-Identifier: Apache-2.0
# The verbs of scripts/cluster. Everything is checked before anything is made, and what is half made when
# a step fails is taken down again.
from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from typing import NoReturn

from . import description, inside, network
from .description import Cluster
from .words import (
    MOST_HOSTS,
    UsageError,
    parse_count,
    parse_delay,
    parse_host,
    parse_host_loss,
    parse_host_rate,
    parse_name,
    parse_rate,
    show_rate,
)

_EXAMPLES = """
  scripts/cluster up --hosts 4 --rate 1gbit --slow host3=100mbit
  scripts/cluster run -- mpirun -np 8 build/release/bin/bench_allreduce --transport mpi
  scripts/cluster run -- build/release/bin/scalebench run configs/quick.toml
  scripts/cluster cut host3                 # while something runs; heal host3 plugs it in again
  scripts/cluster slow host2=10mbit
  scripts/cluster lose host3=2%             # of the packets to and from it; host3=0%: no more
  scripts/cluster down
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see scripts/cluster --help")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="scripts/cluster", allow_abbrev=False,
        description="Hosts in network namespaces with shaped links, for mpirun and scalebench. Needs root.",
        epilog="examples:" + _EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB", parser_class=_Parser)

    def verb(name: str, text: str) -> argparse.ArgumentParser:
        added = verbs.add_parser(name, help=text, description=text, allow_abbrev=False)
        added.add_argument("--name", default="box", help="of the cluster; default: box")
        return added

    up = verb("up", "make a cluster")
    up.add_argument("--hosts", default="4", metavar="N", help="host1 to hostN; default: 4")
    up.add_argument("--rate", default="1gbit", help="of every link, each way; default: 1gbit")
    up.add_argument("--delay", help="one way, such as 50us; needs the kernel's netem")
    up.add_argument("--slots", default="2", metavar="N", help="ranks a host takes; default: 2")
    up.add_argument("--slow", action="append", default=[], metavar="HOST=RATE", help="a link of its own rate")
    up.add_argument("--loss", action="append", default=[], metavar="HOST=SHARE",
                    help="of its packets, each way, such as host3=2%%; needs nft")  # fmt: skip
    run = verb("run", "run a command on a host, as if typed there; ends as the command does")
    run.add_argument("--on", default="host1", metavar="HOST", help="default: host1")
    run.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND...")
    verb("down", "end what runs inside and remove the cluster; does nothing where there is none")
    verb("status", "the hosts, their links and how many processes they have")
    verb("slow", "change the rate of a link while it is used").add_argument("link", metavar="HOST=RATE")
    verb("lose", "lose packets to and from a host while it is used; 0%% ends it").add_argument("link", metavar="HOST=SHARE")
    verb("cut", "pull the cable of a host").add_argument("host", metavar="HOST")
    verb("heal", "plug it in again").add_argument("host", metavar="HOST")
    return parser


def _require_tools() -> None:
    missing = [tool for tool in ("ip", "tc", "nsenter", "unshare") if shutil.which(tool) is None]
    if missing:
        raise UsageError(f"{', '.join(missing)} not found: apt-get install iproute2 util-linux")
    if os.geteuid() != 0:
        raise UsageError("network namespaces need root: run it as root, or with sudo")


@contextlib.contextmanager
def _signals_as_exceptions() -> Iterator[None]:
    def stop(number: int, _frame: object) -> NoReturn:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _cluster_of(words: argparse.Namespace, name: str) -> Cluster:
    hosts = parse_count("--hosts", words.hosts, 2, MOST_HOSTS)
    cluster = Cluster(name, hosts, parse_count("--slots", words.slots, 1, 1024), parse_rate(words.rate))
    if words.delay is not None:
        cluster.delay = parse_delay(words.delay)
    for text in words.slow:
        number, rate = parse_host_rate(text, hosts)
        if f"host{number}" in cluster.slow:
            raise UsageError(f"--slow {text}: host{number} has been given a rate already")
        cluster.slow[f"host{number}"] = rate
    for text in words.loss:
        number, share = parse_host_loss(text, hosts)
        if f"host{number}" in cluster.loss:
            raise UsageError(f"--loss {text}: host{number} has been given one already")
        cluster.loss[f"host{number}"] = share
    return cluster


def _require_loss() -> None:
    if reason := network.why_no_loss():
        raise UsageError(f"no packet can be lost here: {reason}")


def _up(words: argparse.Namespace, name: str) -> int:
    cluster = _cluster_of(words, name)
    _require_tools()
    with _signals_as_exceptions():
        description.ROOT.mkdir(mode=0o755, exist_ok=True)
        try:
            cluster.folder.mkdir(mode=0o755)  # one of two callers makes it
        except FileExistsError:
            raise UsageError(f"a cluster named {name} is up already: scripts/cluster down --name {name}") from None
        try:
            network.require_queueing(cluster)
            if cluster.loss:
                _require_loss()
            network.build(cluster)
            inside.write_files(cluster)
            cluster.save()
        except BaseException:
            _remove(name)
            raise
    print(f"{name}: {cluster.text()}, {cluster.slots} slots each")
    return 0


def _remove(name: str) -> None:
    network.demolish(name)
    shutil.rmtree(description.ROOT / name, ignore_errors=True)
    with contextlib.suppress(OSError):
        description.ROOT.rmdir()  # with the last cluster


def _down(_words: argparse.Namespace, name: str) -> int:
    _require_tools()
    _remove(name)
    return 0


def _run(words: argparse.Namespace, name: str) -> int:
    command = words.command[1:] if words.command[:1] == ["--"] else words.command
    if not command:
        raise UsageError("run: no command; scripts/cluster run -- mpirun -np 8 PROGRAM")
    _require_tools()
    cluster = description.read_cluster(name)
    host = f"host{parse_host(words.on, cluster.hosts)}"
    inside.replace_this_process(cluster, host, command)
    return 5  # not reached


def _slow(words: argparse.Namespace, name: str) -> int:
    _require_tools()
    cluster = description.read_cluster(name)
    number, rate = parse_host_rate(words.link, cluster.hosts)
    host = f"host{number}"
    network.reshape(cluster, host, rate)
    cluster.slow = {h: r for h, r in {**cluster.slow, host: rate}.items() if r != cluster.rate}
    cluster.save()
    return 0


def _lose(words: argparse.Namespace, name: str) -> int:
    _require_tools()
    cluster = description.read_cluster(name)
    number, share = parse_host_loss(words.link, cluster.hosts)
    _require_loss()
    host = f"host{number}"
    network.lose(cluster, host, share)
    cluster.loss = {h: s for h, s in {**cluster.loss, host: share}.items() if s > 0}
    cluster.save()
    return 0


def _plug(words: argparse.Namespace, name: str) -> int:
    _require_tools()
    cluster = description.read_cluster(name)
    network.connect(cluster, f"host{parse_host(words.host, cluster.hosts)}", words.verb == "heal")
    return 0


def _links(cluster: Cluster) -> list[str]:
    """A line for each host."""
    lines = []
    for host in cluster.host_names:
        processes = len(network.processes_in([cluster.namespace(host)]))
        link = show_rate(cluster.rate_of(host)) if network.is_connected(cluster, host) else "cut"
        lost = f"  loses {100 * cluster.loss[host]:g} %" if host in cluster.loss else ""
        lines.append(f"  {host:<8} {cluster.address(host):<12} {link:>9}  {processes} processes{lost}")
    return lines


def _status(_words: argparse.Namespace, _name: str) -> int:
    _require_tools()
    names = description.names_of_clusters()
    if not names:
        print("no cluster is up")
    for name in names:
        # One that somebody is making or removing just now, or whose namespaces went with the mounts they stood in.
        try:
            cluster = description.read_cluster(name)
            lines = _links(cluster)
        except (UsageError, RuntimeError):
            print(f"{name}: not whole; scripts/cluster down --name {name} removes it")
            continue
        print(f"{name}: {cluster.text()}, {cluster.slots} slots each", *lines, sep="\n")
    return 0


_VERBS = {
    "up": _up, "run": _run, "down": _down, "status": _status, "slow": _slow, "lose": _lose, "cut": _plug, "heal": _plug,
}  # fmt: skip


def main(arguments: list[str]) -> int:
    try:
        words = _parser().parse_args(arguments)
        return _VERBS[words.verb](words, parse_name(words.name))
    except UsageError as error:
        print(f"scripts/cluster: {error}", file=sys.stderr)
        return 2
    except (RuntimeError, OSError) as error:
        print(f"scripts/cluster: {error}", file=sys.stderr)
        return 5
