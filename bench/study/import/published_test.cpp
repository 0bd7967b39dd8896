// SPDX-License-Identifier: Apache-2.0
// configs/published.csv as it is shipped: whole, traceable, and every derived number recomputed
// from the quoted ones.
#include "bench/study/published.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <regex>

#include "bench/record/file.hpp"
#include "bench/study/collect.hpp"
#include "bench/study/scaling.hpp"
#include "kernels/error.hpp"
#include "kernels/temporary_folder.hpp"

namespace scalebench {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::vector<ResultRow>& shipped() {
  static const std::vector<ResultRow> rows = read_published(SCALEBENCH_PUBLISHED);
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
  EXPECT_NEAR(scaling_of({26614, 26614, 26614}, 1, {11605, 11605, 11605}, 1, 3).speedup, 2.2933,
              5e-5);
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
  text.erase(text.find("\n## "));
  text = std::regex_replace(text, std::regex("\\([^()]*\\)"), "");
  std::vector<std::string> named;
  const std::regex name("`([^`]*)`");
  for (std::sregex_iterator i(text.begin(), text.end(), name), end; i != end; ++i) {
    named.push_back((*i)[1]);
  }
  EXPECT_EQ(named, published_schema().columns);
}

TEST(Published, RefusesADamagedFileWithItsPlace) {
  const TemporaryFolder folder;
  const std::string head = [] {
    std::ifstream file(SCALEBENCH_PUBLISHED);
    std::string line;
    std::getline(file, line);
    return line + "\n";
  }();
  const auto refusal = [&](const std::string& text) {
    return message_of<UsageError>([&] { read_published(folder.write("p.csv", text)); });
  };
  const std::string row = "a,s,,,,,,8,,,378,,,,,,,,,,,quoted,378,,src,,\n";
  EXPECT_EQ(refusal(head + row), "");
  EXPECT_THAT(refusal(head + "a,s,,,,,,8,,,\"37,8\",,,,,,,,,,,quoted,378,,src,,\n"),
              HasSubstr("p.csv:2:"));
  EXPECT_THAT(refusal(head + row + "a,s,,,,,,8,,,-378,,,,,,,,,,,quoted,378,,src,,\n"),
              HasSubstr("p.csv:3:14: images_per_s is -378"));
  EXPECT_THAT(refusal(head + "a,s,,,,,,8,,,378,,,,,,,,,,,guessed,378,,src,,\n"),
              HasSubstr("kind is 'guessed'; valid: quoted, derived"));
  EXPECT_THAT(refusal(head + "a,s,,,,,,8,,,378,,,,,,,,,,,quoted,,,src,,\n"),
              HasSubstr("printed is empty"));
  EXPECT_THAT(refusal("name,system\n"), HasSubstr("p.csv:1:1: these are not the columns"));
}

}  // namespace
}  // namespace scalebench
