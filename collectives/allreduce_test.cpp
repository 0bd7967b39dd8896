// SPDX-License-Identifier: Apache-2.0
// Every algorithm, as threads: exact results over ranks, sizes, dtypes, ops and nodes, in place and
// out of place, in both send modes; and the traffic counted against what allreduce.def claims.
#include "collectives/allreduce.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <set>

#include "collectives/allreduce_check.hpp"
#include "collectives/allreduce_test.hpp"
#include "collectives/carries.hpp"
#include "collectives/transport/thread_ranks_test.hpp"
#include "collectives/transport/transport_test.hpp"
#include "kernels/buffer.hpp"
#include "kernels/error.hpp"

namespace scalebench {

/// How a failed test names its parameter.
void PrintTo(const AllreduceAlgorithm& algorithm, std::ostream* out) { *out << algorithm.name; }

// The measured table: nearest size in log scale, no flapping between ties; and `auto` follows it.

namespace {

using testing::ElementsAre;
using testing::StrEq;
using testing::ThrowsMessage;

using Cells = std::vector<MeasuredAllreduce>;

TEST(AllreduceChoices, TakesTheFastestAtTheNearestSizeInLogScale) {
  const Cells cells{{"ring", 1 << 20, 1.0},
                    {"naive", 1 << 20, 5.0},  // in no order
                    {"ring", 1 << 12, 2.0},
                    {"naive", 1 << 12, 1.0}};
  const AllreduceChoices choices(cells);
  EXPECT_EQ(choices.pick(0).name, "naive");
  EXPECT_EQ(choices.pick(1 << 12).name, "naive");
  EXPECT_EQ(choices.pick(1 << 16).name, "naive");
  EXPECT_EQ(choices.pick((1 << 16) + 1).name, "ring");
  EXPECT_EQ(choices.pick(std::numeric_limits<std::size_t>::max()).name, "ring");
  EXPECT_THAT(choices.describe(), ElementsAre("up to 64 KiB: naive", "above: ring"));
}

TEST(AllreduceChoices, KeepsOneAlgorithmAcrossTies) {
  // Each size has another fastest one by 1 or 2 %, until ring is beaten for good.
  const Cells cells{{"ring", 1024, 1.00},         {"rabenseifner", 1024, 1.01},
                    {"ring", 2048, 1.02},         {"rabenseifner", 2048, 1.00},
                    {"direct", 4096, 1.00},       {"rabenseifner", 4096, 1.02},
                    {"ring", 4096, 1.10},         {"direct", 8192, 1.0},
                    {"rabenseifner", 8192, 1.05}, {"ring", 8192, 1.01}};
  EXPECT_THAT(AllreduceChoices(cells).describe(),
              ElementsAre("up to 2.8 KiB: ring", "above: direct"));
}

TEST(AllreduceChoices, TakesTheMedianOfSeveralLaunches) {
  const Cells cells{{"ring", 64, 1.0}, {"ring", 64, 9.0}, {"ring", 64, 1.1}, {"naive", 64, 1.5}};
  EXPECT_THAT(AllreduceChoices(cells).describe(), ElementsAre("all sizes: ring"));
}

TEST(AllreduceChoices, NeverChoosesAuto) {
  const Cells cells{{"auto", 64, 1.0}, {"ring", 64, 2.0}};
  EXPECT_EQ(AllreduceChoices(cells).pick(64).name, "ring");
}

TEST(AllreduceChoices, RefusesWhatIsNoMeasurement) {
  EXPECT_THROW(AllreduceChoices(Cells{}), Unavailable);
  EXPECT_THROW(AllreduceChoices(Cells{{"auto", 64, 1.0}}), Unavailable);
  EXPECT_THROW(AllreduceChoices(Cells{{"rnig", 64, 1.0}}), UsageError);
  EXPECT_THROW(AllreduceChoices(Cells{{"ring", 64, 0.0}}), UsageError);
  EXPECT_THROW(AllreduceChoices(Cells{{"ring", 64, std::nan("")}}), UsageError);
}

TEST(AllreduceAuto, NeedsATable) {
  EXPECT_TRUE(std::isnan(allreduce_named("auto").cost(2, 8, 2, Reach::windows).steps));
  const auto without_table = [] {
    run_ranks(2, [](Communicator& communicator) {
      const Window buffer = communicator.window(8, DType::float32);
      allreduce_named("auto").run(communicator, buffer.span, buffer.span, ReduceOp::sum);
    });
  };
  EXPECT_THAT(without_table,
              ThrowsMessage<Unavailable>(StrEq("algorithm auto needs a measured table")));
}

TEST(AllreduceAuto, RunsWhatTheTableSays) {
  constexpr int kRanks = 3;
  const auto choices = std::make_shared<const AllreduceChoices>(
      Cells{{"ring", 480, 2.0}, {"naive", 480, 1.0}, {"ring", 48000, 1.0}, {"naive", 48000, 2.0}});
  for (const std::size_t count : {std::size_t{120}, std::size_t{12000}}) {
    for (const ReduceOp op : kReduceOps) {
      std::mutex mutex;
      run_ranks(kRanks, [&](Communicator& communicator) {
        CountingCommunicator counting(communicator);
        counting.set_choices(choices);
        const Window buffer = communicator.window(count, DType::float32);
        fill_inputs(buffer.span, communicator.rank(), kRanks, op);
        allreduce_named("auto").run(counting, buffer.span, buffer.span, op);
        communicator.barrier();
        const std::lock_guard lock(mutex);
        EXPECT_EQ(count_wrong(buffer.span, kRanks, op), 0U) << name_of(op);
        // Rank 1 sends its buffer once in naive, and takes part in every step of a ring.
        if (communicator.rank() == 1) {
          EXPECT_EQ(counting.steps(), count == 120 ? 2U : 4U);
        }
      });
    }
  }
}

}  // namespace

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
  bool windows = true;
};

