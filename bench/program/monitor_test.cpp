// SPDX-License-Identifier: Apache-2.0
// Shares and rates from two readings; what is unknown stays an empty cell.
#include "bench/program/monitor.hpp"

#include <gtest/gtest.h>

namespace scalebench {
namespace {

std::vector<ResultRow> rows(const HostLoad& before, const HostLoad& now,
                            const std::vector<DeviceLoad>& devices = {}) {
  ResultRow common(monitor_schema());
  common.set("host", "here").set("utc_seconds", 0.5);
  return monitor_rows(common, before, now, 0.5, devices);
}

TEST(MonitorRows, AreSharesAndRates) {
  HostLoad before;
  HostLoad now;
  before.cores = {100, 10, 1000};
  now.cores = {175, 15, 1100};
  before.disk_written_bytes = 0;
  now.disk_written_bytes = 4096;
  now.memory_used_bytes = 5e6;
  const auto sample = rows(before, now);
  ASSERT_EQ(sample.size(), 1U);
  const ResultRow& row = sample[0];
  EXPECT_EQ(row.get("host"), "here");
  EXPECT_EQ(row.get("cpu_share"), "0.75");
  EXPECT_EQ(row.get("steal_share"), "0.05");
  EXPECT_EQ(row.get("disk_write_bytes_per_s"), "8192");
  EXPECT_EQ(row.get("memory_used_bytes"), "5000000");
}

TEST(MonitorRows, LeaveEmptyWhatIsUnknown) {
  const auto sample = rows({}, {});
  for (const char* column :
       {"cpu_share", "steal_share", "memory_used_bytes", "disk_read_bytes_per_s",
        "network_sent_bytes_per_s", "gpu", "gpu_share"}) {
    EXPECT_EQ(sample[0].get(column), "") << column;
  }
}

TEST(MonitorRows, HaveOneForEachCard) {
  DeviceLoad card;
  card.device = 1;
  card.busy_share = 0.98;
  card.watts = 512.5;
  const auto sample = rows({}, {}, {DeviceLoad{}, card});
  ASSERT_EQ(sample.size(), 3U);
  EXPECT_EQ(sample[1].get("gpu"), "0");
  EXPECT_EQ(sample[1].get("gpu_share"), "");
  EXPECT_EQ(sample[2].get("gpu"), "1");
  EXPECT_EQ(sample[2].get("gpu_share"), "0.98");
  EXPECT_EQ(sample[2].get("gpu_watts"), "512.5");
  EXPECT_EQ(sample[2].get("host"), "here");
  EXPECT_EQ(sample[2].get("cpu_share"), "");
}

}  // namespace
}  // namespace scalebench
