// SPDX-License-Identifier: Apache-2.0
// Every algorithm, as threads: exact results over ranks, sizes, dtypes, ops and nodes, in place and
// out of place, in both send modes; and the traffic counted against what allreduce.def claims.
#include "collectives/allreduce.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <set>

#include "collectives/allreduce_check.hpp"
#include "collectives/counting_communicator.hpp"
#include "collectives/thread_communicator.hpp"
#include "collectives/transport_test.hpp"
#include "kernels/buffer.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

std::set<std::size_t> sizes_for(int ranks) {
  const auto p = static_cast<std::size_t>(ranks);
  return {0, 1, p - 1, p, p + 1, 16 * p, 101, 1009};
}

struct Case {
  int ranks;
  std::size_t count;
  DType dtype = DType::float32;
  ReduceOp op = ReduceOp::sum;
  bool in_place = true;
  int ranks_per_node = std::numeric_limits<int>::max();
};

bool same_bytes(ConstSpan a, ConstSpan b) {
  return std::equal(a.data, a.data + a.bytes(), b.data, b.data + b.bytes());
}

/// One run on fresh windows, twice in a row as a benchmark does.
void expect_exact(const AllreduceAlgorithm& algorithm, const Case& one, SendMode mode) {
  std::mutex mutex;
  run_ranks(
      one.ranks,
      [&](Communicator& communicator) {
        const Window input = communicator.window(one.count, one.dtype);
        const Window output = one.in_place ? input : communicator.window(one.count, one.dtype);
        for (int repetition = 0; repetition < 2; ++repetition) {
          poison(output.span);
          fill_inputs(input.span, communicator.rank(), one.ranks, one.op);
          communicator.barrier();
          algorithm.run(communicator, input.span, output.span, one.op);
          communicator.wait();
          const std::lock_guard lock(mutex);
          if (!one.in_place) {
            const Buffer before(one.count, one.dtype);
            fill_inputs(before.span(), communicator.rank(), one.ranks, one.op);
            EXPECT_TRUE(same_bytes(input.span, before.span()))
                << algorithm.name << " wrote its input";
          }
          EXPECT_EQ(count_wrong(output.span, one.ranks, one.op), 0U)
              << algorithm.name << " p=" << one.ranks << " n=" << one.count << " "
              << name_of(one.dtype) << " " << name_of(one.op) << " in_place=" << one.in_place
              << " ranks_per_node=" << one.ranks_per_node << " rank " << communicator.rank();
        }
        communicator.barrier();
      },
      mode, one.ranks_per_node);
}

class EveryAlgorithm : public testing::TestWithParam<AllreduceAlgorithm> {};

TEST_P(EveryAlgorithm, IsExactForEveryRankCountAndSize) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (const std::size_t count : sizes_for(ranks)) {
      expect_exact(GetParam(), {.ranks = ranks, .count = count}, SendMode::rendezvous);
      expect_exact(GetParam(), {.ranks = ranks, .count = count, .in_place = false},
                   SendMode::buffered);
    }
  }
}

TEST_P(EveryAlgorithm, IsExactForEveryDtypeAndOp) {
  for (const int ranks : {2, 3, 5}) {
    for (const DType dtype : kDTypes) {
      for (const ReduceOp op : kReduceOps) {
        for (const bool in_place : {true, false}) {
          expect_exact(GetParam(), {ranks, 1009, dtype, op, in_place}, SendMode::rendezvous);
        }
      }
    }
  }
}

TEST_P(EveryAlgorithm, IsExactOnSeveralNodes) {
  for (int ranks = 2; ranks <= 8; ++ranks) {
    for (const int ranks_per_node : {1, 2, 3, 4}) {
      expect_exact(GetParam(), {.ranks = ranks, .count = 1009, .ranks_per_node = ranks_per_node},
                   SendMode::rendezvous);
    }
  }
}

TEST_P(EveryAlgorithm, IsExactForManyRanks) {
  for (const int ranks : {13, 16, 27}) {
    expect_exact(GetParam(),
                 {.ranks = ranks, .count = 5003, .in_place = false, .ranks_per_node = 5},
                 SendMode::rendezvous);
  }
}

