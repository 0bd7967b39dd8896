// SPDX-License-Identifier: Apache-2.0
// Which type to rent, on made-up runs with known answers: the last sentence of each, by hand.
#include "bench/study/comparison/decision.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace scalebench::decision_test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

Instance p3() { return {"p3.8xlarge", "NVIDIA V100 SXM2", 4, 32, 12.24, "2026-07-20", "list"}; }
Instance g2(double usd_per_hour = 0.65) {
  return {"g2.2xlarge", "GRID K520", 1, 8, usd_per_hour, "2026-07-20", "list"};
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
  return {name, "", 0, 8, usd_per_hour, "2026-07-20", "list"};
}

/// `spread`: how far the launches are off, as a share; NaN for a single launch.
Cell epoch(int ranks, double seconds, double spread = 0.01) {
  Cell cell{"epoch/" + std::to_string(ranks),
            CellFamily::epoch,
            ResultRow(epoch_schema()),
            {},
            {},
            "ok",
            ""};
  ResultRow& row = cell.row;
  row.set("origin", "measured").set("model", "resnet50").set("dataset", "imagenet");
  row.set("gradient_sync", ranks == 1 ? "one_device" : "mirrored").set("ranks", ranks);
  row.set("scaling", "strong").set("samples", 50000);
  if (std::isnan(spread)) cell.seconds = {seconds};
  for (const double off : {-1.0, -0.2, 0.2, 1.0}) {
    if (!std::isnan(spread)) cell.seconds.push_back(seconds * (1 + off * spread));
  }
  return cell;
}

using Epochs = std::vector<Cell>;

Epochs with(Epochs epochs, std::string_view column, std::string_view text) {
  for (Cell& cell : epochs) cell.row.set(column, text);
  return epochs;
}

std::vector<Cost> costs(const Instance& instance, const Epochs& epochs) {
  return costs_of("run", epochs, instance);
}

const double kNone = std::nan("");

/// What is said of two types; the answer is the last.
std::vector<std::string> said(const std::vector<Cost>& a, const std::vector<Cost>& b) {
  return sentences_of(decisions_of({a, b}));
}

struct Made {
  const char* what;
  std::vector<Cost> a, b;
  std::string answer;
  bool decided = true;
};

const std::string kRemedy =
    "time both on one model, data set, scaling and number of images (of an import: --set "
    "samples=IMAGES).";

Cell failed(Cell cell) {
  cell.seconds.clear();
  cell.status = "failed";
  cell.note = "killed";
  return cell;
}

