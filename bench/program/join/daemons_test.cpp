// SPDX-License-Identifier: Apache-2.0
#include "bench/program/join/daemons.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "bench/machine/identity.hpp"
#include "bench/program/join/handshake.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::ElementsAre;

TEST(DaemonCommand, LosesItsQuotes) {
  EXPECT_THAT(daemon_command({"orted", "-mca", "ess", "\"env\"", "-mca", "orte_node_regex",
                              "\"vm,vm-[1:1]@0(2)\"", "'a b'"}),
              ElementsAre("orted", "-mca", "ess", "env", "-mca", "orte_node_regex",
                          "vm,vm-[1:1]@0(2)", "a b"));
}

TEST(DaemonCommand, LosesTheAssignmentsBeforeIt) {
  EXPECT_THAT(daemon_command({"  PATH=/opt/mpi/bin:$PATH ; export PATH ; "
                              "LD_LIBRARY_PATH=/opt/mpi/lib:${LD_LIBRARY_PATH:-} ; export "
                              "LD_LIBRARY_PATH ;   /opt/mpi/bin/orted",
                              "-mca", "plm", "rsh"}),
              ElementsAre("/opt/mpi/bin/orted", "-mca", "plm", "rsh"));
}

TEST(DaemonCommand, LosesTheProfileThatUsersOfShRead) {
  EXPECT_THAT(daemon_command({"(", "test", "!", "-r", "./.profile", "||", ".", "./.profile;",
                              "  PATH=/opt/mpi/bin:$PATH ; export PATH ;   /opt/mpi/bin/orted",
                              "-mca", "plm", "rsh", ")"}),
              ElementsAre("/opt/mpi/bin/orted", "-mca", "plm", "rsh"));
  EXPECT_THROW(daemon_command({"(", "test", "!", "-r", "./.profile", "||", ".", "./.profile;",
                               "orted", ")", ";", "sh", ")"}),
               Error);
}

TEST(DaemonCommand, IsOfADaemonAndNeedsNoShell) {
  const std::vector<std::vector<std::string>> others{{"sh", "-c", "orted"},
                                                     {"rm", "-r", "x", ";", "orted"},
                                                     {"orted", ";", "sh"},
                                                     {"orted", "&&", "sh"},
                                                     {"orted", "|", "sh"},
                                                     {"orted", "$(sh)"},
                                                     {"orted", "\"$X\""},
                                                     {"orted", "`sh`"},
                                                     {"orted", ">", "file"},
                                                     {"orted", "'a"},
                                                     {"PATH=/x", "sh", ";", "orted"},
                                                     {"orted\nsh"},
                                                     {"/bin/orted-not"},
                                                     {}};
  for (const auto& words : others) {
    EXPECT_THROW(daemon_command(words), Error) << testing::PrintToString(words);
  }
}

TEST(DaemonCommand, IsLookedAtAgainWhereItArrives) {
  EXPECT_TRUE(is_daemon_command({"/usr/bin/prted"}));
  EXPECT_FALSE(is_daemon_command({"/usr/bin/sh", "orted"}));
  EXPECT_FALSE(is_daemon_command({}));
}

}  // namespace

namespace {

/// What `hostname` says to a daemon whose host is to have that name.
std::string name_for_a_daemon(const std::string& host) {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "name";
  Daemons daemons(/*adopts=*/false);
  daemons.start({"sh", "-c", "cat /proc/sys/kernel/hostname >'" + file + "'"}, host);
  while (daemons.ended().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::string name;
  std::getline(std::ifstream(file), name);
  return name;
}

TEST(Daemons, ThatEndUnheardHaveFailed) {
  const TemporaryFolder folder;
  Daemons daemons(/*adopts=*/false);
  const auto begin = [&] {
    return daemons.start(
        {"sh", "-c", "while [ ! -e \"$0\" ]; do sleep 0.01; done", (folder / "end").string()}, "");
  };
  const pid_t first = begin();
  begin();
  // The system throws away the status of what ends now.
  std::signal(SIGCHLD, SIG_IGN);
  folder.write("end", "now");
  std::vector<Daemons::Ended> ended;
  while (ended.empty()) {
    ended = daemons.ended();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  daemons.end_all(std::chrono::seconds(60));
  std::signal(SIGCHLD, SIG_DFL);
  EXPECT_EQ(ended[0].status, 255);
  EXPECT_EQ(kill(first, 0), -1);
}

TEST(Daemons, KeepTheHostsName) { EXPECT_EQ(name_for_a_daemon(""), own_host_name()); }

TEST(Daemons, HaveAHostNameOfTheirOwn) {
  if (!can_name_hosts()) GTEST_SKIP() << "neither root nor namespaces of users";
  const std::string before = own_host_name();
  EXPECT_EQ(name_for_a_daemon("node-2"), "node-2");
  EXPECT_EQ(own_host_name(), before);
}

}  // namespace

}  // namespace scalebench
