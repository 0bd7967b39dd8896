// SPDX-License-Identifier: Apache-2.0
// What every strategy promises that keeps a replica on every rank and reduces gradients there.
#include <gtest/gtest.h>

#include <mutex>
#include <numeric>

#include "collectives/transport/thread_ranks_test.hpp"
#include "models/gradient_sync/strategy_under_test.hpp"
#include "models/testing.hpp"
#include "models/trainer.hpp"

namespace scalebench {
namespace {

struct Variant {
  const char* name;
  GradientSyncOptions options = {};
};

/// Sizes in bytes are small against the parameters below, so that there are several messages.
std::vector<Variant> variants() {
  std::vector<Variant> all{{"naive"}, {"mirrored"}, {"multi_worker"}};
  for (const Progress progress : {Progress::thread, Progress::hook, Progress::end}) {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{400}, std::size_t{1} << 20U}) {
      all.push_back({"bucketed_overlap", {.bucket_bytes = bytes, .progress = progress}});
    }
  }
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{400}, std::size_t{1} << 20U}) {
    for (const double cycle : {0.0, 1e-4}) {
      all.push_back({"horovod", {.fusion_bytes = bytes, .cycle_seconds = cycle}});
    }
  }
  return all;
}

std::string text_of(const Variant& variant) {
  return fmt::format("{} bucket={} progress={} fusion={} cycle={}", variant.name,
                     variant.options.bucket_bytes, static_cast<int>(variant.options.progress),
                     variant.options.fusion_bytes, variant.options.cycle_seconds);
}

std::vector<torch::Tensor> parameters() {
  std::vector<torch::Tensor> all;
  for (const std::int64_t count : {7, 64, 3, 200, 1, 33}) {
    all.push_back(torch::ones({count}, torch::requires_grad()));
  }
  return all;
}

/// d(loss)/d(p_i) = factor * (i + 1), made in an order of the caller's choice.
torch::Tensor loss_of(const std::vector<torch::Tensor>& all, double factor, bool backwards) {
  torch::Tensor sum = torch::zeros({});
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t index = backwards ? all.size() - 1 - i : i;
    sum = sum + factor * static_cast<double>(index + 1) * all[index].sum();
  }
  return sum;
}

/// Counts, and checks that nothing ends that was not posted. Called by two threads.
class CountingTrace final : public StepTrace {
 public:
  void begin_step() override {}
  void enter(Phase) override {}
  void posted_ago(Exchange kind, double) override {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(kind, Exchange::collective);
    ++posted_;
  }
  void ended_ago(double) override {
    const std::lock_guard lock(mutex_);
    EXPECT_LT(ended_, posted_);
    ++ended_;
  }
  /// All that was posted has ended: how many.
  double complete() const {
    EXPECT_EQ(posted_, ended_);
    return posted_;
  }

 private:
  std::mutex mutex_;
  int posted_ = 0;
  int ended_ = 0;
};

/// One variant on one rank.
struct Strategy {
  Strategy(Communicator& communicator, const char* algorithm, const Variant& variant)
      : options(variant.options) {
    sync = gradient_sync_named(variant.name)
               .make({tensors, communicator, &allreduce_named(algorithm), "sgd", trace, options});
  }
  std::vector<torch::Tensor> tensors = parameters();
  CountingTrace trace;
  GradientSyncOptions options;
  std::unique_ptr<GradientSync> sync;
};

double mean_rank(const Communicator& communicator) { return (communicator.size() + 1) / 2.0; }

/// Every gradient is i + 1 times `factor`.
void expect_gradients(const std::vector<torch::Tensor>& all, double factor) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto want = torch::full_like(all[i], factor * static_cast<double>(i + 1));
    ASSERT_TRUE(torch::allclose(all[i].grad(), want, 1e-6)) << i << " " << all[i].grad();
  }
}

TEST(ReplicaStrategies, GiveTheMeanInWhateverOrderGradientsComeOnEachRank) {
  for (const Variant& variant : variants()) {
    SCOPED_TRACE(text_of(variant));
    for (const char* algorithm : {"naive", "ring", "direct"}) {
      run_ranks(3, [&](Communicator& communicator) {
        Strategy strategy(communicator, algorithm, variant);
        const int rank = communicator.rank();
        for (int step = 1; step <= 3; ++step) {
          strategy.sync->begin_step();
          strategy.sync->before_last_backward();
          loss_of(strategy.tensors, step * (rank + 1), (rank + step) % 2 == 0).backward();
          strategy.sync->synchronise();
          expect_gradients(strategy.tensors, step * mean_rank(communicator));
        }
        EXPECT_GE(strategy.trace.complete(), 3);
        communicator.barrier();
      });
    }
  }
}

