// SPDX-License-Identifier: Apache-2.0
// Output of all_reduce_perf as several versions print it, and what may go wrong with it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "bench/study/import/kinds.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench::nccl_tests_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kMethod =
    "# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20 "
    "agg iters: 2 validation: 1 graph: 0\n#\n# Using devices\n";
const std::string kDevices =
    "#  Rank  0 Group  0 Pid   6899 on  node-235z device  0 [0000:04:00] NVIDIA H100 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid   6900 on  node-235z device  1 [0000:05:00] NVIDIA H100 80GB HBM3\n"
    "#  Rank  2 Group  0 Pid   6733 on  node-gq73 device  0 [0000:04:00] NVIDIA H100 80GB HBM3\n"
    "#  Rank  3 Group  0 Pid   6734 on  node-gq73 device  1 [0000:05:00] NVIDIA H100 80GB HBM3\n";
const std::string kHead =
    "#\n#                                                              out-of-place          "
    "             in-place          \n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time "
    "  algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us) "
    " (GB/s)  (GB/s)       \n";
const std::string kMiB =
    "     1048576        262144     float     sum      -1    203.2    5.16    7.74      0    207.2 "
    " "
    "  5.06    7.59      0\n";
const std::string kFoot = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 70.742 \n#\n\n";

/// `text` with the last `from` in it replaced.
std::string with(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.rfind(from);
  return fmt::format("{}{}{}", text.substr(0, at), to, text.substr(at + from.size()));
}

/// With what stands below a whole table.
ImportedFile read(const std::string& text, const Settings& settings = {}) {
  const bool whole = text.starts_with('{') || text.ends_with(kFoot);
  return read_collectives(whole ? text : text + kFoot, "run.log", settings);
}

std::string refusal(const std::string& text, const Settings& settings = {}) {
  return message_of<UsageError>([&] { read(text, settings); });
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}

ImportedCase only_case(const ImportedFile& file, std::size_t place = 0) {
  return file.launches.at(0).cases.at(place);
}

TEST(NcclTests, SaysOfOneRankThatNothingIsMoved) {
  const ImportedFile file =
      read(kMethod + kDevices.substr(0, kDevices.find('\n') + 1) + kHead +
           "1048576 262144 float sum -1 10.0 104.86 0.00 0 10.0 104.86 0.00 0\n" + kFoot);
  EXPECT_EQ(only_case(file).row.get("ranks"), "1");
  EXPECT_THAT(only_case(file).row.get("note"), HasSubstr("one rank moves nothing over any link"));
}

TEST(NcclTests, ReadsBothPlacements) {
  const ImportedFile file = read(kMethod + kDevices + kHead + kMiB + kFoot);
  EXPECT_THAT(file.findings, IsEmpty());
  ASSERT_EQ(file.launches.size(), 1U);
  ASSERT_EQ(file.launches[0].cases.size(), 2U);
  const ImportedCase& out = only_case(file);
  EXPECT_THAT(out.seconds, ElementsAre(203.2 / 1e6));
  EXPECT_EQ(out.row.get("placement"), "out_of_place");
  EXPECT_EQ(only_case(file, 1).row.get("placement"), "in_place");
  EXPECT_THAT(only_case(file, 1).seconds, ElementsAre(207.2 / 1e6));
  EXPECT_EQ(out.row.get("ranks"), "4");
  EXPECT_EQ(out.row.get("nodes"), "2");
  EXPECT_EQ(out.row.get("algorithm"), "native");
  EXPECT_EQ(out.row.get("transport"), "nccl");
  EXPECT_EQ(out.row.get("memory"), "device");
  EXPECT_EQ(out.row.get("mode"), "pipelined");
  EXPECT_EQ(out.row.get("size_bytes"), "1048576");
  EXPECT_EQ(file.key.at("gpus").value[0], "NVIDIA H100 80GB HBM3");
}

