// SPDX-License-Identifier: Apache-2.0
// Records as NCCL's inspector plugin writes them, of format v4.0; the numbers of the first are
// those of its README.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/study/import/kinds.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench::nccl_inspector_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string record(const std::string& collective, const std::string& version = "v4.0") {
  return R"({"header":{"id":"0x7f8c496ae9f661","rank":2,"n_ranks":8,"nnodes":1},"metadata":)"
         R"({"inspector_output_format_version":")" +
         version +
         R"(","git_rev":"","rec_mechanism":"nccl_profiler_interface","dump_timestamp_us":1,)"
         R"("hostname":"h","pid":1},"coll_perf":{)" +
         collective + "}}\n";
}

std::string allreduce(const std::string& microseconds, const std::string& busbw) {
  return record(R"("coll":"AllReduce","coll_sn":1407,"coll_msg_size_bytes":17179869184,)"
                R"("coll_exec_time_us":)" +
                microseconds +
                R"(,"coll_timing_source":"kernel_gpu","coll_algobw_gbs":277.2,"coll_busbw_gbs":)" +
                busbw);
}

ImportedFile read(const std::string& text, const Settings& settings = {}) {
  return read_nccl_inspector(text, "h-pid1.log", settings);
}

TEST(NcclInspector, ReadsAllreducesAndCountsOtherCollectives) {
  const std::string other = R"("coll":"ReduceScatter","coll_sn":1,"coll_msg_size_bytes":64)";
  const ImportedFile file = read(allreduce("61974", "485.119099") + record(other) + record(other),
                                 {{"dtype", "bfloat16"}});
  EXPECT_THAT(file.findings, IsEmpty());
  EXPECT_THAT(file.remarks,
              ElementsAre("2 record(s) of 'ReduceScatter' are left out: no allreduce"));
  ASSERT_EQ(file.launches.size(), 1U);
  ASSERT_EQ(file.launches[0].cases.size(), 1U);
  const ImportedCase one = file.launches[0].cases[0];
  EXPECT_THAT(one.seconds, ElementsAre(0.061974));
  EXPECT_EQ(one.row.get("size_bytes"), "17179869184");
  EXPECT_EQ(one.row.get("ranks"), "8");
  EXPECT_EQ(one.row.get("nodes"), "1");
  EXPECT_EQ(one.row.get("transport"), "nccl");
  EXPECT_EQ(one.row.get("dtype"), "bfloat16");
  EXPECT_THAT(one.row.get("note"), HasSubstr("kernel_gpu"));
}

TEST(NcclInspector, CountsNoTimeThatIsNone) {
  const ImportedFile file =
      read(allreduce("0", "\"nan\"") + allreduce("61974", "400") + allreduce("\"nan\"", "1"));
  ASSERT_EQ(file.launches.at(0).cases.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(file.launches[0].cases[i].row.get("status"), "failed") << i;
    EXPECT_THAT(file.launches[0].cases[i].seconds, IsEmpty());
  }
  EXPECT_EQ(file.findings.size(), 3U);
  EXPECT_THAT(file.findings.at(1).what, HasSubstr("busbw 400 GB/s, and 485.119"));
}

TEST(NcclInspector, NamesARecordThatIsCutAndAVersionThatItDoesNotKnow) {
  const std::string whole = allreduce("61974", "485.119099");
  const ImportedFile cut = read(whole + whole.substr(0, 100));
  EXPECT_EQ(cut.launches.at(0).cases.size(), 1U);
  ASSERT_EQ(cut.findings.size(), 1U);
  EXPECT_EQ(cut.findings[0].line, 2U);
  EXPECT_THAT(message_of<UsageError>([&] { read(record("", "v5.0")); }),
              HasSubstr("h-pid1.log:1: inspector_output_format_version 'v5.0'"));
}

}  // namespace
}  // namespace scalebench::nccl_inspector_test
