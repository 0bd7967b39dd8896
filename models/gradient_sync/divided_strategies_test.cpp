// SPDX-License-Identifier: Apache-2.0
// Strategies that divide the update or the model: the same training as with one rank that has the
// whole batch, whatever is divided among how many.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <mutex>
#include <sstream>

#include "collectives/transport/thread_ranks_test.hpp"
#include "collectives/transport/transports.hpp"
#include "models/gradient_sync/strategy_under_test.hpp"
#include "models/gradients/pass.hpp"
#include "models/testing.hpp"
#include "models/trainer.hpp"

namespace scalebench {

/// How a failed test names its parameter.
void PrintTo(const GradientSyncInfo& info, std::ostream* out) { *out << info.name; }

namespace {

constexpr std::int64_t kGlobalBatch = 24;

struct Outcome {
  std::vector<double> losses;  // of each step: the mean over those that saw images
  std::int64_t samples = 0;
  double accuracy = 0;
  bool equal = false;
  std::string remarks;
};

TrainerOptions options_for(std::string_view sync) {
  // One step an epoch, so that the loss of every step is seen.
  TrainerOptions options{.dataset = "synthetic:600", .optimizer = "sgd", .rate = {.base = 0.05}};
  options.gradient_sync = sync;
  options.allreduce = &allreduce_named("ring");
  options.global_batch = kGlobalBatch;
  options.samples_per_epoch = kGlobalBatch;
  return options;
}

Outcome train_on(Communicator& communicator, const TrainerOptions& options, int epochs) {
  NoTrace trace;
  Trainer trainer(options, communicator, communicator, trace);
  Outcome outcome;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const EpochResult result = trainer.train_epoch(epoch);
    outcome.losses.push_back(result.loss);
    outcome.samples += result.samples;
  }
  outcome.remarks = trainer.remarks();
  outcome.accuracy = trainer.evaluate().accuracy;
  outcome.equal = trainer.replicas_equal();
  return outcome;
}

/// Threads as ranks, over plain threads or shared memory; rank 0's outcome with all samples and
/// with the workers' mean losses.
Outcome train(const TrainerOptions& options, int ranks, int epochs, int ranks_per_node = 100,
              bool shared_memory = false) {
  Outcome joint;
  joint.losses.assign(static_cast<std::size_t>(epochs), 0);
  int seeing = 0;
  std::mutex mutex;
  run_ranks(
      ranks,
      [&](Communicator& control) {
        std::unique_ptr<Communicator> shared;
        if (shared_memory) shared = make_shared_memory_communicator(control);
        const Outcome mine = train_on(shared ? *shared : control, options, epochs);
        const std::lock_guard lock(mutex);
        joint.samples += mine.samples;
        if (!std::isnan(mine.losses[0])) {
          ++seeing;
          for (std::size_t i = 0; i < mine.losses.size(); ++i) joint.losses[i] += mine.losses[i];
        }
        if (control.rank() > 0) return;
        joint.accuracy = mine.accuracy;
        joint.equal = mine.equal;
        joint.remarks = mine.remarks;
      },
      SendMode::rendezvous, ranks_per_node);
  for (double& loss : joint.losses) loss /= seeing;
  return joint;
}

void expect_near(const std::vector<double>& losses, const std::vector<double>& wanted,
                 double tolerance = 1e-4) {
  ASSERT_EQ(losses.size(), wanted.size());
  for (std::size_t step = 0; step < wanted.size(); ++step) {
    EXPECT_NEAR(losses[step], wanted[step], tolerance) << "step " << step;
  }
}

/// Whether its line promises the mean of all workers' gradients.
bool takes_mean(std::string_view sync) {
#define GRADIENT_SYNC(name, equal, mean, ...) \
  if (sync == #name) return mean;
#include "models/gradients/gradient_sync.def"
#undef GRADIENT_SYNC
  return false;
}

class EveryGradientSync : public testing::TestWithParam<GradientSyncInfo> {};

// A strategy that sends nothing, too little or the wrong thing is seen here, whatever it is called.
TEST_P(EveryGradientSync, KeepsWhatItsLinePromises) {
  constexpr int kSteps = 8;
  const GradientSyncInfo& info = GetParam();
  // Two ranks that see different images, and a server where there are servers.
  int ranks = info.workers(2, 1) == info.workers(2, 2) ? 2 : 3;
  if (info.name == "one_device") ranks = 1;
  if (info.name == "tpu") {
    EXPECT_THROW(train(options_for(info.name), ranks, 1), UsageError);
    return;
  }
  SCOPED_TRACE(
      fmt::format("{} on {} ranks, against its line in gradient_sync.def", info.name, ranks));
  const Outcome many = train(options_for(info.name), ranks, kSteps);
  if (info.equal_replicas) {
    EXPECT_TRUE(many.equal) << "equal: the ranks' parameters differ after " << kSteps << " steps";
  }
  if (!takes_mean(info.name)) return;
  const Outcome one = train(options_for("none"), 1, kSteps);
  SCOPED_TRACE("mean: the losses must be those of one rank that has the whole batch");
  expect_near(many.losses, one.losses);
  EXPECT_EQ(many.samples, one.samples);
}

INSTANTIATE_TEST_SUITE_P(GradientSyncs, EveryGradientSync,
                         testing::ValuesIn(gradient_syncs().begin(), gradient_syncs().end()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(DividedStrategies, TrainAsOneRankWithTheWholeBatch) {
  constexpr int kSteps = 10;
  const Outcome one = train(options_for("none"), 1, kSteps);
  for (const char* sync :
       {"central_storage", "ps_sync", "balanced_shards", "zero1", "model_split"}) {
    for (const int ranks : {2, 3, 4}) {
      for (const int servers : {1, 2}) {
        TrainerOptions options = options_for(sync);
        const bool has_servers = options.gradient_sync == "ps_sync";
        if (servers > 1 && (!has_servers || ranks == 2)) continue;
        options.sync.servers = servers;
        options.sync.micro_batches = 3;
        for (const bool shared_memory : {false, true}) {
          SCOPED_TRACE(fmt::format("{} on {} ranks, {} servers, shared_memory {}", sync, ranks,
                                   servers, shared_memory));
          const Outcome many = train(options, ranks, kSteps, 2, shared_memory);
          expect_near(many.losses, one.losses);
          EXPECT_EQ(many.samples, kSteps * kGlobalBatch);
          EXPECT_NEAR(many.accuracy, one.accuracy, 0.021);  // two images of 100 on the edge
          EXPECT_TRUE(many.equal);
        }
      }
    }
  }
}

TEST(DividedStrategies, AsynchronousWithOneWorkerIsSynchronous) {
  const Outcome one = train(options_for("none"), 1, 10);
  for (const int servers : {1, 2}) {
    TrainerOptions options = options_for("ps_async");
    options.sync.servers = servers;
    const Outcome alone = train(options, 1 + servers, 10);
    expect_near(alone.losses, one.losses);
    EXPECT_TRUE(alone.equal) << "publish() must make all ranks' parameters those of the servers";
    EXPECT_NE(alone.remarks.find(fmt::format("staleness 0:{}", 10 * servers)), std::string::npos)
        << alone.remarks;
  }
}

TEST(DividedStrategies, AsynchronousWorkersAreCounted) {
  for (const int servers : {1, 2}) {
    TrainerOptions options = options_for("ps_async");
    options.sync.servers = servers;
    options.samples_per_epoch = 10 * kGlobalBatch;
    const Outcome outcome = train(options, 2 + servers, 3);
    EXPECT_EQ(outcome.samples, 30 * kGlobalBatch);
    EXPECT_LT(outcome.losses[2], outcome.losses[0]);
    EXPECT_TRUE(outcome.equal);
    std::int64_t pushes = 0;
    const std::size_t histogram = outcome.remarks.find("staleness ");
    ASSERT_NE(histogram, std::string::npos) << outcome.remarks;
    std::istringstream words(outcome.remarks.substr(histogram + 10));
    for (std::string word; words >> word;) pushes += std::stoll(word.substr(word.find(':') + 1));
    EXPECT_EQ(pushes, 2 * servers * 30);
  }
}

TEST(DividedStrategies, NormalisationIsEqualEverywhereInTheEnd) {
  for (const char* sync :
       {"central_storage", "ps_sync", "ps_async", "balanced_shards", "zero1", "model_split"}) {
    SCOPED_TRACE(sync);
    TrainerOptions options = options_for(sync);
    options.model = "resnet20";
    options.global_batch = options.samples_per_epoch = 12;
    EXPECT_TRUE(train(options, 3, 2).equal);
  }
}

TEST(DividedStrategies, CompressedSlicesAreMeansToTheirPrecision) {
  for (const DType wire : {DType::float16, DType::bfloat16}) {
    for (const int ranks_per_node : {1, 2, 3}) {
      run_ranks(
          3,
          [&](Communicator& communicator) {
            StrategyUnderTest setup(communicator, nullptr);
            setup.options.wire = wire;
            const auto sync = setup.make("balanced_shards");
            pass(*sync, setup.parameters, 3 * communicator.rank());
            EXPECT_TRUE(
                torch::allclose(setup.parameters[0].grad(), torch::full({2, 3}, 3.F), 1e-2));
          },
          SendMode::rendezvous, ranks_per_node);
    }
  }
}

TEST(DividedStrategies, SkipAnInfiniteGradientOnAllRanks) {
  for (const char* name : {"central_storage", "ps_sync", "ps_async", "zero1"}) {
    SCOPED_TRACE(name);
    run_ranks(3, [&](Communicator& communicator) {
      StrategyUnderTest setup(communicator, nullptr);
      const auto sync = setup.make(name);
      if (sync->workers().index < 0) {
        sync->serve(2);
      } else {
        const bool bad = communicator.rank() == 1;
        pass(*sync, setup.parameters, bad ? std::numeric_limits<double>::infinity() : 1024);
        const bool alone = std::string_view(name) == "ps_async";
        EXPECT_EQ(sync->update(0.25, 1024), alone && !bad);
        pass(*sync, setup.parameters, 1024);
        EXPECT_TRUE(sync->update(0.25, 1024));
      }
      sync->publish();
      // One step of 0.25, or with ps_async three by one and the momentum of those before.
      const float left = setup.parameters[1][0].item<float>();
      if (std::string_view(name) == "ps_async") {
        EXPECT_NEAR(left, 1 - 0.25 * (1 + 1.9 + 2.71), 1e-5);
      } else {
        EXPECT_NEAR(left, 0.75F, 1e-6);
      }
    });
  }
}

/// One rank whose windows are not the memory of the network, as those of a transport between hosts
/// are not where the network is on a GPU. Both are host memory.
class MemoryApart final : public Communicator {
 public:
  explicit MemoryApart(Communicator& alone) : Communicator(Memory::device), alone_(alone) {}
  int rank() const override { return 0; }
  int size() const override { return 1; }
  Topology topology() const override { return alone_.topology(); }
  std::string_view transport() const override { return "apart"; }
  void exchange(ConstSpan, int, Span, int) override { fail("nobody to exchange with"); }
  Window window(std::size_t count, DType dtype) override { return alone_.window(count, dtype); }
  void barrier() override {}

 private:
  Communicator& alone_;
};

// What a checkpoint's restore does: parameters into the network, then restore_optimizer().
TEST(DividedStrategies, GoOnFromTheParametersThatAreInTheNetworkWhenRestored) {
  for (const char* name : {"central_storage", "zero1", "one_device"}) {
    SCOPED_TRACE(name);
    run_ranks(1, [&](Communicator& alone) {
      MemoryApart communicator(alone);
      StrategyUnderTest setup(communicator, "ring");
      const auto sync = setup.make(name);
      const NamedTensors untouched = sync->optimizer_state();
      {
        const torch::NoGradGuard no_grad;
        for (const torch::Tensor& parameter : setup.parameters) parameter.fill_(7);
      }
      sync->restore_optimizer(untouched);
      pass(*sync, setup.parameters, 2);
      ASSERT_TRUE(sync->update(0.25, 1));
      EXPECT_TRUE(setup.parameters[0].allclose(torch::full({2, 3}, 6.5F)));
      EXPECT_TRUE(setup.parameters[1].allclose(torch::full({5}, 6.5F)));
    });
  }
}

TEST(DividedStrategies, RefuseWhatCannotWork) {
  const auto refused = [](const char* name, int ranks, const GradientSyncOptions& options,
                          std::initializer_list<std::string_view> parts) {
    expect_error(
        [&] {
          run_ranks(ranks, [&](Communicator& communicator) {
            StrategyUnderTest setup(communicator, nullptr);
            setup.options = options;
            setup.make(name);
          });
        },
        parts);
  };
  refused("ps_sync", 2, {.servers = 2}, {"2 servers", "2 ranks", "expected 1 to 1"});
  refused("ps_async", 4, {.servers = 3}, {"3 servers", "2 variables"});
  refused("model_split", 2, {}, {"model_split", "chain of layers", "mirrored"});
  refused("tpu", 1, {}, {"TPU", "mirrored"});
  for (const char* name : {"central_storage", "ps_sync", "zero1", "model_split"}) {
    refused(name, 2, {.wire = DType::float16}, {name, "float32", "balanced_shards"});
  }
  TrainerOptions options = options_for("model_split");
  expect_error([&] { train(options, 6, 1); }, {"5 layers", "6 ranks", "at most 5"});
  options.sync.micro_batches = 5;
  expect_error([&] { train(options, 2, 1); }, {"24 images", "5 micro-batches"});
  options.sync.micro_batches = 2;
  options.accumulate = 2;
  expect_error([&] { train(options, 2, 1); }, {"accumulation"});
}

}  // namespace
}  // namespace scalebench
