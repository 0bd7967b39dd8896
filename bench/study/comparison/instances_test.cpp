// SPDX-License-Identifier: Apache-2.0
// configs/published.csv as it is shipped: whole, traceable, and every derived number recomputed
// from the quoted ones.
#include "bench/study/comparison/instances.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <regex>

#include "bench/record/csv.hpp"
#include "bench/record/file.hpp"
#include "bench/study/analysis/scaling.hpp"
#include "bench/study/analysis/stored_run.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// configs/published.csv, which only scripts read.
const std::vector<ResultRow>& shipped() {
  static const CsvTable table = CsvTable::read(SCALEBENCH_PUBLISHED);
  static const Schema schema = [] {
    Schema all{"published.csv", {}};
    for (const std::string& column : table.columns()) all.columns.push_back(column);
    return all;
  }();
  static const std::vector<ResultRow> rows = [] {
    std::vector<ResultRow> all;
    for (std::size_t i = 0; i < table.size(); ++i) all.emplace_back(schema, table.cells(i));
    return all;
  }();
  return rows;
}

/// The quoted rows of a series that have this column.
std::vector<ResultRow> quoted(const std::string& name, std::string_view column) {
  std::vector<ResultRow> rows;
  for (const ResultRow& row : shipped()) {
    const bool is_it = row.get("name") == name && row.get("kind") == "quoted";
    if (is_it && !row.get(column).empty()) rows.push_back(row);
  }
  return rows;
}

const ResultRow* at(const std::vector<ResultRow>& rows, const std::string& gpus) {
  for (const ResultRow& row : rows) {
    if (row.get("gpus") == gpus) return &row;
  }
  return nullptr;
}

/// The speedup of one row over another, from whichever numbers both quote; NaN without.
double recomputed_speedup(const std::string& name, const std::string& gpus,
                          const std::string& base_name, const std::string& base_gpus) {
  for (const char* column : {"images_per_s_per_gpu", "images_per_s", "seconds"}) {
    const std::vector<ResultRow> own = quoted(name, column), base = quoted(base_name, column);
    const ResultRow* const leg = at(own, gpus);
    const ResultRow* const one = at(base, base_gpus);
    if (leg == nullptr || one == nullptr) continue;
    const double a = number_in(*leg, column), b = number_in(*one, column);
    if (column == std::string_view("seconds")) return b / a;
    const bool each = column == std::string_view("images_per_s_per_gpu");
    return a / b * (each ? std::stod(gpus) / std::stod(base_gpus) : 1);
  }
  return std::nan("");
}

TEST(Published, RecomputesEveryDerivedNumber) {
  int derived = 0;
  for (const ResultRow& row : shipped()) {
    if (row.get("kind") != "derived") continue;
    ++derived;
    const std::string& base = row.get("base");
    const std::size_t sign = base.find('@');
    const std::string base_name =
        sign == std::string::npos ? row.get("name") : base.substr(0, sign);
    const std::string base_gpus = sign == std::string::npos ? base : base.substr(sign + 1);
    const std::string what = row.get("name") + " " + row.get("gpus");
    if (!row.get("seconds_per_epoch").empty()) {
      const std::vector<ResultRow> legs = quoted(row.get("name"), "seconds");
      const ResultRow* const leg = at(legs, row.get("gpus"));
      ASSERT_NE(leg, nullptr) << what;
      EXPECT_THAT(leg->get("conditions"), StartsWith("10 epochs")) << what;
      EXPECT_DOUBLE_EQ(number_in(row, "seconds_per_epoch"), number_in(*leg, "seconds") / 10);
      continue;
    }
    const double speedup =
        recomputed_speedup(row.get("name"), row.get("gpus"), base_name, base_gpus);
    EXPECT_NEAR(number_in(row, "speedup"), speedup, 6e-5) << what;
    EXPECT_NEAR(number_in(row, "efficiency"),
                speedup * std::stod(base_gpus) / std::stod(row.get("gpus")), 6e-5)
        << what;
  }
  EXPECT_GE(derived, 40);
}

double efficiency(const std::string& name, const std::string& gpus, const std::string& base) {
  for (const ResultRow& row : shipped()) {
    const bool is_it = row.get("name") == name && row.get("gpus") == gpus &&
                       row.get("base") == base && row.get("kind") == "derived";
    if (is_it && !row.get("efficiency").empty()) return number_in(row, "efficiency");
  }
  return std::nan("");
}

