// SPDX-License-Identifier: Apache-2.0
#include "bench/study/normal/judge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "bench/record/columns.hpp"
#include "kernels/error.hpp"

namespace scalebench::judge_test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kLarge = std::int64_t{8} << 30U;

MeasuredLine line(double busbw, int ranks = 8, int nodes = 1, std::int64_t bytes = kLarge) {
  MeasuredLine line{"native", "nccl", bytes, ranks, nodes, 0};
  line.seconds = busbw_gb_per_s(static_cast<double>(bytes), 1, ranks) / busbw;
  return line;
}

const std::vector<Fabric>& fabrics() {
  static const std::vector<Fabric> all = read_fabrics(SCALEBENCH_FABRICS);
  return all;
}

Place place(const char* fabric, double gbit = 0, int rails = 1) {
  Place place;
  place.fabric = &row_named(fabrics(), &Fabric::name, "fabric", fabric);
  place.rail_gb_per_s = gbit / 8;
  place.rails = rails;
  return place;
}

Judgement of(const MeasuredLine& one, const Place& where, const Evidence& evidence = {}) {
  return judge({one}, where, evidence);
}

TEST(Judge, WithinAHostByTheLinks) {
  EXPECT_EQ(of(line(232), place("nvlink3-a100")).verdict, Normality::normal);
  EXPECT_EQ(of(line(120), place("nvlink3-a100")).verdict, Normality::slow);
  EXPECT_EQ(of(line(290), place("nvlink3-a100")).verdict, Normality::fast) << "links have 240";
  const Judgement judgement = of(line(475), place("nvlink4-h100"));
  EXPECT_EQ(judgement.verdict, Normality::normal);
  EXPECT_THAT(judgement.sentence,
              HasSubstr("NORMAL: 475 GB/s at 8 GiB, 99 % of the 480 GB/s that is expected"));
  EXPECT_THAT(judgement.sentence, HasSubstr("18 x 20.6 GB/s of NVLink 4 = 371 GB/s"));
  EXPECT_THAT(judgement.causes, IsEmpty());
}

TEST(Judge, ARingWhereNvlinkSharpCouldBe) {
  const Judgement judgement = of(line(365), place("nvlink4-h100"));
  EXPECT_EQ(judgement.verdict, Normality::slow);
  EXPECT_THAT(judgement.causes, Contains(HasSubstr("a ring instead of NVLink SHARP")));
}

TEST(Judge, SmallOnesAreNotJudgedByRates) {
  const Judgement judgement = of(line(40, 8, 1, 1 << 20), place("nvlink3-a100"));
  EXPECT_EQ(judgement.verdict, Normality::unknown);
  EXPECT_THAT(judgement.sentence, HasSubstr("too small"));
  EXPECT_EQ(of(line(900, 8, 1, 1 << 20), place("nvlink3-a100")).verdict, Normality::fast)
      << "that nothing moves so fast is known of small ones, too";
}

TEST(Judge, BetweenHostsByTheNetwork) {
  EXPECT_EQ(of(line(22, 32, 4), place("nvlink3-a100")).verdict, Normality::unknown);
  EXPECT_EQ(of(line(23, 32, 4), place("nvlink3-a100", 200)).verdict, Normality::normal);
  EXPECT_EQ(of(line(9.8, 32, 4), place("nvlink3-a100", 200)).verdict, Normality::slow);
  EXPECT_EQ(of(line(40, 32, 4), place("nvlink3-a100", 200)).verdict, Normality::fast);
  EXPECT_EQ(of(line(40, 16, 2), place("nvlink3-a100", 200)).verdict, Normality::normal)
      << "a tree over two hosts";
  const Judgement within = of(line(150, 32, 4), place("nvlink3-a800", 400, 8));
  EXPECT_THAT(within.sentence, HasSubstr("within a host, less than its network"));
  EXPECT_THAT(of(line(150, 32, 4), place("nvlink4-h100", 400, 8)).sentence,
              HasSubstr("of the 384 GB/s that is expected: 8 rails x 50 GB/s x 0.96"));
}

TEST(Judge, AGpuFeedsNoMoreThanItsOwnPcie) {
  const Judgement alone = of(line(50, 2, 2), place("nvlink4-h100", 400, 4));
  EXPECT_EQ(alone.verdict, Normality::normal);
  EXPECT_THAT(alone.sentence, HasSubstr("1 GPU of a host x 48 GB/s of PCIe"));
}

TEST(Judge, LinksOverSeveralHostsAreOneDomain) {
  EXPECT_EQ(of(line(834, 72, 18), place("nvlink5-gb200")).verdict, Normality::normal);
  EXPECT_EQ(of(line(400, 72, 18), place("nvlink5-gb200")).verdict, Normality::slow);
  EXPECT_EQ(of(line(400, 144, 36), place("nvlink5-gb200")).verdict, Normality::unknown);
}

TEST(Judge, OnHowManyHostsNobodySaysIsNotGuessed) {
  const Judgement judgement = of(line(150, 16, 0), place("nvlink4-h100"));
  EXPECT_EQ(judgement.verdict, Normality::unknown);
  EXPECT_THAT(judgement.sentence, HasSubstr("--set nodes=N"));
}

