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
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::ElementsAre;

std::vector<std::string> argv_of(const std::vector<std::string>& words) {
  DaemonRequest request = daemon_request(words);
  request.arguments.insert(request.arguments.begin(), request.name);
  return request.arguments;
}

TEST(DaemonCommand, LosesItsQuotes) {
  EXPECT_THAT(argv_of({"orted", "-mca", "ess", "\"env\"", "-mca", "orte_node_regex",
                       "\"vm,vm-[1:1]@0(2)\"", "'a b'"}),
              ElementsAre("orted", "-mca", "ess", "env", "-mca", "orte_node_regex",
                          "vm,vm-[1:1]@0(2)", "a b"));
}

TEST(DaemonCommand, LosesTheAssignmentsBeforeIt) {
  EXPECT_THAT(argv_of({"  PATH=/opt/mpi/bin:$PATH ; export PATH ; "
                       "LD_LIBRARY_PATH=/opt/mpi/lib:${LD_LIBRARY_PATH:-} ; export "
                       "LD_LIBRARY_PATH ;   /opt/mpi/bin/orted",
                       "-mca", "plm", "rsh"}),
              ElementsAre("orted", "-mca", "plm", "rsh"));
}

TEST(DaemonCommand, LosesTheProfileThatUsersOfShRead) {
  EXPECT_THAT(argv_of({"(", "test", "!", "-r", "./.profile", "||", ".", "./.profile;",
                       "  PATH=/opt/mpi/bin:$PATH ; export PATH ;   /opt/mpi/bin/orted", "-mca",
                       "plm", "rsh", ")"}),
              ElementsAre("orted", "-mca", "plm", "rsh"));
  EXPECT_THROW(daemon_request({"(", "test", "!", "-r", "./.profile", "||", ".", "./.profile;",
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
    EXPECT_THROW(daemon_request(words), Error) << testing::PrintToString(words);
  }
}

TEST(DaemonCommand, LosesTheAgentThatBroughtItHere) {
  EXPECT_THAT(argv_of({"orted", "-mca", "plm_rsh_agent", "\"/proc/7/exe --join-relay x\"", "-mca",
                       "plm", "\"rsh\""}),
              ElementsAre("orted", "-mca", "plm", "rsh"));
  EXPECT_THAT(argv_of({"prted", "--daemonize", "--prtemca", "plm_ssh_agent", "\"x y\""}),
              ElementsAre("prted", "--daemonize"));
}

// The own daemon ----------------------------------------------------------------------------------

class OwnDaemon : public testing::Test {
 protected:
  OwnDaemon() {
    std::filesystem::create_directories(folder_ / "other");
    for (const char* const name : {"opt/bin/orterun", "opt/bin/orted", "opt/bin/prted"})
      program(name);
    std::filesystem::create_symlink("../opt/bin/orterun", folder_ / "other" / "mpirun");
  }
  ~OwnDaemon() override { unsetenv(kMpirunVariable); }

  std::filesystem::path program(const std::string& name) const {
    const auto file = folder_.write(name, "#!/bin/sh\n");
    std::filesystem::permissions(file, std::filesystem::perms(0755));
    return file;
  }
  std::filesystem::path of(const std::filesystem::path& mpirun) const {
    setenv(kMpirunVariable, mpirun.c_str(), 1);
    return own_daemon();
  }
  static std::string refusal(const std::vector<std::string>& arguments,
                             const std::string& name = "orted") {
    return message_of<Error>([&] { own_daemon_command("/opt/mpi/bin/orted", {name, arguments}); });
  }

  const TemporaryFolder folder_;
};

TEST_F(OwnDaemon, LiesBesideMpirunWhereverItsLinksLead) {
  const std::string beside = (folder_ / "opt/bin/orted").string();
  EXPECT_EQ(of(folder_ / "opt/bin/orterun"), beside);
  EXPECT_TRUE(std::filesystem::equivalent(of(folder_ / "other/mpirun"), beside));
  std::filesystem::remove(beside);
  EXPECT_EQ(of(folder_ / "opt/bin/orterun"), folder_ / "opt/bin/prted") << "of Open MPI 5";
}

TEST_F(OwnDaemon, IsStartedWhateverPathWasSent) {
  const DaemonRequest request = daemon_request({"/tmp/x/orted", "-mca", "plm", "rsh"});
  EXPECT_THAT(own_daemon_command("/opt/mpi/bin/orted", request),
              ElementsAre("/opt/mpi/bin/orted", "-mca", "plm", "rsh"));
}

TEST_F(OwnDaemon, TakesWhatMpirunTellsIt) {
  // As mpirun of 4.1 and of 5.0 sent it.
  EXPECT_EQ(refusal({"-mca",
                     "ess",
                     "env",
                     "-mca",
                     "ess_base_jobid",
                     "2473918464",
                     "-mca",
                     "ess_base_vpid",
                     "1",
                     "-mca",
                     "ess_base_num_procs",
                     "2",
                     "-mca",
                     "orte_node_regex",
                     "vm,h-[1:2-3]@0(2)",
                     "-mca",
                     "orte_hnp_uri",
                     "2473918464.0;tcp://10.0.0.1,10.1.0.1:43211",
                     "-mca",
                     "plm",
                     "rsh",
                     "-mca",
                     "pmix",
                     "^s1,s2,cray,isolated",
                     "-mca",
                     "oob_tcp_if_include",
                     "10.0.0.0/8",
                     "--tree-spawn",
                     "-mca",
                     "btl",
                     "self,tcp",
                     "-mca",
                     "orte_leave_session_attached",
                     "1",
                     "-mca",
                     "hwloc_base_binding_policy",
                     "none",
                     "-mca",
                     "rmaps_base_oversubscribe",
                     "1",
                     "-mca",
                     "odls_base_sigkill_timeout",
                     "5",
                     "-mca",
                     "opal_cuda_support",
                     "true",
                     "-mca",
                     "mpi_yield_when_idle",
                     "1"}),
            "");
  const DaemonRequest five{"prted",
                           {"--leave-session-attached",
                            "--prtemca",
                            "ess",
                            "env",
                            "--prtemca",
                            "ess_base_nspace",
                            "prterun-vm-77@0",
                            "--prtemca",
                            "ess_base_vpid",
                            "1",
                            "--prtemca",
                            "ess_base_num_procs",
                            "2",
                            "--prtemca",
                            "prte_hnp_uri",
                            "prterun-vm-77@0.0;tcp://10.0.0.1:40001:24",
                            "--prtemca",
                            "plm",
                            "ssh",
                            "--prtemca",
                            "PREFIXES",
                            "errmgr,ess,filem,hwloc,if,reachable",
                            "--pmixmca",
                            "pmix_client_spawn",
                            "1"}};
  EXPECT_EQ(message_of<Error>([&] { own_daemon_command("/usr/bin/prted", five); }), "");
}

TEST_F(OwnDaemon, TakesNothingThatNamesAProgramALibraryOrAFile) {
  const std::vector<std::vector<std::string>> others{
      {"-mca", "mca_base_component_path", "/tmp/x"},
      {"--pmixmca", "mca_base_component_path", "/tmp/x"},
      {"-mca", "mca_base_param_files", "/tmp/x"},
      {"-mca", "plm_rsh_agent", "/tmp/x"},
      {"-mca", "orte_launch_agent", "/tmp/x"},
      {"-mca", "orte_fork_agent", "/tmp/x"},
      {"-mca", "orte_xterm", "1"},
      {"-mca", "mca_base_component_path", "1"},
      {"-mca", "orte_hnp_uri", "file:/tmp/x"},
      {"-mca", "orte_hnp_uri", "/tmp/x"},
      {"-mca", "btl", "/tmp/x"},
      {"-mca", "oob_tcp_if_include", "../x"},
      {"-mca", "pml_monitoring_filename", "x"},
      {"-mca", "odls", "x"},
      {"-mca", "ess", "hnp"},
      {"-mca", "plm", "slurm"},
      {"-mca", "btlx", "x"},
      {"-mca", "btl"},
      {"-x", "LD_PRELOAD"},
      {"--prefix", "/tmp/x"},
      {"--spin"},
      {"/tmp/x"},
      {""}};
  for (const auto& arguments : others) {
    EXPECT_THAT(refusal(arguments), testing::AllOf(testing::HasSubstr("is none of the"),
                                                   testing::Not(testing::HasSubstr("\n"))))
        << testing::PrintToString(arguments);
  }
}

TEST_F(OwnDaemon, IsNotThatOfAnotherMpi) {
  EXPECT_THAT(refusal({}, "prted"), testing::HasSubstr("works with prted, and the MPI of this host "
                                                       "with /opt/mpi/bin/orted"));
  EXPECT_THAT(refusal({}, "sh"), testing::HasSubstr("works with sh"));
  EXPECT_THAT(message_of<Error>([] {
                own_daemon_command("", {"orted", {}});
              }),
              testing::HasSubstr("set SCALEBENCH_MPIRUN"));
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
