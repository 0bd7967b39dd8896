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
  EXPECT_NO_THROW(require_possible(epoch(1281167 / (10 * fastest), "1281167", "1"), "a.log"));
}

}  // namespace
}  // namespace scalebench
