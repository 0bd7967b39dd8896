// SPDX-License-Identifier: Apache-2.0
// What annotations.toml may say, and what is added to it.
#include "bench/study/nightly/history.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/record/file.hpp"
#include "bench/record/result_row.hpp"
#include "bench/record/run_name.hpp"
#include "bench/study/nightly/report.hpp"
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

TEST(Annotations, PinAnotherRunHoweverTheFirstOneIsWritten) {
  const std::string rest =
      "# before the next one\n[[excluded]]\nrun = \"c\"\nreason = \"[pinned]\"\n";
  for (const char* const pinned :
       {"[pinned]\nrun = \"old\"\nreason = \"first\"\n",
        " [ pinned ] # the release\n reason = \"\"\"first,\n[pinned]\nlast\"\"\"\nrun = 'old'\n",
        "pinned = {run = \"old\", reason = \"first\"}\n",
        "pinned.run = \"old\"\npinned.reason = \"first\"\n"}) {
    EXPECT_EQ(annotated("# by hand\n" + std::string(pinned) + rest, "pin", {"new", "*", "second"},
                        "a.toml"),
              "# by hand\n" + rest + "\n[pinned]\nrun = 'new'\nreason = 'second'\n");
  }
}

TEST(Annotations, MeanCellsByLabelOrKey) {
  EXPECT_TRUE(matches("allreduce ring*", "allreduce ring mpi 1 KiB N=2", "allreduce/c0ffee/2"));
  EXPECT_TRUE(matches("allreduce/c0ffee/*", "allreduce ring", "allreduce/c0ffee/2/seconds"));
  EXPECT_FALSE(matches("ring", "allreduce ring", "allreduce/c0ffee/2"));
}

TEST(AaBefore, CountsWhatWasNotComparedAndAFolderWithoutCells) {
  const TemporaryFolder folder;
  Manifest tonight;
  tonight.study = "quick";
  tonight.started_utc = "2026-03-02T04:00:00Z";
  const std::string name = "20260302T030000Z-quick-aa-0a1b2c";
  const std::filesystem::path aa = folder.path() / name;
  std::filesystem::create_directory(aa);
  Manifest own = tonight;
  own.study = aa_study(tonight.study);
  own.run_id = name;
  own.started_utc = "2026-03-02T03:00:00Z";
  write_manifest(aa, own);
  GateInput input;
  std::vector<LeftOut> unreadable;
  const auto trouble = [&] {
    unreadable.clear();
    const std::optional<AaCheck> check = aa_before(folder.path(), tonight, input, unreadable);
    return check ? check->trouble() : "none was found";
  };
  EXPECT_EQ(trouble(), "not one cell was measured") << "it ended before it had any";
  /// Two cells; of b so many times what they take of a, 0: wrong.
  const auto with = [&](const std::vector<double>& times_of_b) {
    own.launches.clear();
    for (int number = 1; number <= 10; ++number) {
      const bool is_b = number > 5;
      std::vector<ResultRow> rows;
      for (const double times : times_of_b) {
        ResultRow& row = rows.emplace_back(allreduce_schema());
        row.set("case_id", fmt::format("case{}", rows.size())).set("ranks", 2);
        row.set("origin", "measured").set("status", times > 0 ? "ok" : "wrong");
        row.set("seconds_median", (1 + 0.001 * number) * (is_b ? times : 1));
      }
      const std::string launch = is_b ? "allreduce-n2-b" : "allreduce-n2-a";
      std::filesystem::create_directories(launch_folder(aa, number, launch, 1));
      replace_rows(launch_folder(aa, number, launch, 1), allreduce_schema(), rows);
      own.launches.emplace_back().number = number;
    }
    write_manifest(aa, own);
    return trouble();
  };
  EXPECT_EQ(with({1, 1}), "");
  EXPECT_EQ(with({1, 0}), "1 of 2 cells could not be compared");
  EXPECT_EQ(with({1, 1.1}), "1 of 2 cells differ");
  // What cannot be read costs the comparison and no more.
  folder.write(name + "/launches/001-allreduce-n2-a/allreduce.csv", "no such column\nx\n");
  EXPECT_EQ(trouble(), "none was found");
  ASSERT_EQ(unreadable.size(), 1U);
  EXPECT_EQ(unreadable[0].run_id, name);
  EXPECT_THAT(unreadable[0].why, HasSubstr("allreduce.csv"));
  folder.write(name + "/manifest.json", "{");
  EXPECT_EQ(trouble(), "none was found");
  EXPECT_EQ(unreadable.size(), 1U);
  EXPECT_TRUE(read_history(folder.path(), tonight, {}, 40).nights.empty()) << "it is not refused";
  input.annotations.excluded.push_back({name, "*", "damaged"});
  EXPECT_EQ(trouble(), "none was found");
  EXPECT_TRUE(unreadable.empty()) << "somebody knows";
}

}  // namespace
}  // namespace scalebench
