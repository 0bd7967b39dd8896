// SPDX-License-Identifier: Apache-2.0
// What of a link's rate gradients used, in numbers worked out by hand.
#include "bench/study/analysis/link_share.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace scalebench {
namespace {

using testing::HasSubstr;

/// One algorithm known by its line, and one that only its library knows.
AllreduceWork sent_by_a_ring(const AllreduceCall& call) {
  if (call.algorithm != "ring") return {NAN, NAN, NAN};
  const double p = call.ranks, bytes = call.count * call.element_bytes;
  return {2 * (p - 1), 2 * bytes * (p - 1) / p, bytes * (p - 1) / p};
}

/// 250 000 gradients, 1 MB a step; 10 steps an epoch on 4 ranks.
ResultRow leg(const std::string& sync, double transfer, double concurrent, int nodes) {
  ResultRow row(epoch_schema());
  row.set("case_id", "id-of-" + sync).set("origin", "measured").set("status", "ok");
  row.set("gradient_sync", sync).set("allreduce", "ring").set("transport", "mpi");
  row.set("device", "cpu").set("dtype", "float").set("parameters", 250'000).set("rank", "all");
  row.set("ranks", 4).set("nodes", nodes).set("batch", 8).set("samples", 320);
  return row.set("transfer_seconds", transfer).set("concurrent_seconds", concurrent);
}

ResultRow rate(const Schema& schema, double size, double gb_per_s) {
  ResultRow row(schema);
  row.set("status", "ok").set("origin", "measured").set("transport", "mpi").set("memory", "host");
  row.set("size_bytes", size).set("ranks", 4).set("nodes", 1);
  return row.set("busbw_gb_per_s", gb_per_s);
}

ResultRow link(const std::string& from, const std::string& to, double gb_per_s) {
  ResultRow row(links_schema());
  row.set("status", "ok").set("origin", "measured").set("from_host", from).set("to_host", to);
  return row.set("gb_per_s", gb_per_s);
}

using Rows = std::vector<ResultRow>;

ResultRow with_share(const ResultRow& of, const Rows& allreduce, const Rows& bound,
                     const Rows& links, const Rows& launches = {}) {
  ResultRow row(scaling_schema());
  for (const char* column : {"case_id", "origin", "ranks", "nodes"})
    row.set(column, of.get(column));
  Rows rows{row};
  std::vector<LaunchRows> by_round;
  for (const ResultRow& one : launches) {
    by_round.push_back({static_cast<int>(by_round.size()) + 1, {one}, {}});
  }
  set_link_shares(rows, {of}, by_round, allreduce, bound, links, {sent_by_a_ring});
  return rows.front();
}

TEST(LinkShare, IsWhatWasSentOverWhatTheLinkCarries) {
  // A ring of 4 sends 1.5 MB a step: 15 MB in 0.03 s are 0.5 GB/s, half of 1 GB/s.
  const ResultRow of = leg("mirrored", 0.03, 0, 1);
  const Rows bound{rate(bound_schema(), 1 << 20, 1.0), rate(bound_schema(), 1 << 24, 9.0)};
  const ResultRow row = with_share(of, {}, bound, {});
  EXPECT_EQ(row.get("gradient_bytes_sent"), "15000000");
  EXPECT_DOUBLE_EQ(number_in(row, "gradient_gb_per_s"), 0.5);
  EXPECT_DOUBLE_EQ(number_in(row, "link_gb_per_s"), 1);
  EXPECT_DOUBLE_EQ(number_in(row, "link_share"), 0.5);
  EXPECT_EQ(row.get("link_share_ci_low"), "") << "one round has no interval";
  EXPECT_EQ(row.get("link_basis"), "bound.csv");
  // In rounds of 0.02 and 0.03 s: 0.75 and 0.5 of it.
  const ResultRow two =
      with_share(of, {}, bound, {}, {leg("mirrored", 0.02, 0, 1), leg("mirrored", 0.03, 0, 1)});
  EXPECT_DOUBLE_EQ(number_in(two, "link_share"), 0.625);
  EXPECT_DOUBLE_EQ(number_in(two, "link_share_ci_low"), 0.5);
  EXPECT_DOUBLE_EQ(number_in(two, "link_share_ci_high"), 0.75);
  // What moves beside the backward pass moves, too.
  EXPECT_DOUBLE_EQ(
      number_in(with_share(leg("bucketed_overlap", 0.01, 0.05, 1), {}, bound, {}), "link_share"),
      0.25);
}

TEST(LinkShare, TakesTheLinkThatThereIs) {
  const ResultRow inside = leg("mirrored", 0.03, 0, 1), across = leg("mirrored", 0.03, 0, 4);
  const Rows allreduce{rate(allreduce_schema(), 1 << 20, 0.8),
                       rate(allreduce_schema(), 1 << 20, 2)};
  ResultRow row = with_share(inside, allreduce, {}, {});
  EXPECT_DOUBLE_EQ(number_in(row, "link_share"), 0.25) << "the best allreduce of that size";
  EXPECT_EQ(row.get("link_basis"), "allreduce.csv");
  const Rows links{link("a", "b", 0.8), link("b", "a", 0.625), link("all", "a", 0.1)};
  row = with_share(across, allreduce, {}, links);
  EXPECT_DOUBLE_EQ(number_in(row, "link_share"), 0.8) << "the slowest pair of hosts";
  EXPECT_EQ(row.get("link_basis"), "links.csv");
}

TEST(LinkShare, SaysWhyThereIsNone) {
  const ResultRow of = leg("mirrored", 0.03, 0, 1);
  const auto why = [&](const ResultRow& row) {
    EXPECT_EQ(row.get("link_share"), "");
    return row.get("link_basis");
  };
  EXPECT_THAT(why(with_share(of, {}, {rate(bound_schema(), 1 << 24, 1)}, {})),
              HasSubstr("nothing of about 1000000 bytes"));
  EXPECT_EQ(why(with_share(leg("mirrored", 0.03, 0, 4), {}, {}, {})),
            "no link between hosts was measured");
  EXPECT_THAT(why(with_share(leg("ps_sync", 0.03, 0, 1), {}, {}, {})), HasSubstr("ps_sync"));
  ResultRow library = of, narrow = of, still = of;
  EXPECT_THAT(why(with_share(library.set("allreduce", "native"), {}, {}, {})),
              HasSubstr("its library alone"));
  EXPECT_THAT(why(with_share(narrow.set("dtype", "bfloat16"), {}, {}, {})),
              HasSubstr("not recorded"));
  EXPECT_THAT(
      why(with_share(still.set("transfer_seconds", "").set("concurrent_seconds", ""), {}, {}, {})),
      HasSubstr("how long"));
  ResultRow emulated = rate(bound_schema(), 1 << 20, 1);
  EXPECT_THAT(why(with_share(of, {}, {emulated.set("origin", "emulated")}, {})),
              HasSubstr("nothing of about"));
}

}  // namespace
}  // namespace scalebench
