// SPDX-License-Identifier: Apache-2.0
// Every counter of a made-up machine, and one that shows nothing at all; the driver's library
// through a stand-in with its names and types.
#include "bench/machine/host_load.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsNull;
using testing::Optional;

TEST(HostLoad, ReadsAMachine) {
  const TemporaryFolder root;
  root.write("proc/stat",
             "cpu  30 2 10 100 8 1 1 4 5 5\ncpu0 10 0 5 50 4 0 0 1 0 0\n"
             "cpu1 20 2 5 50 4 1 1 3 5 5\nintr 1 2 3\n");
  root.write("proc/meminfo", "MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable: 400 kB\n");
  root.write("proc/diskstats",
             "   7 0 loop0 9 9 99 9 9 9 99 0 0 0\n   8 0 sda 5 0 10 1 6 0 20 2 0 0\n"
             "   8 1 sda1 5 0 10 1 6 0 20 2 0 0\n");
  root.write("sys/block/loop0/size", "1\n");
  root.write("sys/block/sda/device/model", "x\n");
  root.write("proc/net/dev",
             "Inter-| Receive | Transmit\n face |bytes\n"
             "    lo:  1000 1 0 0 0 0 0 0 1000 1 0 0 0 0 0 0\n"
             "  eth0:77 1 0 0 0 0 0 0 55 1 0 0 0 0 0 0\n"
             "  eth1:   3 1 0 0 0 0 0 0 5 1 0 0 0 0 0 0\n");
  const HostLoad load = HostLoadReader(root.path()).read();
  EXPECT_EQ(load.cores.total, 156) << "guests are counted once";
  EXPECT_EQ(load.cores.busy, 44);
  EXPECT_EQ(load.cores.steal, 4);
  EXPECT_EQ(load.memory_used_bytes, 614400);
  EXPECT_EQ(load.disk_read_bytes, 5120) << "neither partitions nor disks made of files";
  EXPECT_EQ(load.disk_written_bytes, 10240);
  EXPECT_EQ(load.network_received_bytes, 80);
  EXPECT_EQ(load.network_sent_bytes, 60);
}

TEST(HostLoad, IsUnknownWhereNothingIsShown) {
  const TemporaryFolder root;
  const HostLoad load = HostLoadReader(root.path()).read();
  for (const double value : {load.cores.busy, load.cores.total, load.memory_used_bytes,
                             load.disk_read_bytes, load.network_received_bytes}) {
    EXPECT_TRUE(std::isnan(value)) << value;
  }
}

TEST(TcpCounters, AreThoseOfTheKernelOrUnknown) {
  const TemporaryFolder root;
  EXPECT_TRUE(std::isnan(tcp_counters(root.path()).retransmitted));
  root.write("proc/net/snmp",
             "Ip: Forwarding OutSegs\nIp: 1 2\nTcp: RtoMin InSegs OutSegs RetransSegs InErrs\n"
             "Tcp: 200 10 4321 17 0\nUdp: InDatagrams\nUdp: 3\n");
  EXPECT_EQ(tcp_counters(root.path()).sent, 4321);
  EXPECT_EQ(tcp_counters(root.path()).retransmitted, 17);
  EXPECT_GE(tcp_counters().retransmitted, 0) << "of this machine";
}

TEST(HostLoad, SeesThisMachine) {
  const HostLoad load = HostLoadReader().read();
  EXPECT_GT(load.cores.total, load.cores.busy);
  EXPECT_GT(load.memory_used_bytes, 1e6);
}

TEST(DeviceLoad, IsSaneOnEveryCardThereIs) {
  const std::vector<DeviceLoad> loads = device_loads(Nvml());
  // Readings of a card can only be looked at where there is one; without, none is what is right.
  if (loads.empty()) GTEST_SKIP() << "no management library or no card";
  for (const DeviceLoad& load : loads) {
    EXPECT_GT(load.memory_used_bytes, 0);
    EXPECT_GE(load.busy_share, 0);
    EXPECT_LE(load.busy_share, 1);
    EXPECT_GT(load.clock_mhz, 0);
  }
}

TEST(Nvml, FindsACardByTheUuidOfCudaAndASlicesCard) {
  const Nvml nvml(SCALEBENCH_FAKE_NVML);
  ASSERT_EQ(nvml.devices().size(), 1U);
  const Nvml::Found whole = nvml.find("GPU-c0000000-0000-0000-0000-000000000000");
  EXPECT_EQ(whole.card, nvml.devices()[0].second);
  EXPECT_THAT(whole.slice, IsNull());
  for (const char* slice : {"MIG-50000000-0000-0000-0000-000000000000",
                            "GPU-50000000-0000-0000-0000-000000000000"}) {  // as CUDA says it
    EXPECT_EQ(nvml.find(slice).card, whole.card);
    EXPECT_NE(nvml.find(slice).slice, nullptr);
  }
  EXPECT_THAT(nvml.find("GPU-d").card, IsNull());
  EXPECT_THAT(nvml.find("").card, IsNull());
}