TEST(Published, HoldsTheGoldenNumbers) {
  EXPECT_NEAR(efficiency("simple_sagemaker_imagenet", "3", "1"), 0.7644, 5e-5);
  EXPECT_NEAR(scaling_of(26614, 1, 11605, 1, 3).speedup, 2.2933, 5e-5);
  EXPECT_NEAR(efficiency("simple_sagemaker_imagenet_job", "3", "1"), 0.693, 5e-4);
  const std::string k80 = "tf_k80_p2_8xlarge_resnet50";
  EXPECT_NEAR(efficiency(k80, "8", "1"), 0.902, 5e-4);
  EXPECT_NEAR(efficiency(k80, "16", "1"), 0.896, 5e-4);
  EXPECT_NEAR(efficiency(k80, "32", "1"), 0.828, 5e-4);
  EXPECT_NEAR(efficiency(k80, "64", "1"), 0.818, 5e-4);
  EXPECT_NEAR(efficiency("tf_k80_one_box_real_resnet50", "8", "1"), 0.909, 5e-4);
  EXPECT_NEAR(efficiency("pytorch_ddp_v100_resnet50", "16", "1"), 0.959, 5e-4);
  EXPECT_NEAR(efficiency("pytorch_ddp_v100_resnet50", "16", "pytorch_no_ddp_v100_resnet50@1"),
              0.930, 5e-4);
  EXPECT_NEAR(efficiency("nvidia_mxnet_a100_amp_resnet50", "8", "1"), 0.978, 6e-4);
  EXPECT_NEAR(efficiency("nvidia_mxnet_dgx2_amp_resnet50", "16", "1"), 0.900, 5e-4);
  EXPECT_NEAR(efficiency("lambda_v100_amp_resnet50", "8", "1"), 0.927, 6e-4);
  EXPECT_NEAR(efficiency("lambda_h200_amp_resnet50", "8", "1"), 0.994, 5e-4);
  EXPECT_NEAR(efficiency("mlperf_h100_resnet50", "64", "8"), 0.63, 5e-3);
  EXPECT_NEAR(efficiency("mlperf_h100_resnet50", "3584", "8"), 0.16, 5e-3);
}

TEST(Published, PrintsEachQuotedNumberAsItsSourceDoes) {
  for (const ResultRow& row : shipped()) {
    if (row.get("kind") != "quoted") continue;
    const std::string what = row.get("name") + ": " + row.get("printed");
    const std::string& images = row.get("images_per_s");
    if (!images.empty()) {
      EXPECT_THAT(row.get("printed"), StartsWith(images)) << what;
    }
    if (!row.get("efficiency").empty()) {
      EXPECT_THAT(row.get("printed"),
                  HasSubstr(fmt::format("{:.0f} %", 100 * number_in(row, "efficiency"))))
          << what;
    }
    EXPECT_FALSE(row.get("conditions").empty()) << what;
  }
}

TEST(Published, NotesTheKnownErrorsOfPublishedTables) {
  std::string notes;
  for (const ResultRow& row : shipped()) notes += row.get("note") + "\n";
  EXPECT_THAT(notes, HasSubstr("2.18 on one GPU where its own numbers give 3.23"));
  EXPECT_THAT(notes, HasSubstr("above the ideal 8 on 8 GPUs"));
  EXPECT_THAT(notes, HasSubstr("headed strong scaling"));
  EXPECT_THAT(notes, HasSubstr("a poor scaling experiment"));
}

TEST(Published, HasItsColumnsInTheReadmeInTheirOrder) {
  std::string text = read_file(SCALEBENCH_RESULTS_README);
  text.erase(0, text.find("## configs/published.csv"));
  text = text.substr(0, text.find("\n## "));  // it may be the last one
  text = std::regex_replace(text, std::regex("\\([^()]*\\)"), "");
  std::vector<std::string> named;
  const std::regex name("`([^`]*)`");
  for (std::sregex_iterator i(text.begin(), text.end(), name), end; i != end; ++i) {
    named.push_back((*i)[1]);
  }
  EXPECT_EQ(named, shipped().front().schema().columns);
}