std::vector<Made> made_up() {
  const Epochs p3_998{epoch(1, 3800), epoch(2, 1900), epoch(4, 998)}, g2_30586{epoch(1, 30586)};
  return {
      {"one GPU of four looks dearer than it is", costs(p3(), p3_998), costs(g2(), g2_30586),
       "p3.8xlarge: 31x [30, 31] faster and 39 % [37, 40] cheaper an epoch (measured, 4 launches, "
       "price of 2026-07-20); g2.2xlarge would have to cost 0.399 usd an hour to be equal in "
       "cost."},
      {"faster but dearer", costs(p3(), {epoch(4, 100)}), costs(g2(), {epoch(1, 640)}),
       "p3.8xlarge and g2.2xlarge: p3.8xlarge 6.4x [6.3, 6.5] faster an epoch; g2.2xlarge 66 % "
       "[65, "
       "67] cheaper (measured, 4 launches, price of 2026-07-20); p3.8xlarge would have to cost "
       "4.16 "
       "usd an hour to be equal in cost."},
      {"the other way round", costs(g2(), {epoch(1, 640)}), costs(p3(), {epoch(4, 100)}),
       "g2.2xlarge and p3.8xlarge: p3.8xlarge 6.4x [6.3, 6.5] faster an epoch; g2.2xlarge 66 % "
       "[65, "
       "67] cheaper (measured, 4 launches, price of 2026-07-20); p3.8xlarge would have to cost "
       "4.16 "
       "usd an hour to be equal in cost."},
      {"a spot price", costs(spot(1), {epoch(4, 100)}), costs(g2(), {epoch(1, 640)}),
       "p3.8xlarge: 6.4x [6.3, 6.5] faster and 76 % [75, 76] cheaper an epoch (p3.8xlarge "
       "measured, 4 launches, price given by the user; g2.2xlarge measured, 4 launches, price of "
       "2026-07-20); g2.2xlarge would have to cost 0.156 usd an hour to be equal in cost."},
      {"only a part of an instance", costs(p3(), {epoch(1, 400), epoch(2, 210)}),
       costs(g2(), {epoch(1, 640)}),
       "p3.8xlarge or g2.2xlarge cannot be decided: of p3.8xlarge only N = 1, 2 was timed, no "
       "whole instance: measure one.",
       false},
      {"the whole instance failed", costs(p3(), {epoch(1, 400), failed(epoch(4, 100))}),
       costs(g2(), {epoch(1, 640)}),
       "p3.8xlarge or g2.2xlarge cannot be decided: p3.8xlarge on N = 4 is failed: killed.", false},
      {"equal speed", costs(g2(), {epoch(1, 100, 0.005)}), costs(x1(1.3), {epoch(1, 100.5, 0.005)}),
       "g2.2xlarge and x1: an epoch takes the same time; g2.2xlarge 50 % [50, 51] cheaper "
       "(measured, "
       "4 launches, price of 2026-07-20); x1 would have to cost 0.647 usd an hour to be equal in "
       "cost."},
      {"a tie in both", costs(g2(), {epoch(1, 100, 0.005)}),
       costs(x1(0.65), {epoch(1, 100.5, 0.005)}),
       "g2.2xlarge and x1: an epoch takes the same time; it costs the same (measured, 4 launches, "
       "price of 2026-07-20)."},
      {"intervals that meet", costs(g2(), {epoch(1, 100, 0.1)}),
       costs(x1(0.65), {epoch(1, 110, 0.1)}),
       "g2.2xlarge and x1: no difference in time can be told; no difference in cost can be told "
       "(measured, 4 launches, price of 2026-07-20).",
       false},
      {"other work", costs(p3(), {epoch(4, 100)}),
       costs(g2(), with({epoch(1, 640)}, "samples", "60000")),
       "p3.8xlarge or g2.2xlarge cannot be decided: p3.8xlarge timed resnet50 imagenet strong, "
       "50000 images (measured), g2.2xlarge resnet50 imagenet strong, 60000 images (measured): " +
           kRemedy,
       false},
      {"work that is not known", costs(p3(), {epoch(4, 100)}),
       costs(g2(), with({epoch(1, 640)}, "samples", "")),
       "p3.8xlarge or g2.2xlarge cannot be decided: p3.8xlarge timed resnet50 imagenet strong, "
       "50000 images (measured), g2.2xlarge resnet50 imagenet strong, unknown images (measured): " +
           kRemedy,
       false},
      {"a type without a price", costs(p3(), p3_998), costs(g2(kNone), g2_30586),
       "p3.8xlarge and g2.2xlarge: p3.8xlarge 31x [30, 31] faster an epoch; which one is cheaper "
       "is "
       "not known (p3.8xlarge measured, 4 launches, price of 2026-07-20; g2.2xlarge measured, 4 "
       "launches, unknown price).",
       false},
      {"imported, one launch", costs(p3(), with({epoch(4, 998, kNone)}, "origin", "imported")),
       costs(g2(), with({epoch(1, 30586, kNone)}, "origin", "imported")),
       "p3.8xlarge: 31x faster and 39 % cheaper an epoch (not tested: imported, 1 launch, price "
       "of 2026-07-20); g2.2xlarge would have to cost 0.399 usd an hour to be equal in "
       "cost."},
      {"measured in one launch", costs(p3(), {epoch(4, 998)}),
       costs(g2(), {epoch(1, 30586, kNone)}),
       "p3.8xlarge and g2.2xlarge: no difference in time can be told; no difference in cost can be "
       "told (p3.8xlarge measured, 4 launches, price of 2026-07-20; g2.2xlarge measured, 1 launch, "
       "price of 2026-07-20).",
       false},
      {"CPU ranks fill a type by their threads",
       costs(cpus("c1", 1),
             with(with({epoch(4, 100), epoch(2, 90)}, "device", "cpu"), "threads", "2")),
       costs(cpus("c2", 3), with(with({epoch(8, 100)}, "device", "cpu"), "threads", "1")),
       "c1 and c2: an epoch takes the same time; c1 67 % [66, 67] cheaper (measured, 4 launches, "
       "price of 2026-07-20); c2 would have to cost 1.00 usd an hour to be equal in cost."},
  };
}

