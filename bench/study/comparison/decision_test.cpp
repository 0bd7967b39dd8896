// SPDX-License-Identifier: Apache-2.0
// Which type to rent, on made-up runs with known answers: the first sentence of each, by hand.
#include "bench/study/comparison/decision.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "bench/study/comparison/cost.hpp"

namespace scalebench::decision_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Instance p3() {
  return {"p3.8xlarge", "NVIDIA V100 SXM2", 4, 32, 10, 15.7, 12.24, "2026-07-20", "list"};
}
Instance g2(double usd_per_hour = 0.65) {
  return {"g2.2xlarge", "GRID K520", 1, 8, 1, 2.45, usd_per_hour, "2026-07-20", "list", 4.0};
}
/// One GPU too.
Instance x1(double usd_per_hour) {
  Instance instance = g2(usd_per_hour);
  instance.name = "x1";
  return instance;
}
Instance spot(double usd_per_hour) {
  Instance instance = p3();
  instance.usd_per_hour = usd_per_hour;
  instance.price_date = "2026-11-23";
  instance.price_source = kUsersPrice;
  return instance;
}
Instance cpus(const std::string& name, double usd_per_hour) {
  return {name, "", 0, 8, 10, std::nan(""), usd_per_hour, "2026-07-20", "list"};
}

/// `spread`: half the interval, as a share; NaN for a single launch.
ResultRow epoch(int ranks, double seconds, double spread = 0.01) {
  ResultRow row(epoch_schema());
  row.set("run_id", "run").set("origin", "measured").set("status", "ok").set("rank", "all");
  row.set("model", "resnet50").set("dataset", "imagenet").set("scaling", "strong");
  row.set("gradient_sync", ranks == 1 ? "one_device" : "mirrored").set("ranks", ranks);
  row.set("nodes", 1).set("samples", 50000).set("seconds_median", seconds);
  row.set("launches", std::isnan(spread) ? 1 : 4);
  row.set("seconds_ci_low", seconds * (1 - spread));
  return row.set("seconds_ci_high", seconds * (1 + spread));
}

using Epochs = std::vector<ResultRow>;

Epochs with(Epochs epochs, std::string_view column, std::string_view text) {
  for (ResultRow& row : epochs) row.set(column, text);
  return epochs;
}

std::vector<ResultRow> costs(const Instance& instance, const Epochs& epochs) {
  return cost_rows({"run", instance, epochs});
}

std::vector<ResultRow> foretold(const Instance& from, const Epochs& epochs, const Instance& to) {
  return cost_rows(predicted({"run", from, epochs}, to));
}

const double kNone = std::nan("");
constexpr const char* kAsMeasured = " (measured, 4 launches, prices of 2026-07-20)";

struct Made {
  const char* what;
  std::vector<ResultRow> a, b;
  std::string sentence;  // the first one
  bool decided = true;
};

