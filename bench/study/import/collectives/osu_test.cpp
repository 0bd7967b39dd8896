// SPDX-License-Identifier: Apache-2.0
// Output of osu_allreduce as several versions print it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/study/import/kinds.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench::osu_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Settings kFour{{"ranks", "4"}};

ImportedFile read(const std::string& text, const Settings& settings = kFour) {
  return read_collectives(text, "osu.log", settings);
}

TEST(Osu, ReadsTheShortTable) {
  const ImportedFile file = read(
      "mpirun -np 4 osu_allreduce\n\n# OSU MPI Allreduce Latency Test v5.8\n"
      "# Size       Avg Latency(us)\n4                       1.34\n8                       1.17\n"
      "\nreal\t0m7.902s\n");
  EXPECT_THAT(file.findings, IsEmpty());
  ASSERT_EQ(file.launches.at(0).cases.size(), 2U);
  const ImportedCase& first = file.launches[0].cases[0];
  EXPECT_THAT(first.seconds, ElementsAre(1.34e-6));
  EXPECT_EQ(first.row.get("size_bytes"), "4");
  EXPECT_EQ(first.row.get("dtype"), "float");
  EXPECT_EQ(first.row.get("memory"), "host");
  EXPECT_EQ(first.row.get("transport"), "mpi");
  EXPECT_EQ(first.row.get("ranks"), "4");
}

TEST(Osu, ReadsTheFullTableOfSeveralRuns) {
  const std::string run =
      "# OSU MPI-CUDA Allreduce Latency Test v7.0\r\n# Datatype: MPI_INT.\r\n"
      "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\r\n"
      "16777216             8630.50           8619.50           8642.50         10\r\n";
  const ImportedFile file = read(run + run);
  EXPECT_THAT(file.findings, IsEmpty());
  ASSERT_EQ(file.launches.size(), 2U);
  const ResultRow& row = file.launches[1].cases.at(0).row;
  EXPECT_EQ(row.get("memory"), "device");
  EXPECT_EQ(row.get("dtype"), "int32");
  EXPECT_THAT(file.launches[1].cases[0].seconds, ElementsAre(8630.5e-6));
}

TEST(Osu, NamesTheLibraryOfTheTitle) {
  const std::string rows = "# Size       Avg Latency(us)\n4                       1.34\n";
  const auto transport = [&](const std::string& title, const Settings& settings = kFour) {
    const ImportedFile file =
        read("# OSU " + title + " Allreduce Latency Test v7.5\n" + rows, settings);
    return file.launches.at(0).cases.at(0).row.get("transport");
  };
  EXPECT_EQ(transport("NCCL-CUDA"), "nccl");
  EXPECT_EQ(transport("MPI-CUDA"), "mpi");
  EXPECT_EQ(transport("MPI"), "mpi");
  EXPECT_EQ(transport("NCCL-CUDA", {{"ranks", "4"}, {"transport", "mine"}}), "mine");
}

TEST(Osu, LeavesOutALineWithinWhichTheOutputEnds) {
  const std::string whole =
      "# OSU MPI Allreduce Latency Test v7.0\n# Size       Avg Latency(us)\n4    1.34\n";
  const ImportedFile cut = read(whole + "8388608              89");
  EXPECT_EQ(cut.launches.at(0).cases.size(), 1U);
  ASSERT_EQ(cut.findings.size(), 1U);
  EXPECT_EQ(cut.findings[0].line, 4U);
  EXPECT_THAT(cut.findings[0].what, HasSubstr("ends within this line"));
  EXPECT_THAT(read(whole + "8388608              8955.18\n\nreal").findings, IsEmpty());
}

TEST(Osu, PassesOverALineOfBlanksOfAllKinds) {
  const ImportedFile file = read(
      "# OSU MPI Allreduce Latency Test v5.8\n# Size       Avg Latency(us)\n\v\f\n"
      "4                       1.34\n");
  EXPECT_EQ(file.launches.at(0).cases.size(), 1U);
}

TEST(Osu, LetsTheUserSayWhatTheFileDoesNot) {
  const std::string text =
      "# OSU MPI Allreduce Latency Test v5.8\n# Size       Avg Latency(us)\n"
      "4                       1.34\n";
  EXPECT_THAT(message_of<UsageError>([&] { read(text, {}); }), HasSubstr("add --set ranks=N"));
  const ImportedFile file = read(text, {{"ranks", "2"}, {"transport", "shared_memory"}});
  EXPECT_EQ(file.launches.at(0).cases.at(0).row.get("transport"), "shared_memory");
}