/// In a window, or in memory that peers do not reach.
Window place(Communicator& communicator, std::size_t count, DType dtype, bool window) {
  if (window) return communicator.window(count, dtype);
  const auto buffer = std::make_shared<Buffer>(count, dtype);
  return {buffer->span(), buffer};
}

bool same_bytes(ConstSpan a, ConstSpan b) {
  return std::equal(a.data, a.data + a.bytes(), b.data, b.data + b.bytes());
}

/// One run on fresh buffers, twice in a row as a benchmark does.
void expect_exact(const AllreduceAlgorithm& algorithm, const Case& one, SendMode mode) {
  std::mutex mutex;
  run_ranks(
      one.ranks,
      [&](Communicator& communicator) {
        const Window input = place(communicator, one.count, one.dtype, one.windows);
        const Window output =
            one.in_place ? input : place(communicator, one.count, one.dtype, one.windows);
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
              << " ranks_per_node=" << one.ranks_per_node << " windows=" << one.windows << " rank "
              << communicator.rank();
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
      for (const bool windows : {true, false}) {
        expect_exact(GetParam(),
                     {.ranks = ranks,
                      .count = 1009,
                      .in_place = ranks % 2 == 0,
                      .ranks_per_node = ranks_per_node,
                      .windows = windows},
                     SendMode::rendezvous);
      }
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

/// Whether it says so on ranks that have none, where it must be exact otherwise.
bool needs_windows(const AllreduceAlgorithm& algorithm) {
  constexpr int kRanks = 7;
  std::atomic<int> refusals = 0;
  run_ranks(kRanks, [&](Communicator& communicator) {
    ScatteredRanks scattered(communicator);
    const Buffer buffer(1009, DType::float32);
    fill_inputs(buffer.span(), communicator.rank(), kRanks, ReduceOp::sum);
    try {
      algorithm.run(scattered, buffer.span(), buffer.span(), ReduceOp::sum);
      communicator.barrier();
      EXPECT_EQ(count_wrong(buffer.span(), kRanks, ReduceOp::sum), 0U);
    } catch (const Unavailable& unavailable) {
      communicator.barrier();
      ++refusals;
      EXPECT_TRUE(scattered.asked_for_peers());
      EXPECT_EQ(unavailable.what(),
                fmt::format("algorithm {} needs ranks that address each other's memory; "
                            "transport scattered cannot",
                            algorithm.name));
    }
  });
  EXPECT_TRUE(refusals == 0 || refusals == kRanks) << refusals;
  return refusals > 0;
}

TEST_P(EveryAlgorithm, WorksOnScatteredNodesOrItsLineSaysThatItNeedsWindows) {
  EXPECT_EQ(needs_windows(GetParam()), !why_not_carried(GetParam().name, "mpi").empty());
}

TEST(WhyNotCarried, IsSaidOfAlgorithmsThatTheTransportCannot) {
  EXPECT_EQ(why_not_carried("direct", "mpi"),
            "algorithm direct needs ranks that address each other's memory; transport mpi cannot; "
            "valid: shared_memory, cuda_ipc");
  EXPECT_EQ(why_not_carried("one_shot", "shared_memory"), "");
  EXPECT_THAT(why_not_carried("one_shot", "shared_memory", 2),
              testing::EndsWith("those of 2 hosts cannot"));
  EXPECT_THAT(why_not_carried("native", "shared_memory"), testing::HasSubstr("valid: mpi, nccl"));
  EXPECT_EQ(why_not_carried("native", "nccl", 2), "");
  EXPECT_EQ(why_not_carried("ring", "shared_memory", 2), "");
  EXPECT_EQ(why_not_carried("auto", "mpi", 2), "");
  EXPECT_EQ(why_not_carried("direct", "auto"), "") << "it may become cuda_ipc";
  EXPECT_EQ(why_not_carried("native", "auto"), "");
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
  constexpr std::size_t kCount = (std::size_t{1} << 20U) + 3;
  for (const bool in_place : {true, false}) {
    expect_exact(GetParam(), {.ranks = 3, .count = kCount, .in_place = in_place},
                 SendMode::rendezvous);
    expect_exact(GetParam(),
                 {.ranks = 4,
                  .count = kCount,
                  .in_place = in_place,
                  .ranks_per_node = 2,
                  .windows = in_place},
                 SendMode::rendezvous);
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

/// What the busiest of these ranks did, of `count` elements.
AllreduceCost counted(const AllreduceAlgorithm& algorithm, std::size_t count, int ranks,
                      int ranks_per_node, bool windows) {
  std::mutex mutex;
  AllreduceCost most{0, 0, 0};
  double all_sent = 0;
  std::size_t wrong = 0;
  const auto work = [&](Communicator& communicator) {
    SealedRanks sealed(communicator);
    CountingCommunicator counting(sealed);
    const Window buffer = place(communicator, count, DType::float32, windows);
    fill_inputs(buffer.span, communicator.rank(), ranks, ReduceOp::sum);
    SealedRanks::scramble(buffer.span);
    communicator.barrier();
    algorithm.run(counting, buffer.span, buffer.span, ReduceOp::sum);
    communicator.barrier();
    SealedRanks::scramble(buffer.span);
    const std::lock_guard lock(mutex);
    wrong += count_wrong(buffer.span, ranks, ReduceOp::sum);
    all_sent += static_cast<double>(counting.elements_sent());
    most.steps = std::max(most.steps, static_cast<double>(counting.steps()));
    most.sent = std::max(most.sent, static_cast<double>(counting.elements_sent()));
    most.reduced = std::max(most.reduced, static_cast<double>(counting.elements_reduced()));
  };
  run_ranks(ranks, work, SendMode::rendezvous, ranks_per_node);
  EXPECT_EQ(wrong, 0U)
      << "exact elsewhere and not here: something reduces past the communicator. Its "
         "combine() is what is counted, and what runs on the transport's device";
  // To gather every rank's numbers in one place and to spread their sum takes so much.
  EXPECT_GE(all_sent, 2. * (ranks - 1) * static_cast<double>(count))
      << "something moves past the communicator";
  return most;
}

/// With windows, and by its messages if it can do without.
TEST_P(EveryAlgorithm, CostsWhatItsLineClaims) {
  // Cut into p or 2p chunks for p = 1..8, each has whole cache lines and the same length; one is
  // shorter than any segment, one longer.
  for (const std::size_t count : {std::size_t{840 * 32}, std::size_t{840 * 32 * 10}}) {
    for (int ranks = 1; ranks <= 8; ++ranks) {
      for (const int ranks_per_node : {1, 2, 4, 8}) {
        if (ranks % ranks_per_node != 0 && ranks_per_node < ranks) continue;
        const int g = std::min(ranks, ranks_per_node);
        for (const Reach reach : {Reach::windows, Reach::messages}) {
          const bool windows = reach == Reach::windows;
          if (!windows && needs_windows(GetParam())) continue;
          const AllreduceCost claimed =
              GetParam().cost(ranks, static_cast<double>(count), g, reach);
          SCOPED_TRACE(fmt::format(
              "{} with p={} g={} n={}{}, counted in the busiest rank against its line in "
              "allreduce.def. "
              "p or 2p chunks of this n are equally long; if yours are not, because you cut it "
              "otherwise, let the test take an n that your cut divides into whole lines of 64 "
              "bytes",
              GetParam().name, ranks, g, count, windows ? " in windows" : ""));
          const AllreduceCost most = counted(GetParam(), count, ranks, ranks_per_node, windows);
          EXPECT_DOUBLE_EQ(most.steps, claimed.steps);
          // Ranks that meet in windows send an element a step to say so.
          EXPECT_NEAR(most.sent, claimed.sent, windows ? claimed.steps : 0);
          EXPECT_DOUBLE_EQ(most.reduced, claimed.reduced);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(AllreduceHierarchical, CostsWhatItsLineClaimsOfLongParts) {
  constexpr std::size_t kCount = std::size_t{1} << 20U;
  const AllreduceAlgorithm& algorithm = allreduce_named("hierarchical");
  const auto steps_of_all = [&](Communicator& communicator) {
    CountingCommunicator counting(communicator);
    const Buffer buffer(kCount, DType::float32);
    fill_inputs(buffer.span(), communicator.rank(), 4, ReduceOp::sum);
    algorithm.run(counting, buffer.span(), buffer.span(), ReduceOp::sum);
    EXPECT_EQ(count_wrong(buffer.span(), 4, ReduceOp::sum), 0U);
    EXPECT_EQ(static_cast<double>(counting.steps()),
              algorithm.cost(4, kCount, 2, Reach::messages).steps);
    EXPECT_EQ(counting.steps(), 6U);
    communicator.barrier();
  };
  run_ranks(4, steps_of_all, SendMode::rendezvous, 2);
}

INSTANTIATE_TEST_SUITE_P(Allreduce, EveryAlgorithm, testing::ValuesIn(own_algorithms()),
                         [](const auto& param) { return std::string(param.param.name); });

TEST(Allreduce, NativeSaysThatThreadsHaveNone) {
  const AllreduceAlgorithm& native = allreduce_named("native");
  EXPECT_TRUE(std::isnan(native.cost(2, 8, 2, Reach::windows).sent));
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
              one.reduce(into->span(), input.span(), into->span(), step);
          }
          if (rank == 1) one.reduce(twice.span(), input.span(), twice.span(), step);
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
        EXPECT_GT(count_wrong(all.span(), kRanks, op, 1), most) << "of inputs of another seed";
        poison(all.span());
        EXPECT_EQ(count_wrong(all.span(), kRanks, op), 1000U) << "never written";
      });
    }
  }
}

}  // namespace

}  // namespace scalebench
