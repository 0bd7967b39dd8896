// SPDX-License-Identifier: Apache-2.0
// What a crash, a full disk, a foreign locale and hostile text do to a CSV that is being written.
#include "bench/record/csv.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <clocale>
#include <cmath>
#include <locale>

#include "bench/record/file.hpp"
#include "bench/record/result_row.hpp"
#include "bench/record/testing.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {

// Reading back what was written, and what other programs and crashes leave behind.

namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

class CsvTableTest : public testing::Test {
 protected:
  CsvTable table(std::string_view text) { return CsvTable::read(folder_.write("a.csv", text)); }
  std::string refusal(std::string_view text) {
    return message_of<UsageError>([&] { table(text); });
  }
  TemporaryFolder folder_;
};

TEST_F(CsvTableTest, ReadsBackWhatWasWritten) {
  const std::vector<std::string> texts{"plain", "a,b", "\"",  "",   "=1+1",  "'=1+1",  "''",
                                       "'",     "-3",  " x ", "\t", "größe", "-a\"b,", "@"};
  CsvWriter writer(folder_ / "b.csv", {"first", "last"});
  for (const std::string& text : texts) writer.append({text, text});
  const CsvTable read = CsvTable::read(folder_ / "b.csv");
  ASSERT_EQ(read.size(), texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(read.text(i, "first"), texts[i]);
    EXPECT_EQ(read.text(i, "last"), texts[i]);
  }
}

TEST_F(CsvTableTest, KeepsOneEmptyCell) {
  CsvWriter(folder_ / "b.csv", {"only"}).append({""});
  EXPECT_EQ(CsvTable::read(folder_ / "b.csv").size(), 1U);
}

TEST_F(CsvTableTest, KnowsItsColumns) {
  const CsvTable read = table("x,y\n1,2\n");
  EXPECT_THAT(read.columns(), ElementsAre("x", "y"));
  EXPECT_TRUE(read.has("x"));
  EXPECT_FALSE(read.has("z"));
  EXPECT_THAT(message_of<Error>([&] { read.text(0, "z"); }),
              HasSubstr("a.csv: no column 'z'; there are: x, y"));
  EXPECT_THROW(read.text(1, "x"), Error);
}

TEST_F(CsvTableTest, DropsATornLastLineAndSaysSo) {
  const CsvTable read = table("x,y\n1,2\n3,\"4");
  EXPECT_TRUE(read.torn());
  EXPECT_EQ(read.size(), 1U);
  EXPECT_FALSE(table("x,y\n1,2\n").torn());
}

TEST_F(CsvTableTest, ReadsOtherProgramsFiles) {
  const CsvTable read = table("\xef\xbb\xbfx,y\r\n\"two\r\nlines\",2\r\n\r\n3,\"4\"\r\n");
  EXPECT_THAT(read.columns(), ElementsAre("x", "y"));
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read.text(0, "x"), "two\nlines");
  EXPECT_EQ(read.number(1, "y"), 4);
}

TEST_F(CsvTableTest, NamesFileAndLineOfABadRow) {
  EXPECT_THAT(refusal("x,y\n1,2\n1,2,3\n"), EndsWith("a.csv:3: 3 cells in a file of 2 columns"));
  EXPECT_THAT(refusal("x,y\n\"a\nb\",2\n1\n"), HasSubstr("a.csv:4:"));
  EXPECT_THAT(refusal("x,y\n1,\"2\n3,4\n"), HasSubstr("a.csv:2: a quote is opened"));
  EXPECT_THAT(refusal("x,y\n\"1\"2,3\n"), HasSubstr("a.csv:2: text between"));
  EXPECT_THAT(refusal("x,x\n"), HasSubstr("a.csv:1: column 'x' appears twice"));
  EXPECT_THAT(refusal(std::string_view("x,y\n1,2\n\0,3\n", 13)), HasSubstr("a.csv:3: a NUL byte"));
  EXPECT_THAT(refusal(""), HasSubstr("a.csv:1: there is no header"));
  EXPECT_THAT(refusal("x,y"), HasSubstr("a.csv:1: there is no header"));
  EXPECT_THAT(refusal("x\n" + std::string((std::size_t{1} << 24U) + 2, '1') + "\n"),
              HasSubstr("a.csv:2: line longer"));
}

TEST_F(CsvTableTest, ReportsAFileThatCannotBeRead) {
  EXPECT_THROW(CsvTable::read(folder_ / "none.csv"), UsageError);
  EXPECT_THROW(CsvTable::read(folder_.path()), UsageError);
}

