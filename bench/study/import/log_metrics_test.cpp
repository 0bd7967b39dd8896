// SPDX-License-Identifier: Apache-2.0
// Logs by regular expressions: epochs and steps in order, what is missing, what is no number.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "bench/record/csv.hpp"
#include "bench/study/import/kinds.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kImagenet =
    "Epoch: [0][   0/5005]\tTime  4.531 ( 4.531)\tLoss 7.0e+00\tAcc@1   0.39 (  0.39)\n"
    "epoch took 2661.5 s\n * Acc@1 20.340 Acc@5 45.484\n"
    "Epoch: [1][   0/5005]\tTime  4.498 ( 4.498)\tLoss 4.1e+00\tAcc@1  19.14 ( 19.14)\n"
    "epoch took 2650.5 s\n * Acc@1 46.340 Acc@5 72.484\n";

ImportedFile read(const std::string& text, const std::vector<std::string>& metrics,
                  const Settings& settings = {}, const Schema& schema = epoch_schema()) {
  return read_log(text, "train.log", {&schema, {parse_metrics(metrics, schema)}, ""}, settings);
}

std::string refusal(const std::vector<std::string>& metrics) {
  return message_of<UsageError>([&] { parse_metrics(metrics, epoch_schema()); });
}

ImportedCase only_case(const ImportedFile& file) { return file.launches.at(0).cases.at(0); }

TEST(LogMetrics, ReadsEpochsInTheirOrder) {
  const ImportedFile file =
      read(kImagenet, {"seconds=took ([0-9.]+) s", R"(test_accuracy:%=\* Acc@1 ([0-9.]+))"},
           {{"model", "resnet18"}, {"ranks", "3"}, {"target_accuracy", "0.4"}});
  EXPECT_THAT(file.findings, IsEmpty());
  const ImportedCase& one = only_case(file);
  EXPECT_THAT(one.seconds, ElementsAre(2661.5, 2650.5));
  EXPECT_NEAR(std::stod(one.row.get("test_accuracy")), 0.4634, 1e-12);
  EXPECT_EQ(one.row.get("epochs_to_target"), "2");
  EXPECT_THAT(one.accuracies, ElementsAre(DoubleNear(0.2034, 1e-12), DoubleNear(0.4634, 1e-12)));
}

TEST(LogMetrics, SaysThatThereAreMoreValuesThanEpochs) {
  std::string log = "Epoch: [0][0/5005]\n";
  for (int step = 0; step < 40; ++step) log += "Time 0.190 s\n";
  const ImportedFile file = read(log, {"seconds=Time ([0-9.]+)"}, {{"ranks", "3"}});
  ASSERT_EQ(file.findings.size(), 1U);
  EXPECT_THAT(file.findings[0].what, HasSubstr("40 values for 1 epoch(s) that the log names"));
  // Rates may be printed as often as one likes.
  EXPECT_THAT(read("Epoch 1/2\n300 img/s\n310 img/s\n", {"images_per_s=(.*) img/s"},
                   {{"ranks", "1"}, {"samples", "600"}})
                  .findings,
              IsEmpty());
}

TEST(LogMetrics, RefusesStepsThatAreTakenForEpochsOfImagenet) {
  const std::string message = message_of<UsageError>([&] {
    read("Time 0.190 s\n", {"seconds=Time ([0-9.]+)"}, {{"ranks", "3"}, {"samples", "1281167"}});
  });
  EXPECT_THAT(message, HasSubstr("train.log: epochs of 0.19 s and 1281167 images would be 2247661 "
                                 "images/s on each rank"));
  EXPECT_THAT(message, HasSubstr("are these steps? write --bench throughput"));
}

TEST(LogMetrics, RefusesWhatNoDeviceCouldTrain) {
  const auto refused = [](double seconds, const Settings& settings) {
    return message_of<UsageError>(
        [&] { read(fmt::format("took {} s\n", seconds), {"seconds=took ([0-9.e-]+)"}, settings); });
  };
  EXPECT_EQ(refused(420, {{"dataset", "imagenet"}}), "");
  EXPECT_EQ(refused(0.3, {{"samples", "60000"}}), "") << "digits are small";
  EXPECT_EQ(refused(0.19, {{"ranks", "3"}}), "") << "nothing is known";
  EXPECT_THAT(refused(1e-3, {{"samples", "60000"}}), HasSubstr("are these steps?"));
  // The limit is far above what is published.
  const CsvTable table = CsvTable::read(SCALEBENCH_PUBLISHED);
  double fastest = 0;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const double of_all = table.number(i, "images_per_s") / table.number(i, "gpus");
    fastest = std::max({fastest, of_all > 0 ? of_all : 0});
  }
  ASSERT_GT(fastest, 1000);
  EXPECT_EQ(refused(1281167 / (10 * fastest), {{"dataset", "imagenet"}}), "");
}