/// Ranks of a transport without windows, which were given out to nodes in turn: 0 1 2 0 1 2 0.
class ScatteredRanks final : public Communicator {
 public:
  explicit ScatteredRanks(Communicator& inner) : Communicator(inner.memory()), inner_(inner) {}
  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  Topology topology() const override {
    Topology topology;
    for (int rank = 0; rank < size(); ++rank) topology.node_of_rank.push_back(rank % 3);
    return topology;
  }
  std::string_view transport() const override { return "scattered"; }
  void exchange(ConstSpan out, int to, Span in, int from) override {
    inner_.exchange(out, to, in, from);
  }
  void barrier() override { inner_.barrier(); }

 private:
  Communicator& inner_;
};

TEST_P(EveryAlgorithm, WorksOnScatteredNodesOrSaysThatItNeedsWindows) {
  constexpr int kRanks = 7;
  std::mutex mutex;
  run_ranks(kRanks, [&](Communicator& communicator) {
    ScatteredRanks scattered(communicator);
    const Buffer buffer(1009, DType::float32);
    fill_inputs(buffer.span(), communicator.rank(), kRanks, ReduceOp::sum);
    std::string why;
    try {
      GetParam().run(scattered, buffer.span(), buffer.span(), ReduceOp::sum);
    } catch (const Unavailable& unavailable) {
      why = unavailable.what();
    }
    communicator.barrier();
    const std::lock_guard lock(mutex);
    if (GetParam().name == "one_shot" || GetParam().name == "direct") {
      EXPECT_EQ(why, fmt::format("algorithm {} needs ranks that address each other's memory; "
                                 "transport scattered cannot",
                                 GetParam().name));
    } else {
      EXPECT_EQ(why, "");
      EXPECT_EQ(count_wrong(buffer.span(), kRanks, ReduceOp::sum), 0U);
    }
  });
}

// Replicas of a model must not drift apart: rounding may depend on the algorithm, not on the rank.
TEST_P(EveryAlgorithm, GivesAllRanksTheSameBits) {
  for (const int ranks : {3, 4, 7}) {
    constexpr std::size_t kCount = 1009;
    std::vector<std::vector<float>> results(static_cast<std::size_t>(ranks));
    run_ranks(ranks, [&](Communicator& communicator) {
      std::vector<float>& values = results[static_cast<std::size_t>(communicator.rank())];
      for (std::size_t i = 0; i < kCount; ++i) {
        values.push_back(
            std::sin(static_cast<float>(i * 31 + 7) * static_cast<float>(communicator.rank() + 1)));
      }
      const Span span = span_of(std::span(values));
      GetParam().run(communicator, span, span, ReduceOp::sum);
      communicator.barrier();
    });
    for (const auto& result : results) EXPECT_EQ(result, results.front());
  }
}

// Many segments, in messages beyond what any library sends without asking the receiver.
TEST_P(EveryAlgorithm, IsExactForAMebiElement) {
  for (const bool in_place : {true, false}) {
    const Case one{.ranks = 3, .count = (std::size_t{1} << 20U) + 3, .in_place = in_place};
    expect_exact(GetParam(), one, SendMode::rendezvous);
  }
}

TEST_P(EveryAlgorithm, WorksOnMemoryThatIsInNoWindow) {
  run_ranks(3, [&](Communicator& communicator) {
    const Buffer buffer(1009, DType::float32);
    fill_inputs(buffer.span(), communicator.rank(), 3, ReduceOp::sum);
    GetParam().run(communicator, buffer.span(), buffer.span(), ReduceOp::sum);
    EXPECT_EQ(count_wrong(buffer.span(), 3, ReduceOp::sum), 0U) << communicator.rank();
    communicator.barrier();
  });
}