TEST(NcclTests, ReadsOlderTablesWithAnErrorColumnAndWithoutARoot) {
  const std::string devices =
      "#   Rank  0 Pid   1320 on host-a device  0 [0x00] Tesla V100-SXM2-16GB\n"
      "#   Rank  1 Pid   2066 on host-b device  0 [0x00] Tesla V100-SXM2-16GB\n";
  const std::string head =
      "#       size         count      type   redop     time   algbw   busbw  error     time   "
      "algbw "
      "  busbw  error\n";
  const ImportedFile file =
      read(kMethod + devices + head +
           "  1048576  262144  float  sum  1048.6  1.00  1.00  2e-07  1048.6  1.00  1.00  0e+00\n");
  ASSERT_EQ(file.launches.size(), 1U);
  EXPECT_EQ(only_case(file, 1).row.get("ranks"), "2");
  EXPECT_EQ(only_case(file, 1).seconds.size(), 1U);
  // `error` is a rounding error, no number of elements; what is out of bounds the last line says.
  const std::string row =
      "  1048576  262144  float  sum  1048.6  1.00  1.00  2e-07  1048.6  1.00  1.00  0e+00\n";
  const ImportedFile fine =
      read(kMethod + devices + head + row + "# Out of bounds values : 0 OK\n");
  EXPECT_EQ(only_case(fine, 0).row.get("status"), "");
  EXPECT_EQ(only_case(fine, 0).row.get("status"), "");
  EXPECT_THAT(only_case(fine, 0).seconds, ElementsAre(1048.6 / 1e6));
  EXPECT_THAT(fine.findings, IsEmpty());
  const ImportedFile failed =
      read(kMethod + devices + head + row + "# Out of bounds values : 3 FAILED\n");
  EXPECT_EQ(only_case(failed, 0).row.get("status"), "wrong");
  EXPECT_THAT(only_case(failed, 0).seconds, IsEmpty());
  ASSERT_EQ(failed.findings.size(), 1U);
  EXPECT_THAT(failed.findings[0].what, HasSubstr("out of bounds"));
}

TEST(NcclTests, ReadsIterationColumnsAndTimestamps) {
  const std::string head =
      "# size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% time algbw "
      "busbw "
      "#wrong i_min i_max i_p99 i_cv% timestamp\n";
  const ImportedFile file =
      read(kMethod + kDevices + head +
           "1048576 262144 float sum -1 203.2 5.16 7.74 0 200.1 260.2 250.0 3.10 207.2 5.06 7.59 0 "
           "201.0 270.0 260.0 2.00 2026-01-02 03:04:05\n");
  EXPECT_THAT(file.findings, IsEmpty());
  EXPECT_THAT(only_case(file, 1).seconds, ElementsAre(207.2 / 1e6));
  // Of one placement the columns of single operations could be those of another.
  const ImportedFile one =
      read(kMethod + kDevices +
           "1048576 262144 float sum 203.2 5.16 7.74 0 200.1 260.2 250.0 3.10\n" + kFoot);
  EXPECT_THAT(one.findings, IsEmpty());
  EXPECT_THAT(only_case(one, 0).seconds, ElementsAre(203.2 / 1e6));
}

TEST(NcclTests, AHeadSaysHowManyPlacementsThereAre) {
  const ImportedFile two = read(kMethod + kDevices + kHead +
                                "1048576 262144 float sum -1 203.2 5.16 7.74 0 207.2 99 99 0\n");
  ASSERT_EQ(two.findings.size(), 1U) << "a half in which nothing agrees is named";
  EXPECT_THAT(two.findings[0].what, HasSubstr("in_place: "));
  EXPECT_THAT(only_case(two).seconds, ElementsAre(203.2 / 1e6));
  const ImportedFile one =
      read(kMethod + kDevices + "# size count type redop time algbw busbw #wrong a b\n" +
           "1048576 262144 float sum 203.2 5.16 7.74 0 N/A 3.10\n");
  EXPECT_THAT(one.findings, IsEmpty());
  EXPECT_THAT(only_case(one).seconds, ElementsAre(203.2 / 1e6));
}

