// SPDX-License-Identifier: Apache-2.0
#include "bench/hosts/hosts.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

/// Rows of two hosts, of which the second computes half as fast, or as fast.
std::vector<ResultRow> hosts_of(bool slow) {
  std::vector<ResultRow> rows;
  for (const std::string host : {"host1", "host2"}) {
    const bool named = slow && host == "host2";
    ResultRow& row = rows.emplace_back(hosts_schema());
    row.set("host", host).set("launches", 1).set("verdict", named ? "processor" : "none");
    row.set("note", named ? "its processor runs at 50 % of the others' median" : "");
  }
  return rows;
}

struct End {
  std::string out, err;
  ExitCode code;
};

End end_of(const std::vector<ResultRow>& hosts, const char* format, bool fail_on_host,
           ExitCode code) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Console console(/*speaks=*/true, /*quiet=*/true);
  const HostOptions options{.look = true, .fail_on_host = fail_on_host};
  const ExitCode ended = conclude(hosts, options, format, console, code);
  std::string out = testing::internal::GetCapturedStdout();
  return {std::move(out), testing::internal::GetCapturedStderr(), ended};
}

constexpr const char* kLine = "suspect: host2, its processor runs at 50 % of the others' median\n";

TEST(Conclude, TheLastLineIsAResultForPeopleAndOutOfTheWayOfPrograms) {
  const std::vector<ResultRow> slow = hosts_of(true);
  EXPECT_EQ(end_of(slow, "table", false, ExitCode::ok).out, kLine);
  const End csv = end_of(slow, "csv", false, ExitCode::ok);
  EXPECT_EQ(csv.out, "");
  EXPECT_EQ(csv.err, kLine);
  const End json = end_of(slow, "json", false, ExitCode::ok);
  EXPECT_EQ(json.err, kLine);
  const auto said = nlohmann::json::parse(json.out);
  EXPECT_EQ(said.at("suspect_line").get<std::string>() + "\n", kLine);
  EXPECT_EQ(said.at("suspects").size(), 1U);
  EXPECT_EQ(said.at("suspects").at(0).at("host"), "host2");
  EXPECT_EQ(said.at("suspects").at(0).at("verdict"), "processor");
  EXPECT_EQ(nlohmann::json::parse(end_of(hosts_of(false), "json", false, ExitCode::ok).out),
            (nlohmann::json{{"suspects", nlohmann::json::array()},
                            {"suspect_line", "no host stands out"}}));
  EXPECT_EQ(end_of({}, "json", false, ExitCode::ok).out, "") << "one host";
  EXPECT_EQ(end_of(hosts_of(false), "table", false, ExitCode::ok).out, "no host stands out\n");
  EXPECT_EQ(end_of({}, "table", false, ExitCode::ok).out, "") << "one host";
}

TEST(Conclude, ASuspectFailsARunOnlyWhereThatWasAskedFor) {
  EXPECT_EQ(end_of(hosts_of(true), "table", true, ExitCode::ok).code, ExitCode::regression);
  EXPECT_EQ(end_of(hosts_of(true), "table", false, ExitCode::ok).code, ExitCode::ok);
  EXPECT_EQ(end_of(hosts_of(false), "table", true, ExitCode::ok).code, ExitCode::ok);
  EXPECT_EQ(end_of(hosts_of(true), "table", true, ExitCode::incomplete).code, ExitCode::incomplete);
}

TEST(HostOptions, AreReadOrRefusedInOneLine) {
  const auto parsed = [](const std::string& words) {
    HostOptions options;
    CLI::App app;
    add_host_options(app, options);
    app.parse(words);
    return options;
  };
  EXPECT_TRUE(parsed("").look);
  EXPECT_FALSE(parsed("--no-links").look);
  EXPECT_FALSE(parsed("--fail-on nothing").fail_on_host);
  EXPECT_TRUE(parsed("--fail-on host").fail_on_host);
  EXPECT_THROW(parsed("--fail-on everything"), UsageError);
}

}  // namespace
}  // namespace scalebench