TEST(Nvml, SaysWhatIsKnownAndNothingElse) {
  const Nvml nvml(SCALEBENCH_FAKE_NVML);
  const Nvml::Device card = nvml.devices()[0].second;
  EXPECT_EQ(nvml.watts(card), 650.5);
  EXPECT_EQ(nvml.clock_mhz(card), 1755);
  EXPECT_THAT(nvml.clock_reasons(card), Optional(std::uint64_t{4}));
  EXPECT_TRUE(std::isnan(nvml.busy_share(card))) << "this library has no such call";
  EXPECT_TRUE(std::isnan(nvml.memory_used_bytes(card)));
}

const std::string kOnlyCard = "GPU-c0000000-0000-0000-0000-000000000000";

/// What is said of the cards that CUDA sees when that is wrong with the one that there is.
std::vector<std::string> said_of(const char* trouble,
                                 const std::vector<std::string>& visible = {kOnlyCard}) {
  setenv("SCALEBENCH_FAKE_NVML_TROUBLE", trouble, 1);
  const Nvml nvml(SCALEBENCH_FAKE_NVML);
  std::vector<std::string> texts;
  for (const CardTrouble& one : nvml.troubles(visible)) {
    texts.push_back(one.text);
    EXPECT_NE(one.remedy, "");
    EXPECT_LE(std::max(one.text.size(), one.remedy.size()), 88U) << "one line of a terminal";
  }
  unsetenv("SCALEBENCH_FAKE_NVML_TROUBLE");
  return texts;
}

TEST(Nvml, NamesWhoUsesACardAlready) {
  EXPECT_THAT(said_of("busy"), ElementsAre("GPU 0 is in use already, by process 4711 and 1 more"));
  EXPECT_THAT(said_of("crowded"), ElementsAre("GPU 0 is in use already, by 192 processes"));
  EXPECT_THAT(said_of("mps"), ElementsAre("GPU 0 is in use already, by process 4712"))
      << "the server computes for those that are named";
}

TEST(Nvml, SpeaksOfTheCardsThatCudaSeesByItsNumbers) {
  EXPECT_THAT(said_of("busy", {"GPU-d", kOnlyCard}),
              ElementsAre("GPU 1 is in use already, by process 4711 and 1 more"));
  EXPECT_THAT(said_of("busy", {}), IsEmpty()) << "CUDA_VISIBLE_DEVICES hides it";
  const std::string slice = "MIG-50000000-0000-0000-0000-000000000000";
  EXPECT_THAT(said_of("busy", {slice}), IsEmpty()) << "they are on another slice";
  EXPECT_THAT(said_of("errors", {slice}).size(), 1U) << "memory is the card's";
}

TEST(Nvml, SaysWhatIsWrongWithACardOrItsDriver) {
  EXPECT_THAT(said_of("errors"),
              ElementsAre("GPU 0 has had 3 memory errors that it could not correct"));
  EXPECT_THAT(said_of("lanes"), ElementsAre("GPU 0 is linked by 8 of its 16 PCIe lanes"));
  EXPECT_THAT(said_of("lost"),
              ElementsAre("GPU 0 of nvidia-smi is lost: it does not answer any more"));
  EXPECT_THAT(said_of("versions"),
              ElementsAre("the NVIDIA driver that runs and its library are of different versions"));
  EXPECT_THAT(said_of("nothing"), IsEmpty());
  EXPECT_THAT(Nvml("no such library").troubles({kOnlyCard}), IsEmpty());
}

TEST(Nvml, WithoutALibraryThereAreNoDevices) {
  const Nvml nvml("no such library");
  EXPECT_TRUE(nvml.devices().empty());
  EXPECT_THAT(nvml.find("GPU-c0000000-0000-0000-0000-000000000000").card, IsNull());
}

TEST(ClockReasons, TellThrottlingFromIdlingAndPowerFromHeat) {
  for (const std::uint64_t bits : {0x0U, 0x1U, 0x2U, 0x10U, 0x100U, 0x8000U}) {
    EXPECT_FALSE(is_throttled(bits)) << bits;
  }
  for (const std::uint64_t bits : {0x4U, 0x8U, 0x20U, 0x40U, 0x80U, 0x5U}) {
    EXPECT_TRUE(is_throttled(bits)) << bits;
  }
  for (const std::uint64_t bits : {0x4U, 0x80U, 0x44U}) EXPECT_TRUE(is_power_capped(bits)) << bits;
  for (const std::uint64_t bits : {0x8U, 0x20U, 0x40U}) EXPECT_FALSE(is_power_capped(bits)) << bits;
}

}  // namespace
}  // namespace scalebench
