// SPDX-License-Identifier: Apache-2.0
#include "models/worker_count.hpp"

#include <gtest/gtest.h>

#include "models/expect_error.hpp"

namespace scalebench {
namespace {

TEST(WorkerCount, IsWhoSeesImages) {
  GradientSyncOptions options{.servers = 2};
  EXPECT_EQ(worker_count("mirrored", options, 4), 4);
  EXPECT_EQ(worker_count("ps_sync", options, 4), 2);
  EXPECT_EQ(worker_count("ps_async", options, 3), 1);
  EXPECT_EQ(worker_count("model_split", options, 4), 1);
}

TEST(WorkerCount, RefusesWhatLeavesNobody) {
  GradientSyncOptions options{.servers = 3};
  expect_error([&] { worker_count("ps_sync", options, 3); }, {"3 servers", "3 ranks", "1 to 2"});
  expect_error([&] { worker_count("ps_async", options, 1); }, {"ps_async", "at least 2 ranks"});
  options.servers = 0;
  expect_error([&] { worker_count("ps_sync", options, 3); }, {"0 servers", "1 to 2"});
  expect_error([&] { worker_count("tpu", options, 1); }, {"TPU", "mirrored"});
}

}  // namespace
}  // namespace scalebench
