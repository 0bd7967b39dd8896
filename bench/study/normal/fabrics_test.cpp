// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <re2/re2.h>

#include "bench/record/csv.hpp"
#include "bench/study/normal/judge.hpp"
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

TEST(Fabrics, EveryRowIsWholeAndHasItsSource) {
  const CsvTable table = CsvTable::read(SCALEBENCH_FABRICS);
  const std::vector<Fabric> fabrics = read_fabrics(SCALEBENCH_FABRICS);
  for (std::size_t row = 0; row < fabrics.size(); ++row) {
    const Fabric& fabric = fabrics[row];
    EXPECT_NE(fabric.name, "") << "row " << row;
    EXPECT_NE(fabric.link, "") << fabric.name;
    EXPECT_NE(fabric.source, "") << fabric.name;
    EXPECT_FALSE(fabric.matches.empty()) << fabric.name << " would be any GPU's";
    EXPECT_TRUE(re2::RE2(fabric.matches).ok()) << fabric.name;
    for (const double rate : {fabric.links, fabric.gb_per_s, fabric.pcie_gb_per_s, fabric.domain}) {
      EXPECT_GT(rate, 0) << fabric.name;
    }
    EXPECT_FALSE(fabric.nvls_gb_per_s <= 0) << fabric.name;
    const std::string& mesh = table.text(row, "mesh");
    EXPECT_TRUE(mesh.empty() || mesh == "yes") << fabric.name;
  }
}

TEST(Fabrics, OneWithANumberThatIsNoneIsRefusedWithItsPlace) {
  const TemporaryFolder folder;
  const auto path = folder.write(
      "fabrics.csv",
      "name,matches,link,links,mesh,gb_per_s,nvls_gb_per_s,pcie_gb_per_s,domain,source\n"
      "a,b,c,many,,2,,24,,s\n");
  EXPECT_THAT(message_of<UsageError>([&] { read_fabrics(path); }),
              HasSubstr("fabrics.csv:2:7: links: 'many' is not a number"));
}

}  // namespace
}  // namespace scalebench
