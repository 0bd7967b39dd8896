// SPDX-License-Identifier: Apache-2.0
// Other suites' CSV files: the map's words, units, filters, and every kind of damage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/study/import/kinds.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kMap = R"(bench = "allreduce"
[columns]
size_bytes = { column = "size_kib", unit = "KiB" }
seconds = { column = "lat", unit = "us" }
ranks = "np"
algorithm = { column = "algo", names = { "AllReduce_Ring" = "ring" } }
launch = "run"
[filter]
collective = ["allreduce", "AllReduce"]
)";
const std::string kHeader = "collective,algo,np,size_kib,lat,run\n";

class MappedCsvTest : public testing::Test {
 protected:
  ImportedFile read(std::string_view csv, const std::string& map = kMap,
                    const Settings& settings = {}) {
    const CsvMap read_map = read_csv_map(folder_.write("map.toml", map));
    return read_mapped_csv(folder_.write("a.csv", csv), read_map, settings);
  }
  std::string refusal(std::string_view csv, const std::string& map = kMap) {
    std::string message = message_of<UsageError>([&] { read(csv, map); });
    const std::string prefix = folder_.path().string() + "/";
    for (std::size_t at = message.find(prefix); at != std::string::npos; at = message.find(prefix))
      message.erase(at, prefix.size());
    return message;
  }
  TemporaryFolder folder_;
};

TEST_F(MappedCsvTest, ReadsValuesInUnitsByLaunch) {
  const ImportedFile file =
      read(kHeader +
               "allreduce,AllReduce_Ring,4,1024,250,a\nbcast,x,4,1,1,a\nAllReduce,tree,4,1,7.5,b\n",
           kMap, {{"transport", "mpi"}, {"nodes", "2"}});
  EXPECT_THAT(file.findings, IsEmpty());
  ASSERT_EQ(file.launches.size(), 2U);
  const ImportedCase& one = file.launches[0].cases.at(0);
  EXPECT_THAT(one.seconds, ElementsAre(testing::DoubleEq(250e-6)));
  EXPECT_EQ(one.row.get("size_bytes"), "1048576");
  EXPECT_EQ(one.row.get("algorithm"), "ring");
  EXPECT_EQ(one.row.get("transport"), "mpi");
  EXPECT_EQ(one.row.get("nodes"), "2");
  EXPECT_EQ(file.launches[1].cases.at(0).row.get("algorithm"), "tree");
}

TEST_F(MappedCsvTest, ReadsByteOrderMarkCrlfQuotedLinesAndALastLineWithoutEnd) {
  const ImportedFile file = read(
      "\xef\xbb\xbf"
      "collective,algo,np,size_kib,lat,run\r\n"
      "allreduce,\"two\r\nlines\",4,1,250,a\r\n\r\nallreduce,ring,4,1,260,a");
  ASSERT_EQ(file.launches.at(0).cases.size(), 2U);
  EXPECT_EQ(file.launches[0].cases[0].row.get("algorithm"), "two\nlines");
  EXPECT_THAT(file.launches[0].cases[1].seconds, ElementsAre(testing::DoubleEq(260e-6)));
}

TEST_F(MappedCsvTest, RefusesDamageWithItsPlace) {
  EXPECT_EQ(refusal(kHeader + "allreduce,ring,4,1,250,a\nallreduce,ring,4\n"),
            "a.csv:3: 3 cells in a file of 6 columns");
  EXPECT_THAT(refusal(kHeader + "allreduce,ring,4,\"1,5\",250,a\n"),
              HasSubstr("a.csv:2: size_kib: '1,5'"));
  EXPECT_THAT(refusal(kHeader + "allreduce,ring,four,1,250,a\n"),
              HasSubstr("a.csv:2: ranks: 'four' is not a positive whole number"));
  EXPECT_THAT(refusal(kHeader + "allreduce,ring,-4,1,250,a\n"), HasSubstr("a.csv:2: ranks"));
  EXPECT_THAT(refusal(kHeader + std::string("allreduce,r\0ng,4,1,2,a\n", 23)),
              HasSubstr("a.csv:2: a NUL byte"));
  EXPECT_THAT(refusal(kHeader + "allreduce,\"ring,4,1,250,a\n"), HasSubstr("a quote is opened"));
  EXPECT_THAT(refusal(kHeader + "allreduce,\"" + std::string((std::size_t{1} << 24U) + 1, 'x')),
              HasSubstr("16 MiB"));
  std::string many = kHeader + "allreduce,\"";
  for (int i = 0; i < 40; ++i) many.append(std::size_t{1} << 19U, 'x') += '\n';
  EXPECT_THAT(refusal(many), HasSubstr("a cell larger than 16 MiB"));
  EXPECT_THAT(refusal("collective;algo;np;size_kib;lat;run\n"), HasSubstr("divided by ';'"));
  EXPECT_THAT(refusal("collective,algo,np,size_kib,latency,run\na,b,1,1,1,1\n"),
              HasSubstr("no column 'lat'"));
}

