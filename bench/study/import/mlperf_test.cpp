// SPDX-License-Identifier: Apache-2.0
// Lines as NVIDIA submitted them for MLPerf Training 1.0 on one DGX A100 (8 GPUs), whose own log
// says of epoch 35 "Time cost=47.986" and 26698.8 images/s:
// https://github.com/mlcommons/training_results_v1.0/blob/8200377f/NVIDIA/results/dgxa100_ngc21.05_mxnet/resnet/result_0.txt
// The times of epoch 34 and of the run's start are made to fit its own words (47.967 s).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/study/import/kinds.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench::mlperf_test {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string event(std::string_view time_ms, std::string_view key, std::string_view value = "null",
                  std::string_view more = "") {
  return fmt::format(
      R"(:::MLLOG {{"namespace": "", "time_ms": {}, "event_type": "POINT_IN_TIME", "key": "{}", "value": {}, "metadata": {{"lineno": 1{}}}}})"
      "\n",
      time_ms, key, value, more);
}

std::string head() {
  return event("1621118630000", "submission_benchmark", "\"resnet\"") +
         event("1621118630000", "submission_org", "\"NVIDIA\"") +
         event("1621118630000", "submission_division", "\"closed\"") +
         event("1621118630000", "global_batch_size", "3264") +
         event("1621118630000", "train_samples", "1281167") +
         event("1621118630000", "opt_name", "\"sgd\"") + event("1621120273000", "run_start");
}

std::string epochs() {
  return event("1621120273722", "epoch_start", "null", R"(, "epoch_num": 34)") +
         "2021-05-15 16:12:00,228 Node[0] Epoch[33] Batch [360-380] Speed: 26726.15 samples/sec\n" +
         event("1621120321689", "epoch_stop", "null", R"(, "epoch_num": 34)") +
         event("1621120321689", "epoch_start", "null", R"(, "epoch_num": 35)") +
         event("1621120369675", "epoch_stop", "null", R"(, "epoch_num": 35)") +
         event("1621120369791", "eval_start", "null", R"(, "epoch_num": 35)") +
         event("1621120371034", "eval_stop", "null", R"(, "epoch_num": 35)") +
         event("1621120371034", "eval_accuracy", "0.76066", R"(, "epoch_num": 35)") +
         event("1621120371034", "block_stop", "null", R"(, "first_epoch_num": 32)") +
         event("1621120371034", "run_stop", "null", R"(, "status": "success")");
}

const Settings kEight{{"ranks", "8"}};

ImportedFile read(const std::string& text, const Settings& settings = kEight) {
  return read_mlperf(text, "result_0.txt", settings);
}

TEST(Mlperf, EpochsAreFromStartToStopWithoutTheEvaluation) {
  const ImportedFile file = read(head() + epochs());
  EXPECT_THAT(file.findings, IsEmpty());
  ASSERT_EQ(file.launches.size(), 1U);
  const ImportedCase one = file.launches[0].cases.at(0);
  EXPECT_THAT(one.seconds, ElementsAre(DoubleNear(47.967, 1e-6), DoubleNear(47.986, 1e-6)));
  EXPECT_NEAR(1281167 / one.seconds[1], 26698.8, 1) << "what the log itself says";
  EXPECT_EQ(one.row.get("model"), "resnet50");
  EXPECT_EQ(one.row.get("samples"), "1281167");
  EXPECT_EQ(one.row.get("global_batch"), "3264");
  EXPECT_EQ(one.row.get("batch"), "408");
  EXPECT_EQ(one.row.get("test_accuracy"), "0.76066");
  EXPECT_THAT(one.row.get("note"), HasSubstr("98.0 s from run_start to run_stop, success"));
  EXPECT_THAT(one.row.get("note"), HasSubstr("closed, NVIDIA"));
  ASSERT_EQ(one.accuracies.size(), 2U);
  EXPECT_EQ(one.accuracies[0].get("test_accuracy"), "");
}