TEST(NcclTests, MakesALaunchOfEachRunAndPassesOverWhatStandsBetween) {
  const std::string debug = "node-1:6899:6912 [0] NCCL INFO Channel 00/08 : 0 1\r\n";
  const std::string run = kMethod + debug + kDevices + debug + kHead + debug + kMiB + kFoot;
  const std::string titled =
      "# nccl-tests version 2.17.1 nccl-headers=22703 nccl-library=22703\n"
      "# Collective test starting: all_reduce_perf\n" +
      run + "# Collective test concluded: all_reduce_perf\n";
  const ImportedFile file = read(run + run + titled + titled);
  EXPECT_THAT(file.findings, IsEmpty());
  ASSERT_EQ(file.launches.size(), 4U);
  for (const ImportedLaunch& launch : file.launches) EXPECT_EQ(launch.cases.size(), 2U);
}

TEST(NcclTests, CountsNoTimeOfAWrongResultAndKeepsAnUncheckedOne) {
  const ImportedFile wrong = read(kMethod + kDevices + kHead + with(kMiB, "0\n", "3\n"));
  EXPECT_EQ(only_case(wrong, 1).row.get("status"), "wrong");
  EXPECT_THAT(only_case(wrong, 1).seconds, IsEmpty());
  ASSERT_EQ(wrong.findings.size(), 1U);
  EXPECT_THAT(wrong.findings[0].what, HasSubstr("in_place: 3 wrong elements"));
  const ImportedFile unchecked =
      read(kMethod + kDevices + kHead + with(with(kMiB, "0\n", "N/A\n"), " 0 ", " N/A "));
  EXPECT_THAT(unchecked.findings, IsEmpty());
  EXPECT_EQ(only_case(unchecked, 1).row.get("status"), "");
  EXPECT_EQ(only_case(unchecked, 1).seconds.size(), 1U);
}

/// Rows of two ranks, where a sendrecv has an allreduce's factor.
std::string of_two(const std::string& wrong_out, const std::string& wrong_in) {
  return fmt::format(
      "     1048576        262144     float     sum      -1    203.2    5.16    5.16    {}    "
      "207.2    5.06    5.06    {}\n",
      wrong_out, wrong_in);
}

TEST(NcclTests, TakesNoSendrecvOfTwoForAnAllreduce) {
  const std::vector<std::string> devices = lines(kDevices);
  const std::string head = kMethod + devices[0] + "\n" + devices[1] + "\n" + kHead;
  EXPECT_EQ(read(head + of_two("0", "0")).launches.size(), 1U);
  const ImportedFile sendrecv = read(head + of_two("0", "N/A"));
  EXPECT_THAT(sendrecv.launches, IsEmpty());
  EXPECT_THAT(sendrecv.findings.at(0).what, HasSubstr("a sendrecv or alltoall"));
  EXPECT_THAT(refusal(head + of_two("N/A", "N/A")), HasSubstr("add --set ranks=2 if it is"));
  EXPECT_EQ(read(head + of_two("N/A", "N/A"), {{"ranks", "2"}}).launches.size(), 1U);
  EXPECT_EQ(read("./all_reduce_perf -c 0\n" + head + of_two("N/A", "N/A")).launches.size(), 1U);
  for (const char* const row :
       {"1048576 262144 float sum 203.2 5.16 5.16 N/A 207.2 5.06 5.06 N/A\n",
        "1048576 262144 203.2 5.16 5.16\n"}) {
    const std::string table = devices[0] + "\n" + devices[1] + "\n" + row;
    EXPECT_THAT(refusal(table), HasSubstr("add --set ranks=2 if it is")) << "without a root";
    EXPECT_EQ(read(table, {{"ranks", "2"}}).launches.size(), 1U);
  }
}

TEST(NcclTests, AsksOnlyWhereNoRunOfTheFileIsClear) {
  const std::string unclear =
      kHead + "8  2  float  sum  -1  54.18  0.00  0.00  0  54.18  0.00  0.00  0\n" + kFoot;
  const ImportedFile file = read(unclear + kMethod + kDevices + kHead + kMiB);
  EXPECT_EQ(file.launches.size(), 1U);
  ASSERT_EQ(file.findings.size(), 1U);
  EXPECT_EQ(file.findings[0].line, 5U);
  EXPECT_THAT(file.findings[0].what, HasSubstr("ranks fit its numbers; add --set ranks=N"));
  EXPECT_THAT(refusal(unclear), HasSubstr("run.log:5: no list of devices"));
}