TEST(Judge, AsOverSomeOfItsRails) {
  Evidence evidence;
  evidence.rails = {0};
  evidence.signs = {{7, "via NET/IB/0", "GPU-direct is off"}};
  const Judgement judgement = of(line(24, 32, 4), place("nvlink3-a100", 200, 4), evidence);
  EXPECT_EQ(judgement.verdict, Normality::slow);
  EXPECT_THAT(judgement.causes, Contains("as over 1 of 4 rails"));
  EXPECT_THAT(judgement.causes, Contains("the log shows 1 of 4 rails in use"));
  EXPECT_THAT(judgement.causes, Contains("GPU-direct is off (line 7: via NET/IB/0)"));
}

TEST(Judge, WhatAProviderAsksForDecidesOfItsLines) {
  Place where = place("nvlink4-h100", 3200);
  where.gpus_of_host = 8;
  where.check = {1, double{kLarge}, 460, "its health check"};
  const Judgement failed = judge({line(450), line(455, 8, 1, kLarge / 2)}, where, {});
  EXPECT_EQ(failed.verdict, Normality::slow) << "the other is too short for the check";
  EXPECT_THAT(failed.sentence, HasSubstr("its provider asks for 460 GB/s"));
  EXPECT_EQ(failed.source, "its health check");
  EXPECT_EQ(failed.lines[1].verdict, Normality::normal);
  EXPECT_EQ(of(line(470), where).verdict, Normality::normal);
  EXPECT_EQ(of(line(300, 4), where).verdict, Normality::normal) << "half of the host's GPUs";
  EXPECT_EQ(of(line(250, 32, 4), where).verdict, Normality::slow) << "65 % of its network";
}

TEST(Judge, EachCheckOfTheCatalogIsOfKnownGpusAndWithinTheirReach) {
  int checks = 0;
  for (const Instance& instance : read_instances(SCALEBENCH_INSTANCES)) {
    if (instance.check.nodes == 0) continue;
    ++checks;
    Place where;
    where.fabric = fabric_of(fabrics(), {instance.gpu_model});
    ASSERT_NE(where.fabric, nullptr) << instance.name;
    where.rail_gb_per_s = instance.network_gbps / 8;
    where.gpus_of_host = instance.gpus;
    where.check = instance.check;
    const auto bytes = static_cast<std::int64_t>(instance.check.bytes);
    const int nodes = instance.check.nodes, ranks = nodes * instance.gpus;
    const double busbw = instance.check.busbw;
    EXPECT_EQ(of(line(1.01 * busbw, ranks, nodes, bytes), where).verdict, Normality::normal)
        << instance.name;
    EXPECT_EQ(of(line(0.99 * busbw, ranks, nodes, bytes), where).verdict, Normality::slow)
        << instance.name;
  }
  EXPECT_EQ(checks, 8);
}

TEST(Judge, KnowsNothingOfHostMemoryBesideGpus) {
  MeasuredLine in_memory = line(19);
  in_memory.in_host_memory = true;
  const Judgement both = judge({line(475), in_memory}, place("nvlink4-h100"), {});
  EXPECT_EQ(both.lines[0].verdict, Normality::normal);
  EXPECT_EQ(both.lines[1].verdict, Normality::unknown);
  EXPECT_THAT(both.lines[1].why, HasSubstr("see bound%"));
  Place nameless;
  nameless.why_no_fabric = "configs/fabrics.csv has no row for X";
  EXPECT_THAT(of(line(200), nameless).sentence, HasSubstr("UNKNOWN: configs/fabrics.csv has no"));
}

TEST(Judge, APairThatMayHaveABridge) {
  EXPECT_THAT(of(line(208, 2), place("pcie4")).sentence, HasSubstr("may have an NVLink bridge"));
  Place said = place("pcie4");
  said.fabric_is_said = true;
  EXPECT_EQ(of(line(20, 2), said).verdict, Normality::normal);
  EXPECT_EQ(of(line(20, 4), place("pcie4")).verdict, Normality::normal);
}

TEST(Judge, OneRankNoTimeAndNothingAtAll) {
  EXPECT_THAT(of(line(1, 1), place("pcie4")).sentence, HasSubstr("one rank moves nothing"));
  EXPECT_TRUE(std::isnan((MeasuredLine{"ring", "mpi", 8, 2, 1, 0}).busbw()));
  EXPECT_THAT(of({"ring", "mpi", 8, 2, 1, 0}, place("pcie4")).sentence, HasSubstr("no time"));
  EXPECT_EQ(judge({}, place("pcie4"), {}).sentence, "UNKNOWN: no allreduce in it");
}

TEST(Judge, TheBestLineSpeaksAndATooGoodOneAlways) {
  const Place where = place("nvlink3-a100");
  EXPECT_EQ(judge({line(60), line(235), line(10)}, where, {}).verdict, Normality::normal);
  EXPECT_EQ(judge({line(235), line(500)}, where, {}).verdict, Normality::fast);
  EXPECT_EQ(judge({line(5, 8, 1, 1024), line(60)}, where, {}).verdict, Normality::slow);
}

}  // namespace
}  // namespace scalebench::judge_test