TEST(Mlperf, BlocksStandForTheirEpochsWithoutTheEvaluationInside) {
  const ImportedFile file = read(
      head() +
      event("1621120280000", "block_start", "null", R"(, "first_epoch_num": 1, "epoch_count": 4)") +
      event("1621120460000", "eval_start", "null", R"(, "epoch_num": 4)") +
      event("1621120470000", "eval_stop", "null", R"(, "epoch_num": 4)") +
      event("1621120470000", "eval_accuracy", "0.5", R"(, "epoch_num": 4)") +
      event("1621120480000", "block_stop", "null", R"(, "first_epoch_num": 1)") +
      event("1621120480000", "block_start", "null", R"(, "first_epoch_num": 5)") +
      event("1621120490000", "block_stop", "null", R"(, "first_epoch_num": 5)"));
  const ImportedCase one = file.launches.at(0).cases.at(0);
  EXPECT_THAT(one.seconds, ElementsAre(DoubleNear((200.0 - 10) / 4, 1e-6)));
  EXPECT_EQ(one.row.get("test_accuracy"), "0.5");
  ASSERT_EQ(file.findings.size(), 1U);
  EXPECT_THAT(file.findings[0].what, HasSubstr("of how many epochs"));
}

TEST(Mlperf, LinesOfManyProcessesAreOneRunAndASecondStartIsALaunch) {
  std::string twice;
  const std::string all = head() + epochs();
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = all.find('\n', begin) + 1;
    for (const char* rank : {"0: ", "1: "}) twice += rank + all.substr(begin, end - begin);
    begin = end;
  }
  const ImportedFile one = read(twice);
  ASSERT_EQ(one.launches.size(), 1U);
  EXPECT_EQ(one.launches[0].cases.at(0).seconds.size(), 2U);
  EXPECT_EQ(read(all + all).launches.size(), 2U);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(Mlperf, EachRunHasTheFactsOfItsOwnSubmission) {
  std::string other = replaced(head(), "3264", "6528");
  other = replaced(other, event("1621118630000", "opt_name", "\"sgd\""), "");
  const ImportedFile two = read(head() + epochs() + other + epochs());
  ASSERT_EQ(two.launches.size(), 2U);
  EXPECT_EQ(two.launches[0].cases.at(0).row.get("global_batch"), "3264");
  EXPECT_EQ(two.launches[0].cases.at(0).row.get("optimizer"), "sgd");
  EXPECT_EQ(two.launches[1].cases.at(0).row.get("global_batch"), "6528");
  EXPECT_EQ(two.launches[1].cases.at(0).row.get("optimizer"), "");
  // Described once, and some of it after the run.
  const std::string late = event("1621118630000", "opt_name", "\"sgd\"");
  const std::string start = event("1621120273000", "run_start");
  const ImportedFile again = read(replaced(head(), late, "") + epochs() + late + start + epochs());
  ASSERT_EQ(again.launches.size(), 2U);
  for (const ImportedLaunch& launch : again.launches) {
    EXPECT_EQ(launch.cases.at(0).row.get("global_batch"), "3264");
    EXPECT_EQ(launch.cases.at(0).row.get("optimizer"), "sgd");
  }
}

TEST(Mlperf, WhatIsCutOffDoesNotCount) {
  const std::string text = head() + epochs();
  const ImportedFile cut = read(text.substr(0, text.find("1621120369675")));
  EXPECT_EQ(cut.launches.at(0).cases.at(0).seconds.size(), 1U);
  ASSERT_EQ(cut.findings.size(), 2U);
  EXPECT_THAT(cut.findings[0].what, HasSubstr("no event of MLPerf's"));
  EXPECT_THAT(cut.findings[1].what, HasSubstr("epoch 35 has no end"));
  EXPECT_THAT(read(head()).launches, IsEmpty());
  EXPECT_THAT(read("").launches, IsEmpty());
}

TEST(Mlperf, AsksForTheNumberOfAccelerators) {
  EXPECT_THAT(message_of<UsageError>([] { read(head() + epochs(), {}); }),
              HasSubstr("add --set ranks=N"));
}

}  // namespace
}  // namespace scalebench::mlperf_test