TEST(LogMetrics, MakesTimesOfRatesWhereTheWorkIsKnown) {
  const std::string log = "Iter #0: 320.0 img/sec\nIter #1: 640.0 img/sec\n";
  const ImportedFile steps =
      read(log, {"images_per_s=([0-9.]+) img/sec"},
           {{"batch", "32"}, {"ranks", "2"}, {"model", "m"}}, throughput_schema());
  EXPECT_THAT(only_case(steps).seconds, ElementsAre(0.2, 0.1));
  EXPECT_EQ(message_of<UsageError>([&] {
              read(log, {"images_per_s=([0-9.]+) img/sec"}, {{"ranks", "2"}});
            }),
            "train.log: no epochs are in it, only images or samples a second; add --set "
            "samples=... (of an epoch, 1281167 for ImageNet), or --bench throughput");
}

TEST(LogMetrics, SaysWhichMetricWasNeverFound) {
  const ImportedFile file =
      read(kImagenet, {"seconds=took ([0-9.]+) s", "test_accuracy=final ([0-9.]+)"});
  ASSERT_EQ(file.findings.size(), 1U);
  EXPECT_EQ(file.findings[0].what, "no line matches 'final ([0-9.]+)'");
  EXPECT_THAT(only_case(file).accuracies, IsEmpty());
  EXPECT_EQ(only_case(file).seconds.size(), 2U);
  EXPECT_THAT(read("nothing\n", {"seconds=took ([0-9.]+) s"}).launches, IsEmpty());
}

TEST(LogMetrics, HasNoZeroForAValueThatIsNone) {
  for (const std::string none : {"N/A", "-nan", "nan", "inf", "1,5", "0", "-3"}) {
    const ImportedFile file = read("took 3 s\ntook " + none + " s\n", {"seconds=took (.*) s"});
    EXPECT_THAT(only_case(file).seconds, ElementsAre(3)) << none;
    ASSERT_EQ(file.findings.size(), 1U) << none;
    EXPECT_EQ(file.findings[0].line, 2U) << none;
  }
  const ImportedFile other =
      read("took 3 s\nacc nan\n", {"seconds=took (.*) s", "test_accuracy=acc (.*)"});
  EXPECT_THAT(only_case(other).accuracies, IsEmpty());
  EXPECT_EQ(only_case(other).seconds.size(), 1U);
  EXPECT_EQ(other.findings.size(), 1U);
  for (const char* const none : {"seconds:steps/s=took (.*) s", "seconds:h=took (.*) h"}) {
    EXPECT_EQ(read("took 0 s\ntook 1e308 h\n", {none}).findings.size(), 1U) << none;
    EXPECT_THAT(read("took 0 s\ntook 1e308 h\n", {none}).launches, IsEmpty()) << none;
  }
}

TEST(LogMetrics, HasNoAccuraciesWhereOneOfThemOrOfTheValuesIsNone) {
  const std::vector<std::string> metrics{"seconds=took (.*) s", "test_accuracy=acc (.*)"};
  const Settings settings{{"target_accuracy", "0.5"}};
  for (const char* const log :
       {"took nan s\nacc 0.1\ntook 3 s\nacc nan\ntook 3 s\nacc 0.6\n",
        "took nan s\nacc 0.6\ntook 3 s\n", "took 3 s\ntook 3 s\nacc 0.6\n"}) {
    const ImportedCase one = only_case(read(log, metrics, settings));
    EXPECT_THAT(one.accuracies, IsEmpty()) << log;
    EXPECT_EQ(one.row.get("epochs_to_target"), "") << log;
  }
}

TEST(LogMetrics, SaysWhichFirstValueIsLeftOut) {
  const ImportedFile file = read("begin\nstep 9 s\nstep 1 s\nstep 1 s\n", {"seconds=step (.*) s"},
                                 {}, throughput_schema());
  EXPECT_THAT(only_case(file).seconds, ElementsAre(1, 1));
  ASSERT_EQ(file.findings.size(), 1U);
  EXPECT_EQ(file.findings[0].line, 2U);
  EXPECT_THAT(file.findings[0].what, HasSubstr("9.0 times the others, is left out"));
}

TEST(LogMetrics, AsksForTheUnitOfPercents) {
  const std::string message = message_of<UsageError>([&] {
    read(kImagenet, {"seconds=took ([0-9.]+) s", R"(test_accuracy=\* Acc@1 ([0-9.]+))"});
  });
  EXPECT_THAT(message,
              HasSubstr("train.log:3: test_accuracy is 20.34, and a share is from 0 to 1"));
  EXPECT_THAT(message, HasSubstr("--metric 'test_accuracy:%=...'"));
}

TEST(LogMetrics, KeepsNamesThatLookLikeNumbers) {
  const ImportedFile file = read("model 1e3 batch 1,024\ntook 3\n",
                                 {"seconds=took (.*)", "batch=batch (.*)", "model=model (\\S+)"});
  EXPECT_EQ(only_case(file).row.get("model") + " " + only_case(file).row.get("batch"), "1e3 1024");
}