TEST(Decision, IsRightInItsLastSentence) {
  for (const Made& made : made_up()) {
    const auto rows = decisions_of({made.a, made.b});
    ASSERT_EQ(rows.size(), 1U) << made.what;
    EXPECT_EQ(sentences_of(rows).back(), made.answer) << made.what;
    EXPECT_EQ(all_decided(rows), made.decided) << made.what;
  }
}

TEST(Decision, SaysBeforeItWhatIsNotKnown) {
  const auto fast = costs(p3(), {epoch(4, 100)});
  const auto slow = costs(g2(), {epoch(1, 640)});
  EXPECT_EQ(said(fast, slow).size(), 1U) << "nothing is open";
  const auto unknown = [&](const std::vector<Cost>& a, const std::vector<Cost>& b) {
    return said(a, b).at(0);
  };
  EXPECT_EQ(unknown(costs(p3(), {epoch(4, 998)}), costs(g2(kNone), {epoch(1, 30586)})),
            "Not known: what an hour of g2.2xlarge costs (--price g2.2xlarge=PRICE; below 0.399 it "
            "is the cheaper one).");
  EXPECT_THAT(unknown(costs(g2(), {epoch(1, 100, 0.1)}), costs(x1(0.65), {epoch(1, 110, 0.1)})),
              ContainsRegex("which one is better .[0-9]+ launches a side would tell"));
  EXPECT_EQ(unknown(fast, costs(g2(), {epoch(1, 640, kNone)})),
            "Not known: which one is better (4 launches a side would tell).");
}

/// A run with one launch that took half as long: the ends of the means' intervals would differ.
TEST(Decision, IsTheEnginesOfTheLaunches) {
  Cell a = epoch(4, 100), b = epoch(1, 110);
  a.seconds = {100, 101, 102, 103, 50, 104};
  b.seconds = {110, 111, 112, 113, 114, 115};
  const Decision found = decisions_of({costs(p3(), {a}), costs(g2(), {b})}).front();
  const CellSamples samples{a.seconds, b.seconds};
  const CellComparison engine = compare_cells(std::vector{samples}).front();
  EXPECT_EQ(found.time.ratio, engine.ratio);
  EXPECT_EQ(found.time.ratio_low, engine.ratio_low);
  EXPECT_EQ(found.time.p_value, engine.p_value);
  EXPECT_EQ(found.time.verdict, engine.verdict);
  EXPECT_NEAR(found.usd.ratio, engine.ratio * 0.65 / 12.24, 1e-9);
  EXPECT_EQ(found.usd.p_value, engine.p_value);
}

TEST(Decision, KeepsItsNumbersBesideTheSentence) {
  const auto rows =
      decisions_of({costs(p3(), {epoch(1, 3800), epoch(4, 998)}), costs(g2(), {epoch(1, 30586)})});
  ASSERT_EQ(rows.size(), 1U);
  const nlohmann::json json = json_of(rows[0]);
  EXPECT_EQ(json["time"]["verdict"], "SLOWER");
  EXPECT_EQ(json["usd"]["verdict"], "SLOWER");
  EXPECT_NEAR(json["time"]["ratio"], 30586.0 / 998, 0.01);
  EXPECT_NEAR(rows[0].equal_usd_per_hour * 30586, 12.24 * 998, 1e-6);
  EXPECT_TRUE(std::isnan(rows[0].break_even_epochs)) << "without a start-up";
}

