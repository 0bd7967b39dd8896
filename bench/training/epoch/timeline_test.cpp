// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
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

/// Begins and ends as lane, kind, activity and microseconds.
std::vector<std::string> events(const nlohmann::json& document) {
  std::vector<std::string> all;
  for (const auto& event : document["traceEvents"]) {
    if (event["ph"] == "M") continue;
    all.push_back(fmt::format("{} {} {} {}", event["tid"].get<int>(),
                              event["ph"].get<std::string>(), event["name"].get<std::string>(),
                              event["ts"].get<double>()));
  }
  return all;
}

TEST(ChromeTimeline, HoldsWhatIsToldBetweenStartAndFinish) {
  const TemporaryFolder folder;
  const auto path = folder / "timeline.json";
  ChromeTimeline timeline(path, &ticks);
  timeline.begin(0, "EARLY");
  timeline.start();
  timeline.begin(0, "QUEUE");
  timeline.begin(7, "ring");
  timeline.end(0);
  timeline.finish();
  timeline.end(7);
  const nlohmann::json document = read(path);
  EXPECT_EQ(events(document),
            (std::vector<std::string>{"0 B QUEUE 1000000", "7 B ring 2000000", "0 E  3000000"}));
  EXPECT_EQ(document["traceEvents"].back()["args"]["name"], "gradient 7");
}

TEST(ChromeTimeline, IsBoundedAndSaysWhatItDropped) {
  const TemporaryFolder folder;
  const auto path = folder / "timeline.json";
  ChromeTimeline timeline(path, &ticks, 3);
  timeline.start();
  for (int i = 0; i < 10; ++i) {
    timeline.begin(0, "QUEUE");
    timeline.end(0);
  }
  timeline.finish();
  const nlohmann::json document = read(path);
  EXPECT_EQ(events(document).size(), 3U);
  EXPECT_EQ(document["otherData"]["dropped_events"], 17);
}

TEST(ChromeTimeline, RefusesAFileThatCannotBe) {
  const TemporaryFolder folder;
  EXPECT_THROW(ChromeTimeline(folder / "no/such.json", &ticks), UsageError);
}

}  // namespace
}  // namespace scalebench