TEST(NcclTests, TakesOneHalfForThePlacementThatTheHeadNamesFirst) {
  const std::string head =
      "#                                    in-place                       out-of-place\n"
      "#  size  count  time  algbw  busbw  #wrong  time  algbw  busbw  #wrong\n";
  const ImportedFile file = read(kMethod + kDevices + head + "1048576 262144 203.2 5.16 7.74 0\n");
  EXPECT_EQ(only_case(file).row.get("placement"), "in_place");
}

TEST(NcclTests, NamesTheRanksOfRowsThatArePutTogether) {
  const ImportedFile file = read(
      "   time   algbw   busbw\n"
      "1   1073741824     268435456     float     sum   8142.6  131.87  230.77  2e-07\n"
      "2   1073741824     268435456     float     sum    35215   30.49   57.17  4e-07\n");
  EXPECT_THAT(file.launches, IsEmpty());
  EXPECT_THAT(file.findings.at(0).what, HasSubstr("its rows are of 8, 16 ranks"));
}

TEST(NcclTests, SaysThatTwoRanksAreOnOneCard) {
  EXPECT_THAT(read(kMethod + kDevices + kHead + kMiB).findings, IsEmpty());
  const std::string shared = with(kDevices, "[0000:05:00]", "[0000:04:00]");
  EXPECT_EQ(read(kMethod + shared + kHead + kMiB).findings.at(0).what,
            "ranks 2 and 3 are on one card, [0000:04:00] of node-gq73");
  // Two hosts to which somebody has given one name.
  std::string renamed = kDevices;
  for (int i = 0; i < 2; ++i) renamed = with(renamed, "node-gq73", "node-235z");
  EXPECT_THAT(read(kMethod + renamed + kHead + kMiB).findings, IsEmpty());
}

TEST(NcclTests, PassesOverUnitsWhereItSaysWhichLineIsNone) {
  const ImportedFile file = read(
      "  size    time   algbw   busbw\n  (B)    (us)  (GB/s)  (GB/s)\n 32_768   43.83   0.75\n");
  EXPECT_THAT(file.findings.at(0).what, HasSubstr("none: ' 32_768   43.83   0.75'"));
}

TEST(NcclTests, HasNoRowForATimeThatIsNone) {
  for (const std::string none : {"-nan", "N/A", "0.00", "inf", "203,2"}) {
    const ImportedFile file = read(kMethod + kDevices + kHead + with(kMiB, "203.2", none));
    ASSERT_EQ(file.launches.at(0).cases.size(), 1U) << none;
    EXPECT_EQ(only_case(file).row.get("placement"), "in_place") << none;
    EXPECT_EQ(file.findings.size(), 1U) << none;
    EXPECT_EQ(file.findings[0].line, 12U) << none;
  }
}

TEST(NcclTests, HasNoRowForABusBandwidthThatDoesNotFollow) {
  const ImportedFile file = read(kMethod + kDevices + kHead + with(kMiB, "7.74", "7.82"));
  ASSERT_EQ(file.findings.size(), 1U);
  EXPECT_THAT(file.findings[0].what, HasSubstr("busbw 7.82 are printed, but 5.16 and 7.74 GB/s"));
  EXPECT_EQ(file.launches.at(0).cases.size(), 1U);
  // Rounding alone is no contradiction: a time to the microsecond, a rate to a tenth.
  const ImportedFile rounded =
      read(kMethod + kDevices + kHead +
           "8589934592 2147483648 float sum -1 47535 180.71 271.06 0 47743 179.92 269.9 0\n"
           "8 2 float sum -1 135.8 0.00 0.00 0 1.2e+07 0.00 0.00 0\n");
  EXPECT_THAT(rounded.findings, IsEmpty());
}

TEST(NcclTests, ListsLinesThatAreNoResults) {
  const ImportedFile file =
      read(kMethod + kDevices + kHead + "     1048576        262144     float     sum\n" + kMiB +
           "           0             0     float     sum      -1     5.70    0.00    0.00      0 "
           "5.54    0.00    0.00      0\n");
  ASSERT_EQ(file.findings.size(), 1U) << "a size of 0 moves nothing, and is none beside others";
  EXPECT_THAT(file.findings[0].what, HasSubstr("4 words are no row of the table above"));
  EXPECT_EQ(file.findings[0].line, 12U);
  EXPECT_EQ(file.launches.at(0).cases.size(), 2U);
}

