// SPDX-License-Identifier: Apache-2.0
// What is concluded from the identities of hosts; and a survey by a made-up launcher, a script that
// answers for its hosts.
#include "bench/launch/host_survey.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Identity identity_of(const std::string& host, const std::string& hash = "aaaabbbbccccdddd") {
  return {host, "boot of " + host, 2, 0, "bench_allreduce", hash, {{"MPI", "Open MPI v4.1.4"}}};
}

FoundHosts survey_of(const std::vector<Identity>& identities) {
  FoundHosts hosts;
  for (const Identity& one : identities) hosts.push_back({.host = one.host, .slots = 2});
  enter(hosts, identities, "aaaabbbbccccdddd");
  return hosts;
}

const std::map<std::string, std::string> kBinaries{{"bench_allreduce", "aaaabbbbccccdddd"}};

TEST(Identity, ComesBackFromWhatLaunchersPrint) {
  const Identity here = identity_here({.mpi = "Open MPI v4.1.4", .torch = "", .nccl = ""}, "h", 3);
  const std::string output = "Warning: noise\n" + identity_line(here) + "scalebench-where {torn\n" +
                             identity_line(identity_of("h2"));
  const std::vector<Identity> read = identities_in(output);
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].program, "launch_test");
  EXPECT_EQ(read[0].sha256.size(), 64U);
  EXPECT_EQ(read[0].libraries, here.libraries);
  EXPECT_EQ(read[0].gpus, 3);
  EXPECT_EQ(read[0].hardware, here.hardware);
  EXPECT_EQ(here.hardware.at("cores"), std::to_string(here.cores));
  EXPECT_EQ(read[1].host, "h2");
}

TEST(LeaveOutDifferent, NamesTheHostAndBothHashes) {
  FoundHosts survey = survey_of({identity_of("h1"), identity_of("h2", "eeeeffff00001111")});
  EXPECT_EQ(host_words(usable(survey)), "h1:2");
  EXPECT_EQ(
      survey[1].note,
      "host h2 is left out: its bench_allreduce is another build: SHA-256 eeeeffff0000 there, "
      "aaaabbbbcccc here");
}

TEST(LeaveOutDifferent, ComparesLibrariesWithTheFirstHost) {
  Identity other = identity_of("h2"), more = identity_of("h3");
  other.libraries["MPI"] = "Open MPI v4.1.5";
  more.libraries["NCCL"] = "2.21.5";
  FoundHosts survey = survey_of({identity_of("h1"), other, more});
  EXPECT_EQ(host_words(usable(survey)), "h1:2");
  EXPECT_THAT(survey[1].note, HasSubstr("is Open MPI v4.1.5, on h1 it is Open MPI v4.1.4"));
  EXPECT_THAT(survey[2].note, HasSubstr("its NCCL for bench_allreduce is 2.21.5, on h1 it is "
                                        "none"));
}

TEST(HostSurvey, SaysInWhatHostsAreNotAlike) {
  std::vector<Identity> identities{identity_of("h1"), identity_of("h2"), identity_of("h3")};
  for (Identity& one : identities) one.hardware = {{"processor", "A"}, {"cores", "2"}};
  EXPECT_THAT(differences(survey_of(identities)), IsEmpty());
  identities[1].hardware["processor"] = identities[2].hardware["processor"] = "B";
  identities[0].hardware["GPUs"] = "H100";  // hidden on the others
  identities[2].hardware["cores"] = "4";
  FoundHosts survey = survey_of(identities);
  EXPECT_THAT(differences(survey),
              ElementsAre("cores: 2 on h1 and h2, 4 on h3", "processor: A on h1, B on h2 and h3"));
  survey[2].found = "unreachable";
  EXPECT_THAT(differences(survey), ElementsAre("processor: A on h1, B on h2"));
}

TEST(HostSurvey, NoticesHostsThatAreOneMachine) {
  FoundHosts survey = survey_of({identity_of("h1"), identity_of("h2")});
  EXPECT_EQ(one_machine(survey), "");
  survey[1].boot_id = "boot of h1";
  EXPECT_EQ(one_machine(survey), "h1 and h2 are one machine");
}

