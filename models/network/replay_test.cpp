// SPDX-License-Identifier: Apache-2.0
// A replayed network makes the gradients that were recorded and asks for the durations that were,
// times the dilation; what was asked for is counted here, nothing is timed.
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <numeric>

#include "collectives/transport/thread_ranks_test.hpp"
#include "kernels/testing.hpp"
#include "models/network/models.hpp"
#include "models/network/network.hpp"
#include "models/testing.hpp"
#include "models/trainer.hpp"

namespace scalebench {
namespace {

/// Does not wait, and remembers what it was asked for.
class CountingPace : public Pace {
 public:
  void last(double seconds, const std::function<void()>& work) override {
    work();
    asked.push_back(seconds);
  }
  double sum() const { return std::accumulate(asked.begin(), asked.end(), 0.0); }
  std::vector<double> asked;
};

ReplayTrace example() {
  ReplayTrace trace;
  trace.model = "tiny";
  trace.batch = 4;
  trace.device = "cpu";
  trace.dtype = "float";
  trace.steps = 1;
  trace.layers = {{"first", 1, 8, {6, 2}}, {"relu", 2, 0, {}}, {"last", 4, 16, {3}}};
  trace.parameters = 11;
  trace.load_seconds = 32;
  trace.update_seconds = 64;
  trace.host_seconds = 128;
  trace.step_seconds = {255};
  return trace;
}

TEST(ReplayNetwork, AsksForEachLayersDurations) {
  CountingPace pace;
  const auto network = make_replay_network(example(), 3, pace);
  const torch::Tensor logits = network->forward(torch::rand({4, 1, 1, 1}));
  EXPECT_EQ(logits.sizes(), (std::vector<std::int64_t>{4, 2}));
  EXPECT_EQ(pace.asked, (std::vector<double>{3, 6, 12}));
  pace.asked.clear();
  logits.sum().backward();
  EXPECT_EQ(pace.asked, (std::vector<double>{48, 0, 24})) << "from the last layer to the first";
  network->eval();
  pace.asked.clear();
  network->forward(torch::rand({4, 1, 1, 1}));
  EXPECT_TRUE(pace.asked.empty());
}

TEST(ReplayNetwork, MakesGradientsOfTheRecordedSizesFromItsImages) {
  CountingPace pace;
  const auto network = make_replay_network(example(), 1, pace);
  const std::vector<torch::Tensor> parameters = network->parameters();
  std::vector<std::int64_t> sizes;
  for (const torch::Tensor& parameter : parameters) sizes.push_back(parameter.numel());
  EXPECT_EQ(sizes, (std::vector<std::int64_t>{6, 2, 3}));
  const auto gradient_of = [&](float pixel) {
    network->zero_grad();
    const auto logits = network->forward(torch::full({4, 1, 1, 1}, pixel));
    torch::cross_entropy_loss(logits, torch::zeros({4}, torch::kInt64)).backward();
    return parameters[0].grad().clone();
  };
  const torch::Tensor dark = gradient_of(0.1F), bright = gradient_of(0.9F);
  EXPECT_NE(dark[0].item<float>(), 0);
  EXPECT_EQ(dark.min().item<float>(), dark.max().item<float>());
  EXPECT_NE(dark[0].item<float>(), bright[0].item<float>());
  for (const torch::Tensor& parameter : parameters) {
    EXPECT_EQ(parameter.grad().sizes(), parameter.sizes());
  }
}

/// What a pass told of its layers.
class Listener : public LayerTrace {
 public:
  void forward_done(std::size_t layer) override { forward.push_back(layer); }
  void gradient_done(std::size_t layer) override { gradients.push_back(layer); }
  std::vector<std::size_t> forward;
  std::vector<std::size_t> gradients;
};

/// Layers come in the order of the forward pass, in which resnet20 does not register its
/// parameters.
TEST(LayerMarks, CoverEveryParameterOfEveryModelOnce) {
  for (const ModelInfo& info : models()) {
    SCOPED_TRACE(info.name);
    const auto network = make_network(info.name, 1);
    std::vector<std::int64_t> recorded, real;
    for (const TracedLayer& layer : traced_layers(*network)) {
      EXPECT_FALSE(layer.name.empty());
      recorded.insert(recorded.end(), layer.gradients.begin(), layer.gradients.end());
    }
    for (const torch::Tensor& parameter : network->parameters()) real.push_back(parameter.numel());
    std::ranges::sort(recorded);
    std::ranges::sort(real);
    EXPECT_EQ(recorded, real);
    EXPECT_EQ(std::accumulate(real.begin(), real.end(), std::int64_t{0}), info.parameters);
  }
}

TEST(LayerMarks, TellOfEachLayerOnceAndOfEachGradient) {
  const auto network = make_network("mlp", 1);
  const torch::Tensor images = torch::rand({2, 1, 28, 28});
  const torch::Tensor expected = network->forward(images);
  Listener listener;
  {
    LayerMarks marks(*network, listener);
    const torch::Tensor logits = marks.forward(images);
    EXPECT_TRUE(torch::equal(logits, expected));
    EXPECT_EQ(listener.forward, (std::vector<std::size_t>{0, 1, 2, 3, 4}));
    logits.sum().backward();
  }
  ASSERT_EQ(listener.gradients.size(), 6U) << "weight and bias of three layers";
  EXPECT_TRUE(std::is_sorted(listener.gradients.rbegin(), listener.gradients.rend()));
  network->forward(images).sum().backward();
  EXPECT_EQ(listener.gradients.size(), 6U) << "the hooks are gone";
}

/// Not a chain of layers.
class Branches : public Network {
 public:
  torch::Tensor forward(torch::Tensor images) override {
    return left_->forward(images) + right_->forward(images);
  }