TEST(Published, SaysOfEveryNumberWhereItIsFrom) {
  for (const ResultRow& row : shipped()) {
    const std::string what = row.get("name") + " " + row.get("gpus");
    const std::string& kind = row.get("kind");
    ASSERT_TRUE(kind == "quoted" || kind == "derived") << what;
    const std::string_view reason = kind == "quoted" ? "printed" : "base";
    for (const std::string_view column : {std::string_view("name"), std::string_view("system"),
                                          std::string_view("source"), reason}) {
      EXPECT_NE(row.get(column), "") << what << ": " << column;
    }
    for (const std::string_view column :
         {"nodes", "gpus", "batch", "images_per_s", "images_per_s_per_gpu", "seconds", "epochs",
          "seconds_per_epoch", "speedup", "efficiency", "accuracy", "size_bytes",
          "busbw_gb_per_s"}) {
      if (!row.get(column).empty()) {
        EXPECT_GT(number_in(row, column), 0) << what << ": " << column;
      }
    }
    if (!row.get("accuracy").empty()) {
      EXPECT_LE(number_in(row, "accuracy"), 1) << what;
    }
  }
}

}  // namespace

// The catalog as it ships, and what is refused in one of the user's.

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
  const Instance& p3 = row_named(catalog, &Instance::name, "instance", "p3.8xlarge");
  EXPECT_EQ(p3.gpus, 4);
  EXPECT_EQ(p3.usd_per_hour, 12.24);
  EXPECT_EQ(p3.price_date, "2026-07-20");
  for (const char* const family : {"c5", "m5", "c6i", "c7g"}) {
    const Instance& cpus =
        row_named(catalog, &Instance::name, "instance", fmt::format("{}.4xlarge", family));
    EXPECT_EQ(cpus.gpus, 0) << family;
    EXPECT_EQ(cpus.vcpus, 16) << family;
    EXPECT_EQ(cpus.price_date, "2026-07-20") << family;
  }
  EXPECT_THAT(
      message_of<UsageError>([&] { row_named(catalog, &Instance::name, "instance", "p3.8xlrge"); }),
      HasSubstr("did you mean 'p3.8xlarge'?"));
}

TEST_F(InstancesTest, ReadsOtherProgramsFiles) {
  const auto list = read("mine,,0,8,,0.5,\"invoice, may\",2026-05-01\r\n",
                         "\xef\xbb\xbfname,gpu_model,gpus,vcpus,fp32_tflops_per_gpu,"
                         "usd_per_hour_on_demand,price_source,price_date\r\n");
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].price_source, "invoice, may");
  EXPECT_TRUE(std::isnan(read("mine,X,4,8,1,,,\n")[0].usd_per_hour));
}

TEST_F(InstancesTest, HasOneCurrency) {
  constexpr std::string_view header =
      "name,gpu_model,gpus,vcpus,fp32_tflops_per_gpu,usd_per_hour_on_demand,price_source,price_"
      "date,currency\n";
  EXPECT_EQ(read("a,,0,8,,1,s,2026-05-01,EUR\n", header)[0].currency, "EUR");
  EXPECT_EQ(read("a,,0,8,,1,s,2026-05-01,\n", header)[0].currency, "usd");
  EXPECT_THAT(message_of<UsageError>(
                  [&] { read("a,,0,8,,1,s,2026-05-01,EUR\nb,,0,8,,1,s,2026-05-01,\n", header); }),
              HasSubstr("i.csv:3:24: currency: ''; valid: one in all rows, as EUR"));
}

TEST_F(InstancesTest, TakesAPriceWithoutADateThatSaysSo) {
  const auto list = read("mine,X,4,8,1,1.5,s,undated (snapshot 5940ede)\n");
  EXPECT_EQ(list[0].usd_per_hour, 1.5);
  EXPECT_EQ(list[0].price_date, "undated (snapshot 5940ede)");
  EXPECT_THAT(refusal("mine,X,4,8,1,1.5,s,\n"), HasSubstr("price_date: ''"));
}

