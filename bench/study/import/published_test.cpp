// SPDX-License-Identifier: Apache-2.0
// configs/published.csv as rows: what is printed becomes a time, or a reason why not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/record/csv.hpp"
#include "bench/study/import/imported_rows.hpp"
#include "bench/study/import/kinds.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;

const std::filesystem::path kCatalog = SCALEBENCH_PUBLISHED;

ImportedFile read(const std::string& name, const Settings& settings = {}) {
  return read_mapped_csv(kCatalog, published_map(kCatalog, name), settings);
}

std::string refusal(const std::string& name) {
  return message_of<UsageError>([&] { read(name); });
}

TEST(Published, EpochsAreHAndT) {
  const ImportedFile file = read("simple_sagemaker_imagenet", {{"model", "resnet18"}});
  EXPECT_THAT(file.findings, IsEmpty());
  ASSERT_EQ(file.launches.size(), 1U);
  const ImportedRows rows =
      imported_rows({{1, "published", file.launches[0]}}, epoch_schema(), {"run", "quoted"});
  ASSERT_EQ(rows.cases.size(), 2U);
  EXPECT_EQ(rows.cases[0].get("seconds"), "2661.4");
  EXPECT_EQ(rows.cases[0].get("gradient_sync"), "one_device");
  EXPECT_EQ(rows.cases[1].get("seconds"), "1160.5");
  EXPECT_EQ(rows.cases[1].get("ranks"), "3");
  EXPECT_EQ(rows.cases[1].get("origin"), "quoted");
  EXPECT_THAT(rows.cases[1].get("note"),
              AllOf(HasSubstr("derived; "), HasSubstr("simple-sagemaker"), HasSubstr("; 2020; ")));
  EXPECT_EQ(why_no_speedup(rows), "");
}

TEST(Published, RatesAreStepsWhereTheirBatchIsKnown) {
  const ImportedFile steps = read("tf_k80_p2_8xlarge_resnet50");
  EXPECT_EQ(steps.launches.at(0).cases.at(0).row.schema().file, throughput_schema().file);
  const ImportedCase one = steps.launches[0].cases.at(0);
  EXPECT_EQ(one.row.get("ranks"), "1");
  EXPECT_NEAR(one.seconds.at(0), 64 / 52.4, 1e-9);
  EXPECT_THAT(one.row.get("note"), HasSubstr("quoted; tensorflow/tensorflow"));
  const ImportedFile each = read("pytorch_ddp_v100_resnet50");
  EXPECT_NEAR(each.launches.at(0).cases.at(1).seconds.at(0), 32 / 307.0, 1e-9);
  EXPECT_THAT(refusal("lambda_h100_amp_resnet50"), HasSubstr("gives no time without batch"));
  const ImportedFile given = read("lambda_h100_amp_resnet50", {{"batch", "256"}});
  EXPECT_NEAR(given.launches.at(0).cases.at(0).seconds.at(0), 256 / 2791.0, 1e-9);
}

TEST(Published, BandwidthsNeedTheirSize) {
  const ImportedFile file = read("busbw_p4d");
  EXPECT_THAT(file.findings, IsEmpty());
  EXPECT_EQ(file.launches.at(0).cases.size(), 4U);
  const ImportedCase one = file.launches[0].cases.at(0);
  EXPECT_NEAR(one.seconds.at(0), 1073741824 / 230.8e9 * 2 * 7 / 8, 1e-9);
  EXPECT_THAT(refusal("busbw_hgx"), HasSubstr("gives no time without size_bytes"));
}

TEST(Published, NamesAreRefusedInOneLine) {
  EXPECT_THAT(refusal("tf_k80_p2_8xlarge_resnet5"),
              HasSubstr("did you mean 'tf_k80_p2_8xlarge_resnet50'?"));
  EXPECT_THAT(refusal("horovod_512_resnet101"), HasSubstr("nothing is published of it"));
}

TEST(Published, EveryNameIsImportedOrSaysWhyNot) {
  const CsvTable table = CsvTable::read(kCatalog);
  std::size_t imported = 0;
  for (std::size_t row = 0; row < table.size(); ++row) {
    const std::string& name = table.text(row, "name");
    if (row > 0 && name == table.text(row - 1, "name")) continue;
    ImportedFile file;
    const std::string refused = message_of<UsageError>([&] { file = read(name); });
    if (refused.empty()) {
      EXPECT_FALSE(file.launches.empty()) << name;
      ++imported;
    } else {
      EXPECT_THAT(refused, AnyOf(HasSubstr("add --set"), HasSubstr("nothing is published of it")));
    }
  }
  EXPECT_GE(imported, 11U);
}

}  // namespace
}  // namespace scalebench