TEST_F(CsvTableTest, ReadsAGzippedFileInPlaceOfThePlainOne) {
  std::string text = "x,y\n";
  for (int i = 0; i < 100'000; ++i) text += fmt::format("{},{}\n", i, 0.5 * i);
  const std::filesystem::path packed = write_gz(folder_ / "big.csv.gz", text);
  const CsvTable read = CsvTable::read(folder_ / "big.csv");
  ASSERT_EQ(read.size(), 100'000U);
  EXPECT_EQ(read.number(99'999, "y"), 49'999.5);
  EXPECT_EQ(CsvTable::read(packed).size(), 100'000U) << "by its own name";
  write_gz(folder_ / "bad.csv.gz", "x,y\n1,a\n");
  EXPECT_THAT(message_of<UsageError>([&] { CsvTable::read(folder_ / "bad.csv").number(0, "y"); }),
              HasSubstr("bad.csv.gz:2:3: y: 'a' is not a number"));
  folder_.write("big.csv", "x\n1\n");
  EXPECT_EQ(CsvTable::read(folder_ / "big.csv").size(), 1U) << "the plain one comes first";
}

TEST_F(CsvTableTest, RefusesADamagedGzippedFileByName) {
  write_gz(folder_ / "a.csv.gz", "x,y\n1,2\n");
  const std::string whole = folder_.read("a.csv.gz");
  std::string changed = whole;
  changed[whole.size() - 5] ^= 1;  // of the checksum
  for (const std::string& damaged : {whole.substr(0, whole.size() - 6), changed}) {
    folder_.write("a.csv.gz", damaged);
    EXPECT_THAT(message_of<UsageError>([&] { CsvTable::read(folder_ / "a.csv"); }),
                AllOf(HasSubstr("cannot unpack '"), HasSubstr("a.csv.gz': damaged after "),
                      Not(HasSubstr("\n"))));
  }
}

TEST_F(CsvTableTest, TakesNumbersOnlyWhole) {
  const CsvTable read = table("x\n\"\"\n1e-3\n+2\n\"1,5\"\n1 s\nnan\n-nan\n1e999\nN/A\n");
  EXPECT_TRUE(std::isnan(read.number(0, "x")));
  EXPECT_EQ(read.number(1, "x"), 1e-3);
  EXPECT_EQ(read.number(2, "x"), 2);
  for (std::size_t row = 3; row < read.size(); ++row)
    EXPECT_THROW(read.number(row, "x"), UsageError);
  EXPECT_THAT(message_of<UsageError>([&] { read.number(3, "x"); }),
              HasSubstr("a.csv:5:1: x: '1,5' is not a number; valid: digits with a decimal point"));
}

TEST_F(CsvTableTest, NamesLineAndColumnOfABadCell) {
  const CsvTable read = table("\xef\xbb\xbfname,x\r\n\r\n\"two\r\nlines\",1\r\na,\"1,5\"\r\n");
  EXPECT_THAT(read.place(0, "name"), EndsWith("a.csv:3:1"));
  EXPECT_THAT(read.place(0, "x"), EndsWith("a.csv:4:8")) << "after a quoted line break";
  EXPECT_THAT(message_of<UsageError>([&] { read.number(1, "x"); }), HasSubstr("a.csv:5:3: x: "));
}

}  // namespace

namespace {

using testing::HasSubstr;

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

TEST(CsvWriter, WritesRowsBelowTheirHeader) {
  const TemporaryFolder folder;
  CsvWriter writer(folder / "a.csv", {"x", "y"});
  for (int i = 0; i < 2; ++i) writer.append({"", "2"});
  EXPECT_EQ(folder.read("a.csv"), "x,y\n,2\n,2\n");
}

TEST(CsvWriter, LeavesAFileThatIsThereAlready) {
  const TemporaryFolder folder;
  folder.write("a.csv", "x,y\n1,2\n");
  EXPECT_THAT(message_of<UsageError>([&] {
                CsvWriter(folder / "a.csv", {"x", "y"});
              }),
              AllOf(HasSubstr("a.csv' is there already"), HasSubstr("--out")));
  EXPECT_EQ(folder.read("a.csv"), "x,y\n1,2\n");
}

TEST(CsvWriter, SaysWhichFileHasNoRoom) {
  const TemporaryFolder folder;
  const FileSizeLimit limit(2);
  EXPECT_THAT(message_of<DiskFull>([&] { CsvWriter(folder / "a.csv", {"column"}); }),
              AllOf(HasSubstr("a.csv"), HasSubstr("File too large"), HasSubstr("7 bytes")));
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
  const TemporaryFolder folder;
  EXPECT_THAT(message_of<Error>([&] { CsvWriter(folder / "nowhere/a.csv", {"x"}); }),
              HasSubstr("/nowhere/a.csv"));
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
