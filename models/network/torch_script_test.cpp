// SPDX-License-Identifier: Apache-2.0
// Modules are made here as torch.jit.script would: source text and parameters, saved to a file.
#include <gtest/gtest.h>
#include <torch/script.h>

#include <cmath>
#include <fstream>

#include "collectives/transport/thread_ranks_test.hpp"
#include "models/gradients/replica.hpp"
#include "models/network/network.hpp"
#include "models/testing.hpp"
#include "models/trainer.hpp"

namespace scalebench {
namespace {

class TorchScript : public testing::Test {
 protected:
  /// A dense layer from 28x28 images to `outputs`, in a file; `body` is its forward.
  std::string save(const char* body, int outputs = 10, torch::ScalarType type = torch::kFloat32,
                   bool trainable = true) {
    torch::jit::Module module("net");
    const auto weight = torch::linspace(-0.1, 0.1, 784 * outputs).view({outputs, 784});
    module.register_parameter("weight", weight.to(type).requires_grad_(trainable), false);
    module.register_parameter("frozen", torch::ones({1}), false);
    module.register_buffer("shift", torch::zeros({outputs}));
    module.register_attribute("training", c10::BoolType::get(), true);
    module.define(body);
    const std::string path = (folder_.path() / "net.pt").string();
    module.save(path);
    return path;
  }

  static ModelChoice choice_of(const std::string& path, ModuleOptions module = {}) {
    return choose_model(path, module);
  }

