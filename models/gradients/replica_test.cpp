// SPDX-License-Identifier: Apache-2.0
#include "models/gradients/replica.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "collectives/transport/thread_ranks_test.hpp"
#include "models/network/network.hpp"
#include "models/testing.hpp"

namespace scalebench::replica_test {
namespace {

using Tensors = std::vector<torch::Tensor>;

Tensors two_parameters() {
  return {torch::ones({2, 3}, torch::requires_grad()), torch::ones({5}, torch::requires_grad())};
}

constexpr std::array kMoves{FlatReplica::Moves::as_completed, FlatReplica::Moves::at_once};

TEST(FlatReplica, HoldsParametersAndGradientsFromTheLastToTheFirst) {
  run_ranks(1, [](Communicator& communicator) {
    const Tensors parameters = two_parameters();
    FlatReplica replica(parameters, communicator, FlatReplica::Moves::at_once);
    EXPECT_EQ(replica.places()[1].first, 0U);
    EXPECT_EQ(replica.places()[0].first, 16U);
    EXPECT_EQ(replica.gradients().count, 32U);
    std::vector<std::size_t> ready;
    replica.on_ready([&](std::size_t index) { ready.push_back(index); });
    for (const float factor : {3.F, 4.F}) {
      ready.clear();
      replica.begin_step();
      replica.before_last_backward();
      (2 * parameters[0].sum() + factor * parameters[1].sum()).backward();
      replica.finish_step();
      const auto values = replica.gradients().as<float>();
      for (std::size_t i = 0; i < values.size(); ++i) {
        EXPECT_EQ(values[i], i < 5 ? factor : i < 16 || i >= 22 ? 0.F : 2.F) << i;
      }
      EXPECT_EQ(ready.size(), 2U);
    }
    replica.flat_parameters().detach().fill_(7);
    EXPECT_EQ(parameters[0].sum().item<float>(), 42);
  });
}

TEST(FlatReplica, AddsTheGradientsOfSeveralPasses) {
  run_ranks(1, [](Communicator& communicator) {
    const Tensors parameters = two_parameters();
    FlatReplica replica(parameters, communicator);
    std::size_t ready = 0;
    replica.on_ready([&](std::size_t) { ++ready; });
    replica.begin_step();
    (2 * parameters[0].sum() + parameters[1].sum()).backward();
    EXPECT_EQ(ready, 0U);
    replica.before_last_backward();
    (3 * parameters[0].sum()).backward();
    EXPECT_EQ(ready, 1U);
    replica.finish_step();
    EXPECT_EQ(ready, 2U);
    EXPECT_EQ(replica.gradients().as<float>()[16], 5.F);
    EXPECT_EQ(replica.gradients().as<float>()[0], 1.F);
  });
}

TEST(FlatReplica, AParameterWithoutPartInTheStepHasAZeroGradient) {
  run_ranks(1, [](Communicator& communicator) {
    for (const FlatReplica::Moves moves : kMoves) {
      const Tensors parameters = two_parameters();
      FlatReplica replica(parameters, communicator, moves);
      for (const bool both : {true, false}) {
        replica.begin_step();
        replica.before_last_backward();
        (both ? parameters[0].sum() + parameters[1].sum() : parameters[0].sum()).backward();
        replica.finish_step();
        EXPECT_EQ(replica.gradients().as<float>()[0], both ? 1.F : 0.F);
        EXPECT_EQ(replica.gradients().as<float>()[16], 1.F);
        EXPECT_EQ(parameters[1].grad().sum().item<float>(), both ? 5.F : 0.F);
      }
    }
  });
}

// In every order of numbers and of passes, with gaps before, between and behind.
TEST(FlatReplica, MovesAllAtOnceWhatItWouldMoveOneByOne) {
  run_ranks(1, [](Communicator& communicator) {
    torch::manual_seed(2);
    const auto image = torch::rand({4, 3, 2, 2}), row = torch::rand({16}), word = torch::rand({7});
    const auto gradients = [&](FlatReplica::Moves moves, int passes) {
      const Tensors parameters{image.clone(torch::MemoryFormat::ChannelsLast).requires_grad_(),
                               row.clone().requires_grad_(), word.clone().requires_grad_()};
      FlatReplica replica(parameters, communicator, moves);
      for (int step = 0; step < 2; ++step) {
        replica.begin_step();
        for (int pass = 1; pass <= passes; ++pass) {
          if (pass == passes) replica.before_last_backward();
          const auto factor = static_cast<double>(step + pass);
          const auto sum = (parameters[0] * image).sum() + parameters[1].pow(3).sum();
          // The last parameter has part in the first pass alone.
          (factor * (pass == 1 ? sum + parameters[2].pow(2).sum() : sum)).backward();
        }
        replica.finish_step();
        for (std::size_t i = 0; i < parameters.size(); ++i) {
          const auto* const at = replica.gradients().as<float>().data() + replica.places()[i].first;
          EXPECT_EQ(parameters[i].grad().data_ptr<float>(), at) << i;
        }
      }
      const auto all = replica.gradients().as<float>();
      return std::vector<float>(all.begin(), all.end());
    };
    for (const int passes : {1, 2, 3}) {
      EXPECT_EQ(gradients(FlatReplica::Moves::at_once, passes),
                gradients(FlatReplica::Moves::as_completed, passes));
    }
  });
}

TEST(FlatReplica, KeepsTheLayoutOfChannelsLast) {
  run_ranks(1, [](Communicator& communicator) {
    const auto values = torch::rand({4, 3, 2, 2});
    auto parameter = values.clone(torch::MemoryFormat::ChannelsLast).requires_grad_();
    const Tensors parameters{parameter};
    FlatReplica replica(parameters, communicator);
    EXPECT_TRUE(parameter.is_contiguous(torch::MemoryFormat::ChannelsLast));
    EXPECT_TRUE(torch::equal(parameter, values));
    replica.begin_step();
    replica.before_last_backward();
    (parameter * values).sum().backward();
    replica.finish_step();
    EXPECT_TRUE(torch::equal(parameter.grad(), values));
  });
}

TEST(FlatReplica, LiesWherePeersCanReadIt) {
  run_ranks(2, [](Communicator& communicator) {
    const Tensors parameters = two_parameters();
    const FlatReplica replica(parameters, communicator);
    for (const Span span : {replica.gradients(), replica.parameters()}) {
      EXPECT_TRUE(communicator.peer(span, 1 - communicator.rank()).has_value());
    }
    communicator.barrier();
  });
}

TEST(FlatReplica, RefusesOtherTypes) {
  run_ranks(1, [](Communicator& communicator) {
    const Tensors doubles{torch::ones({2}, torch::kFloat64)};
    expect_error([&] { FlatReplica(doubles, communicator); }, {"Double", "float32"});
    expect_error([&] { FlatReplica({}, communicator); }, {"without trainable"});
  });
}

}  // namespace

namespace {

using Parameters = std::vector<std::size_t>;

/// Parameters of 8, 40, 16 and 100 elements, the last one first, each at a multiple of 16.
const std::vector<FlatPlace> kPlaces{{176, 8}, {128, 40}, {112, 16}, {0, 100}};
constexpr std::size_t kExtent = 192;

TEST(GradientBuckets, CoverTheBufferInItsOrder) {
  for (const std::size_t bytes : {1U, 64U, 100U, 300U, 500U, 1000U}) {
    std::size_t end = 0;
    std::size_t parameter = kPlaces.size();
    for (const GradientBucket& bucket : buckets_of(kPlaces, kExtent, bytes, bytes)) {
      EXPECT_EQ(bucket.first, end);
      end += bucket.count;
      for (const std::size_t index : bucket.parameters) EXPECT_EQ(index, --parameter);
      EXPECT_TRUE(bucket.count * sizeof(float) >= bytes || parameter == 0);
    }
    EXPECT_EQ(end, kExtent);
    EXPECT_EQ(parameter, 0U);
  }
}

TEST(GradientBuckets, EndWithTheParameterThatFillsThem) {
  const auto buckets = buckets_of(kPlaces, kExtent, 1, 200);
  ASSERT_EQ(buckets.size(), 3U);
  EXPECT_EQ(buckets[0].parameters, Parameters{3});
  EXPECT_EQ(buckets[1].parameters, (Parameters{2, 1}));
  EXPECT_EQ(buckets[2].parameters, Parameters{0});
}

TEST(GradientBuckets, TheFirstIsNotLargerThanTheOthers) {
  constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();
  EXPECT_EQ(buckets_of(kPlaces, kExtent, kNoLimit, 1).size(), 4U);
  EXPECT_EQ(buckets_of(kPlaces, kExtent, 1, kNoLimit).size(), 2U);
  EXPECT_EQ(buckets_of(kPlaces, kExtent, kNoLimit, kNoLimit).size(), 1U);
}

}  // namespace

namespace {

/// Its buffers lie so that none follows another at a multiple of its own numbers.
struct Buffered final : public Network {
  explicit Buffered(int rank)
      : switches(register_buffer("switches", torch::full({3}, rank == 0, torch::kBool))),
        fine(register_buffer("fine", torch::full({2, 2}, rank + 1.0 / 3, torch::kFloat64))),
        count(register_buffer("count",
                              torch::full({}, (std::int64_t{1} << 60) + 1 + rank, torch::kInt64))),
        usual(register_buffer("usual", torch::full({2}, rank + 0.25, torch::kFloat32))) {}
  torch::Tensor forward(torch::Tensor images) override { return images; }

  torch::Tensor switches, fine, count, usual;
};

TEST(BroadcastBuffers, GivesAllRanksTheBitsOfTheFirst) {
  run_ranks(3, [](Communicator& communicator) {
    Buffered network(communicator.rank());
    const std::uint64_t first = hash_of(Buffered(0));
    EXPECT_EQ(hash_of(network) == first, communicator.rank() == 0);
    broadcast_buffers(network, communicator);
    EXPECT_EQ(hash_of(network), first);
    EXPECT_EQ(network.fine[1][1].item<double>(), 1.0 / 3);
    EXPECT_EQ(network.count.item<std::int64_t>(), (std::int64_t{1} << 60) + 1);
  });
}

}  // namespace

}  // namespace scalebench::replica_test