TEST(NcclTests, SaysThatAnOutputIsCut) {
  const std::string cut = kMethod + kDevices + kHead + kMiB;
  const ImportedFile file = read_collectives(cut, "run.log", {});
  EXPECT_EQ(only_case(file).seconds.size(), 1U) << "what is there counts";
  ASSERT_EQ(file.findings.size(), 1U);
  EXPECT_EQ(file.findings[0].line, 12U);
  EXPECT_THAT(file.findings[0].what, HasSubstr("it is cut"));
  EXPECT_THAT(read_collectives(cut + "# Out of bounds values : 0 OK\n", "run.log", {}).findings,
              IsEmpty());
  const ImportedFile first = read_collectives(cut + cut + kFoot, "run.log", {});
  ASSERT_EQ(first.findings.size(), 1U) << "of two starts, the first";
  EXPECT_EQ(first.findings[0].line, 12U);
}

TEST(NcclTests, LeavesOutSingletonsAndOtherCollectives) {
  const std::string zero = "#  Rank  0 Group  0 Pid 1 on n device  0 [0x00] V100\n";
  const ImportedFile singletons = read(kMethod + kMethod + zero + zero + kHead + kMiB);
  EXPECT_THAT(singletons.launches, IsEmpty());
  ASSERT_EQ(singletons.findings.size(), 1U);
  EXPECT_THAT(singletons.findings[0].what, HasSubstr("built without MPI"));
  const ImportedFile gather = read("# Collective test starting: all_gather_perf\n" + kMethod +
                                   kDevices + kHead + kMiB + kMiB);
  EXPECT_THAT(gather.launches, IsEmpty());
  ASSERT_EQ(gather.findings.size(), 1U);
  EXPECT_THAT(gather.findings[0].what, HasSubstr("all_gather_perf are left out"));
}

TEST(NcclTests, TakesTheNumberOfRanksFromTheNumbersWhereNoListIsWhole) {
  const std::string last =
      "#  Rank  3 Group  0 Pid 6734 on node-gq73 device  1 [0x05] NVIDIA H100\n";
  for (const std::string& list : {std::string(), last}) {
    const ImportedCase one = only_case(read(kMethod + list + kHead + kMiB));
    EXPECT_EQ(one.row.get("ranks"), "4");
    EXPECT_EQ(one.row.get("nodes"), "") << "of one that was cut nobody knows";
  }
  EXPECT_EQ(only_case(read(kMethod + last + kHead + kMiB, {{"ranks", "4"}})).row.get("nodes"), "");
  const std::string eight = with(kMethod, "nGpus 1", "nGpus 8");
  EXPECT_EQ(only_case(read(eight + kDevices + kHead + kMiB)).row.get("nodes"), "") << "4 of 8";
  EXPECT_THAT(refusal(kMethod + kDevices + kHead + kMiB, {{"ranks", "8"}}),
              HasSubstr("--set ranks=8: run.log says 4"));
  // Small ones fit many.
  const std::string small =
      "     8192        2048     float     sum      -1    20.1    0.41    0.76      0    20.0    "
      "0.41 "
      "   0.76      0\n";
  EXPECT_THAT(refusal(kMethod + kHead + small),
              HasSubstr("ranks fit its numbers; add --set ranks=N"));
  EXPECT_EQ(only_case(read(kMethod + kHead + small, {{"ranks", "16"}})).row.get("ranks"), "16");
  const std::string none = "8  2  float  sum  -1  54.18  0.00  0.00  0  54.18  0.00  0.00  0\n";
  EXPECT_THAT(refusal(kMethod + kHead + none), HasSubstr("add --set ranks=N"));
}