std::vector<Made> made_up() {
  const Epochs p3_998{epoch(1, 3800), epoch(4, 998)}, g2_30586{epoch(1, 30586)};
  const Epochs large = with({epoch(4, 100)}, "parameters", "1500000000");
  return {
      {"one GPU of four looks dearer than it is", costs(p3(), p3_998), costs(g2(), g2_30586),
       fmt::format("p3.8xlarge: 31x faster and 39 % cheaper an epoch{}; g2.2xlarge would have to "
                   "cost 0.399 usd an hour to be equal in cost",
                   kAsMeasured)},
      {"faster but dearer", costs(p3(), {epoch(4, 100)}), costs(g2(), {epoch(1, 640)}),
       fmt::format("p3.8xlarge: 6.4x faster an epoch, but g2.2xlarge is 66 % cheaper{}; p3.8xlarge "
                   "would have to cost 4.16 usd an hour to be equal in cost",
                   kAsMeasured)},
      {"the other way round", costs(g2(), {epoch(1, 640)}), costs(p3(), {epoch(4, 100)}),
       fmt::format("p3.8xlarge: 6.4x faster an epoch, but g2.2xlarge is 66 % cheaper{}; p3.8xlarge "
                   "would have to cost 4.16 usd an hour to be equal in cost",
                   kAsMeasured)},
      {"several nodes of both", costs(p3(), {epoch(4, 100), epoch(8, 51), epoch(16, 40)}),
       costs(g2(), {epoch(1, 640), epoch(4, 164), epoch(8, 120)}),
       fmt::format("2 x p3.8xlarge: 3.2x faster an epoch, but 4 x g2.2xlarge is 66 % cheaper{}; "
                   "p3.8xlarge would have to cost 4.18 usd an hour to be equal in cost",
                   kAsMeasured)},
      {"a spot price", costs(spot(1), {epoch(4, 100)}), costs(g2(), {epoch(1, 640)}),
       "p3.8xlarge: 6.4x faster and 76 % cheaper an epoch (measured, 4 launches, price: "
       "p3.8xlarge's given by the user, g2.2xlarge's of 2026-07-20); g2.2xlarge would have to cost "
       "0.156 usd an hour to be equal in cost"},
      {"only a part of an instance", costs(p3(), {epoch(1, 400), epoch(2, 210)}),
       costs(g2(), {epoch(1, 640)}),
       "p3.8xlarge or g2.2xlarge cannot be decided: of p3.8xlarge only N = 1, 2 was timed, no "
       "whole "
       "instance of 4 GPUs",
       false},
      {"an N that fills no whole instance", costs(p3(), {epoch(6, 80)}),
       costs(g2(), {epoch(1, 640)}),
       "p3.8xlarge or g2.2xlarge cannot be decided: of p3.8xlarge only N = 6 was timed, no whole "
       "instance of 4 GPUs",
       false},
      {"the whole instance failed",
       costs(p3(), {epoch(1, 400), epoch(4, kNone).set("status", "failed").set("note", "killed")}),
       costs(g2(), {epoch(1, 640)}),
       "p3.8xlarge or g2.2xlarge cannot be decided: p3.8xlarge on N = 4 is failed: killed", false},
      {"equal speed", costs(g2(), {epoch(1, 100, 0.005)}), costs(x1(1.3), {epoch(1, 100.5, 0.005)}),
       fmt::format("g2.2xlarge: 50 % cheaper an epoch; an epoch takes the same time{}; x1 would "
                   "have to cost 0.647 usd an hour to be equal in cost",
                   kAsMeasured)},
      {"a tie in both", costs(g2(), {epoch(1, 100, 0.005)}),
       costs(x1(0.65), {epoch(1, 100.5, 0.005)}),
       fmt::format("g2.2xlarge and x1: an epoch takes the same time; it costs the same{}",
                   kAsMeasured)},
      {"intervals that meet", costs(g2(), {epoch(1, 100, 0.1)}),
       costs(x1(0.65), {epoch(1, 110, 0.1)}),
       fmt::format(
           "g2.2xlarge and x1: no difference in time can be told; no difference in cost can "
           "be told{}",
           kAsMeasured),
       false},
      {"a prediction", costs(p3(), {epoch(4, 100)}), foretold(p3(), {epoch(4, 100)}, g2()),
       "p3.8xlarge: 6.4x faster and 27 % cheaper an epoch (p3.8xlarge measured, g2.2xlarge "
       "predicted, 4 launches, prices of 2026-07-20); g2.2xlarge would have to cost 0.478 usd an "
       "hour to be equal in cost"},
      {"a prediction from a part", costs(p3(), {epoch(1, 400), epoch(4, 100)}),
       foretold(p3(), {epoch(1, 400)}, g2()),
       "p3.8xlarge: 26x faster and 27 % cheaper an epoch (p3.8xlarge measured, g2.2xlarge "
       "predicted, 4 launches, prices of 2026-07-20); g2.2xlarge would have to cost 0.478 usd an "
       "hour to be equal in cost"},
      {"memory too small", costs(p3(), large),
       foretold(p3(), with(large, "optimizer", "sgd"), g2()),
       "g2.2xlarge is no choice: resnet50 needs 16.8 GiB or more of a GPU (weights, gradients and "
       "optimizer alone, by the number of parameters), and one of g2.2xlarge has 4 GiB",
       false},
      {"other work", costs(p3(), {epoch(4, 100)}),
       costs(g2(), with({epoch(1, 640)}, "samples", "60000")),
       "p3.8xlarge or g2.2xlarge cannot be decided: an epoch of p3.8xlarge has 50000 images, of "
       "g2.2xlarge 60000",
       false},
      {"work that is not known", costs(p3(), {epoch(4, 100)}),
       costs(g2(), with({epoch(1, 640)}, "samples", "")),
       "p3.8xlarge or g2.2xlarge cannot be decided: how many images an epoch of g2.2xlarge has is "
       "not known",
       false},
      {"no workload in common", costs(p3(), {epoch(4, 100)}),
       costs(g2(), with({epoch(1, 640)}, "model", "mlp")),
       "p3.8xlarge or g2.2xlarge cannot be decided: p3.8xlarge trained resnet50 imagenet strong, "
       "g2.2xlarge mlp imagenet strong",
       false},
      {"a type without a price", costs(p3(), p3_998), costs(g2(kNone), g2_30586),
       "p3.8xlarge: 31x faster an epoch; which one is cheaper is not known: g2.2xlarge has no "
       "price "
       "(measured, 4 launches, price: p3.8xlarge's of 2026-07-20)",
       false},
      {"imported, one launch", costs(p3(), with({epoch(4, 998, kNone)}, "origin", "imported")),
       costs(g2(), with({epoch(1, 30586, kNone)}, "origin", "imported")),
       "p3.8xlarge: 31x faster and 39 % cheaper an epoch (imported, 1 launch without an interval, "
       "prices of 2026-07-20); g2.2xlarge would have to cost 0.399 usd an hour to be equal in "
       "cost"},
      {"measured in one launch", costs(p3(), {epoch(4, 998)}),
       costs(g2(), {epoch(1, 30586, kNone)}),
       "p3.8xlarge or g2.2xlarge: a single launch does not decide; an epoch took 16.6 min at 3.39 "
       "usd against 8.50 h at 5.52 usd (measured, 4 and 1 launch without an interval, prices of "
       "2026-07-20)",
       false},
      {"other origins", costs(p3(), with({epoch(4, 100)}, "origin", "imported")),
       costs(g2(), {epoch(1, 640)}),
       "p3.8xlarge or g2.2xlarge cannot be decided: p3.8xlarge is imported, g2.2xlarge is measured",
       false},
      {"ranks that shared a device", costs(p3(), with({epoch(4, 100)}, "origin", "emulated")),
       costs(g2(), with({epoch(1, 640)}, "origin", "emulated")),
       "p3.8xlarge or g2.2xlarge cannot be decided: p3.8xlarge is emulated, g2.2xlarge is emulated",
       false},
      {"another device than the instance's",
       costs(p3(), with({epoch(4, 100)}, "device", "NVIDIA H200")),
       costs(g2(), with({epoch(1, 640)}, "device", "GRID K520")),
       "p3.8xlarge: 6.4x faster an epoch, but g2.2xlarge is 66 % cheaper (measured, 4 launches, "
       "p3.8xlarge measured on 'NVIDIA H200', prices of 2026-07-20); p3.8xlarge would have to cost "
       "4.16 usd an hour to be equal in cost"},
      {"CPU ranks fill a type by their threads",
       costs(cpus("c1", 1),
             with(with({epoch(4, 100), epoch(2, 90)}, "device", "cpu"), "threads", "2")),
       costs(cpus("c2", 3), with(with({epoch(8, 100)}, "device", "cpu"), "threads", "1")),
       fmt::format("c1: 67 % cheaper an epoch; an epoch takes the same time{}; c2 would have to "
                   "cost 1.00 usd an hour to be equal in cost",
                   kAsMeasured)},
  };
}

