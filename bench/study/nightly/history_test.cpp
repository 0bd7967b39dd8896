// SPDX-License-Identifier: Apache-2.0
// What annotations.toml may say, and what is added to it.
#include "bench/study/nightly/history.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::HasSubstr;

std::string complaint(const std::string& text) {
  const TemporaryFolder folder;
  return message_of<UsageError>([&] { read_annotations(folder.write("a.toml", text)); });
}

TEST(Annotations, AreNoneWithoutTheFile) {
  const Annotations none = read_annotations("/nonexistent/annotations.toml");
  EXPECT_TRUE(none.accepted.empty());
  EXPECT_EQ(none.excluded_run("a"), nullptr);
  EXPECT_FALSE(none.pinned);
}

TEST(Annotations, NeedAReasonAndNameThePlaceOfEveryFault) {
  EXPECT_THAT(complaint("[[excluded]]\nrun = \"a\"\n"), HasSubstr("a.toml:1:1: reason is missing"));
  EXPECT_THAT(complaint("[pinned]\nrun = \"a\"\nreason = \" \"\n"),
              HasSubstr("a.toml:3:10: reason"));
  EXPECT_THAT(complaint("[pinned]\nrun = \"../a\"\nreason = \"x\"\n"), HasSubstr("not a path"));
  const std::string both = complaint("[[accepted]]\nrn = \"a\"\nreason = 3\n");
  EXPECT_THAT(both, HasSubstr("a.toml:2:1: unknown key 'rn'"));
  EXPECT_THAT(both, HasSubstr("a.toml:3:10: reason: expected a text in quotes"));
  EXPECT_THAT(complaint("[[excluded]]\nrun = \"a\"\nrun = \"b\"\n"), HasSubstr("a.toml:3:"));
}

TEST(Annotations, AreAddedWithoutTouchingWhatIsThere) {
  std::string text = "# by hand\n[pinned]\nrun = \"old\"\nreason = \"first\"\n";
  text = annotated(text, "accept", {"b", "x*", "tab\t\"quoted\"\nsecond line"}, "a.toml");
  text = annotated(text, "exclude", {"c", "*", "why"}, "a.toml");
  text = annotated(text, "pin", {"new", "*", "second"}, "a.toml");
  const TemporaryFolder folder;
  const Annotations read = read_annotations(folder.write("a.toml", text));
  EXPECT_THAT(text, testing::StartsWith("# by hand\n"));
  ASSERT_EQ(read.accepted.size(), 1U);
  EXPECT_EQ(read.accepted[0].reason, "tab\t\"quoted\"\nsecond line");
  EXPECT_EQ(read.accepted[0].cells, "x*");
  ASSERT_NE(read.excluded_run("c"), nullptr);
  EXPECT_EQ(read.pinned->run, "new");
  EXPECT_THROW(annotated("[nonsense]\n", "pin", {"a", "*", "b"}, "a.toml"), UsageError);
}

TEST(Annotations, MeanCellsByLabelOrKey) {
  EXPECT_TRUE(matches("allreduce ring*", "allreduce ring mpi 1 KiB N=2", "allreduce/c0ffee/2"));
  EXPECT_TRUE(matches("allreduce/c0ffee/*", "allreduce ring", "allreduce/c0ffee/2/seconds"));
  EXPECT_FALSE(matches("ring", "allreduce ring", "allreduce/c0ffee/2"));
}

}  // namespace
}  // namespace scalebench