TEST(NcclTests, TakesTheNameWhereTheNumbersLeaveTwo) {
  const std::string two =
      "2097152  524288  float  sum  -1  113.2  18.53  18.53  0  93.35  22.46  22.46  0\n";
  EXPECT_THAT(refusal(kHead + two), HasSubstr("an allreduce of 2 ranks, or a broadcast"));
  const std::string typed = "$ mpirun -np 2 ./build/all_reduce_perf -b 2M -e 2M\n";
  EXPECT_EQ(only_case(read(typed + kHead + two)).row.get("ranks"), "2");
  const std::string other = "$ ./build/broadcast_perf -b 2M\n";
  EXPECT_THAT(read(other + kHead + two).launches, IsEmpty());
}

TEST(NcclTests, HasTheRanksAndHostsOfTheFirstOfSeveralGroups) {
  std::string devices = kDevices;  // two ranks on each of two hosts
  for (const char* const rank : {"2", "3"}) {
    devices = with(devices, fmt::format("Rank  {} Group  0", rank),
                   fmt::format("Rank  {} Group  1", rank));
  }
  const std::string row = with(with(kMiB, "7.74", "5.16"), "7.59", "5.06");
  const ImportedCase one = only_case(read(kMethod + devices + kHead + row));
  EXPECT_EQ(one.row.get("ranks"), "2");
  EXPECT_EQ(one.row.get("nodes"), "1");
}

/// In each form in which launchers, terminals and people put something before lines.
TEST(NcclTests, IsReadBehindWhateverStandsBeforeItsLines) {
  const std::string log = kMethod + kDevices + kHead + kMiB + kFoot;
  for (const std::string prefix : {" 0: ",
                                   "[1,0]<stdout>:",
                                   "[1,0]<stdout>: ",
                                   "[prterun-a-1@1,0]<stdout>: ",
                                   "[0]<stdout>:",
                                   "[0] ",
                                   "node-1: ",
                                   "[default0]:",
                                   "worker-0  | ",
                                   "[pod/nccl-launcher-x7/mpi] ",
                                   "Thu Jul 20 17:06:33 2023[1,0]<stdout>:",
                                   "2024-05-01T10:00:00.123456Z ",
                                   "2024-05-01 10:00:00,123 INFO ",
                                   "[2024-05-01 10:00:00] ",
                                   "1714557600.123 ",
                                   "> ",
                                   "> > ",
                                   "| ",
                                   "    ",
                                   "\t",
                                   "INFO:root:",
                                   "(launcher pid=17) ",
                                   "May 01 10:00:00 node nccl[17]: "}) {
    std::string text;
    for (const std::string& line : lines(log)) text += prefix + line + "\n";
    const ImportedFile file = read_collectives(text, "run.log", {});
    ASSERT_EQ(file.launches.size(), 1U) << prefix;
    ASSERT_EQ(file.launches[0].cases.size(), 2U) << prefix;
    EXPECT_THAT(file.findings, IsEmpty()) << prefix;
    const ResultRow& row = only_case(file).row;
    EXPECT_EQ(row.get("ranks") + " " + row.get("nodes") + " " + row.get("size_bytes"),
              "4 2 1048576")
        << prefix;
  }
}

TEST(NcclTests, IsReadWithoutItsHashesAndWithoutABlankTooMany) {
  std::string text;
  for (std::string line : lines(kMethod + kDevices + kHead + kMiB + kFoot)) {
    std::erase(line, '#');
    const auto twice = [](char a, char b) { return a == ' ' && b == ' '; };
    line.erase(std::unique(line.begin(), line.end(), twice), line.end());
    text += line + "\n";
  }
  const ImportedFile file = read(text + kFoot);
  EXPECT_EQ(file.launches.at(0).cases.size(), 2U);
  EXPECT_THAT(file.findings, IsEmpty());
}