TEST(Decision, IsRightInItsFirstSentence) {
  for (const Made& made : made_up()) {
    const auto rows = decision_rows(made.a, made.b);
    ASSERT_FALSE(rows.empty()) << made.what;
    EXPECT_EQ(rows[0].get("sentence"), made.sentence) << made.what;
    EXPECT_EQ(sentences_of(rows)[0], made.sentence + ".") << made.what;
    EXPECT_EQ(all_decided(rows), made.decided) << made.what;
    EXPECT_EQ(rows[0].get("question"), "best") << made.what;
  }
}

std::string unknown(const std::vector<ResultRow>& a, const std::vector<ResultRow>& b) {
  return decision_rows(a, b).at(0).get("unknown");
}

TEST(Decision, SaysWhichMeasurementIsMissing) {
  const auto fast = costs(p3(), {epoch(4, 100)});
  const auto slow = costs(g2(), {epoch(1, 640)});
  const char* const accuracy = "what an accuracy costs (train both to one target_accuracy)";
  EXPECT_EQ(unknown(fast, slow),
            fmt::format("whether g2.2xlarge reaches 100 s an epoch (ideal scaling takes 7 of them: "
                        "measure N = 7 or more); {}",
                        accuracy));
  EXPECT_EQ(unknown(costs(p3(), {epoch(4, 998)}), costs(g2(), {epoch(1, 30586)})), accuracy)
      << "what is dearer does not get cheaper by scaling";
  EXPECT_EQ(unknown(costs(p3(), {epoch(1, 400)}), slow),
            "measure p3.8xlarge on N = 4, a whole instance");
  EXPECT_THAT(unknown(costs(p3(), {epoch(4, 998)}), costs(g2(kNone), {epoch(1, 30586)})),
              HasSubstr("what an hour of g2.2xlarge costs (--price g2.2xlarge=USD; below 0.399 usd "
                        "an hour it is the cheaper one)"));
  EXPECT_THAT(unknown(costs(g2(), {epoch(1, 100, 0.1)}), costs(x1(0.65), {epoch(1, 110, 0.1)})),
              StartsWith("which one is better: their intervals meet, or lie within 3 %"));
  EXPECT_THAT(unknown(fast, costs(g2(), {epoch(1, 640, kNone)})),
              StartsWith("how much the times of g2.2xlarge vary (start it 4 times or more)"));
  EXPECT_THAT(unknown(with(costs(p3(), {epoch(4, 100)}), "launches", "3"), slow),
              HasSubstr("how much the times of p3.8xlarge vary (start it 4 times or more)"));
  EXPECT_THAT(
      unknown(fast, foretold(p3(), {epoch(4, 100)}, g2())),
      HasSubstr("how long g2.2xlarge really takes, which TFLOPS alone foretell, and whether "
                "its memory holds the training (measure it on N = 4)"));
  Epochs a{epoch(4, 100)}, b{epoch(1, 640)};
  for (Epochs* const epochs : {&a, &b}) {
    epochs->front().set("seconds_to_target", 1000).set("target_accuracy", 0.9);
  }
  EXPECT_THAT(unknown(costs(p3(), a), costs(g2(), b)), Not(HasSubstr("accuracy")));
  b.front().set("target_accuracy", 0.8);
  EXPECT_THAT(unknown(costs(p3(), a), costs(g2(), b)), HasSubstr("one target_accuracy"));
}

