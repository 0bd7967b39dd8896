# SPDX-License-Identifier: Apache-2.0
# scripts/cluster where no network is made: what it refuses, and what it would tell tc and mpirun. Clusters
# themselves are made in bench/e2e/cluster_test.
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from box import inside, network, words
from box.description import Cluster

SCRIPT = Path(__file__).resolve().parents[1] / "cluster"
BOX = Cluster("box", 4, 2, 10**9, slow={"host3": 10**8})


def cluster(*arguments: str, **how: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False, **how)


class Refusals(unittest.TestCase):
    def refused(self, done: subprocess.CompletedProcess[str], *parts: str) -> None:
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertEqual((done.stdout, len(done.stderr.splitlines())), ("", 1), done.stderr)
        for part in ("scripts/cluster: ", *parts):
            self.assertIn(part, done.stderr)

    def test_wrong_words(self) -> None:
        for given, parts in {
            (): ("VERB", "--help"),
            ("grow",): ("grow", "up"),
            ("up", "--host", "3"): ("--host",),
            ("up", "--hosts", "1"): ("--hosts '1'", "2 to 64"),
            ("up", "--hosts", "many"): ("--hosts 'many'",),
            ("up", "--slots", "0"): ("--slots '0'",),
            ("up", "--rate", "1gb"): ("rate '1gb'", "1gbit"),
            ("up", "--rate", "1bit"): ("rate '1bit'", "100kbit"),
            ("up", "--rate", "nan"): ("rate 'nan'",),
            ("up", "--delay", "50"): ("delay '50'", "50us"),
            ("up", "--slow", "host3"): ("HOST=RATE",),
            ("up", "--slow", "host5=1gbit"): ("host 'host5'", "host1 to host4"),
            ("up", "--slow", "host3;ls=1gbit"): ("host 'host3;ls'",),
            ("up", "--slow", "host3=1mbit", "--slow", "host3=2mbit"): ("host3", "already"),
            ("up", "--loss", "host3"): ("HOST=SHARE",),
            ("up", "--loss", "host3=2"): ("loss '2'", "2%"),
            ("up", "--loss", "host3=80%"): ("loss '80%'", "50%"),
            ("up", "--loss", "host5=2%"): ("host 'host5'", "host1 to host4"),
            ("up", "--loss", "host3=1%", "--loss", "host3=2%"): ("host3", "already"),
            ("up", "--name", "../etc"): ("name '../etc'",),
            ("up", "--name", ""): ("name ''",),
            ("run",): ("no command",),
            ("run", "--"): ("no command",),
            ("cut",): ("HOST",),
            ("slow",): ("HOST=RATE",),
            ("lose",): ("HOST=SHARE",),
        }.items():
            with self.subTest(given=given):
                self.refused(cluster(*given), *parts)

    def test_without_ip_and_tc(self) -> None:
        self.refused(cluster("up", env={"PATH": "/nonexistent"}), "ip, tc, nsenter, unshare not found", "iproute2")

    def test_without_root(self) -> None:
        for tool in ("ip", "tc", "nsenter", "unshare"):
            if not any(os.access(f"{folder}/{tool}", os.X_OK) for folder in os.get_exec_path()):
                self.skipTest(f"{tool} not found, which is refused first")
        how: dict[str, object] = {}
        if os.geteuid() == 0:
            how["user"] = 65534
            readable = subprocess.run(["test", "-r", str(SCRIPT), "-a", "-x", sys.executable], check=False, **how)
            if readable.returncode != 0:
                self.skipTest("the sources or Python are out of others' reach")
        for verb in (["up"], ["down"], ["status"], ["run", "true"], ["cut", "host1"]):
            self.refused(cluster(*verb, **how), "need root")

    def test_a_cluster_that_is_not_up(self) -> None:
        if os.geteuid() != 0:
            self.skipTest("needs root")
        self.refused(cluster("run", "--name", "nosuchbox", "--", "true"), "no cluster named nosuchbox is up")

    def test_help(self) -> None:
        done = cluster("--help")
        self.assertEqual(done.returncode, 0, done.stderr)
        for verb in ("up", "run", "down", "status", "slow", "lose", "cut", "heal"):
            self.assertIn(f"\n    {verb} ", done.stdout)


