// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "bench/training/epoch/watch.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

/// A second later each time.
double ticks() {
  static double now = 0;
  return now += 1;
}

nlohmann::json read(const std::filesystem::path& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

/// Bars as lane, activity and microseconds.
std::vector<std::string> bars(const nlohmann::json& document) {
  std::map<int, std::string> lanes;
  std::vector<std::string> all;
  for (const auto& event : document["traceEvents"]) {
    if (event["ph"] == "M") lanes[event["tid"]] = event["args"]["name"];
    if (event["ph"] != "X") continue;
    all.push_back(fmt::format("{} {} {}", lanes.at(event["tid"]), event["name"].get<std::string>(),
                              event["dur"].get<double>()));
  }
  return all;
}

TEST(ChromeTimeline, HoldsWhatIsOverBetweenStartAndFinish) {
  const TemporaryFolder folder;
  const auto path = folder / "timeline.json";
  ChromeTimeline timeline(path, &ticks);
  timeline.begin("a", "EARLY");
  timeline.start();
  timeline.end("a");
  timeline.begin("a", "QUEUE");
  timeline.begin("b", "ring");
  timeline.end("a");
  timeline.end("b");
  timeline.begin("a", "UNENDED");
  timeline.finish();
  timeline.begin("b", "LATE");
  timeline.end("b");
  EXPECT_EQ(bars(read(path)), (std::vector<std::string>{"a QUEUE 2000000", "b ring 2000000"}));
}

TEST(ChromeTimeline, IsBoundedAndSaysWhatItDropped) {
  const TemporaryFolder folder;
  const auto path = folder / "timeline.json";
  ChromeTimeline timeline(path, &ticks, 3);
  timeline.start();
  for (int i = 0; i < 10; ++i) {
    timeline.begin("a", "QUEUE");
    timeline.end("a");
  }
  timeline.finish();
  const nlohmann::json document = read(path);
  EXPECT_EQ(bars(document).size(), 3U);
  EXPECT_EQ(document["otherData"]["dropped_events"], 7);
}

TEST(ChromeTimeline, RefusesAFileThatCannotBe) {
  const TemporaryFolder folder;
  EXPECT_THROW(ChromeTimeline(folder / "no/such.json", &ticks), UsageError);
}

}  // namespace
}  // namespace scalebench
