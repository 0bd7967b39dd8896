// SPDX-License-Identifier: Apache-2.0
// The measured table: nearest size in log scale, no flapping between ties; and `auto` follows it.
#include "collectives/allreduce_choices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <mutex>

#include "collectives/allreduce_check.hpp"
#include "collectives/counting_communicator.hpp"
#include "collectives/thread_communicator.hpp"
#include "kernels/error.hpp"

namespace scalebench {
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
  // Each size has another fastest one by 1 or 2 %, until rabenseifner is beaten for good.
  const Cells cells{{"ring", 1024, 1.00},         {"rabenseifner", 1024, 1.01},
                    {"ring", 2048, 1.02},         {"rabenseifner", 2048, 1.00},
                    {"direct", 4096, 1.00},       {"rabenseifner", 4096, 1.02},
                    {"ring", 4096, 1.10},         {"direct", 8192, 1.0},
                    {"rabenseifner", 8192, 1.05}, {"ring", 8192, 1.01}};
  EXPECT_THAT(AllreduceChoices(cells).describe(),
              ElementsAre("up to 5.7 KiB: rabenseifner", "above: direct"));
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
  EXPECT_TRUE(std::isnan(allreduce_named("auto").cost(2, 8, 2).steps));
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
}  // namespace scalebench