  static constexpr const char* kDense =
      "def forward(self, x):\n  return torch.linear(x.flatten(1), self.weight, self.shift)\n";
  TemporaryFolder folder_;
};

TEST_F(TorchScript, IsANetworkOfItsFile) {
  const auto network = load_torch_script(choice_of(save(kDense)));
  ASSERT_EQ(network->parameters().size(), 1U);
  EXPECT_EQ(network->parameters()[0].numel(), 7840);
  EXPECT_EQ(network->buffers().size(), 2U);
  const auto images = torch::rand({3, 1, 28, 28});
  const auto expected = torch::linear(images.flatten(1), network->parameters()[0]);
  EXPECT_TRUE(torch::allclose(network->forward(images), expected));
  {
    const torch::NoGradGuard no_grad;
    network->parameters()[0].zero_();
  }
  EXPECT_EQ(network->forward(images).abs().max().item<float>(), 0) << "it is the module's own";
}

TEST_F(TorchScript, FollowsTrainingAndEvaluation) {
  const auto network =
      load_torch_script(choice_of(save("def forward(self, x):\n"
                                       "  y = torch.linear(x.flatten(1), self.weight)\n"
                                       "  return y * 2.0 if self.training else y\n")));
  const auto images = torch::rand({1, 1, 28, 28});
  const auto training = network->forward(images);
  network->eval();
  EXPECT_TRUE(torch::equal(training, 2 * network->forward(images)));
}

TEST_F(TorchScript, LearnsWithEveryLossAndEqualReplicas) {
  const std::string path = save(kDense);
  const std::string logits = (folder_.path() / "logits.pt").string();
  std::filesystem::rename(path, logits);
  for (const std::string_view loss : kLossNames) {
    SCOPED_TRACE(loss);
    const std::string file = loss == "nll" ? save(
                                                 "def forward(self, x):\n"
                                                 "  y = torch.linear(x.flatten(1), self.weight)\n"
                                                 "  return torch.log_softmax(y, 1)\n")
                                           : logits;
    run_ranks(2, [&](Communicator& communicator) {
      NoTrace trace;
      TrainerOptions options{.model = file,
                             .dataset = "synthetic:320",
                             .allreduce = &allreduce_named("ring"),
                             .batch = 16};
      options.optimizer = "adam";
      options.rate.base = 1e-3;
      options.module.loss = loss;
      Trainer trainer(options, communicator, communicator, trace);
      EXPECT_EQ(trainer.parameter_count(), 7840);
      const double first = trainer.train_epoch(0).loss;
      const double second = trainer.train_epoch(1).loss;
      EXPECT_LT(second, first);
      EXPECT_TRUE(trainer.replicas_equal());
      EXPECT_GT(trainer.evaluate().accuracy, 0.2) << "chance is 0.1";
    });
  }
}

TEST_F(TorchScript, GoesOnWithTheSameDropout) {
  const std::string path = save(
      "def forward(self, x):\n"
      "  y = torch.dropout(x.flatten(1), 0.5, self.training)\n"
      "  return torch.linear(y, self.weight)\n");
  const auto trained = [&](const std::string& bytes, int end) {
    std::string state;
    run_ranks(1, [&](Communicator& communicator) {
      NoTrace trace;
      Trainer trainer(
          {.model = path, .dataset = "synthetic:96", .gradient_sync = "none", .batch = 16},
          communicator, communicator, trace);
      const int first = bytes.empty() ? 0 : trainer.restore(bytes).epochs;
      for (int epoch = first; epoch < end; ++epoch) trainer.train_epoch(epoch);
      state = trainer.checkpoint(end, 0);
    });
    return state;
  };
  const std::string one = trained("", 1);
  EXPECT_TRUE(trained(one, 2) == trained("", 2)) << "resumed and straight training differ";
}

TEST_F(TorchScript, AParameterWithoutPartInTheStepHasAGradientOfZeros) {
  torch::jit::Module module("net");
  const auto weight = torch::linspace(-0.1, 0.1, 7840).view({10, 784});
  module.register_parameter("weight", weight.requires_grad_(true), false);
  module.register_parameter("idle", torch::ones({3}).requires_grad_(true), false);
  module.register_attribute("training", c10::BoolType::get(), true);
  module.define("def forward(self, x):\n  return torch.linear(x.flatten(1), self.weight)\n");
  const std::string path = (folder_.path() / "idle.pt").string();
  module.save(path);
  for (const char* optimizer : {"sgd", "adam"}) {
    std::vector<double> losses;
    for (const char* sync : {"none", "barrier_only", "mirrored"}) {
      SCOPED_TRACE(sync);
      run_ranks(1, [&](Communicator& communicator) {
        NoTrace trace;
        TrainerOptions options{.model = path,
                               .dataset = "synthetic:96",
                               .gradient_sync = sync,
                               .allreduce = &allreduce_named("ring"),
                               .batch = 16};
        options.optimizer = optimizer;
        Trainer trainer(options, communicator, communicator, trace);
        trainer.train_epoch(0);
        losses.push_back(trainer.train_epoch(1).loss);
      });
    }
    EXPECT_EQ(losses, std::vector<double>(3, losses.front())) << optimizer;
  }
}

TEST_F(TorchScript, RefusesInOneLine) {
  const auto refuse = [](const std::string& path, std::initializer_list<std::string_view> parts,
                         const ModuleOptions& module = {}) {
    expect_error([&] { load_torch_script(choice_of(path, module)); }, parts);
  };
  const std::string text = (folder_.path() / "text.pt").string();
  std::ofstream(text) << "no module";
  refuse(text, {"text.pt", "not a TorchScript module"});
  refuse(folder_.path().string() + "/.", {"Is a directory", "a TorchScript module"});
  refuse("./missing.pt", {"./missing.pt", "No such file", "a TorchScript module"});
  refuse(save(kDense), {"net.pt", "(n, 3, 28, 28)", "--input-shape"}, {.shape = {3, 0, 0, 0}});
  refuse(save(kDense, 12), {"[1, 12]", "(n, 10)", "--classes"});
  refuse(save(kDense), {"[1, 10]", "(n, 7)"}, {.shape = {0, 0, 0, 7}});
  refuse(save(kDense, 10, torch::kFloat64), {"weight", "Double", "float32"});
  refuse(save(kDense, 10, torch::kFloat32, false), {"no trainable parameters"});
  refuse(save("def forward(self, x):\n  return x, x\n"), {"Tensor"});
  torch::jit::Module gaps("net");
  const auto narrow = torch::ones({10, 800}).narrow(1, 0, 784);
  gaps.register_parameter("weight", narrow.requires_grad_(true), false);
  gaps.save(text);
  refuse(text, {"weight", "gaps in memory"});
}

TEST_F(TorchScript, RefusesRanksWithDifferentFiles) {
  const std::string one = save(kDense);
  const std::string other = (folder_.path() / "other.pt").string();
  std::filesystem::rename(one, other);
  auto module = torch::jit::load(other);
  {
    const torch::NoGradGuard no_grad;
    (*module.parameters().begin()).add_(1);
  }
  module.save(one);
  expect_error(
      [&] {
        run_ranks(2, [&](Communicator& communicator) {
          NoTrace trace;
          Trainer trainer({.model = communicator.rank() == 0 ? one : other,
                           .dataset = "synthetic:96",
                           .allreduce = &allreduce_named("ring")},
                          communicator, communicator, trace);
        });
      },
      {"same parameters", "same file"});
}

}  // namespace
}  // namespace scalebench
