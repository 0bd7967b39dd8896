// SPDX-License-Identifier: Apache-2.0
// posted.csv: what people have posted of allreduces in public issues, and what maintainers of NCCL
// (else the reporter) said of it. Facts alone, each with its issue; `inferred` names those that
// follow from the text without standing there. A rate above the network's that was explained by a
// tree over two hosts is told as NORMAL. The rules and limits of judge.cpp were made from the
// issues that are not held out.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "bench/record/columns.hpp"
#include "bench/record/csv.hpp"
#include "bench/study/normal/judge.hpp"

namespace scalebench {
namespace {

using testing::ElementsAre;

std::string told_by_us(const CsvTable& posted, std::size_t row,
                       const std::vector<Fabric>& fabrics) {
  constexpr double kLarge = 8.0 * (1 << 30);  // where nobody says how large
  const double bytes = posted.number(row, "bytes"), gbit = posted.number(row, "gbit");
  MeasuredLine line{"native",
                    "nccl",
                    static_cast<std::int64_t>(std::isnan(bytes) ? kLarge : bytes),
                    static_cast<int>(posted.number(row, "ranks")),
                    static_cast<int>(posted.number(row, "nodes")),
                    0};
  line.seconds = busbw_gb_per_s(static_cast<double>(line.bytes), 1, line.ranks) /
                 posted.number(row, "busbw_gb_per_s");
  Place place;
  place.fabric = fabric_of(fabrics, {posted.text(row, "gpu")});
  if (!std::isnan(gbit)) {
    place.rail_gb_per_s = gbit / 8;
    place.rails = static_cast<int>(posted.number(row, "rails"));
  }
  return std::string(name_of(judge({line}, place, {}).verdict));
}

/// "issue: busbw, ours instead of theirs".
struct Differences {
  std::vector<std::string> wrong, unjudged;
  int rows = 0;
};

Differences differences(double held_out) {
  const CsvTable posted = CsvTable::read(SCALEBENCH_POSTED);
  const std::vector<Fabric> fabrics = read_fabrics(SCALEBENCH_FABRICS);
  Differences found;
  for (std::size_t row = 0; row < posted.size(); ++row) {
    if (posted.number(row, "held_out") != held_out) continue;
    ++found.rows;
    const std::string ours = told_by_us(posted, row, fabrics), theirs = posted.text(row, "told");
    if (ours == theirs) continue;
    const std::string& url = posted.text(row, "url");
    const std::string issue = url.substr(url.rfind("github.com/") + 11);
    (ours == "UNKNOWN" ? found.unjudged : found.wrong)
        .push_back(fmt::format("{}: {}, {} instead of {}", issue,
                               posted.text(row, "busbw_gb_per_s"), ours, theirs));
  }
  return found;
}

TEST(Posted, WhatTheRulesWereMadeFrom) {
  const Differences found = differences(0);
  EXPECT_EQ(found.rows, 20);
  EXPECT_THAT(found.wrong,
              ElementsAre("NVIDIA/nccl-tests/issues/149: 200, NORMAL instead of UNKNOWN"));
  EXPECT_THAT(found.unjudged,
              ElementsAre("NVIDIA/nccl-tests/issues/178: 208, UNKNOWN instead of NORMAL",
                          "NVIDIA/nccl/issues/1639: 28, UNKNOWN instead of NORMAL",
                          "NVIDIA/nccl/issues/1639: 35, UNKNOWN instead of NORMAL"));
}

TEST(Posted, WhatWasHeldOut) {
  const Differences found = differences(1);
  EXPECT_EQ(found.rows, 30);
  EXPECT_THAT(found.wrong, ElementsAre("NVIDIA/nccl/issues/1048: 86, NORMAL instead of SLOW"));
  EXPECT_THAT(
      found.unjudged,
      ElementsAre("NVIDIA/nccl/issues/1603: 22, UNKNOWN instead of NORMAL",
                  "tinygrad/open-gpu-kernel-modules/issues/17: 24.70, UNKNOWN instead of NORMAL"));
}

}  // namespace
}  // namespace scalebench
