// SPDX-License-Identifier: Apache-2.0
#include "bench/study/normal/judge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::HasSubstr;

std::string fabric_name(const std::vector<std::string>& gpus) {
  static const std::vector<Fabric> fabrics = read_fabrics(SCALEBENCH_FABRICS);
  const Fabric* const fabric = fabric_of(fabrics, gpus);
  return fabric == nullptr ? "" : fabric->name;
}

TEST(Fabrics, AreToldByTheNamesThatNcclTestsPrints) {
  EXPECT_EQ(fabric_name({"NVIDIA H100 80GB HBM3"}), "nvlink4-h100");
  EXPECT_EQ(fabric_name({"NVIDIA H200"}), "nvlink4-h100");
  EXPECT_EQ(fabric_name({"NVIDIA A100-SXM4-80GB"}), "nvlink3-a100");
  EXPECT_EQ(fabric_name({"NVIDIA A100 80GB PCIe"}), "pcie4");
  EXPECT_EQ(fabric_name({"Tesla V100-SXM2-16GB"}), "nvlink2-v100");
  EXPECT_EQ(fabric_name({"Tesla V100-PCIE-16GB"}), "pcie3");
  EXPECT_EQ(fabric_name({"NVIDIA A40"}), "pcie4");
  EXPECT_EQ(fabric_name({"NVIDIA A100 SXM4 40GB"}), "nvlink3-a100") << "as the catalog has it";
  EXPECT_EQ(fabric_name({"NVIDIA B200"}), "nvlink5-b200");
  EXPECT_EQ(fabric_name({"AMD Instinct MI300X"}), "xgmi-mi300x");
}

TEST(Fabrics, OfNoOneOrOfSeveralAreUnknown) {
  EXPECT_EQ(fabric_name({"NVIDIA GeForce RTX 5090"}), "");
  EXPECT_EQ(fabric_name({"NVIDIA H200 NVL"}), "") << "a PCIe card, with bridges or without";
  EXPECT_EQ(fabric_name({"NVIDIA H100 NVL"}), "");
  EXPECT_EQ(fabric_name({"NVIDIA GH200 480GB"}), "");
  EXPECT_EQ(fabric_name({"AMD Instinct MI250X"}), "");
  EXPECT_EQ(fabric_name({"NVIDIA H200", "NVIDIA A40"}), "");
  EXPECT_EQ(fabric_name({}), "");
}

TEST(Fabrics, OfAMeshUseTheLinksToTheirOwnGpus) {
  const std::vector<Fabric> fabrics = read_fabrics(SCALEBENCH_FABRICS);
  const auto named = [&](const char* name) {
    return row_named(fabrics, &Fabric::name, "fabric", name);
  };
  EXPECT_NEAR(named("nvlink4-h100").ring(2), 370.8, 1e-9);
  EXPECT_EQ(named("xgmi-mi300x").ring(8), 7 * 48);
  EXPECT_EQ(named("xgmi-mi300x").ring(2), 48) << "one link joins two of a mesh";
}

TEST(Fabrics, WhatIsNoneIsRefusedWithItsPlace) {
  const TemporaryFolder folder;
  const std::string head =
      "name,matches,link,links,mesh,gb_per_s,nvls_gb_per_s,pcie_gb_per_s,domain,source\n";
  const auto refusal = [&](const std::string& row) {
    const auto path = folder.write("fabrics.csv", head + row);
    return message_of<UsageError>([&] { read_fabrics(path); });
  };
  EXPECT_EQ(refusal("a,b,c,1,,2,,24,,s\n"), "");
  EXPECT_THAT(refusal("a,b,c,0,,2,,24,,s\n"), HasSubstr("fabrics.csv:2:7: links: '0'; valid: "));
  EXPECT_THAT(refusal("a,b,c,1,,,,24,,s\n"), HasSubstr("gb_per_s: ''"));
  EXPECT_THAT(refusal("a,b,c,1,Yes,2,,24,,s\n"),
              HasSubstr("fabrics.csv:2:9: mesh: 'Yes'; valid: yes"));
  EXPECT_THAT(refusal("a,(,c,1,,2,,24,,s\n"), HasSubstr("valid: an RE2 expression"));
  EXPECT_THAT(refusal("a,b,c,1,,2,,24,,\n"), HasSubstr("source: ''; valid: "));
}

}  // namespace
}  // namespace scalebench
