// SPDX-License-Identifier: Apache-2.0
#include "bench/join/daemon_command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/error.hpp"

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
}  // namespace scalebench