TEST(RequireDevices, RefusesRanksThatWouldShareACore) {
  const FoundHosts survey = survey_of({identity_of("h1"), identity_of("h2")});
  PlannedLaunch launch;
  launch.ranks = launch.nodes = 2;
  LaunchSettings settings;
  settle(settings, survey, {launch});
  settings.threads = 2;
  settle(settings, survey, {launch});
  launch.per_node = 2;
  EXPECT_THAT(message_of<UsageError>([&] { settle(settings, survey, {launch}); }),
              AllOf(HasSubstr("host h1: 2 ranks on the 1 core(s)"), HasSubstr("--oversubscribe")));
  settings.oversubscribe = true;
  settle(settings, survey, {launch});
}

/// Answers on every host of -H but those called gone.
constexpr std::string_view kLauncher = R"(#!/bin/sh
while [ "$1" != -H ]; do shift; done
case $2 in *gone*) echo "[x:1] Warning: noise" >&2; echo "no way to gone" >&2; exit 1;; esac
for host in $(echo "$2" | tr , ' '); do
  echo "scalebench-where {\"host\":\"${host%:*}\",\"boot_id\":\"$host\",\"cores\":2,\"gpus\":0,\"program\":\"bench_allreduce\",\"sha256\":\"aaaabbbbccccdddd\",\"libraries\":{},\"hardware\":{}}"
done
)";

TEST(SurveyHosts, LooksAtEachAloneWhereTheyDoNotAnswerTogether) {
  const TemporaryFolder folder;
  const std::filesystem::path launcher = folder.write("mpirun", kLauncher);
  std::filesystem::permissions(launcher, std::filesystem::perms::owner_all);
  LaunchSettings settings;
  settings.mpirun = launcher.string();
  settings.hosts = parse_hosts("h1:4,gone:4,h2:4");
  const FoundHosts survey = survey_hosts(settings, kBinaries);
  EXPECT_EQ(host_words(usable(survey)), "h1:4,h2:4");
  EXPECT_EQ(survey[1].note,
            "host gone is left out: bench_allreduce does not start there: no way to gone");
  ASSERT_EQ(survey.size(), 3U);
  EXPECT_EQ(survey[0].binaries.at("bench_allreduce"), "aaaabbbbccccdddd");
  EXPECT_EQ(survey[1].found, "unreachable");
  EXPECT_EQ(survey[1].name, "");
}

/// So many hosts: h1:1,h2:1,…
Hosts many_hosts(int count) {
  std::string words;
  for (int i = 1; i <= count; ++i) words += fmt::format("{}h{}:1", i > 1 ? "," : "", i);
  return parse_hosts(words);
}

/// As the launcher above, but with so many bytes of remarks for each host.
std::string with_remarks(int bytes) {
  std::string launcher(kLauncher);
  const std::string_view answer = "  echo \"scalebench-where";
  launcher.insert(launcher.find(answer), fmt::format("  printf '[%{}s]\\n' remark\n", bytes));
  return launcher;
}

TEST(SurveyHosts, HearsAllOfManyHosts) {
  const TemporaryFolder folder;
  const std::filesystem::path launcher = folder.write("mpirun", with_remarks(600));
  std::filesystem::permissions(launcher, std::filesystem::perms::owner_all);
  LaunchSettings settings;
  settings.mpirun = launcher.string();
  settings.hosts = many_hosts(200);
  EXPECT_EQ(usable(survey_hosts(settings, kBinaries)).size(), 200U);
}

TEST(SurveyHosts, AsksAgainWhereAnotherJobTookTheSessionFolderAway) {
  const TemporaryFolder folder;
  const std::filesystem::path launcher =
      folder.write("mpirun", fmt::format("#!/bin/sh\n"
                                         "if mkdir {0} 2>/dev/null; then\n"
                                         "  echo 'A call to mkdir was unable to create the "
                                         "desired directory:'; exit 1\n"
                                         "fi\n{1}",
                                         (folder / "seen").string(), kLauncher));
  std::filesystem::permissions(launcher, std::filesystem::perms::owner_all);
  LaunchSettings settings;
  settings.mpirun = launcher.string();
  settings.hosts = parse_hosts("h1:4");
  EXPECT_EQ(host_words(usable(survey_hosts(settings, kBinaries))), "h1:4");
}

}  // namespace
}  // namespace scalebench
