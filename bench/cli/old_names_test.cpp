// SPDX-License-Identifier: Apache-2.0
#include "bench/cli/old_names.hpp"

#include <gmock/gmock.h>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

CurrentWords current(const std::vector<const char*>& typed) { return current_words(typed); }

TEST(OldNames, AreWordsOfTodayWithAWarning) {
  const CurrentWords now = current({"/usr/bin/bench_epoch", "--data-dir", "synthetic", "--batch=32",
                                    "--data-dir=mnist", "--epochs", "2"});
  EXPECT_THAT(now.words, ElementsAre("/usr/bin/bench_epoch", "--data", "synthetic",
                                     "--batch-per-rank=32", "--data=mnist", "--epochs", "2"));
  EXPECT_THAT(now.warnings,
              ElementsAre("--data-dir is now --data", "--batch is now --batch-per-rank"));
}

TEST(OldNames, OfBooleansAreAFlagOrNothing) {
  EXPECT_THAT(current({"bench_allreduce", "--bound", "0", "--links=0", "-c", "1"}).words,
              ElementsAre("bench_allreduce", "--no-bound", "--no-links", "-c", "1"));
  EXPECT_THAT(current({"bench_allreduce", "--bound=1", "--links", "1"}).words,
              ElementsAre("bench_allreduce"));
  EXPECT_THROW(current({"bench_allreduce", "--bound", "2"}), UsageError);
  EXPECT_THROW(current({"bench_allreduce", "--links="}), UsageError);
  EXPECT_THROW(current({"bench_allreduce", "--links"}), UsageError);
}

TEST(OldNames, OfAFlagThatIsAValueNow) {
  const CurrentWords now = current({"scalebench", "list", "--json", "runs"});
  EXPECT_THAT(now.words, ElementsAre("scalebench", "list", "--format", "json", "runs"));
  EXPECT_THAT(now.warnings, ElementsAre("--json is now --format json"));
}

// `compare --where` chooses cells.
TEST(OldNames, BelongToTheirProgram) {
  const CurrentWords now = current({"scalebench", "compare", "A", "B", "--where", "ranks=2"});
  EXPECT_THAT(now.words, ElementsAre("scalebench", "compare", "A", "B", "--where", "ranks=2"));
  EXPECT_THAT(now.warnings, IsEmpty());
  EXPECT_THAT(current({"bench_epoch", "--where"}).words, ElementsAre("bench_epoch", "--places"));
  EXPECT_THAT(current({}).words, IsEmpty());
}

}  // namespace
}  // namespace scalebench
