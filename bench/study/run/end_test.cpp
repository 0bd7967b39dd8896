// SPDX-License-Identifier: Apache-2.0
#include "bench/study/run/end.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/study/analysis/stored_run.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// The last line, from folders of runs.

/// A run whose hosts were looked at in three launches; host b was named in `accused` of them.
std::filesystem::path run_with(const TemporaryFolder& folder, const std::string& name,
                               int accused) {
  std::vector<ResultRow> hosts;
  for (const char* const host : {"a", "b"}) {
    ResultRow& row = hosts.emplace_back(hosts_schema());
    const int times = *host == 'b' ? accused : 0;
    row.set("status", "ok").set("host", host).set("nodes", 3).set("launches", 3);
    row.set("accused", times).set("verdict", times > 1 ? "link" : "none");
    row.set("note", times > 1 ? "its link (look at it)" : "");
  }
  ResultRow& pair = hosts.emplace_back(hosts_schema());
  pair.set("status", "ok").set("host", "a").set("to_host", "c").set("nodes", 3);
  pair.set("launches", 3)
      .set("accused", 3)
      .set("note", "messages between a and c are lost or late: 5 of 80");
  const std::filesystem::path run = folder.path() / name;
  std::filesystem::create_directories(run);
  replace_rows(run, hosts_schema(), hosts);
  return run;
}

struct LastWords {
  std::string out, err;
  ExitCode code;
};

LastWords last_words(const std::vector<std::filesystem::path>& runs, bool fail_on_host,
                     ExitCode code = ExitCode::ok) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Console console(/*speaks=*/true, /*quiet=*/true);
  const ExitCode ended = name_suspects(runs, fail_on_host, console, code);
  std::string out = testing::internal::GetCapturedStdout();
  return {std::move(out), testing::internal::GetCapturedStderr(), ended};
}

TEST(NameSuspects, SaysTheHostThePairAndTheExitCode) {
  const TemporaryFolder folder;
  const std::string pair = "; messages between a and c are lost or late: 5 of 80\n";
  const auto named = run_with(folder, "named", 3), fine = run_with(folder, "fine", 0);
  EXPECT_EQ(last_words({named}, false).out,
            "suspect: b, its link (look at it) in 3 of 3 launches" + pair);
  EXPECT_EQ(last_words({fine}, false).out, "no host stands out" + pair);
  EXPECT_EQ(last_words({named}, false).code, ExitCode::ok);
  EXPECT_EQ(last_words({named}, true).code, ExitCode::regression);
  EXPECT_EQ(last_words({named}, true, ExitCode::incomplete).code, ExitCode::incomplete);
  EXPECT_EQ(last_words({fine}, true).code, ExitCode::ok);
}

TEST(NameSuspects, CountsLaunchesOfSeveralRunsTogether) {
  const TemporaryFolder folder;
  const auto more = run_with(folder, "more", 3), none = run_with(folder, "none", 0),
             one = run_with(folder, "one", 1);
  EXPECT_THAT(last_words({more, none}, false).out, HasSubstr("b, its link (look at it) in 3 of 6"));
  EXPECT_THAT(last_words({none, one}, true).out, StartsWith("no host stands out"));
  EXPECT_EQ(last_words({folder.path()}, true).out, "") << "nobody looked at hosts";
}

}  // namespace
}  // namespace scalebench