TEST(Decision, AnswersAtAnEqualBudgetAndAnEqualDeadline) {
  const auto rows = decision_rows(costs(p3(), {epoch(4, 100)}),
                                  costs(g2(), {epoch(1, 640), epoch(4, 200), epoch(8, 95)}));
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1].get("question"), "budget");
  EXPECT_DOUBLE_EQ(std::stod(rows[1].get("limit_usd")), 0.34);
  EXPECT_EQ(rows[1].get("sentence"),
            "For 0.340 usd an epoch: p3.8xlarge takes 100 s, 8 x g2.2xlarge 95.0 s; g2.2xlarge is "
            "1.05x faster");
  EXPECT_EQ(rows[2].get("question"), "deadline");
  EXPECT_EQ(rows[2].get("limit_seconds"), "100");
  EXPECT_EQ(rows[2].get("nodes_b"), "8");
  EXPECT_EQ(rows[2].get("sentence"),
            "Within 100 s an epoch: p3.8xlarge costs 0.340 usd, 8 x g2.2xlarge 0.137 usd; "
            "g2.2xlarge is 60 % cheaper");
}

TEST(Decision, KeepsItsNumbersBesideTheSentence) {
  const auto rows =
      decision_rows(costs(p3(), {epoch(1, 3800), epoch(4, 998)}), costs(g2(), {epoch(1, 30586)}));
  ASSERT_EQ(rows.size(), 1U);
  const auto cell = [&](const char* column) { return std::stod(rows[0].get(column)); };
  EXPECT_EQ(rows[0].get("faster") + rows[0].get("cheaper"), "aa");
  EXPECT_EQ(rows[0].get("ranks_a") + rows[0].get("ranks_b"), "41");
  EXPECT_DOUBLE_EQ(cell("time_ratio"), 30586.0 / 998);
  EXPECT_DOUBLE_EQ(cell("time_ratio_low"), 30586 * 0.99 / (998 * 1.01));
  EXPECT_DOUBLE_EQ(cell("usd_a"), 12.24 * 998 / 3600);
  EXPECT_NEAR(cell("equal_usd_per_hour") * 30586, 12.24 * 998, 1e-9);
}