TEST_F(MappedCsvTest, HasNoZeroForAValueThatIsNone) {
  for (const std::string none : {"", "N/A", "-nan", "nan", "0", "-1", "fast", "\"1,5\""}) {
    const ImportedFile file =
        read(kHeader + "allreduce,ring,4,1," + none + ",a\nallreduce,ring,4,1,7,a\n");
    EXPECT_EQ(file.launches.at(0).cases.size(), 1U) << none;
    ASSERT_EQ(file.findings.size(), 1U) << none;
    EXPECT_EQ(file.findings[0].line, 2U) << none;
    EXPECT_THAT(file.findings[0].what, HasSubstr("lat")) << none;
  }
  EXPECT_THAT(read(kHeader + "allreduce,ring,4,1,\"1,5\",a\n").findings.at(0).what,
              HasSubstr("decimal point"));
}

TEST_F(MappedCsvTest, SaysWhyARateGivesNoTime) {
  const std::string map =
      "bench = \"allreduce\"\n[columns]\nsize_bytes = \"b\"\nranks = \"np\"\n"
      "busbw_gb_per_s = \"bw\"\n";
  for (const char* const row : {"1024,1,8\n", "1024,,8\n", ",4,8\n"}) {
    EXPECT_EQ(
        refusal(std::string("b,np,bw\n") + row, map),
        "a.csv:2: busbw_gb_per_s gives no time without size_bytes and several ranks; add --set")
        << row;
  }
  const std::string of_steps =
      "bench = \"throughput\"\n[columns]\nimages_per_s = \"rate\"\nbatch = \"b\"\n";
  EXPECT_THAT(refusal("rate,b\n8,16\n", of_steps),
              EndsWith("without batch (images of one rank in one step) and ranks; add --set"));
}

TEST_F(MappedCsvTest, RefusesEpochsThatNoDeviceCouldTrain) {
  const std::string map =
      "bench = \"epoch\"\n[columns]\nseconds = { column = \"t\", unit = \"h\" }\ndataset = \"d\"\n";
  EXPECT_THAT(refusal("t,d\n0.00001,imagenet\n", map),
              testing::AllOf(HasSubstr("a.csv:2: epochs of 0.036 s and 1281167 images"),
                             HasSubstr("or bench = \"throughput\" in a map")));
  EXPECT_EQ(read("t,d\n1e308,imagenet\n", map).findings.at(0).line, 2U);
}

TEST_F(MappedCsvTest, KeepsNamesThatAreMeantToHarm) {
  const ImportedFile file =
      read(kHeader + "allreduce,'=cmd|' /C calc'!A0,4,1,2,a\n" +
           "allreduce,../../etc,4,1,2,a\nallreduce,\x1b[31mr\u202e,4,1,2,a\n");
  EXPECT_EQ(file.launches.at(0).cases.at(0).row.get("algorithm"), "=cmd|' /C calc'!A0");
  EXPECT_EQ(file.launches[0].cases.at(1).row.get("algorithm"), "../../etc");
  EXPECT_EQ(file.launches[0].cases.at(2).row.get("algorithm"), "\x1b[31mr\u202e");
}

TEST_F(MappedCsvTest, SaysWhenTheFilterTakesNothing) {
  const ImportedFile file = read(kHeader + "bcast,x,4,1,1,a\n");
  EXPECT_THAT(file.launches, IsEmpty());
  ASSERT_EQ(file.findings.size(), 1U);
  EXPECT_THAT(file.findings[0].what, HasSubstr("takes none of 1 rows"));
}

TEST_F(MappedCsvTest, RefusesAMapWithAllItsMistakes) {
  EXPECT_THAT(refusal("", "bench = \"allreduce\"\n[colums]\n"),
              HasSubstr("map.toml:2:2: unknown key 'colums'"));
  EXPECT_THAT(refusal("", "bench = \"alreduce\"\n[columns]\n"),
              HasSubstr("map.toml:1:9: unknown bench 'alreduce'"));
  const std::string bad = refusal("", R"(bench = "allreduce"
[columns]
sizebytes = "a"
seconds = { column = "b", unit = "MB" }
ranks = { colum = "c" }
)");
  EXPECT_THAT(bad, HasSubstr("map.toml:3:13: unknown column 'sizebytes'"));
  EXPECT_THAT(bad, HasSubstr("did you mean 'size_bytes'?"));
  EXPECT_THAT(bad, HasSubstr("map.toml:4:34: unit: unknown unit 'MB'"));
  EXPECT_THAT(bad, HasSubstr("map.toml:5:11: unknown key 'colum'"));
  EXPECT_THAT(refusal("", "bench = \"allreduce\"\n[columns]\nranks = \"np\"\n"),
              HasSubstr("exactly one column holds the values; valid: seconds"));
  EXPECT_THAT(refusal("", "bench = \"allreduce\"\nbench = \"epoch\"\n"), HasSubstr("map.toml:2:"));
}

}  // namespace
}  // namespace scalebench
