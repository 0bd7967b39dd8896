// SPDX-License-Identifier: Apache-2.0
#include "bench/hosts/hosts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

using testing::HasSubstr;

/// Two hosts, of which the second computes half as fast, or as fast.
HostReport report_of(bool slow) {
  HostReport report;
  report.hosts = {"host1", "host2"};
  for (const auto& [from, to] : {std::pair(0, 1), std::pair(1, 0)}) {
    Link link{.from = from, .to = to, .bytes = 1000, .seconds = 1e-6};
    link.messages = 40;
    link.retransmits = 0;
    report.links.push_back(link);
  }
  report.verdicts = judge_hosts(report.links, {0.4, slow ? 0.8 : 0.4});
  for (const HostVerdict& one : report.verdicts) {
    ResultRow& row = report.rows.emplace_back(hosts_schema());
    row.set("host", report.hosts.at(static_cast<std::size_t>(one.host)));
    row.set("verdict", name_of(one.fault)).set("note", one.why()).set("launches", 1);
  }
  return report;
}

struct End {
  std::string out, err;
  ExitCode code;
};

End end_of(const HostReport& report, const char* format, bool fail_on_host, ExitCode code) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Console console(/*speaks=*/true, /*quiet=*/true);
  const HostOptions options{.look = true, .fail_on_host = fail_on_host};
  const ExitCode ended = conclude(report, options, format, console, code);
  std::string out = testing::internal::GetCapturedStdout();
  return {std::move(out), testing::internal::GetCapturedStderr(), ended};
}

constexpr const char* kLine =
    "suspect: host2, its processor runs at 50 % of the others' median (look at its clock, heat and "
    "other programs)\n";

TEST(Conclude, TheLastLineIsAResultForPeopleAndOutOfTheWayOfPrograms) {
  const HostReport report = report_of(true);
  EXPECT_EQ(end_of(report, "table", false, ExitCode::ok).out, kLine);
  const End csv = end_of(report, "csv", false, ExitCode::ok);
  EXPECT_EQ(csv.out, "");
  EXPECT_EQ(csv.err, kLine);
  const End json = end_of(report, "json", false, ExitCode::ok);
  EXPECT_EQ(json.err, kLine);
  const auto said = nlohmann::json::parse(json.out);
  EXPECT_EQ(said.at("suspect_line").get<std::string>() + "\n", kLine);
  EXPECT_EQ(said.at("suspects").size(), 1U);
  EXPECT_EQ(said.at("suspects").at(0).at("host"), "host2");
  EXPECT_EQ(said.at("suspects").at(0).at("verdict"), "processor");
  EXPECT_EQ(nlohmann::json::parse(end_of(report_of(false), "json", false, ExitCode::ok).out),
            (nlohmann::json{{"suspects", nlohmann::json::array()},
                            {"suspect_line", "no host stands out"}}));
  EXPECT_EQ(end_of({}, "json", false, ExitCode::ok).out, "") << "one host";
  EXPECT_EQ(end_of(report_of(false), "table", false, ExitCode::ok).out, "no host stands out\n");
  EXPECT_EQ(end_of({}, "table", false, ExitCode::ok).out, "") << "one host";
}

TEST(Conclude, ASuspectFailsARunOnlyWhereThatWasAskedFor) {
  EXPECT_EQ(end_of(report_of(true), "table", true, ExitCode::ok).code, ExitCode::regression);
  EXPECT_EQ(end_of(report_of(true), "table", false, ExitCode::ok).code, ExitCode::ok);
  EXPECT_EQ(end_of(report_of(false), "table", true, ExitCode::ok).code, ExitCode::ok);
  EXPECT_EQ(end_of(report_of(true), "table", true, ExitCode::incomplete).code,
            ExitCode::incomplete);
}

TEST(HostTable, HasALineForEachHost) {
  EXPECT_EQ(host_table({}), "");
  const std::string table = host_table(report_of(true));
  EXPECT_THAT(table, HasSubstr("0 of 80            200  host1\n"));
  EXPECT_THAT(table, HasSubstr("0 of 80             50  host2\n"));
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