 private:
  torch::nn::Linear left_ = register_module("left", torch::nn::Linear(3, 2));
  torch::nn::Linear right_ = register_module("right", torch::nn::Linear(3, 2));
};

TEST(LayerMarks, DivideANetworkThatIsNoChainByItsModules) {
  Branches network;
  const std::vector<TracedLayer> layers = traced_layers(network);
  ASSERT_EQ(layers.size(), 2U);
  EXPECT_EQ(layers[0].name, "left");
  EXPECT_EQ(layers[1].gradients, (std::vector<std::int64_t>{6, 2}));
  Listener listener;
  LayerMarks marks(network, listener);
  marks.forward(torch::rand({4, 3})).sum().backward();
  EXPECT_EQ(listener.forward, (std::vector<std::size_t>{0}));
  EXPECT_EQ(listener.gradients.size(), 4U);
}

class Replay : public testing::Test {
 protected:
  TrainerOptions options(double dilation) const {
    TrainerOptions options{.model = "replay:" + file_.string(), .dataset = "synthetic:600"};
    options.module.dilation = dilation;
    options.batch = 4;
    options.allreduce = &allreduce_named("ring");
    return options;
  }
  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.write("tiny.json", json_of(example()));
};

TEST_F(Replay, OfAStepAsksForAllOfIt) {
  for (const double dilation : {1.0, 2.5}) {
    run_ranks(1, [&](Communicator& communicator) {
      CountingPace pace;
      TrainerOptions replayed = options(dilation);
      replayed.gradient_sync = "none";
      replayed.pace = &pace;
      NoTrace trace;
      Trainer trainer(replayed, communicator, communicator, trace);
      EXPECT_EQ(trainer.parameter_count(), 11);
      EXPECT_EQ(trainer.options().choice.label, "replay:tiny");
      trainer.train_step();
      EXPECT_DOUBLE_EQ(pace.sum(), dilation * example().seconds());
    });
  }
}

TEST_F(Replay, SynchronisesByEveryStrategyThatTakesWholeNetworks) {
  for (const char* sync : {"none", "naive", "mirrored", "multi_worker", "bucketed_overlap",
                           "horovod", "balanced_shards", "central_storage", "zero1"}) {
    SCOPED_TRACE(sync);
    std::mutex mutex;
    double asked = 0;
    run_ranks(2, [&](Communicator& communicator) {
      CountingPace pace;
      TrainerOptions replayed = options(1);
      replayed.gradient_sync = sync;
      replayed.pace = &pace;
      NoTrace trace;
      Trainer trainer(replayed, communicator, communicator, trace);
      trainer.train_step();
      // Each rank sees other images, so that replicas are equal only if they have synchronised.
      EXPECT_EQ(trainer.replicas_equal(), std::string_view(sync) != "none");
      const std::lock_guard lock(mutex);
      asked += pace.sum();
    });
    // Where ranks divide the update, each lasts as long as its share, gaps of the flat memory
    // included, which for so few parameters are most of it.
    const ReplayTrace trace = example();
    EXPECT_GE(asked, 2 * (trace.seconds() - trace.update_seconds)) << "all but updates";
  }
}

TEST_F(Replay, RefusesWhatATraceDoesNotKnow) {
  run_ranks(2, [&](Communicator& communicator) {
    CountingPace pace;
    NoTrace trace;
    TrainerOptions replayed = options(1);
    replayed.gradient_sync = "model_split";
    replayed.pace = &pace;
    expect_error([&] { Trainer trainer(replayed, communicator, communicator, trace); },
                 {"model_split", "no trace"});
  });
  run_ranks(1, [&](Communicator& communicator) {
    NoTrace trace;
    expect_error([&] { Trainer trainer(options(1), communicator, communicator, trace); },
                 {"only bench_epoch can replay"});
  });
}

TEST_F(Replay, RefusesADilationThatIsNone) {
  for (const double dilation : {0.0, -1.0, std::numeric_limits<double>::infinity()}) {
    ModuleOptions module;
    module.dilation = dilation;
    expect_error([&] { choose_model("replay:" + file_.string(), module); },
                 {"--dilation", "above 0"});
  }
  ModuleOptions slow;
  slow.dilation = 2;
  expect_error([&] { choose_model("mlp", slow); }, {"--dilation 2", "replay:"});
  ModuleOptions described;
  described.loss = "mse";
  expect_error([&] { choose_model("replay:" + file_.string(), described); }, {"TorchScript"});
  expect_error([&] { choose_model("replay:" + folder_.path().string(), {}); }, {"cannot read"});
}

}  // namespace
}  // namespace scalebench