TEST(LogMetrics, TakesParametersThatTheLogRepeatsOnlyWhereTheyAgree) {
  const ImportedFile file = read("batch 32 model a\nbatch 32 model b\ntook 3\n",
                                 {"seconds=took (.*)", "batch=batch ([0-9]+)", "model=model (.*)"});
  EXPECT_EQ(only_case(file).row.get("batch"), "32");
  EXPECT_EQ(only_case(file).row.get("model"), "");
  ASSERT_EQ(file.findings.size(), 1U);
  EXPECT_THAT(file.findings[0].what, HasSubstr("model: the log says a and b"));
}

TEST(LogMetrics, HaveTheStatesOfAnEpochWhereTheReductionIsKnown) {
  const std::string log = "took 2 s\ntook 4 s\ncompute 1.75\ninput 0.125\nallreduce 0.75\n";
  const std::vector<std::string> metrics{"seconds=took (.*) s", "compute_seconds=compute (.*)",
                                         "input_seconds=input (.*)"};
  EXPECT_EQ(only_case(read(log, metrics)).row.get("evaluation_seconds"), "")
      << "how long the reduction takes is not known";
  std::vector<std::string> with_transfer = metrics;
  with_transfer.emplace_back("transfer_seconds=allreduce (.*)");
  const ResultRow known = only_case(read(log, with_transfer)).row;
  EXPECT_EQ(known.get("evaluation_seconds"), "0");
  EXPECT_EQ(known.get("wait_static_seconds"), "") << "waiting is with the transfer";
  const ImportedFile more = read(log + "compute 2.75\n", with_transfer);
  EXPECT_THAT(more.findings.at(0).what, HasSubstr("sum to 3.125 s, and it takes 3 s"));
  EXPECT_EQ(only_case(more).row.get("compute_seconds"), "");
}

TEST(LogMetrics, CountTheNamesOfEpochsAndNotTheirLines) {
  const std::string named =
      "Epoch: [0][10/50] Time 1\nEpoch: [0][20/50] Time 1\nepoch took 3 s\nEpoch 7/12\n"
      "{'epoch':8, 'time'\n[timer] epoch=9/micro_step=1\nepochs 90\n# epoch: 7\n";
  const auto findings = [&](const std::string& values) {
    return read(named + values, {"seconds=value ([0-9]+)"}).findings.size();
  };
  EXPECT_EQ(findings("value 1\nvalue 1\nvalue 1\nvalue 1\n"), 0U);
  EXPECT_EQ(findings("value 1\nvalue 1\nvalue 1\nvalue 1\nvalue 1\n"), 1U) << "0, 7, 8 and 9";
}

TEST(LogMetrics, AreRefusedInOneLine) {
  EXPECT_THAT(refusal({"seconds"}), HasSubstr("write column=expression"));
  EXPECT_THAT(refusal({"secnds=(x)"}), HasSubstr("did you mean 'seconds'?"));
  EXPECT_THAT(refusal({"seconds:fortnights=(x)"}), HasSubstr("unknown unit 'fortnights'"));
  EXPECT_THAT(refusal({"seconds=(x"}), HasSubstr("is no regular expression"));
  EXPECT_THAT(refusal({"seconds=x"}), HasSubstr("has no group"));
  EXPECT_THAT(refusal({"seconds=(x)", "seconds=(y)"}), HasSubstr("named twice"));
  EXPECT_THAT(refusal({"test_accuracy=(x)"}), HasSubstr("exactly one carries the values"));
  EXPECT_THAT(refusal({"seconds=(x)", "images_per_s=(x)"}), HasSubstr("exactly one"));
}

TEST(LogMetrics, ReadsThousandsAndRatesOfSteps) {
  const auto& schema = throughput_schema();
  const Settings of_one{{"model", "m"}, {"ranks", "1"}, {"batch", "64"}};
  const ImportedFile steps =
      read("global_step/sec: 3.81\n", {"seconds:steps/s=sec: ([0-9.]+)"}, of_one, schema);
  EXPECT_DOUBLE_EQ(steps.launches.at(0).cases.at(0).seconds.at(0), 1 / 3.81);
  const auto tokens = [&](const std::string& text) {
    return read(text, {"images_per_s:tokens/s=tps: ([0-9,.]+)"}, of_one, schema);
  };
  EXPECT_DOUBLE_EQ(only_case(tokens("loss: 9.13 tps: 6,712\n")).seconds.at(0), 64 / 6712.0);
  EXPECT_DOUBLE_EQ(only_case(tokens("tps: 1,006,712\n")).seconds.at(0), 64 / 1006712.0);
  EXPECT_THAT(tokens("tps: 6,712\n").launches, IsEmpty()) << "it may be a decimal comma";
}

}  // namespace
}  // namespace scalebench