TEST(Decision, IsOneForEachWorkloadAndNamesIt) {
  const auto both = [](const Epochs& epochs) {
    Epochs all = epochs;
    for (const ResultRow& row : with(epochs, "model", "mlp")) all.push_back(row);
    return all;
  };
  const auto rows =
      decision_rows(costs(p3(), both({epoch(4, 100)})), costs(g2(), both({epoch(1, 640)})));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_THAT(sentences_of(rows), ElementsAre(StartsWith("mlp imagenet strong: p3.8xlarge: 6.4x"),
                                              StartsWith("mlp imagenet strong: Not known: "),
                                              StartsWith("resnet50 imagenet strong: p3"),
                                              StartsWith("resnet50 imagenet strong: Not known: ")));
}

TEST(Decision, SaysWhatElseDiffersInTheTraining) {
  const auto rows = decision_rows(costs(p3(), with({epoch(4, 100)}, "dtype", "bfloat16")),
                                  costs(g2(), with({epoch(1, 640)}, "dtype", "float")));
  EXPECT_EQ(rows[0].get("note"), "dtype bfloat16 against float");
  EXPECT_THAT(sentences_of(rows)[0], HasSubstr(" (dtype bfloat16 against float)."));
}

TEST(Decision, SaysOfAPriceThatItsDateIsNotKnown) {
  Instance undated = g2();
  undated.price_date = "undated (snapshot 5940ede)";
  EXPECT_THAT(
      sentences_of(
          decision_rows(costs(p3(), {epoch(4, 998)}), costs(undated, {epoch(1, 30586)})))[0],
      HasSubstr("price: p3.8xlarge's of 2026-07-20, g2.2xlarge's undated (snapshot 5940ede))"));
}

TEST(Decision, IsNotAboutTrainingStepsAlone) {
  ResultRow steps(throughput_schema());
  steps.set("run_id", "run").set("origin", "measured").set("status", "ok").set("rank", "all");
  steps.set("model", "resnet50").set("ranks", 4).set("images_per_s", 1e6);
  PricedRun a{"run", p3(), {epoch(4, 998)}}, b{"run", g2(), {epoch(1, 30586)}};
  const auto without = decision_rows(cost_rows(a), cost_rows(b));
  a.throughput = b.throughput = {steps};
  const auto with_steps = decision_rows(cost_rows(a), cost_rows(b));
  ASSERT_EQ(with_steps.size(), 1U);
  EXPECT_EQ(sentences_of(with_steps), sentences_of(without));
  a.epochs.clear();
  const auto none = decision_rows(cost_rows(a), cost_rows(b));
  EXPECT_THAT(sentences_of(none),
              ElementsAre("p3.8xlarge or g2.2xlarge cannot be decided: no epoch of p3.8xlarge was "
                          "timed, only training steps alone.",
                          "What would help: measure epochs of p3.8xlarge ([[epoch]])."));
  EXPECT_FALSE(all_decided(none));
}

TEST(Decision, NeedsEpochsOfBoth) {
  EXPECT_TRUE(decision_rows({}, costs(g2(), {epoch(1, 640)})).empty());
  EXPECT_FALSE(all_decided({}));
}

}  // namespace
}  // namespace scalebench::decision_test
