// SPDX-License-Identifier: Apache-2.0
// The JSON of nccl-tests, and what is no such JSON.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/study/import/kinds.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench::nccl_json_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// `text` with the last `from` in it replaced.
std::string with(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.rfind(from);
  return fmt::format("{}{}{}", text.substr(0, at), to, text.substr(at + from.size()));
}

ImportedFile read(const std::string& text) { return read_collectives(text, "run.log", {}); }

std::string refusal(const std::string& text) {
  return message_of<UsageError>([&] { read(text); });
}

ImportedCase only_case(const ImportedFile& file) { return file.launches.at(0).cases.at(0); }

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
  ASSERT_EQ(file.findings.size(), 1U);
  EXPECT_THAT(file.findings[0].what,
              HasSubstr("results[0]: in_place: time: 'nan' is not a number"));
  EXPECT_EQ(file.treatment.at("nccl").value, "2.27.3");
  EXPECT_EQ(file.launches[0].command.size(), 5U);
}

TEST(NcclTestsJson, HasTheRanksAndHostsOfTheFirstOfSeveralGroups) {
  const ImportedCase one = only_case(read(
      with(with(kJson, R"("rank":2,"group":0)", R"("rank":2,"group":1)"), "7.740472", "5.160315")));
  EXPECT_EQ(one.row.get("ranks"), "2");
  EXPECT_EQ(one.row.get("nodes"), "1");
}

TEST(NcclTestsJson, TakesSingleTimesAsSamplesButForSkippedOnes) {
  const std::string text = with(kJson, R"("in_place")",
                                R"("out_of_place_per_iter":{"min_us":200,"skipped_iterations":1,)"
                                R"("times_us":[400,200.0,210.0,"nan",205.5]},"in_place")");
  EXPECT_THAT(only_case(read(text)).seconds, ElementsAre(200 / 1e6, 210 / 1e6, 205.5 / 1e6));
}

TEST(NcclTestsJson, HasTheRanksOfItsNumbersWhateverItSaysOfProcesses) {
  const std::string many = with(with(kJson, "\"ngpus\":2", "\"ngpus\":2147483647"),
                                "\"nthreads\":1", "\"nthreads\":2147483647");
  const ImportedFile file = read(with(many, "\"rank\":2", "\"rank\":0"));
  EXPECT_EQ(only_case(file).row.get("ranks"), "4") << "by the numbers";
}

TEST(NcclTestsJson, TakesNoOtherCollectiveOfTwoForAnAllreduce) {
  const std::string two =
      with(with(with(kJson, R"("rank":2)", R"("rank":1)"), "7.740472", "5.160315"),
           R"("args":["./all_reduce_perf","-g","2","-J","x.json"],)", "");
  const std::string of_two = with(two, R"("ngpus":2)", R"("ngpus":1)");
  EXPECT_EQ(only_case(read(of_two)).row.get("ranks"), "2");
  EXPECT_THAT(refusal(with(of_two, "0.000000", "null")), HasSubstr("add --set ranks=2 if it is"));
  EXPECT_THAT(read(with(of_two, "    -1", "     0")).findings.at(0).what,
              HasSubstr("its root is 0"));
}

TEST(NcclTestsJson, RefusesWhatItIsNot) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_THAT(refusal("{\"version\":1,\"args\":" + deep + "}"), HasSubstr("nested more than 100"));
  EXPECT_THAT(refusal("{\"version\":1,\n \"results\":[}"), HasSubstr("run.log:2:13: not JSON"));
  EXPECT_EQ(refusal("{\"version\":1e999}"), "run.log: number overflow parsing '1e999'");
  EXPECT_EQ(refusal(R"({"results":[{"size":8,"size":16}]})"),
            "run.log: key 'size' stands twice in one object");
  EXPECT_THAT(refusal(R"({"version":100,"data":{"stdout":"# OSU"}})"),
              HasSubstr("JSON, and not of nccl-tests -J"));
  EXPECT_THAT(read(R"({"results":[1,"x",{"size":8}]})").launches, IsEmpty());
}

}  // namespace
}  // namespace scalebench::nccl_json_test
