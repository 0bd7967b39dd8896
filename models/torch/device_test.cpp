// SPDX-License-Identifier: Apache-2.0
// What autocast computes in, that float32 remains around it, and what cannot be had.
#include "models/torch/device.hpp"

#include <gtest/gtest.h>

#include <new>

#include "collectives/transport/thread_ranks_test.hpp"
#include "models/network/network.hpp"
#include "models/testing.hpp"
#include "models/torch/compute.hpp"
#include "models/trainer.hpp"

namespace scalebench {
namespace {

TEST(Autocast, IsAScope) {
  const auto network = make_network("mlp", 1);
  const auto images = torch::rand({2, 1, 28, 28});
  const auto type = [&] { return network->forward(images).scalar_type(); };
  EXPECT_EQ(type(), torch::kFloat32);
  {
    const AutocastScope outer(Precision::bfloat16, torch::kCPU);
    EXPECT_EQ(type(), torch::kBFloat16);
    { const AutocastScope inner(Precision::float32, torch::kCPU); }
    EXPECT_EQ(type(), torch::kBFloat16);
  }
  EXPECT_EQ(type(), torch::kFloat32);
}

TEST(Autocast, SeesUpdatedWeights) {
  const auto network = make_network("mlp", 1);
  const auto images = torch::rand({2, 1, 28, 28});
  const auto run = [&] {
    const AutocastScope scope(Precision::bfloat16, torch::kCPU);
    return network->forward(images).sum();
  };
  run().to(torch::kFloat32).backward();  // gradients are what makes LibTorch cache the weights
  EXPECT_EQ(network->parameters()[0].grad().scalar_type(), torch::kFloat32);
  {
    const torch::NoGradGuard no_grad;
    for (auto& parameter : network->parameters()) parameter.zero_();
  }
  EXPECT_EQ(run().item<float>(), 0);
}

TEST(Precision, Bf16TrainsToTheSameWithinItsRounding) {
  run_ranks(2, [](Communicator& communicator) {
    NoTrace trace;
    for (const char* model : {"mlp", "mnist_cnn"}) {
      SCOPED_TRACE(model);
      TrainerOptions options{.model = model,
                             .dataset = "synthetic:96",
                             .allreduce = &allreduce_named("ring"),
                             .batch = 16};
      Trainer plain(options, communicator, communicator, trace);
      options.precision = Precision::bfloat16;
      Trainer narrow(options, communicator, communicator, trace);
      const double expected = plain.train_epoch(0).loss;
      const double loss = narrow.train_epoch(0).loss;
      EXPECT_NE(loss, expected);
      EXPECT_NEAR(loss, expected, 0.05);
      EXPECT_TRUE(narrow.replicas_equal());
      EXPECT_EQ(narrow.remarks(), "");
    }
  });
}

TEST(Precision, Fp16TrainsOrIsRefusedInOneLine) {
  run_ranks(1, [](Communicator& communicator) {
    NoTrace trace;
    TrainerOptions options{.dataset = "synthetic:96", .gradient_sync = "one_device", .batch = 16};
    options.precision = Precision::fp16;
    try {
      require_precision(Precision::fp16, torch::kCPU);
    } catch (const UsageError&) {
      expect_error([&] { Trainer(options, communicator, communicator, trace); }, {"fp16", "cpu"});
      return;
    }
    Trainer trainer(options, communicator, communicator, trace);
    trainer.train_epoch(0);
    EXPECT_EQ(trainer.failure(), "");
  });
}

TEST(Trainer, ChannelsLastTrainsTheSame) {
  run_ranks(1, [](Communicator& communicator) {
    NoTrace trace;
    TrainerOptions options{
        .model = "resnet20", .dataset = "synthetic:48", .gradient_sync = "one_device", .batch = 16};
    Trainer plain(options, communicator, communicator, trace);
    options.channels_last = true;
    Trainer last(options, communicator, communicator, trace);
    EXPECT_NEAR(last.train_epoch(0).loss, plain.train_epoch(0).loss, 1e-3);
  });
}

TEST(MemoryError, SaysBytesAskedAndAvailable) {
  const auto rethrown = [](auto make) {
    try {
      make();
    } catch (const std::exception&) {
      rethrow_memory_error();
    }
  };
  expect_error<OutOfMemory>(
      [&] { rethrown([] { torch::empty({std::int64_t{1} << 45}, torch::kFloat32); }); },
      {"140737488355328 bytes asked for", "available"});
  expect_error<OutOfMemory>([&] { rethrown([] { throw std::bad_alloc(); }); }, {"available"});
  expect_error<OutOfMemory>(
      [&] {
        rethrown([] {
          throw std::runtime_error(
              "trace\nCUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 1.00 GiB free)\nmore");
        });
      },
      {"Tried to allocate 2.00 GiB", "1.00 GiB free"});
  for (const char* const text :
       {"CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported",
        "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "out of device memory: 64 bytes asked for, 8 available"}) {
    EXPECT_THROW(rethrown([&] { throw std::runtime_error(text); }), OutOfMemory) << text;
  }
  EXPECT_THROW(rethrown([] { throw std::logic_error("another"); }), std::logic_error);
}

}  // namespace

namespace {

constexpr StepDevice kCpu{}, kVolta{.cuda = true}, kAmpere{.cuda = true, .tf32 = true};

TEST(StepSupport, GraphsAreCudas) {
  EXPECT_EQ(why_no_step(Precision::float32, StepKind::graph, kCpu),
            "graphs are CUDA's, not for device cpu");
  EXPECT_EQ(why_no_step(Precision::float32, StepKind::graph, kVolta), "");
  EXPECT_EQ(why_no_step(Precision::bfloat16, StepKind::graph, kAmpere), "");
  EXPECT_NE(why_no_step(Precision::fp16, StepKind::graph, kAmpere), "") << "its loss scale changes";
}

TEST(StepSupport, FusedLayersAreEveryDevicesButNotFp16) {
  EXPECT_EQ(why_no_step(Precision::float32, StepKind::fused, kCpu), "");
  EXPECT_EQ(why_no_step(Precision::bfloat16, StepKind::fused, kAmpere), "");
  for (const StepDevice& device : {kCpu, kAmpere}) {
    EXPECT_EQ(why_no_step(Precision::fp16, StepKind::fused, device),
              "the fused layers are float32 and bfloat16, not fp16");
  }
  EXPECT_FALSE(is_recorded(StepKind::fused, /*cuda=*/false));
  EXPECT_TRUE(is_recorded(StepKind::fused, /*cuda=*/true));
}

TEST(StepSupport, Tf32IsOfCardsSinceAmpere) {
  EXPECT_NE(why_no_step(Precision::tf32, StepKind::eager, kCpu), "");
  EXPECT_NE(why_no_step(Precision::tf32, StepKind::eager, kVolta), "");
  EXPECT_EQ(why_no_step(Precision::tf32, StepKind::graph, kAmpere), "");
}

TEST(StepSupport, ThisLibTorchIsAskedOnTheDevice) {
  const auto why = [](Precision precision) {
    return why_no_step(precision, StepKind::eager, ComputeDevice::cpu, 0, 1);
  };
  EXPECT_EQ(why(Precision::float32), "");
  EXPECT_EQ(why(Precision::bfloat16), "");
  EXPECT_EQ(why(Precision::tf32), "TF32 is a format of CUDA's tensor cores, not for device cpu");
}

}  // namespace

}  // namespace scalebench
