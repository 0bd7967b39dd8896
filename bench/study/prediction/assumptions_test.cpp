// SPDX-License-Identifier: Apache-2.0
// What a forecast takes for granted, and says: by what allreduce nodes go on that cannot have the
// measured one, and the latency of a link that names none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/study/prediction/rows.hpp"
#include "kernels/error.hpp"

namespace scalebench::assumptions_test {
namespace {

using testing::HasSubstr;

constexpr double kAlpha = 1e-6, kBeta = 1e-9;
constexpr double kContention = 1.5, kTransfer = 1.4, kWait = 0.01;

double allreduce_seconds(std::string_view algorithm, double bytes, const RankLayout& at) {
  constexpr double kFloatBytes = 4;
  const AllreduceWork work = work_of({.algorithm = algorithm,
                                      .transport = "shared_memory",
                                      .ranks = static_cast<double>(at.ranks),
                                      .ranks_on_node = at.per_node(),
                                      .count = bytes / kFloatBytes,
                                      .element_bytes = kFloatBytes});
  return kAlpha * work.steps + kBeta * work.sent_bytes;
}

StepProfile profile() {
  StepProfile made;
  made.batch = 12;
  made.layers = {{"", 0.010, 0.050, {25'000}}, {"", 0.030, 0.050, {1'300'000}}};
  made.load_seconds = 0.004;
  made.update_seconds = 0.006;
  made.step_seconds = {0.150, 0.150};
  return made;
}

/// Two ranks of one host, by `direct` in shared memory; each computes for longer beside the other.
CaseOfRun on_one_host(std::vector<std::string> algorithms) {
  CaseOfRun made{{}, ResultRow(epoch_schema())};
  made.like.set("origin", "measured").set("model", "m").set("transport", "shared_memory");
  PredictionCase& of = made.of;
  of.strategy = "mirrored";
  of.strong = false;
  of.one = {{1, 1}, 12, 1200, {{15, 14.6, 0, 0, 0, 0.4}}};
  of.profiles = {profile()};
  of.algorithm = "direct";
  of.transport = "shared_memory";
  const RankLayout two{2, 1};
  algorithms.emplace_back("direct");
  for (const std::string& name : algorithms) {
    for (double bytes = 1024; bytes <= 1 << 26; bytes *= 16) {
      of.curves[name].push_back({two, bytes, allreduce_seconds(name, bytes, two)});
    }
  }
  const double compute = 0.146 * kContention;
  const double transfer = kTransfer * allreduce_seconds("direct", 4 * 1'325'000, two);
  const double wait = kWait * compute, step = compute + transfer + wait + 0.004;
  of.legs = {{two, 12, 2400, {{100 * step, 100 * compute, 100 * transfer, 100 * wait, 0, 0.4}}}};
  made.measured = {two};
  return made;
}

/// The forecast for eight ranks.
ResultRow asked(const CaseOfRun& of, const std::string& link, std::optional<double> latency) {
  PredictionQuestions questions;
  questions.ranks = {8};
  if (!link.empty()) questions.link = {3e9, latency};
  questions.link_text = link;
  const auto rows = prediction_rows({of}, questions, "run");
  EXPECT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows.back().get("kind"), "forecast");
  return rows.back();
}

TEST(NodesBehindALink, GoOnByTheFastestAllreduceThatTheyCanHave) {
  const auto forecast = asked(on_one_host({"naive", "ring", "one_shot"}), "24gbit,5us", 5e-6);
  EXPECT_EQ(forecast.get("status"), "ok");
  EXPECT_EQ(forecast.get("nodes"), "8");
  EXPECT_EQ(forecast.get("network"), "24gbit,5us");
  EXPECT_THAT(forecast.get("note"), HasSubstr("direct needs one host: ring is the fastest"));
}

TEST(NodesBehindALink, AreSkippedWithoutSuchAnAllreduce) {
  const auto forecast = asked(on_one_host({"one_shot"}), "24gbit,5us", 5e-6);
  EXPECT_EQ(forecast.get("status"), "skipped");
  EXPECT_THAT(forecast.get("note"), HasSubstr("algorithm direct needs ranks that address each"));
}

TEST(NodesBehindALink, TakeTheHalvesOfARing) {
  CaseOfRun sharded = on_one_host({"naive", "ring"}), without = on_one_host({"naive"});
  sharded.of.strategy = without.of.strategy = "zero1";
  EXPECT_EQ(asked(sharded, "24gbit,5us", 5e-6).get("status"), "ok");
  EXPECT_EQ(asked(without, "24gbit,5us", 5e-6).get("status"), "skipped");
}

TEST(NodesBehindALink, SayThatTheLatencyIsThatWithinAHost) {
  const CaseOfRun of = on_one_host({"ring"});
  const std::string words = "names no latency";
  EXPECT_THAT(asked(of, "24gbit", std::nullopt).get("note"), HasSubstr(words));
  EXPECT_THAT(asked(of, "24gbit,5us", 5e-6).get("note"), testing::Not(HasSubstr(words)));
  EXPECT_THAT(asked(of, "", std::nullopt).get("note"), testing::StartsWith("no band: "));
}

}  // namespace
}  // namespace scalebench::assumptions_test