TEST(ReplicaStrategies, AddTheGradientsOfSeveralPassesBeforeTheyTravel) {
  for (const Variant& variant : variants()) {
    SCOPED_TRACE(text_of(variant));
    run_ranks(2, [&](Communicator& communicator) {
      Strategy strategy(communicator, "ring", variant);
      for (int step = 0; step < 2; ++step) {
        strategy.sync->begin_step();
        for (const double factor : {1.0, 2.0, 4.0}) {
          if (factor == 4) strategy.sync->before_last_backward();
          loss_of(strategy.tensors, factor * (communicator.rank() + 1), false).backward();
        }
        strategy.sync->synchronise();
        expect_gradients(strategy.tensors, 7 * mean_rank(communicator));
      }
      communicator.barrier();
    });
  }
}

TEST(ReplicaStrategies, AGradientThatARankDoesNotHaveCountsAsZero) {
  for (const Variant& variant : variants()) {
    SCOPED_TRACE(text_of(variant));
    run_ranks(2, [&](Communicator& communicator) {
      Strategy strategy(communicator, "ring", variant);
      strategy.sync->begin_step();
      strategy.sync->before_last_backward();
      auto sum = strategy.tensors[3].sum() * 2;
      if (communicator.rank() == 0) sum = sum + strategy.tensors[0].sum() * 8;
      sum.backward();
      strategy.sync->synchronise();
      const std::vector<float> want{4, 0, 0, 2, 0, 0};
      for (std::size_t i = 0; i < want.size(); ++i) {
        EXPECT_TRUE(strategy.tensors[i].grad().eq(want[i]).all().item<bool>()) << i;
      }
      communicator.barrier();
    });
  }
}

TEST(ReplicaStrategies, TravelNarrowWhenToldTo) {
  for (Variant variant : variants()) {
    for (const DType wire : {DType::float16, DType::bfloat16}) {
      variant.options.wire = wire;
      SCOPED_TRACE(text_of(variant));
      run_ranks(2, [&](Communicator& communicator) {
        Strategy strategy(communicator, "ring", variant);
        strategy.sync->begin_step();
        strategy.sync->before_last_backward();
        loss_of(strategy.tensors, 1 + communicator.rank(), false).backward();
        strategy.sync->synchronise();
        expect_gradients(strategy.tensors, 1.5);
        communicator.barrier();
      });
    }
  }
}

TEST(ReplicaStrategies, ExchangeAsOftenOnEveryRankAndSaySo) {
  for (const Variant& variant : variants()) {
    SCOPED_TRACE(text_of(variant));
    std::array<double, 2> exchanges{};
    run_ranks(2, [&](Communicator& communicator) {
      Strategy strategy(communicator, "ring", variant);
      strategy.sync->begin_step();
      strategy.sync->before_last_backward();
      loss_of(strategy.tensors, 1, communicator.rank() == 0).backward();
      strategy.sync->synchronise();
      exchanges[static_cast<std::size_t>(communicator.rank())] = strategy.trace.complete();
      communicator.barrier();
    });
    EXPECT_EQ(exchanges[0], exchanges[1]);
    const std::string_view name = variant.name;
    if (name == "mirrored" || name == "multi_worker") {
      EXPECT_EQ(exchanges[0], 1);
    } else if (name == "naive" || variant.options.bucket_bytes == 1) {
      EXPECT_EQ(exchanges[0], 6);
    }
  }
}

TEST(ReplicaStrategies, KeepReplicasEqualWhileTraining) {
  for (const Variant& variant : variants()) {
    SCOPED_TRACE(text_of(variant));
    run_ranks(2, [&](Communicator& communicator) {
      NoTrace trace;
      const TrainerOptions options{.dataset = "synthetic:96",
                                   .gradient_sync = variant.name,
                                   .allreduce = &allreduce_named("direct"),
                                   .sync = variant.options,
                                   .batch = 16,
                                   .accumulate = 2};
      Trainer trainer(options, communicator, communicator, trace);
      EXPECT_EQ(trainer.train_epoch(0).steps, 3);
      EXPECT_TRUE(trainer.replicas_equal());
    });
  }
}

TEST(ReplicaStrategies, ThrowWhereTheyAreWaitedForWhatHappenedOnAnotherThread) {
  for (const Variant& variant : variants()) {
    SCOPED_TRACE(text_of(variant));
    expect_error<Unavailable>(
        [&] {
          run_ranks(2, [&](Communicator& communicator) {
            // The transport of threads has no allreduce of its own.
            Strategy strategy(communicator, "native", variant);
            strategy.sync->begin_step();
            strategy.sync->before_last_backward();
            loss_of(strategy.tensors, 1, false).backward();
            strategy.sync->synchronise();
          });
        },
        {"threads", "allreduce of its own"});
  }
}

TEST(ReplicaStrategies, EndWhileRanksWaitInVain) {
  for (const Variant& variant : variants()) {
    SCOPED_TRACE(text_of(variant));
    expect_error<Error>(
        [&] {
          run_ranks(2, [&](Communicator& communicator) {
            Strategy strategy(communicator, "ring", variant);
            strategy.sync->begin_step();
            strategy.sync->before_last_backward();
            if (communicator.rank() == 1) fail("rank 1 has no images");
            loss_of(strategy.tensors, 1, false).backward();
            strategy.sync->synchronise();
          });
        },
        {"rank 1 has no images"});
  }
}

}  // namespace
}  // namespace scalebench
