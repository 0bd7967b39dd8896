// SPDX-License-Identifier: Apache-2.0
#include "models/gradient_sync.hpp"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "collectives/thread_communicator.hpp"
#include "models/expect_error.hpp"
#include "models/gradient_bucket.hpp"

namespace scalebench {
namespace {

using Tensors = std::vector<torch::Tensor>;

Tensors two_parameters() {
  return {torch::ones({2, 3}, torch::requires_grad()), torch::ones({5}, torch::requires_grad())};
}

/// d(loss)/d(p) is `factor` everywhere.
void backward(const Tensors& parameters, double factor) {
  (factor * (parameters[0].sum() + parameters[1].sum())).backward();
}

TEST(GradientBucket, HoldsTheGradientsInOrder) {
  run_ranks(1, [](Communicator& communicator) {
    const Tensors parameters = two_parameters();
    GradientBucket bucket(parameters, communicator);
    EXPECT_EQ(bucket.gradients().count, 11U);
    (2 * parameters[0].sum() + 3 * parameters[1].sum()).backward();
    const auto values = bucket.gradients().as<float>();
    EXPECT_EQ(std::vector<float>(values.begin(), values.end()),
              (std::vector<float>{2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3}));
    bucket.zero();
    EXPECT_EQ(parameters[1].grad().abs().sum().item<float>(), 0);
  });
}

TEST(GradientBucket, NoticesAReplacedGradient) {
  run_ranks(1, [](Communicator& communicator) {
    const Tensors parameters = two_parameters();
    GradientBucket bucket(parameters, communicator);
    parameters[1].mutable_grad() = torch::zeros({5});
    expect_error<Error>([&] { bucket.gradients(); }, {"5 numbers", "flat buffer"});
    parameters[1].mutable_grad().reset();
    expect_error<Error>([&] { bucket.gradients(); }, {"flat buffer"});
  });
}

TEST(GradientBucket, TakesItsViewsAway) {
  run_ranks(1, [](Communicator& communicator) {
    const Tensors parameters = two_parameters();
    { const GradientBucket bucket(parameters, communicator); }
    EXPECT_FALSE(parameters[0].grad().defined());
  });
}

TEST(GradientBucket, LiesWherePeersCanReadIt) {
  run_ranks(2, [](Communicator& communicator) {
    const Tensors parameters = two_parameters();
    const GradientBucket bucket(parameters, communicator);
    EXPECT_TRUE(communicator.peer(bucket.gradients(), 1 - communicator.rank()).has_value());
    communicator.barrier();
  });
}

TEST(GradientSync, EveryStrategyForgetsTheLastStep) {
  run_ranks(1, [](Communicator& communicator) {
    for (const GradientSyncInfo& info : gradient_syncs()) {
      SCOPED_TRACE(info.name);
      const Tensors parameters = two_parameters();
      const auto sync = info.make({parameters, communicator, &allreduce_named("ring")});
      for (int step = 0; step < 2; ++step) {
        sync->begin_step();
        backward(parameters, 4);
        sync->synchronise();
        EXPECT_TRUE(torch::equal(parameters[0].grad(), torch::full({2, 3}, 4.F)));
      }
    }
  });
}

TEST(GradientSync, MirroredIsTheMeanOverRanks) {
  for (const char* algorithm : {"naive", "ring"}) {
    run_ranks(3, [&](Communicator& communicator) {
      const Tensors parameters = two_parameters();
      const auto sync = gradient_sync_named("mirrored")
                            .make({parameters, communicator, &allreduce_named(algorithm)});
      sync->begin_step();
      backward(parameters, 3 * communicator.rank());
      sync->synchronise();
      EXPECT_TRUE(torch::allclose(parameters[0].grad(), torch::full({2, 3}, 3.F)));
      EXPECT_TRUE(torch::allclose(parameters[1].grad(), torch::full({5}, 3.F)));
    });
  }
}

TEST(GradientSync, RefusesWhatCannotWork) {
  const Tensors parameters = two_parameters();
  expect_error(
      [&] {
        run_ranks(2, [&](Communicator& communicator) {
          gradient_sync_named("one_device").make({parameters, communicator});
        });
      },
      {"one_device", "2", "mirrored"});
  expect_error(
      [&] {
        run_ranks(1, [&](Communicator& communicator) {
          gradient_sync_named("mirrored").make({parameters, communicator});
        });
      },
      {"mirrored", "allreduce"});
}

}  // namespace
}  // namespace scalebench
