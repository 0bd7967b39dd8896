// SPDX-License-Identifier: Apache-2.0
#include "models/gradients/gradient_sync.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>

#include "collectives/transport/thread_ranks_test.hpp"
#include "models/gradient_sync/strategy_under_test.hpp"
#include "models/testing.hpp"

namespace scalebench {
namespace {

TEST(GradientSync, EveryStrategyForgetsTheLastStep) {
  run_ranks(1, [](Communicator& communicator) {
    for (const GradientSyncInfo& info : gradient_syncs()) {
      SCOPED_TRACE(info.name);
      // These need a second rank, a network, or what does not exist: divided_strategies_test.cpp.
      const std::array<std::string_view, 4> elsewhere{"ps_sync", "ps_async", "model_split", "tpu"};
      if (std::ranges::find(elsewhere, info.name) != elsewhere.end()) continue;
      StrategyUnderTest setup(communicator, "ring");
      const auto sync = setup.make(info.name);
      for (int step = 0; step < 2; ++step) {
        pass(*sync, setup.parameters, 4);
        EXPECT_TRUE(torch::equal(setup.parameters[0].grad(), torch::full({2, 3}, 4.F)));
      }
    }
  });
}

TEST(GradientSync, MirroredIsTheMeanOverRanks) {
  for (const DType wire : {DType::float32, DType::float16, DType::bfloat16}) {
    for (const char* algorithm : {"naive", "ring"}) {
      run_ranks(3, [&](Communicator& communicator) {
        StrategyUnderTest setup(communicator, algorithm);
        setup.options.wire = wire;
        const auto sync = setup.make("mirrored");
        pass(*sync, setup.parameters, 3 * communicator.rank());
        EXPECT_TRUE(
            torch::allclose(setup.parameters[0].grad(), torch::full({2, 3}, 3.F), 1e-2, 1e-2));
        EXPECT_TRUE(torch::allclose(setup.parameters[1].grad(), torch::full({5}, 3.F), 1e-2, 1e-2));
        EXPECT_TRUE(sync->update(0.1, 1));
        EXPECT_NEAR(setup.parameters[1][0].item<float>(), 0.7F, 1e-2);
      });
    }
  }
}

TEST(GradientSync, UpdatesFromScaledGradientsOrNotAtAll) {
  run_ranks(1, [](Communicator& communicator) {
    for (const char* name : {"none", "one_device"}) {
      SCOPED_TRACE(name);
      StrategyUnderTest setup(communicator, nullptr);
      const auto sync = setup.make(name);
      pass(*sync, setup.parameters, 1024);
      EXPECT_TRUE(sync->update(0.25, 1024));
      EXPECT_EQ(setup.parameters[0][0][0].item<float>(), 0.75F);
      pass(*sync, setup.parameters, std::numeric_limits<double>::infinity());
      EXPECT_FALSE(sync->update(0.25, 1024));
      EXPECT_EQ(setup.parameters[0][0][0].item<float>(), 0.75F);
    }
  });
}

TEST(GradientSync, ABarrierAloneLeavesEveryRankItsOwnGradients) {
  run_ranks(3, [](Communicator& communicator) {
    StrategyUnderTest setup(communicator, nullptr);
    const auto sync = setup.make("barrier_only");
    pass(*sync, setup.parameters, communicator.rank());
    const auto own = static_cast<float>(communicator.rank());
    EXPECT_TRUE(torch::equal(setup.parameters[1].grad(), torch::full({5}, own)));
    EXPECT_TRUE(sync->update(0.25, 1));
    EXPECT_EQ(setup.parameters[1][0].item<float>(), 1 - 0.25F * own);
  });
}

TEST(GradientSync, RefusesWhatCannotWork) {
  expect_error(
      [&] {
        run_ranks(2, [&](Communicator& communicator) {
          StrategyUnderTest(communicator, nullptr).make("one_device");
        });
      },
      {"one_device", "2", "mirrored"});
  expect_error(
      [&] {
        run_ranks(1, [&](Communicator& communicator) {
          StrategyUnderTest(communicator, nullptr).make("mirrored");
        });
      },
      {"allreduce"});
}

}  // namespace

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