class NotWhole(unittest.TestCase):
    """A cluster whose namespaces went with the mounts they stood in: its names are left, as plain files."""

    def test_it_is_told_and_removed(self) -> None:
        if os.geteuid() != 0 or not all(shutil.which(tool) for tool in ("ip", "tc", "nsenter", "unshare")):
            self.skipTest("needs root, ip and tc")
        lost = Cluster(f"lost{os.getpid()}", 2, 1, 10**9)
        if not network.NAMESPACES.is_dir():
            self.skipTest(f"{network.NAMESPACES} is made by the first namespace")
        lost.folder.mkdir(parents=True)
        self.addCleanup(cluster, "down", "--name", lost.name)
        lost.save()
        (network.NAMESPACES / lost.switch).touch()
        told = cluster("status")
        self.assertEqual((told.returncode, told.stderr), (0, ""))
        self.assertIn(f"{lost.name}: not whole; scripts/cluster down --name {lost.name} removes it\n", told.stdout)
        self.assertEqual(network.processes_in([lost.switch]), [])
        self.assertEqual(cluster("down", "--name", lost.name).returncode, 0)
        self.assertEqual((network.namespaces_of(lost.name), lost.folder.exists()), ([], False))


class Words(unittest.TestCase):
    def test_rates_and_delays(self) -> None:
        for text, rate in {"1gbit": 10**9, "100mbit": 10**8, "2.5gbit": 25 * 10**8, "500kbit": 500_000}.items():
            self.assertEqual(words.parse_rate(text), rate)
            self.assertEqual(words.show_rate(rate), text)
        self.assertAlmostEqual(words.parse_delay("50us"), 50e-6)
        self.assertAlmostEqual(words.parse_delay("1ms"), 1e-3)

    def test_a_bucket_holds_what_a_host_hands_down_at_once(self) -> None:
        self.assertEqual(network.bucket(10**9), "tbf rate 1000000000bit burst 31250 limit 2531250")
        self.assertEqual(network.bucket(10**6), "tbf rate 1000000bit burst 17408 limit 279552")

    def test_the_description(self) -> None:
        self.assertEqual(BOX.text(), "4 hosts in network namespaces, 1gbit, host3 at 100mbit")
        delayed = Cluster("box", 2, 1, 10**9, delay=50e-6)
        self.assertEqual(delayed.text(), "2 hosts in network namespaces, 1gbit, 50us")
        lossy = Cluster("box", 2, 1, 10**9, loss={"host2": 0.02})
        self.assertEqual(lossy.text(), "2 hosts in network namespaces, 1gbit, host2 loses 2 %")

    def test_losses(self) -> None:
        self.assertEqual(words.parse_host_loss("host3=2%", 4), (3, 0.02))
        self.assertEqual(words.parse_host_loss("host1=0%", 4), (1, 0.0))


class Environment(unittest.TestCase):
    def test_a_plain_mpirun_sees_all_hosts(self) -> None:
        made = inside.environment(BOX, {"PATH": "/bin", "HOME": "/root"})
        self.assertEqual(made["PBS_NODEFILE"], "/run/scalebench-box/box/nodefile")
        self.assertEqual(made["SCALEBENCH_EMULATED"], BOX.text())
        self.assertEqual(made["SCALEBENCH_EMULATED_BURST"], "31250")
        self.assertEqual(made["PATH"], "/run/scalebench-box/box/bin:/bin")
        self.assertEqual(made["HOME"], "/root")
        self.assertEqual(made["OMPI_MCA_btl_tcp_if_include"], "10.77.0.0/24")
        self.assertEqual(made["OMPI_MCA_plm_rsh_agent"], "/run/scalebench-box/box/bin/ssh")

    def test_what_the_user_has_set_for_mpi_stays(self) -> None:
        made = inside.environment(BOX, {"OMPI_MCA_btl": "self,tcp", "SCALEBENCH_EMULATED": "a lie"})
        self.assertEqual(made["OMPI_MCA_btl"], "self,tcp")
        self.assertEqual(made["SCALEBENCH_EMULATED"], BOX.text())


if __name__ == "__main__":
    unittest.main()
