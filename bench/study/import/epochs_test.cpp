// SPDX-License-Identifier: Apache-2.0
// What follows from a known data set, and which times no epoch can have.
#include "bench/study/import/epochs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "bench/record/csv.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::HasSubstr;

ImportedCase epoch(double seconds, const std::string& samples, const std::string& ranks) {
  ImportedCase one{ResultRow(epoch_schema()), {seconds}, {}};
  one.row.set("samples", samples).set("ranks", ranks);
  return one;
}

TEST(Epochs, FollowFromWhatIsKnown) {
  ResultRow row(epoch_schema());
  row.set("dataset", "imagenet").set("ranks", 4).set("global_batch", 256);
  complete_training(row);
  EXPECT_EQ(row.get("samples"), "1281167");
  EXPECT_EQ(row.get("batch"), "64");
  EXPECT_EQ(row.get("gradient_sync"), "");
  ResultRow other(epoch_schema());
  other.set("dataset", "mine").set("ranks", 1).set("batch", 3);
  complete_training(other);
  EXPECT_EQ(other.get("samples"), "");
  EXPECT_EQ(other.get("global_batch"), "3");
  EXPECT_EQ(other.get("gradient_sync"), "one_device");
  ResultRow uneven(epoch_schema());
  uneven.set("ranks", 3).set("global_batch", 256);
  complete_training(uneven);
  EXPECT_EQ(uneven.get("batch"), "") << "no whole number";
}

TEST(Epochs, KnowTheirStatesWhereTheReductionIsKnown) {
  ImportedCase one = epoch(3, "60000", "2");
  one.seconds = {2, 4};
  one.row.set("compute_seconds", 1.75).set("input_seconds", 0.125);
  EXPECT_EQ(check_states(one), "");
  EXPECT_EQ(one.row.get("evaluation_seconds"), "") << "how long the reduction takes is not known";
  one.row.set("transfer_seconds", 0.75);
  EXPECT_EQ(check_states(one), "");
  EXPECT_EQ(one.row.get("evaluation_seconds"), "0");
  EXPECT_EQ(one.row.get("wait_static_seconds"), "") << "waiting is with the transfer";
}

TEST(Epochs, PartsThatAreMoreThanTheWholeAreReported) {
  ImportedCase one = epoch(3, "60000", "2");
  one.row.set("compute_seconds", 3).set("transfer_seconds", 0.25);
  EXPECT_THAT(check_states(one), HasSubstr("sum to 3.25 s, and it takes 3 s"));
  EXPECT_EQ(one.row.get("compute_seconds"), "");
}

TEST(Epochs, ThatNoDeviceCouldTrainAreRefused) {
  EXPECT_NO_THROW(require_possible(epoch(420, "1281167", "1"), "a.log"));
  EXPECT_NO_THROW(require_possible(epoch(0.3, "60000", "1"), "a.log")) << "digits are small";
  EXPECT_NO_THROW(require_possible(epoch(0.19, "", "3"), "a.log")) << "nothing is known";
  for (const auto& one : {epoch(0.19, "1281167", "3"), epoch(1e-3, "60000", "1")}) {
    EXPECT_THAT(message_of<UsageError>([&] { require_possible(one, "a.log"); }),
                HasSubstr("are these steps?"));
  }
}

TEST(Epochs, TheLimitIsFarAboveWhatIsPublished) {
  const CsvTable table = CsvTable::read(SCALEBENCH_PUBLISHED);
  double fastest = 0;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const double of_all = table.number(i, "images_per_s") / table.number(i, "gpus");
    fastest = std::max({fastest, of_all > 0 ? of_all : 0});
  }
  ASSERT_GT(fastest, 1000);
  EXPECT_GT(fastest_images_per_s(epoch(1, "1281167", "1").row), 10 * fastest);
}

TEST(NamedEpochs, CountsTheNamesAndNotTheLines) {
  NamedEpochs epochs;
  for (const char* line :
       {"Epoch: [0][10/50] Time 1", "Epoch: [0][20/50] Time 1", "epoch took 3 s", "Epoch 7/12",
        "{'epoch':8, 'time'", "[timer] epoch=9/micro_step=1", "epochs 90", "# epoch: 7"}) {
    epochs.read(line);
  }
  EXPECT_EQ(epochs.count(), 4U);
  EXPECT_EQ(epochs.current(), "7");
}

}  // namespace
}  // namespace scalebench
