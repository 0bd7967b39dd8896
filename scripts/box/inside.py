# SPDX-License-Identifier: Apache-2.0
# How a program gets into a host of the cluster: the folder with the host's files, an `ssh` that enters
# namespaces, and the environment in which a plain `mpirun -np 8 PROGRAM` believes in all hosts, and scalebench as in a job of PBS.
from __future__ import annotations

import os
from pathlib import Path

from .description import SUBNET, Cluster
from .network import NAMESPACES, burst_of

# Each call sees its host's name, /etc/hosts and /dev/shm, as on a machine of its own. A bare Debian may
# lack /etc/hosts, and there must be one to lay another over it: it gets an empty one.
_ENTER = """#!/bin/sh
# enter HOST COMMAND [ARGUMENT...]
host=$1; shift
[ -e {namespaces}/{prefix}"$host" ] || {{ echo "no host $host in the cluster" >&2; exit 255; }}
exec nsenter --net={namespaces}/{prefix}"$host" unshare --mount --uts sh -c '
  hostname "$1" && {{ [ -e /etc/hosts ] || : >/etc/hosts; }} && mount --bind {folder}/hosts /etc/hosts && mount -t tmpfs -o mode=1777 none /dev/shm && shift &&
  exec "$@"' sh "$host" "$@"
"""
_SSH = """#!/bin/sh
# ssh [OPTION...] HOST COMMAND...: into another host of the cluster
while :; do
  case $1 in
    -[bceilmopDEFIJLORSWw]) shift 2 ;;
    -*) shift ;;
    *) break ;;
  esac
done
host=${{1#*@}}; shift
exec {folder}/enter "$host" sh -c "$*"
"""


def write_files(cluster: Cluster) -> None:
    folder = cluster.folder
    names = "".join(f"{cluster.address(host)} {host}\n" for host in cluster.host_names)
    (folder / "hosts").write_text("127.0.0.1 localhost\n" + names, encoding="utf-8")
    slots = "".join(f"{host} slots={cluster.slots}\n" for host in cluster.host_names)
    (folder / "hostfile").write_text(slots, encoding="utf-8")
    slots = "".join(f"{host}:{cluster.slots}\n" for host in cluster.host_names)
    (folder / "hostfile.mpich").write_text(slots, encoding="utf-8")
    slots = "".join(f"{host}\n" * cluster.slots for host in cluster.host_names)
    (folder / "nodefile").write_text(slots, encoding="utf-8")
    (folder / "bin").mkdir()
    words = {"folder": folder, "namespaces": NAMESPACES, "prefix": cluster.namespace("")}
    for name, text in (("enter", _ENTER), ("bin/ssh", _SSH)):
        (folder / name).write_text(text.format(**words), encoding="utf-8")
        (folder / name).chmod(0o755)


def environment(cluster: Cluster, before: dict[str, str]) -> dict[str, str]:
    """`before` with what the cluster adds; what the user has set for Open MPI stays."""
    ssh = str(cluster.folder / "bin/ssh")
    open_mpi = {
        "plm_rsh_agent": ssh,
        "orte_default_hostfile": str(cluster.folder / "hostfile"),
        "orte_tmpdir_base": "/dev/shm",  # of the host: goes with its processes
        "btl": "self,vader,tcp",  # memory within a host, links between hosts
        "btl_tcp_if_include": f"{SUBNET}.0/24",
        "oob_tcp_if_include": f"{SUBNET}.0/24",
        # Every host believes that it has all cores of this machine for itself.
        "mpi_yield_when_idle": "1",
        "hwloc_base_binding_policy": "none",
        # A host that is cut off must end the job, and nothing else does.
        "oob_tcp_keepalive_time": "2",
        "oob_tcp_keepalive_intvl": "1",
        "oob_tcp_keepalive_probes": "3",
    }
    added = {
        "PATH": f"{cluster.folder / 'bin'}:{before.get('PATH', os.defpath)}",
        "PBS_NODEFILE": str(cluster.folder / "nodefile"),
        "SCALEBENCH_EMULATED": cluster.text(),
        "SCALEBENCH_EMULATED_BURST": str(burst_of(cluster.rate)),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "HYDRA_LAUNCHER": "ssh",
        "HYDRA_LAUNCHER_EXEC": ssh,
        "HYDRA_HOST_FILE": str(cluster.folder / "hostfile.mpich"),
        "HYDRA_IFACE": "eth0",
    }
    launcher = {  # of Open MPI 5
        "plm_ssh_agent": ssh,
        "prte_default_hostfile": str(cluster.folder / "hostfile"),
        "prte_tmpdir_base": "/dev/shm",
        "prte_if_include": f"{SUBNET}.0/24",
        "hwloc_default_binding_policy": "none",
        "oob_tcp_keepalive_time": "2",
        "oob_tcp_keepalive_intvl": "1",
        "oob_tcp_keepalive_probes": "3",
    }
    mca = {f"OMPI_MCA_{name}": value for name, value in open_mpi.items()}
    mca |= {f"PRTE_MCA_{name}": value for name, value in launcher.items()}
    return {**mca, **before, **added}


def replace_this_process(cluster: Cluster, host: str, command: list[str]) -> None:
    enter = Path(cluster.folder / "enter")
    os.execve(enter, [str(enter), host, *command], environment(cluster, dict(os.environ)))
