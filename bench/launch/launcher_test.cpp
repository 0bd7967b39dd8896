// SPDX-License-Identifier: Apache-2.0
// The exact words that each launcher gets.
#include "bench/launch/launcher.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/launch/host_survey.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

PlannedLaunch two_by_two() {
  PlannedLaunch launch;
  launch.number = 7;
  launch.program = "bench_allreduce";
  launch.ranks = 4;
  launch.nodes = launch.per_node = 2;
  launch.guess_seconds = 100;
  return launch;
}

LaunchSettings settings_for(const char* launcher, const char* command) {
  LaunchSettings settings;
  settings.launcher = launcher;
  settings.mpirun = command;
  settings.hosts = parse_hosts("h1:4,h2:1,h3:4");
  settings.environment = {{"OMP_NUM_THREADS", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT", "1"}};
  return settings;
}

std::string line_of(const LaunchSettings& settings) {
  std::string line = shell_line(command_of(two_by_two(), settings, "out"));
  return line.substr(0, line.find(" /bench_allreduce"));
}

std::string words_before_program(LaunchSettings settings) {
  settings.programs = "/";
  return line_of(settings);
}

TEST(OpenMpi, TakesBlocksOfRanksAndWatchesItsLinks) {
  EXPECT_EQ(words_before_program(settings_for("open_mpi", "mpirun")),
            "mpirun -np 4 -H h1:2,h3:2 --map-by ppr:2:node --bind-to core -x OMP_NUM_THREADS "
            "--mca oob_tcp_keepalive_time 2 --mca oob_tcp_keepalive_intvl 1 "
            "--mca oob_tcp_keepalive_probes 3 --timeout 530");
}

TEST(OpenMpi, LetsCrowdedRanksYieldOnEveryHost) {
  LaunchSettings settings = settings_for("open_mpi", "mpirun");
  settings.oversubscribe = true;
  EXPECT_THAT(words_before_program(settings),
              AllOf(HasSubstr(" -H h1:2,h2:2 "), HasSubstr("--oversubscribe --bind-to none"),
                    HasSubstr("--mca mpi_yield_when_idle 1")));
}

TEST(OpenMpi, SaysNothingOfHostsWhereThereAreNone) {
  LaunchSettings settings = settings_for("open_mpi", "mpirun");
  settings.hosts.clear();
  EXPECT_EQ(words_before_program(settings), "mpirun -np 4 --bind-to core");
  settings.hosts = parse_hosts("h1:4");
  PlannedLaunch unknown = two_by_two();
  unknown.nodes = unknown.per_node = 0;  // the user's own arguments say where
  EXPECT_THAT(shell_line(command_of(unknown, settings, "out")), Not(HasSubstr("-H")));
}

TEST(Mpich, TakesHostsAndRanksOfEach) {
  EXPECT_EQ(words_before_program(settings_for("mpich", "mpiexec.mpich")),
            "mpiexec.mpich -n 4 -hosts h1,h3 -ppn 2 -bind-to core -genv OMP_NUM_THREADS 1");
}

TEST(Slurm, EndsAStepWhoseRankWasKilled) {
  EXPECT_EQ(words_before_program(settings_for("slurm", "srun")),
            "srun --mpi=pmix -K1 -N 2 -n 4 --ntasks-per-node=2 --distribution=block "
            "--nodelist=h1,h3 --cpu-bind=cores --time=9");
  LaunchSettings settings = settings_for("slurm", "srun");
  settings.mpi = "MPICH";
  settings.oversubscribe = true;
  EXPECT_THAT(words_before_program(settings),
              AllOf(HasSubstr("--mpi=pmi2"), HasSubstr("--overcommit --cpu-bind=none")));
}

TEST(Launchers, AreKnownByWhatTheySay) {
  const auto name_of = [](std::string_view version) {
    const Launcher* const launcher = launcher_that_says(version);
    return launcher == nullptr ? std::string("none") : std::string(launcher->name);
  };
  EXPECT_EQ(name_of("mpirun (Open MPI) 4.1.4\n\nReport bugs to ..."), "open_mpi");
  EXPECT_EQ(name_of("mpirun.real (OpenRTE) 4.0.3"), "open_mpi");
  EXPECT_EQ(name_of("HYDRA build details:\n    Version:  4.0.2"), "mpich");
  EXPECT_EQ(name_of("Intel(R) MPI Library for Linux* OS, Version 2021.10"), "mpich");
  EXPECT_EQ(name_of("slurm 22.05.8"), "slurm");
  EXPECT_EQ(name_of("bash: mpirun: command not found"), "none");
  EXPECT_THAT(message_of<UsageError>([] { launcher_named("slrum"); }),
              AllOf(HasSubstr("unknown launcher 'slrum'"), HasSubstr("did you mean 'slurm'")));
}

std::string found(const std::vector<std::string>& hosts, const std::vector<FoundHost>& known = {}) {
  std::vector<RankPlace> places;
  for (const std::string& host : hosts) places.push_back({host, "", 0});
  return misplaced(places, two_by_two(), known);
}

TEST(Misplaced, ComparesBlocksOfRanksWithThoseAsked) {
  EXPECT_EQ(found({"one", "one", "three", "three"}), "");
  EXPECT_EQ(found({"three", "three", "one", "one"}), "") << "Slurm takes hosts in its own order";
  EXPECT_EQ(found({"one", "three", "one", "three"}),
            "rank 1 ran on three, but was asked to be on one with rank 0");
  EXPECT_EQ(found({"one", "one", "one", "one"}), "rank 2 ran on one, where 2 ranks were before it");
  EXPECT_EQ(found({"one"}), "4 ranks were asked for, 1 took part");
}

TEST(Misplaced, TellsNoHostsApartThatCallThemselvesAlike) {
  const FoundHost first{.host = "10.0.0.1", .note = "", .name = "worker"};
  const FoundHost second{.host = "10.0.0.2", .note = "", .name = "worker"};
  const FoundHost away{.host = "10.0.0.3", .found = "unreachable", .note = ""};
  const std::vector<std::string> on_workers(4, "worker");
  EXPECT_EQ(found(on_workers, {first, second, away}), "");
  EXPECT_NE(found(on_workers, {first, away, away}), "");
}

PlannedLaunch on_two_ranks() {
  PlannedLaunch launch;
  launch.number = 12;
  launch.program = "bench_epoch";
  launch.ranks = 2;
  launch.arguments = {"--model", "mlp"};
  return launch;
}

TEST(CommandOf, BindsEachRankToACoreOfItsOwn) {
  LaunchSettings settings;
  settings.programs = "/opt/bin";
  settings.run_id = "run-1";
  EXPECT_THAT(command_of(on_two_ranks(), settings, "/r/launches/012-x"),
              ElementsAre("mpirun", "-np", "2", "--bind-to", "core", "/opt/bin/bench_epoch",
                          "--model", "mlp", "--quiet", "--out", "/r/launches/012-x", "--run-id",
                          "run-1", "--launch", "12", "--round", "0"));
  settings.bind_to_core = false;
  EXPECT_EQ(command_of(on_two_ranks(), settings, "/r")[4], "none");
}

TEST(CommandOf, LetsCrowdedRanksYieldAndTakesTheUsersArguments) {
  LaunchSettings settings;
  settings.mpirun = "/usr/bin/mpirun.other";
  settings.programs = "/opt/bin";
  settings.oversubscribe = true;
  settings.mpirun_arguments = {"--host", "a:2"};
  const std::string line = shell_line(command_of(on_two_ranks(), settings, "/r"));
  EXPECT_THAT(line, StartsWith("/usr/bin/mpirun.other -np 2 --oversubscribe --bind-to none "));
  EXPECT_THAT(line, HasSubstr("mpi_yield_when_idle 1 --host a:2 /opt/bin/bench_epoch"));
}

}  // namespace
}  // namespace scalebench
