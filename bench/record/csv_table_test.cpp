// SPDX-License-Identifier: Apache-2.0
// Reading back what was written, and what other programs and crashes leave behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "bench/record/csv.hpp"
#include "kernels/error.hpp"
#include "kernels/temporary_folder.hpp"

namespace scalebench {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

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
  for (const std::string& text : texts) {
    CsvWriter(folder_ / "b.csv", {"first", "last"}).append({text, text});
  }
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
              HasSubstr("a.csv: unknown column 'z'"));
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
}  // namespace scalebench
