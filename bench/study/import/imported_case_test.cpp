// SPDX-License-Identifier: Apache-2.0
// Which columns may be set and to what, and which time is behind a rate.
#include "bench/study/import/imported_case.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::HasSubstr;

TEST(ValueColumn, ConvertsUnitsAndRefusesAmbiguousOnes) {
  EXPECT_DOUBLE_EQ(unit_factor("", "seconds", "us"), 1e-6);
  EXPECT_DOUBLE_EQ(unit_factor("", "size_bytes", "MiB"), 1048576);
  EXPECT_DOUBLE_EQ(unit_factor("", "busbw_gb_per_s", "Gbit/s"), 0.125);
  EXPECT_DOUBLE_EQ(unit_factor("", "test_accuracy", "%"), 0.01);
  EXPECT_THAT(message_of<UsageError>([] { unit_factor("here", "size_bytes", "MB"); }),
              HasSubstr("here: unknown unit 'MB'; valid: B, KiB, MiB, GiB"));
  EXPECT_THAT(message_of<UsageError>([] { unit_factor("here", "model", "s"); }),
              HasSubstr("model has no unit"));
}

TEST(ValueColumn, FindsTheTimeBehindARate) {
  ResultRow allreduce(allreduce_schema());
  allreduce.set("size_bytes", 1'000'000).set("ranks", 4);
  EXPECT_DOUBLE_EQ(seconds_behind("a", allreduce, "algbw_gb_per_s", 2), 0.0005);
  EXPECT_DOUBLE_EQ(seconds_behind("a", allreduce, "busbw_gb_per_s", 3), 0.0005);
  EXPECT_THROW(seconds_behind("a", ResultRow(allreduce).set("ranks", "1e300"), "busbw_gb_per_s", 3),
               UsageError);
  ResultRow step(throughput_schema());
  step.set("batch", 32).set("ranks", 4);
  EXPECT_DOUBLE_EQ(seconds_behind("a", step, "images_per_s", 1280), 0.1);
  EXPECT_THROW(seconds_behind("a", ResultRow(epoch_schema()), "images_per_s", 100), UsageError);
}

TEST(Settings, TakesOneValueOrOneForEachFile) {
  const auto settings = parse_settings({"ranks=1,3", "model=resnet18"}, epoch_schema(), 2);
  EXPECT_EQ(setting(settings[0], "ranks"), "1");
  EXPECT_EQ(setting(settings[1], "ranks"), "3");
  EXPECT_EQ(setting(settings[1], "model"), "resnet18");
}

TEST(Settings, AreRefusedInOneLine) {
  const auto refusal = [](const std::string& text) {
    return message_of<UsageError>([&] { parse_settings({text}, epoch_schema(), 1); });
  };
  EXPECT_THAT(refusal("ranks"), HasSubstr("write column=value"));
  EXPECT_THAT(refusal("ranks=16777217"), HasSubstr("ranks: 16777217 is more than 16777216"));
  EXPECT_THAT(refusal("nodes=3"), testing::IsEmpty());
  EXPECT_THAT(refusal("modle=x"), HasSubstr("did you mean 'model'?"));
  EXPECT_THAT(refusal("seconds_median=3"), HasSubstr("unknown column"));
  EXPECT_THAT(refusal("origin=measured"), HasSubstr("unknown column"));
  for (const char* bad : {"ranks=0", "ranks=-1", "ranks=1.5", "ranks=1e308", "ranks=1,5", "ranks="})
    EXPECT_NE(refusal(bad), "") << bad;
  EXPECT_THAT(refusal("target_accuracy=46"), HasSubstr("from 0 to 1"));
  EXPECT_THAT(refusal("input_seconds=0,1"), HasSubstr("decimal point"));
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

}  // namespace
}  // namespace scalebench
