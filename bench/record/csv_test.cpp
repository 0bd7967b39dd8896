// SPDX-License-Identifier: Apache-2.0
// What a crash, a full disk, a foreign locale and hostile text do to a CSV that is being written.
#include "bench/record/csv.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <clocale>
#include <csignal>
#include <locale>

#include "bench/record/result_row.hpp"
#include "kernels/error.hpp"
#include "kernels/temporary_folder.hpp"

namespace scalebench {
namespace {

using testing::HasSubstr;

/// Lets no file grow beyond `bytes`, as a full disk would.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*signal_)(int);
  rlimit before_{};
};

TEST(CsvCell, QuotesOnlyWhereRfc4180Asks) {
  EXPECT_EQ(csv_cell("ring"), "ring");
  EXPECT_EQ(csv_cell(""), "");
  EXPECT_EQ(csv_cell("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_cell("say \"hi\""), "\"say \"\"hi\"\"\"");
}

TEST(CsvCell, IsOneLine) {
  EXPECT_EQ(csv_cell("two\nlines"), "two lines");
  EXPECT_EQ(csv_cell("dos\r\nlines"), "dos lines");
  EXPECT_EQ(csv_cell(std::string_view("nul\0byte", 8)), "nul byte");
}

TEST(CsvCell, DisarmsFormulasAndLeavesNumbers) {
  EXPECT_EQ(csv_cell("=cmd|' /C calc'!A0"), "'=cmd|' /C calc'!A0");
  EXPECT_EQ(csv_cell("@SUM(A1)"), "'@SUM(A1)");
  EXPECT_EQ(csv_cell("-1+1"), "'-1+1");
  EXPECT_EQ(csv_cell("\tx"), "'\tx");
  EXPECT_EQ(csv_cell("-1.5e-7"), "-1.5e-7");
  EXPECT_EQ(csv_cell("+5"), "+5");
  EXPECT_EQ(csv_cell("-inf"), "'-inf");
}

TEST(CsvCell, IsValidUtf8) {
  EXPECT_EQ(csv_cell("größe"), "größe");
  EXPECT_EQ(csv_cell("a\xff"), "a\xef\xbf\xbd");
}

TEST(CsvWriter, WritesTheHeaderOnce) {
  const TemporaryFolder folder;
  for (int i = 0; i < 2; ++i) CsvWriter(folder / "a.csv", {"x", "y"}).append({"", "2"});
  EXPECT_EQ(folder.read("a.csv"), "x,y\n,2\n,2\n");
}

TEST(CsvWriter, RefusesAnotherHeaderAndLeavesTheFile) {
  const TemporaryFolder folder;
  folder.write("a.csv", "x,z\n1,2\n");
  const std::string message = message_of<Error>([&] { CsvWriter(folder / "a.csv", {"x", "y"}); });
  EXPECT_THAT(message, HasSubstr("a.csv"));
  EXPECT_THAT(message, HasSubstr("another header"));
  EXPECT_EQ(folder.read("a.csv"), "x,z\n1,2\n");
}

TEST(CsvWriter, RefusesALongerHeader) {
  const TemporaryFolder folder;
  folder.write("a.csv", "x,y,z\n");
  EXPECT_THROW(CsvWriter(folder / "a.csv", {"x", "y"}), Error);
  EXPECT_THROW(CsvWriter(folder / "a.csv", {"x", "y", "z", "w"}), Error);
}

TEST(CsvWriter, GoesOnAfterACrash) {
  const TemporaryFolder folder;
  folder.write("row.csv", "x,y\n1,2\n3,");
  CsvWriter(folder / "row.csv", {"x", "y"}).append({"5", "6"});
  EXPECT_EQ(folder.read("row.csv"), "x,y\n1,2\n5,6\n");
  folder.write("header.csv", "x,");
  CsvWriter(folder / "header.csv", {"x", "y"}).append({"5", "6"});
  EXPECT_EQ(folder.read("header.csv"), "x,y\n5,6\n");
}

TEST(CsvWriter, SaysWhichFileHasNoRoom) {
  const std::string message = message_of<Error>([] { CsvWriter("/dev/full", {"x"}); });
  EXPECT_THAT(message, HasSubstr("/dev/full"));
  EXPECT_THAT(message, HasSubstr("No space left"));
}

TEST(CsvWriter, EndsAfterTheLastWholeRowWhenTheDiskIsFull) {
  const TemporaryFolder folder;
  CsvWriter writer(folder / "a.csv", {"x", "y"});
  writer.append({"1", "2"});
  {
    const FileSizeLimit limit(12);  // 8 bytes are written; the next row is cut in its middle
    EXPECT_THROW(writer.append({"33333", "44444"}), Error);
  }
  EXPECT_EQ(folder.read("a.csv"), "x,y\n1,2\n");
  writer.append({"5", "6"});
  EXPECT_EQ(folder.read("a.csv"), "x,y\n1,2\n5,6\n");
}

TEST(CsvWriter, RefusesARowOfAnotherLength) {
  const TemporaryFolder folder;
  CsvWriter writer(folder / "a.csv", {"x", "y"});
  EXPECT_THROW(writer.append({"1"}), Error);
  EXPECT_EQ(folder.read("a.csv"), "x,y\n");
}

TEST(CsvWriter, ReportsAFolderThatIsNotThere) {
  EXPECT_THAT(message_of<Error>([] { CsvWriter("/nonexistent/a.csv", {"x"}); }),
              HasSubstr("/nonexistent/a.csv"));
}

struct DecimalComma : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(CsvWriter, IgnoresTheLocale) {
  const std::locale before = std::locale::global(std::locale(std::locale(), new DecimalComma));
  std::setlocale(LC_ALL, "de_DE.UTF-8");  // where it is installed
  const TemporaryFolder folder;
  CsvWriter(folder / "a.csv", samples_schema().columns)
      .append(ResultRow(samples_schema()).set("seconds", 1234.5).set("bytes", 1048576).cells());
  const CsvTable table = CsvTable::read(folder / "a.csv");
  EXPECT_EQ(table.text(0, "seconds"), "1234.5");
  EXPECT_EQ(table.text(0, "bytes"), "1048576");
  EXPECT_EQ(table.number(0, "seconds"), 1234.5);
  std::setlocale(LC_ALL, "C");
  std::locale::global(before);
}

}  // namespace
}  // namespace scalebench
