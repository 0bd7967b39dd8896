// SPDX-License-Identifier: Apache-2.0
// The catalog as it ships, and what is refused in one of the user's.
#include "bench/study/instance.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/error.hpp"
#include "kernels/temporary_folder.hpp"

namespace scalebench {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

constexpr std::string_view kHeader =
    "name,gpu_model,gpus,vcpus,fp32_tflops_per_gpu,usd_per_hour_on_demand,price_source,price_"
    "date\n";

class InstancesTest : public testing::Test {
 protected:
  std::vector<Instance> read(std::string_view rows, std::string_view header = kHeader) {
    return read_instances(folder_.write("i.csv", fmt::format("{}{}", header, rows)));
  }
  std::string refusal(std::string_view rows) {
    return message_of<UsageError>([&] { read(rows); });
  }
  TemporaryFolder folder_;
};

TEST(Catalog, HasAPriceASourceAndADateForEveryType) {
  const auto catalog = read_instances(SCALEBENCH_INSTANCES);
  EXPECT_GE(catalog.size(), 20U);
  const Instance& p3 = instance_named(catalog, "p3.8xlarge");
  EXPECT_EQ(p3.gpus, 4);
  EXPECT_EQ(p3.usd_per_hour, 12.24);
  EXPECT_EQ(p3.price_date, "2026-07-20");
  EXPECT_EQ(instance_named(catalog, "g2.2xlarge").fp32_tflops_per_gpu, 2.45);
  EXPECT_THAT(message_of<UsageError>([&] { instance_named(catalog, "p3.8xlrge"); }),
              HasSubstr("did you mean 'p3.8xlarge'?"));
}

TEST_F(InstancesTest, ReadsOtherProgramsFiles) {
  const auto list = read("mine,,0,8,,0.5,\"invoice, may\",2026-05-01\r\n",
                         "\xef\xbb\xbfname,gpu_model,gpus,vcpus,fp32_tflops_per_gpu,"
                         "usd_per_hour_on_demand,price_source,price_date\r\n");
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].price_source, "invoice, may");
  EXPECT_TRUE(std::isnan(list[0].fp32_tflops_per_gpu));
}

TEST_F(InstancesTest, NamesLineAndColumnOfWhatIsWrong) {
  EXPECT_THAT(refusal("a,X,1,8,1,\"1,5\",s,2026-05-01\n"),
              HasSubstr("i.csv:2:11: usd_per_hour_on_demand: '1,5' is not a number; valid: digits "
                        "with a decimal point"));
  EXPECT_THAT(refusal("a,X,1,8,1,-1,s,2026-05-01\n"), HasSubstr("i.csv:2:11: usd_per_hour"));
  EXPECT_THAT(refusal("a,X,1,8,1,,s,2026-05-01\n"), HasSubstr("valid: a number above 0"));
  EXPECT_THAT(refusal("a,X,1.5,8,1,1,s,2026-05-01\n"),
              EndsWith("i.csv:2:5: gpus: '1.5'; valid: a whole number from 0 to 10000"));
  EXPECT_THAT(refusal("a,X,1,8,1,1e400,s,2026-05-01\n"), HasSubstr("'1e400' is not a number"));
  EXPECT_THAT(refusal("a,X,1,8,nan,1,s,2026-05-01\n"), HasSubstr("i.csv:2:9: fp32_tflops_per_gpu"));
  EXPECT_THAT(refusal("a,X,1,8,1,1,s,yesterday\n"), HasSubstr("price_date: 'yesterday'"));
  EXPECT_THAT(refusal("a,X,1,8,1,1,,2026-05-01\n"), HasSubstr("price_source"));
  EXPECT_THAT(refusal("a,X,1,8,1,1,s,2026-05-01\na,X,1,8,1,1,s,2026-05-01\n"),
              HasSubstr("i.csv:3:1: name: 'a'; valid: each instance type once"));
}

TEST_F(InstancesTest, RefusesAFileThatIsNoTable) {
  EXPECT_THAT(refusal("a,X,1\n"), HasSubstr("i.csv:2: 3 cells in a file of 8 columns"));
  EXPECT_THAT(refusal(std::string("a,X\0,1,8,1,1,s,2026-05-01\n", 27)),
              HasSubstr("i.csv:2: a NUL"));
  EXPECT_THAT(refusal("a,X,1,8,1,1,s,2026-05-01"), HasSubstr("the last line does not end"));
  EXPECT_THAT(refusal(""), HasSubstr("no instance type"));
  EXPECT_THAT(message_of<UsageError>([&] { read("a\n", "name\n"); }), HasSubstr("unknown column"));
  EXPECT_THROW(read_instances(folder_ / "none.csv"), UsageError);
}

TEST_F(InstancesTest, TakesFormulaTextAsText) {
  EXPECT_EQ(read("'=cmd|x,X,1,8,1,1,s,2026-05-01\n")[0].name, "=cmd|x") << "as our files write it";
}

}  // namespace
}  // namespace scalebench
