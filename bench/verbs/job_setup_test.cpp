// SPDX-License-Identifier: Apache-2.0
#include "bench/verbs/job_setup.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "kernels/temporary_folder.hpp"

namespace scalebench {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using namespace std::chrono_literals;

ManagedJob two_hosts() {
  ManagedJob job;
  job.hosts = {"algo-1", "algo-2"};
  job.current_host = "algo-2";
  job.gpus = 4;
  return job;
}

TEST(HostArguments, NameAllHostsUnlessTheConfigDoes) {
  StudyConfig config;
  EXPECT_THAT(host_arguments(two_hosts(), config),
              ElementsAre("--host", "algo-1:4,algo-2:4", "-x", "OMP_NUM_THREADS"));
  config.mpirun_arguments = {"--hostfile", "mine"};
  EXPECT_THAT(host_arguments(two_hosts(), config), IsEmpty());
  ManagedJob one = two_hosts();
  one.hosts.resize(1);
  EXPECT_THAT(host_arguments(one, StudyConfig()), IsEmpty());
}

TEST(HostArguments, StudiesOfTheCpuTakeItsCores) {
  StudyConfig config;
  config.device = "cpu";
  EXPECT_EQ(slots_of(two_hosts(), config), devices_of(config));
}

constexpr StandByLimits kShort{.first = 100ms, .gap = 100ms, .poll = 5ms};

// One test, as such a daemon is seen by every test that runs beside it.
TEST(StandBy, LastsAsLongAsRanksAreStartedAndFailsWithoutAny) {
  Console console(/*speaks=*/false, /*quiet=*/true);
  EXPECT_EQ(stand_by(two_hosts(), Interruption(), console, kShort), ExitCode::nothing_measured);
  const TemporaryFolder folder;
  std::filesystem::copy_file("/bin/sleep", folder / "orted");
  const pid_t daemon = fork();
  if (daemon == 0) {
    execl((folder / "orted").c_str(), "orted", "0.5", nullptr);
    _exit(127);
  }
  const StandByLimits patient{.first = 60s, .gap = 100ms, .poll = 5ms};
  // A child that has ended keeps its name until somebody waits for it.
  std::thread reaper([daemon] { waitpid(daemon, nullptr, 0); });
  EXPECT_EQ(stand_by(two_hosts(), Interruption(), console, patient), ExitCode::ok);
  reaper.join();
}

}  // namespace
}  // namespace scalebench