TEST(Osu, CountsNoTimeOfAFailedValidationOrOfNoNumber) {
  const ImportedFile file = read(
      "# OSU MPI Allreduce Latency Test v6.2\n# Size       Avg Latency(us)        Validation\n"
      "4                       1.34              Pass\n8                       1.30              "
      "Fail\n"
      "16                      -nan              Pass\n32                      1,30              "
      "Pass\n");
  ASSERT_EQ(file.launches.at(0).cases.size(), 2U);
  EXPECT_EQ(file.launches[0].cases[1].row.get("status"), "wrong");
  EXPECT_THAT(file.launches[0].cases[1].seconds, IsEmpty());
  ASSERT_EQ(file.findings.size(), 3U);
  EXPECT_EQ(file.findings[1].line, 5U);
  EXPECT_THAT(file.findings[2].what, HasSubstr("write the decimal point as ."));
}

TEST(Osu, ReadsColumnsThatTheHeadForgets) {
  const ImportedFile file = read(
      "# OSU MPI-CUDA Allreduce Latency Test v7.3\n# Datatype: MPI_CHAR.\n# Size       Avg "
      "Latency(us)\n"
      "1                      50.89             18.27             89.23        1000\n");
  EXPECT_THAT(file.launches.at(0).cases.at(0).seconds, ElementsAre(50.89 / 1e6));
  const ImportedFile percentiles = read(
      "# OSU MPI Allreduce Latency Test v7.5\n"
      "# Size Avg Latency(us) P50 Tail Lat(us) P90 Tail Lat(us) P99 Tail Lat(us)\n"
      "[1,0]<stdout>:1024 46.39 40.00 50.00 90.00\n");
  EXPECT_THAT(percentiles.launches.at(0).cases.at(0).seconds, ElementsAre(46.39 / 1e6));
}

TEST(Osu, HasNoRowWhereTheNumbersAreNotThoseOfItsTables) {
  const std::string title = "# OSU MPI Allreduce Latency Test v7.3\n";
  const std::string full = "1024 46.39 17.17 82.40 1000\n";
  EXPECT_THAT(read(title + full).findings, IsEmpty());
  for (const auto& [rows, what] :
       {std::pair("7 1024 46.39\n", "3 numbers, as no row of this table has"),
        {"1024 46.39 17.17 18.40 1000\n", "average 46.39 is not between 17.17 and 18.40"}}) {
    const ImportedFile file = read(title + rows);
    EXPECT_THAT(file.launches, IsEmpty()) << rows;
    EXPECT_THAT(file.findings.at(0).what, HasSubstr(what));
  }
  const ImportedFile other = read(title + full + "12 34\n");
  EXPECT_EQ(other.launches.at(0).cases.size(), 1U);
  EXPECT_THAT(other.findings.at(0).what, HasSubstr("2 numbers, as no row of this table has"));
}

TEST(Osu, IsNotGuessedWithoutATitle) {
  EXPECT_THAT(read("# Size       Avg Latency(us)\n4                       1.34\n").launches,
              IsEmpty());
}

TEST(Imb, ReadsAllreduceAndItsRanks) {
  const std::string head = "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n";
  const ImportedFile file = read(
      "#    Intel(R) MPI Benchmarks 2021.6, MPI-1 part\n# Benchmarking PingPong \n# #processes = 2 "
      "\n" +
          head + "1024 1000 1 2 1.5\n# Benchmarking Allreduce \n# #processes = 144 \n" + head +
          "            0         1000         0.03         0.03         0.03\n"
          "      1048576           40       432.20       461.07       447.59\n",
      {});
  ASSERT_EQ(file.launches.size(), 1U);
  ASSERT_EQ(file.launches[0].cases.size(), 1U);
  const ImportedCase& one = file.launches[0].cases[0];
  EXPECT_THAT(one.seconds, ElementsAre(447.59 / 1e6));
  EXPECT_EQ(one.row.get("ranks"), "144");
  ASSERT_EQ(file.findings.size(), 1U) << "a size of 0 is none";
  EXPECT_THAT(file.findings[0].what, HasSubstr("'Benchmarking PingPong' is left out"));
}

TEST(Osu, LeavesOutOtherBenchmarks) {
  const ImportedFile file = read(
      "# OSU MPI Bcast Latency Test v5.8\n# Size       Avg Latency(us)\n4       1.34\n"
      "# OSU MPI Non-blocking Allreduce Latency Test v5.8\n# Size       Avg Latency(us)\n4  1\n");
  EXPECT_THAT(file.launches, IsEmpty());
  ASSERT_EQ(file.findings.size(), 2U);
  EXPECT_THAT(file.findings[0].what, HasSubstr("Bcast Latency Test v5.8' is left out"));
}

}  // namespace
}  // namespace scalebench::osu_test
