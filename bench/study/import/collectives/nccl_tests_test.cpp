// SPDX-License-Identifier: Apache-2.0
// Output of all_reduce_perf as several versions print it, and what may go wrong with it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  return read_nccl_tests(whole ? text : text + kFoot, "run.log", settings);
}

std::string refusal(const std::string& text, const Settings& settings = {}) {
  return message_of<UsageError>([&] { read(text, settings); });
}

ImportedCase only_case(const ImportedFile& file, std::size_t place = 0) {
  return file.launches.at(0).cases.at(place);
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
  const ImportedFile unchecked = read(kMethod + kDevices + kHead + with(kMiB, "0\n", "N/A\n"));
  EXPECT_THAT(unchecked.findings, IsEmpty());
  EXPECT_EQ(only_case(unchecked, 1).row.get("status"), "");
  EXPECT_EQ(only_case(unchecked, 1).seconds.size(), 1U);
}

TEST(NcclTests, HasNoZeroForATimeThatIsNone) {
  for (const std::string none : {"-nan", "N/A", "0.00", "inf", "203,2"}) {
    const ImportedFile file = read(kMethod + kDevices + kHead + with(kMiB, "203.2", none));
    EXPECT_EQ(only_case(file).row.get("status"), "failed") << none;
    EXPECT_THAT(only_case(file).seconds, IsEmpty()) << none;
    EXPECT_EQ(file.findings.size(), 1U) << none;
    EXPECT_EQ(file.findings[0].line, 12U) << none;
  }
}

TEST(NcclTests, ReportsABusBandwidthThatDoesNotFollow) {
  const ImportedFile file = read(kMethod + kDevices + kHead + with(kMiB, "7.74", "7.82"));
  ASSERT_EQ(file.findings.size(), 1U);
  EXPECT_THAT(file.findings[0].what,
              HasSubstr("busbw 7.82 is printed, but 7.74 GB/s follow from 203.2 us"));
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
  ASSERT_EQ(file.findings.size(), 2U);
  EXPECT_THAT(file.findings[0].what, HasSubstr("4 words where the table's head has 13"));
  EXPECT_EQ(file.findings[0].line, 12U);
  EXPECT_THAT(file.findings[1].what, HasSubstr("nothing is moved"));
  EXPECT_EQ(file.launches.at(0).cases.size(), 2U);
}

TEST(NcclTests, SaysThatAnOutputIsCut) {
  const std::string cut = kMethod + kDevices + kHead + kMiB;
  const ImportedFile file = read_nccl_tests(cut, "run.log", {});
  EXPECT_EQ(only_case(file).seconds.size(), 1U) << "what is there counts";
  ASSERT_EQ(file.findings.size(), 1U);
  EXPECT_EQ(file.findings[0].line, 12U);
  EXPECT_THAT(file.findings[0].what, HasSubstr("it is cut"));
  EXPECT_THAT(read_nccl_tests(cut + "# Out of bounds values : 0 OK\n", "run.log", {}).findings,
              IsEmpty());
  const ImportedFile first = read_nccl_tests(cut + cut + kFoot, "run.log", {});
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

TEST(NcclTests, TakesTheNumberOfRanksFromTheUserWhereTheFileHasNone) {
  EXPECT_THAT(refusal(kMethod + kHead + kMiB), HasSubstr("add --set ranks=N"));
  EXPECT_EQ(only_case(read(kMethod + kHead + kMiB, {{"ranks", "4"}})).row.get("ranks"), "4");
  EXPECT_THAT(refusal(kMethod + kDevices + kHead + kMiB, {{"ranks", "8"}}),
              HasSubstr("--set ranks=8: run.log says 4"));
}

TEST(NcclTests, HasTheRanksAndHostsOfTheFirstOfSeveralGroups) {
  std::string devices = kDevices;  // two ranks on each of two hosts
  for (const char* const rank : {"2", "3"}) {
    devices = with(devices, fmt::format("Rank  {} Group  0", rank),
                   fmt::format("Rank  {} Group  1", rank));
  }
  const ImportedCase one = only_case(read(kMethod + devices + kHead + kMiB));
  EXPECT_EQ(one.row.get("ranks"), "2");
  EXPECT_EQ(one.row.get("nodes"), "1");
}

TEST(NcclTests, FindsNothingInOtherText) {
  for (const char* text : {"", "\n\n", "hello\n1 2 3\n", "# size\n"}) {
    EXPECT_THAT(read(text).launches, IsEmpty()) << text;
  }
}

const std::string kJson = R"({"version":1,"start_time":"2026-01-02 03:04:05",
"args":["./all_reduce_perf","-g","2","-J","x.json"],"env":["PASSWORD=hunter2"],"nccl_version":22703,
"config":{"nthreads":1,"ngpus":2,"iterations":20,"aggregated_iterations":1,"graph":0,
"devices":[{"rank":0,"group":0,"hostname":"a","device_info":"NVIDIA A100"},
           {"rank":2,"group":0,"hostname":"b","device_info":"NVIDIA A100"}]},
"results":[{"size":1048576,"count":262144,"type":"float","redop":"sum","root":"    -1",
"out_of_place":{"time":203.2,"alg_bw":5.16,"bus_bw":7.740472,"nwrong":0.000000},
"in_place":{"time":"nan","alg_bw":"nan","bus_bw":"nan","nwrong":null}}],
"out_of_bounds":{"count":0,"okay":"true"}})";

