// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>

#include "bench/study/analysis/legs.hpp"
#include "bench/study/analysis/scaling.hpp"
#include "bench/study/analysis/stored_run.hpp"
#include "bench/study/analysis/tables.hpp"

namespace scalebench::losses_test {

namespace {

/// An epoch of 600 images over all ranks, or one rank's share of it.
ResultRow epoch(const std::string& sync, int ranks, double seconds, int share_of = 1) {
  ResultRow row(epoch_schema());
  row.set("run_id", "run").set("origin", "measured").set("status", "ok");
  row.set("case_id", "id-of-" + sync + std::to_string(share_of)).set("model", "mlp");
  row.set("gradient_sync", sync).set("device", "cpu").set("dtype", "float").set("threads", 1);
  row.set("dataset", "synthetic:600").set("scaling", "strong").set("global_batch", 60);
  row.set("optimizer", "adam");
  row.set("ranks", ranks).set("share_of", share_of).set("samples", 600 / share_of);
  row.set("launches", 3).set("interval", "range").set("seconds", seconds);
  row.set("seconds_ci_low", seconds - 0.01).set("seconds_ci_high", seconds + 0.01);
  for (const char* state : {"transfer", "wait_static", "wait_jitter", "input", "evaluation"}) {
    row.set(std::string(state) + "_seconds", 0);
  }
  return row.set("compute_seconds", seconds);
}

/// 10 s on one device, 6.1 s on two: -0.2 batch, 0.9 contention, 0.1 waiting, 0.3 transfer.
std::vector<ResultRow> epochs() {
  ResultRow leg = epoch("mirrored", 2, 6.1);
  leg.set("compute_seconds", 5.7).set("wait_static_seconds", 0.1).set("transfer_seconds", 0.3);
  return {epoch("none", 1, 9), epoch("one_device", 1, 10), epoch("none", 1, 4.8, 2), leg};
}

/// The losses of mirrored in one round of these rows, in seconds.
std::map<std::string, double> losses_in(const std::vector<ResultRow>& rows) {
  const std::vector<LaunchRows> launches{{1, rows, {}}};
  std::map<std::string, double> seconds;
  for (const ResultRow& row : loss_rows(measured_legs(cells_of(launches)))) {
    if (row.get("gradient_sync") != "mirrored") continue;
    seconds[row.get("case_id") + "/" + row.get("loss")] = number_in(row, "seconds");
  }
  return seconds;
}

TEST(SummaryRows, TellTwoOfAStrategyApartByWhatTheyDifferIn) {
  const auto leg = [](const std::string& allreduce, int batch, const std::string& id) {
    ResultRow one(epoch_schema());
    one.set("model", "mlp").set("gradient_sync", "mirrored").set("scaling", "strong");
    one.set("ranks", 2).set("nodes", 1).set("dataset", "d").set("allreduce", allreduce);
    one.set("transport", "mpi").set("global_batch", batch).set("case_id", id);
    return Leg{.row = one};
  };
  const auto names = [](const std::vector<Leg>& legs) {
    std::vector<std::string> strategies;
    for (const ResultRow& one : summary_rows(legs)) strategies.push_back(one.get("strategy"));
    return strategies;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names({leg("ring", 64, "a")}), (Names{"mirrored"}));
  EXPECT_EQ(names({leg("ring", 64, "a"), leg("direct", 64, "b")}),
            (Names{"mirrored, ring", "mirrored, direct"}));
  EXPECT_EQ(names({leg("ring", 64, "a"), leg("ring", 128, "b"), leg("ring", 128, "c")}),
            (Names{"mirrored, global_batch 64", "mirrored, global_batch 128 case b",
                   "mirrored, global_batch 128 case c"}));
}

TEST(LossRows, SplitComputingWhereOneRankRanItsShareAlone) {
  std::vector<ResultRow> rows = epochs();
  const auto split = losses_in(rows);
  EXPECT_NEAR(split.at("id-of-mirrored1/batch"), 4.8 - 10 / 2.0, 1e-12);
  EXPECT_NEAR(split.at("id-of-mirrored1/contention"), 5.7 - 4.8, 1e-12);
  EXPECT_FALSE(split.contains("id-of-mirrored1/compute")) << "or it would be counted twice";
  rows.erase(rows.begin() + 2);
  const auto whole = losses_in(rows);
  EXPECT_NEAR(whole.at("id-of-mirrored1/compute"), 5.7 - 10 / 2.0, 1e-12);
  EXPECT_FALSE(whole.contains("id-of-mirrored1/batch"));
}

TEST(BasesOf, AreThoseOfTheBarrierBesideRunsThatHaveATarget) {
  std::vector<ResultRow> rows{epoch("one_device", 1, 10), epoch("barrier_only", 2, 5.3)};
  rows[0].set("target_accuracy", 0.6);
  const std::vector<Cell> cells = cells_of({{1, rows, {}}});
  EXPECT_EQ(bases_of(rows[1], cells).one, &cells[0]);
  rows[1].set("gradient_sync", "mirrored");
  EXPECT_EQ(bases_of(rows[1], cells).one, nullptr) << "without a target, and with one";
}

/// epochs(), but the clocks of the strategy's hosts told transfer and waiting together only.
std::vector<ResultRow> joined_epochs() {
  std::vector<ResultRow> rows = epochs();
  ResultRow& leg = rows.back();
  leg.set("transfer_seconds", 0.4).set("wait_static_seconds", "").set("wait_jitter_seconds", "");
  return rows;
}

TEST(LossRows, HaveOneRowForWhatClocksCannotPart) {
  const std::vector<ResultRow> rows = joined_epochs();
  // Parted in the second round: the sum of both is known there, too.
  const std::vector<LaunchRows> launches{{0, rows, {}}, {1, epochs(), {}}};
  std::map<std::string, double> seconds;
  for (const ResultRow& row : loss_rows(measured_legs(cells_of(launches)))) {
    if (row.get("gradient_sync") != "mirrored") continue;
    seconds[row.get("loss")] = number_in(row, "seconds");
    EXPECT_EQ(row.get("note").empty(), row.get("loss") != "transfer_and_wait");
  }
  EXPECT_NEAR(seconds.at("transfer_and_wait"), 0.4, 1e-12);
  for (const char* const part : {"transfer", "wait_static", "wait_jitter"}) {
    EXPECT_FALSE(seconds.contains(part)) << part;
  }
  double sum = 5;
  for (const auto& [loss, value] : seconds) sum += value;
  EXPECT_NEAR(sum, 6.1, 1e-12);
}

/// epochs(), and before them those of four times as many images in four times the time.
std::vector<ResultRow> epochs_of_two_sizes() {
  std::vector<ResultRow> rows;
  for (ResultRow row : epochs()) {
    row.set("case_id", "larger-" + row.get("case_id"));
    row.set("samples", 4 * number_in(row, "samples"));
    row.set("seconds", 4 * number_in(row, "seconds"));
    rows.push_back(row.set("compute_seconds", 4 * number_in(row, "compute_seconds")));
  }
  std::ranges::move(epochs(), std::back_inserter(rows));
  return rows;
}

TEST(LossRows, SplitComputingByTheirOwnShare) {
  std::vector<ResultRow> rows = epochs_of_two_sizes();
  std::erase_if(rows,
                [](const ResultRow& row) { return row.get("case_id") == "larger-id-of-none2"; });
  const auto seconds = losses_in(rows);
  EXPECT_TRUE(seconds.contains("id-of-mirrored1/batch"));
  EXPECT_FALSE(seconds.contains("larger-id-of-mirrored1/batch"));
}

}  // namespace

namespace {

/// A row of epoch.csv with these states, of so many seconds; the host has the rest.
ResultRow with_states(double seconds, const std::array<double, 6>& states) {
  ResultRow row(epoch_schema());
  for (std::size_t i = 0; i < states.size(); ++i) {
    row.set(std::string(kStatesOfAccount[i]) + "_seconds", states[i]);
  }
  return row.set("seconds", seconds);
}

/// In one round, by name; their sum under "".
std::map<std::string, double> losses_between(const ResultRow& one, const ResultRow& n, double part,
                                             const LaunchEpochs& share = {}) {
  std::map<std::string, double> seconds;
  for (const LostTime& loss : losses_of({&n}, {&one}, share, part, Sides::in_rounds)) {
    seconds[std::string(loss.name)] = loss.seconds.value;
    seconds[""] += loss.seconds.value;
  }
  return seconds;
}

TEST(Losses, AreWhatIsMoreThanAnEqualPart) {
  const ResultRow one = with_states(100, {90, 0, 0, 0, 8, 0});
  const ResultRow two = with_states(65.5, {50, 3, 4, 1, 6, 0.5});
  const ResultRow share = with_states(50, {48, 0, 0, 0, 0, 0});
  const auto losses = losses_between(one, two, 0.5, {&share});
  const std::map<std::string, double> expected{
      {"batch", 3}, {"contention", 2}, {"transfer", 3},     {"wait_static", 4}, {"wait_jitter", 1},
      {"input", 2}, {"host", 0},       {"evaluation", 0.5}, {"", 65.5 - 50}};
  EXPECT_EQ(losses, expected);
}

TEST(Losses, KeepNegativeOnes) {
  // Two ranks do 0.9 of the images, of which the ideal knows, and smaller pieces fit the caches.
  const auto losses = losses_between(with_states(100, {100, 0, 0, 0, 0, 0}),
                                     with_states(41, {40, 1, 0, 0, 0, 0}), 0.9 / 2);
  EXPECT_EQ(losses.at("compute"), -5);
  EXPECT_EQ(losses.at(""), 41 - 45);
  EXPECT_FALSE(losses.contains("contention")) << "not split";
}

TEST(Losses, GiveTheHostWhatAnAccountMisses) {
  const auto losses = losses_between(with_states(102, {100, 0, 0, 0, 0, 0}),
                                     with_states(53, {51, 1, 0, 0, 0, 0}), 0.5);
  EXPECT_EQ(losses.at("host"), (53 - 52) - (102 - 100) / 2.0);
  EXPECT_EQ(losses.at(""), 53 - 51);
}

TEST(SummaryRows, CallAGainNoLoss) {
  const auto largest = [](const std::vector<LostTime>& losses) {
    Leg leg{.row = epoch("mirrored", 2, 6)};
    leg.losses = losses;
    return summary_rows({leg})[0].get("largest_loss");
  };
  const LostTime gain{"compute", {-5, -6, -4, ""}}, small{"wait_static", {0.1, 0.05, 0.2, ""}};
  EXPECT_EQ(largest({gain, small}), "wait_static");
  EXPECT_EQ(largest({gain, small, {"transfer", {3, -1, 4, ""}}}), "transfer")
      << "whether it can be told from nothing, its interval says";
  EXPECT_EQ(largest({gain}), "");
}

TEST(BasesOf, AreOfTheSameOriginAlsoBehindAnother) {
  std::vector<ResultRow> rows{epoch("one_device", 1, 20), epoch("none", 1, 18),
                              epoch("one_device", 1, 10), epoch("none", 1, 9),
                              epoch("mirrored", 2, 6)};
  rows[0].set("origin", "emulated");
  rows[1].set("origin", "emulated");
  const std::vector<Cell> cells = cells_of({{1, rows, {}}});
  EXPECT_EQ(bases_of(rows[4], cells).one, &cells[3]);
  EXPECT_EQ(bases_of(rows[4], cells).raw, &cells[1]);
  EXPECT_EQ(bases_of(rows[4], cells).other_origin, "");
  EXPECT_EQ(bases_of(rows[4], {cells[2], cells[4]}).other_origin, "emulated");
}

TEST(BasesOf, AreOfTheImagesThatOneRankHasInWeakScaling) {
  const auto weak = [](const std::string& sync, int ranks, int images_of_each) {
    ResultRow row = epoch(sync, ranks, 1);
    row.set("scaling", "weak").set("batch", 60).set("global_batch", 60 * ranks);
    row.set("case_id", sync + std::to_string(images_of_each));
    return row.set("samples", images_of_each * ranks);
  };
  std::vector<ResultRow> rows{weak("one_device", 1, 600), weak("one_device", 1, 1200),
                              weak("mirrored", 2, 600), weak("mirrored", 2, 1200)};
  const auto images_of_h = [&](std::size_t row) {
    const std::vector<Cell> cells = cells_of({{1, rows, {}}});
    return number_in(bases_of(rows[row], cells).one->row, "samples");
  };
  EXPECT_EQ(images_of_h(2), 600) << "not those of both ranks together";
  EXPECT_EQ(images_of_h(3), 1200);
  // A rank that serves sees none.
  rows[2].set("ranks", 3);
  EXPECT_EQ(workers_in(rows[2]), 2);
  EXPECT_EQ(images_of_h(2), 600);
  rows[2].set("global_batch", "");
  EXPECT_EQ(workers_in(rows[2]), 3) << "an import need not say how many there are";
  EXPECT_EQ(images_of_h(2), 600);
}

// Which of two [[epoch]] that differ in the number of images a launch without rows was of.

/// Launches of two rounds, each of which starts both; a launch in `lost` failed.
StudyTables tables_of_two_studies(const std::set<int>& lost) {
  StoredRun run;
  std::vector<PlannedLaunch> plan;
  for (int number = 1; number <= 4; ++number) {
    PlannedLaunch& launch = plan.emplace_back();
    launch.number = number;
    const bool is_first = number % 2 == 1;
    launch.name = is_first ? "epoch-mlp-mirrored-strong-n2" : "epoch-mlp-mirrored-strong-n2.2";
    launch.program = "bench_epoch";
    launch.ranks = 2;
    launch.model = "mlp";
    launch.gradient_sync = "mirrored";
    const int images = is_first ? 600 : 1200;
    LaunchRecord& record = run.manifest.launches.emplace_back();
    record.number = number;
    record.status = lost.contains(number) ? "failed" : "ok";
    if (lost.contains(number)) {
      record.note = "exit code 9";
      continue;
    }
    LaunchRows& rows = run.launches["epoch.csv"].emplace_back();
    rows.launch = rows.round = number;
    rows.cases = {epoch("mirrored", 2, 6)};
    rows.cases[0].set("case_id", "images-" + std::to_string(images)).set("samples", images);
    rows.cases[0].set("entry", launch.name);
    ResultRow& sample = rows.samples.emplace_back(samples_schema());
    sample.set("case_id", rows.cases[0].get("case_id")).set("ranks", 2).set("seconds", 6);
  }
  return study_tables(run, plan);
}

TEST(StudyTables, SayOfALostLaunchWhatItsOwnStudyLacks) {
  StudyTables tables = tables_of_two_studies({3});
  for (const char* const file : {"epoch.csv", "scaling.csv"}) {
    ASSERT_EQ(tables[file].size(), 2U);
    for (const ResultRow& row : tables[file]) {
      EXPECT_EQ(row.get("note").find("launch 3 is not in it") != std::string::npos,
                row.get("case_id") == "images-600");
    }
  }
  EXPECT_NE(tables["scaling.csv"][0].get("case_id"), tables["scaling.csv"][1].get("case_id"));
  // Of one study no launch gave anything.
  tables = tables_of_two_studies({1, 3});
  EXPECT_EQ(tables["epoch.csv"].at(0).get("note"), "");
  ASSERT_EQ(tables["scaling.csv"].size(), 2U);
  EXPECT_EQ(tables["scaling.csv"][0].get("status"), "failed");
  EXPECT_EQ(tables["scaling.csv"][0].get("note"), "exit code 9");
  // Nor of the other.
  tables = tables_of_two_studies({1, 2, 3, 4});
  ASSERT_EQ(tables["scaling.csv"].size(), 2U);
  EXPECT_NE(tables["scaling.csv"][0].get("case_id"), tables["scaling.csv"][1].get("case_id"));
  EXPECT_NE(tables["summary.csv"].at(0).get("strategy"),
            tables["summary.csv"].at(1).get("strategy"));
}

}  // namespace

}  // namespace scalebench::losses_test