TEST(NcclTests, LeavesOutWhatItsNumbersSayIsNoAllreduce) {
  const auto left_out = [](const std::string& row) {
    const ImportedFile file = read(kMethod + kDevices + kHead + row);
    EXPECT_THAT(file.launches, IsEmpty()) << row;
    return file.findings.empty() ? "" : file.findings.back().what;
  };
  EXPECT_THAT(
      left_out("1048576 262144 float sum -1 203.2 5.16 3.87 0 207.2 5.06 3.80 0\n"),
      HasSubstr(
          "busbw/algbw is 0.750 = 3/4, as of a reduce_scatter, allgather or alltoall of 4 ranks"));
  EXPECT_THAT(left_out("1048576 262144 float sum 0 203.2 5.16 5.16 0 207.2 5.06 5.06 0\n"),
              HasSubstr("its root is 0: a broadcast, reduce, gather or scatter"));
  EXPECT_THAT(left_out("1048576 262144 float sum -1 203.2 5.16 5.16 0 207.2 5.06 5.06 0\n"),
              HasSubstr("a broadcast, reduce or sendrecv"));
  EXPECT_THAT(left_out("1048576 65536 float sum -1 203.2 5.16 7.74 0 207.2 5.06 7.59 0\n"),
              HasSubstr("1048576 B are not 65536 of float, but of several ranks"));
  EXPECT_THAT(left_out("1048576 262144 float none -1 203.2 5.16 7.74 0 207.2 5.06 7.59 0\n"),
              HasSubstr("no reduction"));
  EXPECT_THAT(left_out("1048576 262144 float sum -1 203.2 6.16 7.74 0 207.2 6.06 7.59 0\n"),
              HasSubstr("agree in no way"));
  EXPECT_THAT(left_out("1048576 262144 float sum -1 203.2 5.16 6.45 0 207.2 5.06 6.33 0\n"),
              HasSubstr("as of no collective of 4 ranks"));
}

TEST(NcclTests, LeavesOutARowOfAnotherKindAmongAllreduces) {
  const ImportedFile file = read(kMethod + kDevices + kHead + kMiB +
                                 "65536 4096 float sum -1 20.0 3.28 4.92 0 20.0 3.28 4.92 0\n");
  EXPECT_EQ(file.launches.at(0).cases.size(), 2U);
  ASSERT_EQ(file.findings.size(), 1U);
  EXPECT_THAT(file.findings[0].what, HasSubstr("65536 B are not 4096 of float"));
}

TEST(NcclTests, SaysHowFarItCame) {
  EXPECT_THAT(read_collectives("hello\n", "a", {}).findings.at(0).what,
              HasSubstr("no line has the size"));
  const ImportedFile file = read_collectives(kMethod + kDevices + kHead + "Killed\n", "a", {});
  EXPECT_EQ(file.findings.at(0).line, 10U);
  EXPECT_THAT(file.findings[0].what,
              HasSubstr("the head of a table is followed by no row of numbers"));
  EXPECT_THAT(file.findings[0].what, HasSubstr("none: 'Killed'"));
}

TEST(NcclTests, ReadsMscclppWithoutTypeAndMillisecondsWithoutAUnit) {
  const ImportedFile mscclpp =
      read_collectives(kDevices +
                           "#                  in-place                       out-of-place\n"
                           "#       size         count     time   algbw   busbw  #wrong     time   "
                           "algbw   busbw  #wrong\n"
                           "     1048576        262144    203.2    5.16    7.74      0    207.2    "
                           "5.06    7.59      0\n",
                       "run.log", {});
  EXPECT_EQ(only_case(mscclpp).row.get("placement"), "in_place");
  EXPECT_EQ(only_case(mscclpp).row.get("dtype"), "float");
  const ImportedFile old = read_collectives(
      "#   Device  0 ->  0 [0x0a] GeForce GTX TITAN X\n#   Device  1 ->  1 [0x09] GeForce GTX "
      "TITAN X\n"
      "#      bytes             N    type      op     time  algbw  busbw      res     time  algbw  "
      "busbw      res\n"
      "    10000000      10000000    char     sum    1.628   6.14   6.14    0e+00    1.932   5.18  "
      " 5.18    0e+00\n" +
          kFoot,
      "run.log", {});
  EXPECT_THAT(only_case(old).seconds, ElementsAre(1.628 / 1e3));
  EXPECT_EQ(only_case(old).row.get("ranks"), "2");
}

TEST(NcclTests, FindsNothingInOtherText) {
  for (const char* text : {"", "\n\n", "hello\n1 2 3\n", "# size\n"}) {
    EXPECT_THAT(read(text).launches, IsEmpty()) << text;
  }
}

}  // namespace
}  // namespace scalebench::nccl_tests_test