TEST(NcclTestsJson, ReadsWhatDashJWrites) {
  const ImportedFile file = read(kJson);
  ASSERT_EQ(file.launches.size(), 1U);
  EXPECT_THAT(only_case(file).seconds, ElementsAre(203.2 / 1e6));
  EXPECT_EQ(only_case(file).row.get("ranks"), "4") << "a process of two GPUs lists its first";
  EXPECT_EQ(only_case(file).row.get("nodes"), "2");
  EXPECT_EQ(only_case(file, 1).row.get("status"), "failed");
  EXPECT_EQ(file.treatment.at("nccl").value, "2.27.3");
  EXPECT_EQ(file.launches[0].command.size(), 5U);
}

TEST(NcclTestsJson, HasTheRanksAndHostsOfTheFirstOfSeveralGroups) {
  const ImportedCase one =
      only_case(read(with(kJson, R"("rank":2,"group":0)", R"("rank":2,"group":1)")));
  EXPECT_EQ(one.row.get("ranks"), "2");
  EXPECT_EQ(one.row.get("nodes"), "1");
}

TEST(NcclTestsJson, TakesSingleTimesAsSamples) {
  const std::string text = with(
      kJson, R"("in_place")",
      R"("out_of_place_per_iter":{"min_us":200,"times_us":[200.0,210.0,"nan",205.5]},"in_place")");
  EXPECT_THAT(only_case(read(text)).seconds, ElementsAre(200 / 1e6, 210 / 1e6, 205.5 / 1e6));
}

TEST(NcclTestsJson, HasNoNumberOfRanksThatWrapsAround) {
  const std::string many = with(with(kJson, "\"ngpus\":2", "\"ngpus\":2147483647"),
                                "\"nthreads\":1", "\"nthreads\":2147483647");
  EXPECT_EQ(only_case(read(with(many, "\"rank\":2", "\"rank\":0"))).row.get("ranks"), "16777216");
}

TEST(NcclTestsJson, RefusesWhatItIsNot) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_THAT(refusal("{\"version\":1,\"args\":" + deep + "}"), HasSubstr("nested more than 100"));
  EXPECT_THAT(refusal("{\"version\":1,\n \"results\":[}"), HasSubstr("run.log:2:13: not JSON"));
  EXPECT_EQ(refusal("{\"version\":1e999}"), "run.log:1:12: number overflow parsing '1e999'");
  EXPECT_EQ(refusal(R"({"results":[{"size":8,"size":16}]})"),
            "run.log:1:23: key 'size' stands twice in one object");
  EXPECT_THAT(refusal("{\"version\":9}"), HasSubstr("version 9 of the JSON"));
  EXPECT_THAT(read("{}").launches, IsEmpty());
  EXPECT_THAT(read(R"({"results":[1,"x",{"size":8}]})").launches, IsEmpty());
}

}  // namespace
}  // namespace scalebench::nccl_tests_test