TEST(Decision, SaysFromHowManyEpochsOnAStartUpIsPaidBack) {
  const auto p3_wins = costs(p3(), {epoch(4, 998)}), g2_loses = costs(g2(), {epoch(1, 30586)});
  // 600 s cost 2.04 against 0.108 usd; an epoch costs 3.393 against 5.522 usd: paid back in one.
  const auto early = decisions_of({p3_wins, g2_loses}, 600);
  EXPECT_EQ(early[0].break_even_epochs, 1);
  // 6000 s cost 20.4 against 1.083 usd: 19.317 / 2.129 = 9.07 epochs.
  const auto late = decisions_of({p3_wins, g2_loses}, 6000);
  EXPECT_EQ(late[0].break_even_epochs, 10);
  EXPECT_THAT(sentences_of(late).back(),
              EndsWith("; with start-up p3.8xlarge is the cheaper one from epoch 10 on."));
  const auto at_once =
      decisions_of({costs(p3(), {epoch(4, 100)}), costs(g2(), {epoch(1, 640)})}, 6000);
  EXPECT_EQ(at_once[0].break_even_epochs, 1) << "the cheaper one starts for less, too";
}

TEST(Decision, NamesTheWinnerOfThreeAndTablesAllPairs) {
  // With three pairs four launches a side are too few.
  const auto six = [](Cell cell) {
    for (const double off : {0.999, 1.001}) cell.seconds.push_back(cell.seconds[0] / 0.99 * off);
    return cell;
  };
  const auto p3_998 = costs(p3(), {six(epoch(4, 998))}),
             g2_30586 = costs(g2(), {six(epoch(1, 30586))});
  const auto rows = decisions_of({p3_998, g2_30586, costs(x1(1), {six(epoch(1, 20000))})});
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_THAT(sentences_of(rows),
              ElementsAre("p3.8xlarge is the cheapest of 3 types, 39 % [38, 39] cheaper "
                          "than g2.2xlarge, and the fastest, 20x [20, 20] faster than x1."));
  const std::string table = table_of_pairs(rows);
  EXPECT_EQ(std::ranges::count(table, '\n'), 4);
  EXPECT_THAT(table, HasSubstr("30.65 [30.37, 30.93] "));
  EXPECT_EQ(table_of_pairs(decisions_of({p3_998, g2_30586})), "");
  const auto tie = decisions_of({g2_30586, costs(x1(0.65), {six(epoch(1, 30586))}), p3_998});
  EXPECT_THAT(sentences_of(tie).back(), StartsWith("p3.8xlarge is the cheapest of 3 types"));
  const auto open = decisions_of(
      {g2_30586, costs(x1(0.65), {six(epoch(1, 30586))}), costs(p3(), {six(epoch(4, 3000))})});
  EXPECT_THAT(sentences_of(open).back(), StartsWith("no type is told to be the cheapest of 3; "));
}

TEST(Decision, IsOneForEachWorkloadAndNamesIt) {
  const auto both = [](const Epochs& epochs) {
    Epochs all = epochs;
    for (Cell& cell : with(epochs, "model", "mlp")) {
      all.push_back(cell);
      all.back().key += "mlp";
    }
    return all;
  };
  EXPECT_THAT(said(costs(p3(), both({epoch(4, 100)})), costs(g2(kNone), both({epoch(1, 640)}))),
              ElementsAre(StartsWith("mlp imagenet strong, 50000 images: Not known: "),
                          StartsWith("resnet50 imagenet strong, 50000 images: Not known: "),
                          StartsWith("mlp imagenet strong, 50000 images: p3.8xlarge and g2"),
                          StartsWith("resnet50 imagenet strong, 50000 images: p3")));
}

TEST(Decision, HasTheCatalogsCurrency) {
  Instance euros = p3();
  euros.currency = "EUR";
  Instance other = g2();
  other.currency = "EUR";
  EXPECT_THAT(said(costs(euros, {epoch(4, 998)}), costs(other, {epoch(1, 30586)})).back(),
              HasSubstr("would have to cost 0.399 EUR an hour"));
}

TEST(Decision, NeedsEpochsOfBoth) {
  EXPECT_TRUE(decisions_of({{}, costs(g2(), {epoch(1, 640)})}).empty());
  EXPECT_FALSE(all_decided({}));
}

}  // namespace
}  // namespace scalebench::decision_test