TEST_P(EveryAlgorithm, CostsWhatItsLineClaims) {
  // Divisible by 1..8 in whole cache lines; long and short against any segment.
  for (const std::size_t count : {std::size_t{840 * 16}, std::size_t{840} << 10U}) {
    for (int ranks = 1; ranks <= 8; ++ranks) {
      for (const int ranks_per_node : {1, 2, 4, 8}) {
        if (ranks % ranks_per_node != 0 && ranks_per_node < ranks) continue;
        std::mutex mutex;
        AllreduceCost most{0, 0, 0};
        run_ranks(
            ranks,
            [&](Communicator& communicator) {
              CountingCommunicator counting(communicator);
              const Window buffer = communicator.window(count, DType::float32);
              GetParam().run(counting, buffer.span, buffer.span, ReduceOp::sum);
              communicator.barrier();
              const std::lock_guard lock(mutex);
              most.steps = std::max(most.steps, static_cast<double>(counting.steps()));
              most.sent = std::max(most.sent, static_cast<double>(counting.elements_sent()));
              most.reduced =
                  std::max(most.reduced, static_cast<double>(counting.elements_reduced()));
            },
            SendMode::rendezvous, ranks_per_node);
        const int g = std::min(ranks, ranks_per_node);
        const AllreduceCost claimed = GetParam().cost(ranks, static_cast<double>(count), g);
        SCOPED_TRACE(fmt::format("p={} g={} n={}", ranks, g, count));
        EXPECT_DOUBLE_EQ(most.steps, claimed.steps);
        EXPECT_DOUBLE_EQ(most.sent, claimed.sent);
        EXPECT_DOUBLE_EQ(most.reduced, claimed.reduced);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Allreduce, EveryAlgorithm, testing::ValuesIn(own_algorithms()),
                         [](const auto& param) { return std::string(param.param.name); });

TEST(Allreduce, NativeSaysThatThreadsHaveNone) {
  const AllreduceAlgorithm& native = allreduce_named("native");
  EXPECT_TRUE(std::isnan(native.cost(2, 8, 2).sent));
  EXPECT_THROW(run_ranks(1,
                         [&](Communicator& communicator) {
                           const Buffer buffer(1, DType::float32);
                           native.run(communicator, buffer.span(), buffer.span(), ReduceOp::sum);
                         }),
               Unavailable);
}

TEST(Allreduce, UnknownNameListsTheValidOnes) {
  try {
    allreduce_named("rnig");
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), testing::StartsWith("unknown algorithm 'rnig'; valid: naive, ring"));
    EXPECT_THAT(error.what(), testing::EndsWith("(did you mean 'ring'?)"));
  }
}

// A check that cannot fail is none: each corruption that a wrong algorithm could cause is seen.
TEST(AllreduceCheck, SeesMissingDoubledAndMovedContributions) {
  constexpr int kRanks = 4;
  for (const ReduceOp op : kReduceOps) {
    for (const DType dtype : kDTypes) {
      SCOPED_TRACE(fmt::format("{} {}", name_of(op), name_of(dtype)));
      // min and max are the same however often a rank takes part.
      const bool counts = op != ReduceOp::min && op != ReduceOp::max;
      // Products of few inputs are mostly 1, minima and maxima mostly of another rank.
      const std::size_t most = op == ReduceOp::sum ? 800U : 80U;
      run_ranks(1, [&](Communicator& one) {
        const ReduceOp step = op == ReduceOp::avg ? ReduceOp::sum : op;
        const Buffer all(1000, dtype), less(1000, dtype), twice(1000, dtype), input(1000, dtype);
        for (int rank = 0; rank < kRanks; ++rank) {
          fill_inputs(input.span(), rank, kRanks, op);
          for (const Buffer* into : {&all, &less, &twice}) {
            if (rank == 0) copy(input.span(), into->span());
            if (rank > 0 && !(into == &less && rank == 3))
              one.reduce(into->span(), input.span(), step);
          }
          if (rank == 1) one.reduce(twice.span(), input.span(), step);
        }
        if (op == ReduceOp::avg) {
          for (const Buffer* sum : {&all, &less, &twice}) one.scale(sum->span(), 1.0 / kRanks);
        }
        EXPECT_EQ(count_wrong(all.span(), kRanks, op), 0U);
        EXPECT_GT(count_wrong(less.span(), kRanks, op), most) << "rank 3 is missing";
        if (counts) {
          EXPECT_GT(count_wrong(twice.span(), kRanks, op), most) << "rank 1 counted twice";
        }
        EXPECT_GT(count_wrong(all.span().part(1, 999), kRanks, op), most) << "shifted by one";
        poison(all.span());
        EXPECT_EQ(count_wrong(all.span(), kRanks, op), 1000U) << "never written";
      });
    }
  }
}

}  // namespace
}  // namespace scalebench
