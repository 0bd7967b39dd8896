// SPDX-License-Identifier: Apache-2.0
// Which type to rent, on made-up runs with known answers: the last sentence of each, by hand.
#include "bench/study/comparison/decision.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "bench/study/comparison/cost.hpp"

namespace scalebench::decision_test {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
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
  row.set("samples", 50000).set("seconds_median", seconds);
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

/// What is said of two types; the answer is the last.
std::vector<std::string> said(const std::vector<ResultRow>& a, const std::vector<ResultRow>& b) {
  return sentences_of(decision_rows({a, b}));
}

struct Made {
  const char* what;
  std::vector<ResultRow> a, b;
  std::string answer;
  bool decided = true;
};

std::vector<Made> made_up() {
  const Epochs p3_998{epoch(1, 3800), epoch(4, 998)}, g2_30586{epoch(1, 30586)};
  const Epochs large = with({epoch(4, 100)}, "parameters", "1500000000");
  return {
      {"one GPU of four looks dearer than it is", costs(p3(), p3_998), costs(g2(), g2_30586),
       "p3.8xlarge: 31x [30, 31] faster and 39 % [37, 40] cheaper an epoch (measured, 4 launches, "
       "prices of 2026-07-20); g2.2xlarge would have to cost 0.399 usd an hour to be equal in "
       "cost."},
      {"faster but dearer", costs(p3(), {epoch(4, 100)}), costs(g2(), {epoch(1, 640)}),
       "p3.8xlarge: 6.4x [6.3, 6.5] faster an epoch, but g2.2xlarge is 66 % [65, 67] cheaper "
       "(measured, 4 launches, prices of 2026-07-20); p3.8xlarge would have to cost 4.16 usd an "
       "hour to be equal in cost."},
      {"the other way round", costs(g2(), {epoch(1, 640)}), costs(p3(), {epoch(4, 100)}),
       "p3.8xlarge: 6.4x [6.3, 6.5] faster an epoch, but g2.2xlarge is 66 % [65, 67] cheaper "
       "(measured, 4 launches, prices of 2026-07-20); p3.8xlarge would have to cost 4.16 usd an "
       "hour to be equal in cost."},
      {"several nodes of both", costs(p3(), {epoch(4, 100), epoch(8, 51), epoch(16, 40)}),
       costs(g2(), {epoch(1, 640), epoch(4, 164), epoch(8, 120)}),
       "2 x p3.8xlarge: 3.2x [3.2, 3.3] faster an epoch, but 4 x g2.2xlarge is 66 % [65, 67] "
       "cheaper (measured, 4 launches, prices of 2026-07-20); p3.8xlarge would have to cost 4.18 "
       "usd an hour to be equal in cost."},
      {"a spot price", costs(spot(1), {epoch(4, 100)}), costs(g2(), {epoch(1, 640)}),
       "p3.8xlarge: 6.4x [6.3, 6.5] faster and 76 % [75, 76] cheaper an epoch (measured, 4 "
       "launches, price: p3.8xlarge's given by the user, g2.2xlarge's of 2026-07-20); g2.2xlarge "
       "would have to cost 0.156 usd an hour to be equal in cost."},
      {"only a part of an instance", costs(p3(), {epoch(1, 400), epoch(2, 210)}),
       costs(g2(), {epoch(1, 640)}),
       "p3.8xlarge or g2.2xlarge cannot be decided: of p3.8xlarge only N = 1, 2 was timed, no "
       "whole instance of 4 GPUs.",
       false},
      {"the whole instance failed",
       costs(p3(), {epoch(1, 400), epoch(4, kNone).set("status", "failed").set("note", "killed")}),
       costs(g2(), {epoch(1, 640)}),
       "p3.8xlarge or g2.2xlarge cannot be decided: p3.8xlarge on N = 4 is failed: killed.", false},
      {"equal speed", costs(g2(), {epoch(1, 100, 0.005)}), costs(x1(1.3), {epoch(1, 100.5, 0.005)}),
       "g2.2xlarge: 50 % [50, 51] cheaper an epoch; an epoch takes the same time (measured, 4 "
       "launches, prices of 2026-07-20); x1 would have to cost 0.647 usd an hour to be equal in "
       "cost."},
      {"a tie in both", costs(g2(), {epoch(1, 100, 0.005)}),
       costs(x1(0.65), {epoch(1, 100.5, 0.005)}),
       "g2.2xlarge and x1: an epoch takes the same time; it costs the same (measured, 4 launches, "
       "prices of 2026-07-20)."},
      {"intervals that meet", costs(g2(), {epoch(1, 100, 0.1)}),
       costs(x1(0.65), {epoch(1, 110, 0.1)}),
       "g2.2xlarge and x1: no difference in time can be told; no difference in cost can be told "
       "(measured, 4 launches, prices of 2026-07-20).",
       false},
      {"a prediction", costs(p3(), {epoch(4, 100)}), foretold(p3(), {epoch(4, 100)}, g2()),
       "p3.8xlarge: 6.4x [6.3, 6.5] faster and 27 % [26, 27] cheaper an epoch (p3.8xlarge "
       "measured, g2.2xlarge predicted, 4 launches, prices of 2026-07-20); g2.2xlarge would have "
       "to cost 0.478 usd an hour to be equal in cost."},
      {"memory too small", costs(p3(), large), foretold(p3(), large, g2()),
       "p3.8xlarge or g2.2xlarge cannot be decided: resnet50 needs 11.2 GiB or more of a GPU for "
       "weights, gradients and optimizer, and one of g2.2xlarge has 4 GiB.",
       false},
      {"other work", costs(p3(), {epoch(4, 100)}),
       costs(g2(), with({epoch(1, 640)}, "samples", "60000")),
       "p3.8xlarge or g2.2xlarge cannot be decided: p3.8xlarge trained resnet50 imagenet strong, "
       "50000 images, measured; g2.2xlarge trained resnet50 imagenet strong, 60000 images, "
       "measured.",
       false},
      {"work that is not known", costs(p3(), {epoch(4, 100)}),
       costs(g2(), with({epoch(1, 640)}, "samples", "")),
       "p3.8xlarge or g2.2xlarge cannot be decided: p3.8xlarge trained resnet50 imagenet strong, "
       "50000 images, measured; g2.2xlarge trained resnet50 imagenet strong, unknown images, "
       "measured.",
       false},
      {"other origins", costs(p3(), with({epoch(4, 100)}, "origin", "imported")),
       costs(g2(), {epoch(1, 640)}),
       "p3.8xlarge or g2.2xlarge cannot be decided: p3.8xlarge trained resnet50 imagenet strong, "
       "50000 images, imported; g2.2xlarge trained resnet50 imagenet strong, 50000 images, "
       "measured.",
       false},
      {"a type without a price", costs(p3(), p3_998), costs(g2(kNone), g2_30586),
       "p3.8xlarge: 31x [30, 31] faster an epoch; which one is cheaper is not known (measured, 4 "
       "launches, price: p3.8xlarge's of 2026-07-20, g2.2xlarge's unknown).",
       false},
      {"imported, one launch", costs(p3(), with({epoch(4, 998, kNone)}, "origin", "imported")),
       costs(g2(), with({epoch(1, 30586, kNone)}, "origin", "imported")),
       "p3.8xlarge: 31x faster and 39 % cheaper an epoch (imported, 1 launch without an interval, "
       "prices of 2026-07-20); g2.2xlarge would have to cost 0.399 usd an hour to be equal in "
       "cost."},
      {"measured in one launch", costs(p3(), {epoch(4, 998)}),
       costs(g2(), {epoch(1, 30586, kNone)}),
       "p3.8xlarge and g2.2xlarge: no difference in time can be told; no difference in cost can be "
       "told (measured, 4 and 1 launch without an interval, prices of 2026-07-20).",
       false},
      {"CPU ranks fill a type by their threads",
       costs(cpus("c1", 1),
             with(with({epoch(4, 100), epoch(2, 90)}, "device", "cpu"), "threads", "2")),
       costs(cpus("c2", 3), with(with({epoch(8, 100)}, "device", "cpu"), "threads", "1")),
       "c1: 67 % [66, 67] cheaper an epoch; an epoch takes the same time (measured, 4 launches, "
       "prices of 2026-07-20); c2 would have to cost 1.00 usd an hour to be equal in cost."},
  };
}

TEST(Decision, IsRightInItsLastSentence) {
  for (const Made& made : made_up()) {
    const auto rows = decision_rows({made.a, made.b});
    ASSERT_EQ(rows.size(), 1U) << made.what;
    EXPECT_EQ(sentences_of(rows).back(), made.answer) << made.what;
    EXPECT_EQ(all_decided(rows), made.decided) << made.what;
  }
}

TEST(Decision, SaysBeforeItWhichMeasurementIsMissing) {
  const auto fast = costs(p3(), {epoch(4, 100)});
  const auto slow = costs(g2(), {epoch(1, 640)});
  EXPECT_EQ(said(fast, slow).at(0),
            "Not known: what an accuracy costs (train both to one target_accuracy).");
  EXPECT_EQ(said(costs(p3(), {epoch(1, 400)}), slow).at(0),
            "What would help: measure p3.8xlarge on N = 4, a whole instance.");
  const auto unknown = [&](const std::vector<ResultRow>& a, const std::vector<ResultRow>& b) {
    return said(a, b).at(0);
  };
  EXPECT_THAT(unknown(costs(p3(), {epoch(4, 998)}), costs(g2(kNone), {epoch(1, 30586)})),
              HasSubstr("what an hour of g2.2xlarge costs (--price g2.2xlarge=PRICE; below 0.399 "
                        "it is the cheaper one)"));
  EXPECT_THAT(unknown(costs(g2(), {epoch(1, 100, 0.1)}), costs(x1(0.65), {epoch(1, 110, 0.1)})),
              HasSubstr("which one is better: their intervals meet, or lie within 3 %"));
  EXPECT_THAT(unknown(fast, costs(g2(), {epoch(1, 640, kNone)})),
              HasSubstr("how much the times of g2.2xlarge vary (start it 4 times or more)"));
  EXPECT_THAT(unknown(with(costs(p3(), {epoch(4, 100)}), "launches", "3"), slow),
              HasSubstr("how much the times of p3.8xlarge vary (start it 4 times or more)"));
  EXPECT_THAT(unknown(fast, foretold(p3(), {epoch(4, 100)}, g2())),
              HasSubstr("how long g2.2xlarge really takes, which TFLOPS alone foretell"));
  EXPECT_THAT(unknown(costs(p3(), with({epoch(4, 100)}, "dtype", "bfloat16")), slow),
              HasSubstr("what the same dtype would take (bfloat16 against unknown)"));
  Epochs a{epoch(4, 100)}, b{epoch(1, 640)};
  for (Epochs* const epochs : {&a, &b}) {
    epochs->front().set("seconds_to_target", 1000).set("target_accuracy", 0.9);
  }
  EXPECT_EQ(said(costs(p3(), a), costs(g2(), b)).size(), 1U) << "nothing is open";
  b.front().set("target_accuracy", 0.8);
  EXPECT_THAT(unknown(costs(p3(), a), costs(g2(), b)), HasSubstr("one target_accuracy"));
}

TEST(Decision, KeepsItsNumbersBesideTheSentence) {
  const auto rows =
      decision_rows({costs(p3(), {epoch(1, 3800), epoch(4, 998)}), costs(g2(), {epoch(1, 30586)})});
  ASSERT_EQ(rows.size(), 1U);
  const auto cell = [&](const char* column) { return std::stod(rows[0].get(column)); };
  EXPECT_EQ(rows[0].get("faster") + rows[0].get("cheaper"), "aa");
  EXPECT_EQ(rows[0].get("ranks_a") + rows[0].get("ranks_b"), "41");
  EXPECT_DOUBLE_EQ(cell("time_ratio"), 30586.0 / 998);
  EXPECT_DOUBLE_EQ(cell("time_ratio_low"), 30586 * 0.99 / (998 * 1.01));
  EXPECT_DOUBLE_EQ(cell("usd_a"), 12.24 * 998 / 3600);
  EXPECT_NEAR(cell("equal_usd_per_hour") * 30586, 12.24 * 998, 1e-9);
  EXPECT_EQ(rows[0].get("break_even_epochs"), "") << "without a start-up";
}

TEST(Decision, SaysFromHowManyEpochsOnAStartUpIsPaidBack) {
  const auto p3_wins = costs(p3(), {epoch(4, 998)}), g2_loses = costs(g2(), {epoch(1, 30586)});
  // 600 s cost 2.04 against 0.108 usd; an epoch costs 3.393 against 5.522 usd: paid back in one.
  const auto early = decision_rows({p3_wins, g2_loses}, 600);
  EXPECT_EQ(early[0].get("break_even_epochs"), "1");
  // 6000 s cost 20.4 against 1.083 usd: 19.317 / 2.129 = 9.07 epochs.
  const auto late = decision_rows({p3_wins, g2_loses}, 6000);
  EXPECT_EQ(late[0].get("break_even_epochs"), "10");
  EXPECT_THAT(
      sentences_of(late).back(),
      EndsWith("; with 100 min of start-up p3.8xlarge is the cheaper one from epoch 10 on."));
  const auto at_once =
      decision_rows({costs(p3(), {epoch(4, 100)}), costs(g2(), {epoch(1, 640)})}, 6000);
  EXPECT_EQ(at_once[0].get("break_even_epochs"), "1") << "the cheaper one starts for less, too";
}

TEST(Decision, NamesTheWinnerOfThreeAndTablesAllPairs) {
  const auto p3_998 = costs(p3(), {epoch(4, 998)}), g2_30586 = costs(g2(), {epoch(1, 30586)});
  const auto rows = decision_rows({p3_998, g2_30586, costs(x1(1), {epoch(1, 20000)})});
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_THAT(sentences_of(rows),
              ElementsAre("p3.8xlarge is the cheapest of 3 types, 39 % [37, 40] cheaper an epoch "
                          "than g2.2xlarge, and the fastest, 20x [20, 20] faster than x1."));
  const std::string table = table_of_pairs(rows);
  EXPECT_EQ(std::ranges::count(table, '\n'), 4);
  EXPECT_THAT(table, HasSubstr("30.65 [30.04, 31.27] a"));
  EXPECT_EQ(table_of_pairs(decision_rows({p3_998, g2_30586})), "");
  const auto tie = decision_rows({g2_30586, costs(x1(0.65), {epoch(1, 30586)}), p3_998});
  EXPECT_THAT(sentences_of(tie).back(), StartsWith("p3.8xlarge is the cheapest of 3 types"));
  const auto open =
      decision_rows({g2_30586, costs(x1(0.65), {epoch(1, 30586)}), costs(p3(), {epoch(4, 3000)})});
  EXPECT_THAT(sentences_of(open).back(), StartsWith("no type is told to be the cheapest of 3; "));
}

TEST(Decision, IsOneForEachWorkloadAndNamesIt) {
  const auto both = [](const Epochs& epochs) {
    Epochs all = epochs;
    for (const ResultRow& row : with(epochs, "model", "mlp")) all.push_back(row);
    return all;
  };
  EXPECT_THAT(said(costs(p3(), both({epoch(4, 100)})), costs(g2(), both({epoch(1, 640)}))),
              ElementsAre(StartsWith("mlp imagenet strong: Not known: "),
                          StartsWith("resnet50 imagenet strong: Not known: "),
                          StartsWith("mlp imagenet strong: p3.8xlarge: 6.4x"),
                          StartsWith("resnet50 imagenet strong: p3")));
}

TEST(Decision, HasTheCatalogsCurrency) {
  Instance euros = p3();
  euros.currency = "EUR";
  Instance other = g2();
  other.currency = "EUR";
  EXPECT_THAT(said(costs(euros, {epoch(4, 998)}), costs(other, {epoch(1, 30586)})).back(),
              HasSubstr("would have to cost 0.399 EUR an hour"));
}

TEST(Decision, SaysOfAPriceThatItsDateIsNotKnown) {
  Instance undated = g2();
  undated.price_date = "undated (snapshot 5940ede)";
  EXPECT_THAT(
      said(costs(p3(), {epoch(4, 998)}), costs(undated, {epoch(1, 30586)})).back(),
      HasSubstr("price: p3.8xlarge's of 2026-07-20, g2.2xlarge's undated (snapshot 5940ede))"));
}

TEST(Decision, IsNotAboutTrainingStepsAlone) {
  ResultRow steps(throughput_schema());
  steps.set("run_id", "run").set("origin", "measured").set("status", "ok").set("rank", "all");
  steps.set("model", "resnet50").set("ranks", 4).set("images_per_s", 1e6);
  PricedRun a{"run", p3(), {epoch(4, 998)}}, b{"run", g2(), {epoch(1, 30586)}};
  const auto without = said(cost_rows(a), cost_rows(b));
  a.throughput = b.throughput = {steps};
  EXPECT_EQ(said(cost_rows(a), cost_rows(b)), without);
  a.epochs.clear();
  const auto none = decision_rows({cost_rows(a), cost_rows(b)});
  EXPECT_THAT(sentences_of(none),
              ElementsAre("What would help: measure epochs of p3.8xlarge ([[epoch]]).",
                          "p3.8xlarge or g2.2xlarge cannot be decided: no epoch of p3.8xlarge was "
                          "timed, only training steps alone."));
  EXPECT_FALSE(all_decided(none));
}

TEST(Decision, NeedsEpochsOfBoth) {
  EXPECT_TRUE(decision_rows({{}, costs(g2(), {epoch(1, 640)})}).empty());
  EXPECT_FALSE(all_decided({}));
}

}  // namespace
}  // namespace scalebench::decision_test