TEST_F(InstancesTest, NamesLineAndColumnOfWhatIsWrong) {
  EXPECT_THAT(refusal("a,X,1,8,1,\"1,5\",s,2026-05-01\n"),
              HasSubstr("i.csv:2:11: usd_per_hour_on_demand: '1,5' is not a number; valid: digits "
                        "with a decimal point"));
  EXPECT_THAT(refusal("a,X,1,8,1,-1,s,2026-05-01\n"), HasSubstr("i.csv:2:11: usd_per_hour"));
  EXPECT_THAT(refusal("a,X,1,8,1,0,s,2026-05-01\n"), HasSubstr("valid: a number above 0"));
  EXPECT_THAT(refusal("a,X,1,8,1,1 EUR,s,2026-05-01\n"), HasSubstr("'1 EUR' is not a number"));
  EXPECT_THAT(refusal("a,X,1.5,8,1,1,s,2026-05-01\n"),
              EndsWith("i.csv:2:5: gpus: '1.5'; valid: a whole number from 0 to 10000"));
  EXPECT_THAT(refusal("a,X,1,8,1,1e400,s,2026-05-01\n"), HasSubstr("'1e400' is not a number"));
  EXPECT_THAT(refusal("a,X,1,8,1,1,,2026-05-01\n"), HasSubstr("price_source"));
  EXPECT_THAT(refusal("a,X,1,8,1,1,s,2026-05-01\na,X,1,8,1,1,s,2026-05-01\n"),
              HasSubstr("i.csv:3:1: name: 'a'; valid: each instance type once"));
}

TEST_F(InstancesTest, ANetworkAndACheckAreNumbersWhereTheyAreThere) {
  const std::string header =
      "name,gpu_model,gpus,vcpus,usd_per_hour_on_demand,network_gbps,check_nodes,check_bytes,"
      "check_busbw_gb_per_s,check_source\n";
  EXPECT_TRUE(std::isnan(read("a,X1,8,8,,,,,,\n", header)[0].network_gbps));
  const Instance whole = read("a,X1,8,8,,3200,1,8,460,s\n", header)[0];
  EXPECT_EQ(whole.network_gbps, 3200);
  EXPECT_EQ(whole.check.busbw, 460);
  const auto refused = [&](const char* row) {
    return message_of<UsageError>([&] { read(row, header); });
  };
  EXPECT_THAT(refused("a,X1,8,8,,fast,,,,\n"), HasSubstr("'fast' is not a number"));
  EXPECT_THAT(refused("a,X1,8,8,,0,,,,\n"), HasSubstr("i.csv:2:11: network_gbps: '0'; valid"));
  EXPECT_THAT(refused("a,X1,8,8,,1,1,8,,s\n"), HasSubstr("check_busbw_gb_per_s"));
  EXPECT_THAT(refused("a,X1,8,8,,1,1,8,460,\n"), HasSubstr("check_source"));
}

TEST_F(InstancesTest, TellsAGpuByTheWordOfItsModel) {
  Instance instance;
  instance.gpu_model = "NVIDIA L4";
  EXPECT_TRUE(has_gpu(instance, "NVIDIA L4"));
  EXPECT_FALSE(has_gpu(instance, "NVIDIA L40S"));
  instance.gpu_model = "NVIDIA V100 SXM2";
  EXPECT_TRUE(has_gpu(instance, "Tesla V100-SXM2-16GB"));
}

TEST_F(InstancesTest, RefusesAFileThatIsNoTable) {
  EXPECT_THAT(refusal("a,X,1\n"), HasSubstr("i.csv:2: 3 cells in a file of 8 columns"));
  EXPECT_THAT(refusal(std::string("a,X\0,1,8,1,1,s,2026-05-01\n", 27)),
              HasSubstr("i.csv:2: a NUL"));
  EXPECT_EQ(refusal("a,X,1,8,1,1,s,2026-05-01"), "") << "a last line need not end";
  EXPECT_THAT(refusal(""), HasSubstr("no instance type"));
  EXPECT_THAT(message_of<UsageError>([&] { read("a\n", "name\n"); }),
              HasSubstr("no column 'gpu_model'"));
  EXPECT_THROW(read_instances(folder_ / "none.csv"), UsageError);
}

TEST_F(InstancesTest, TakesFormulaTextAsText) {
  EXPECT_EQ(read("'=cmd|x,X,1,8,1,1,s,2026-05-01\n")[0].name, "=cmd|x") << "as our files write it";
}

}  // namespace

}  // namespace scalebench
