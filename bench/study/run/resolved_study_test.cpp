// SPDX-License-Identifier: Apache-2.0
// Which of the places that may name hosts is believed, what each of them means, and what a study
// comes to with it.
#include "bench/study/run/resolved_study.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// All of them at once.
struct Places {
  StartOptions options;
  StudyConfig config;
  EnvironmentVariables variables{
      {"SM_HOSTS", R"(["algo-1","algo-2"])"}, {"SM_CURRENT_HOST", "algo-1"}, {"SM_NUM_GPUS", "8"}};

  Places() {
    options.hosts = "option:1";
    config.hosts = "config:2";
  }
  std::string hosts() const { return host_words(limits_of(options, config, variables).hosts); }
};

/// While it lives, this process may use one core alone.
class OneCore {
 public:
  OneCore() {
    EXPECT_EQ(sched_getaffinity(0, sizeof before_, &before_), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one);
    EXPECT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  }
  OneCore(const OneCore&) = delete;
  OneCore& operator=(const OneCore&) = delete;
  ~OneCore() { sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_{};
};

TEST(DevicesOf, AreTheCoresThatThisProcessMayUse) {
  const OneCore one;
  StudyConfig config;
  config.device = "cpu";
  EXPECT_EQ(devices_of(config), 1);
}

TEST(DevicesOf, AreCoresHoweverManyHardwareThreadsTheyHave) {
  StudyConfig config;
  config.device = "cpu";
  setenv("HWLOC_SYNTHETIC", "core:1 pu:1024", 1);
  EXPECT_EQ(devices_of(config), 1);
  unsetenv("HWLOC_SYNTHETIC");
}

TEST(HostsOf, AreThoseOfTheFirstPlaceThatNamesSome) {
  Places places;
  EXPECT_EQ(places.hosts(), "option:1");
  places.options.hosts.clear();
  EXPECT_EQ(places.hosts(), "config:2");
  places.config.hosts.clear();
  EXPECT_EQ(places.hosts(), "algo-1:8,algo-2:8");
  places.variables.clear();
  EXPECT_EQ(places.hosts(), "");
}

TEST(HostsOf, HaveTheSlotsOfThisHostWhereNoneAreSaid) {
  Places places;
  places.config.device = "cpu";
  places.options.hosts = "a:7,b";
  EXPECT_EQ(places.hosts(), "a:7,b:" + std::to_string(devices_of(places.config)));
}

TEST(HostsOf, MayHaveGpusWhereThisHostHasNone) {
  Places places;
  places.config.device = "cuda";
  EXPECT_EQ(places.hosts(), "option:1");
}

TEST(HostsOf, ReadAFileWhereThereIsOne) {
  const TemporaryFolder folder;
  Places places;
  places.options.hosts = folder.write("hostfile", "x slots=2\ny slots=3\n").string();
  EXPECT_EQ(places.hosts(), "x:2,y:3");
  places.options.hosts = (folder / "missing").string();
  EXPECT_THAT(message_of<UsageError>([&] { places.hosts(); }), HasSubstr("missing"));
  places.options.hosts = "a;b";
  EXPECT_THAT(message_of<UsageError>([&] { places.hosts(); }), HasSubstr("--hosts: 'a;b'"));
}

TEST(HostsOf, StudiesOfTheCpuTakeAJobsCores) {
  Places places;
  places.options.hosts.clear();
  places.config = StudyConfig();
  places.config.device = "cpu";
  const std::string each = std::to_string(devices_of(places.config));
  EXPECT_EQ(places.hosts(), "algo-1:" + each + ",algo-2:" + each);
}

}  // namespace

namespace {

/// A study of one allreduce. A launcher that is named need not be asked which one it is.
ResolvedStudy resolved(const std::string& ranks, const std::string& hosts, bool oversubscribe) {
  const TemporaryFolder folder;
  StudyChoice choice;
  choice.config = folder.write("two.toml", "[study]\ndevice = \"cpu\"\n[allreduce]\n");
  choice.ranks = ranks;
  choice.hosts = hosts;
  choice.launches = 1;
  choice.oversubscribe = oversubscribe;
  choice.dry_run = true;
  choice.mpirun = "srun";  // which starts programs of any MPI
  return resolve(choice);
}

TEST(ResolvedStudy, HoldsWhatTheCommandLineChanges) {
  const ResolvedStudy study = resolved("2", "a:2", false);
  EXPECT_THAT(study.config.ranks, ElementsAre(2));
  EXPECT_EQ(study.limits.devices, 2);
  ASSERT_EQ(study.plan.size(), 1);
  EXPECT_EQ(study.plan.front().ranks, 2);
  EXPECT_FALSE(study.settings.oversubscribe);
  EXPECT_EQ(origin_of(study.settings), "measured");
  EXPECT_TRUE(study.binaries.empty()) << "a dry run needs no programs";
}

TEST(ResolvedStudy, IsEmulatedWhereRanksShareCores) {
  const OneCore one;
  EXPECT_THAT(message_of<UsageError>([] { resolved("4", "", false); }),
              HasSubstr("or use --oversubscribe"));
  const ResolvedStudy study = resolved("4", "", true);
  EXPECT_TRUE(study.settings.oversubscribe);
  EXPECT_EQ(origin_of(study.settings), "emulated");
}

TEST(ResolvedStudy, GivesRanksOnOtherHostsTheVariablesThatMayChangeAResult) {
  const auto given = [](const std::string& hosts, const char* name) {
    setenv(name, "1", 1);
    const Variables environment = resolved("2", hosts, true).settings.environment;
    unsetenv(name);
    return std::ranges::count(environment, name, &Variables::value_type::first) > 0;
  };
  EXPECT_TRUE(given("a:1,b:1", "NCCL_DEBUG"));
  EXPECT_FALSE(given("", "NCCL_DEBUG"));
  for (const char* const other : {"OMPI_MCA_btl", "CUDA_VISIBLE_DEVICES", "SECRET"}) {
    EXPECT_FALSE(given("a:1,b:1", other)) << other;
  }
}

TEST(ResolvedStudy, StartsItsLaunchesOnTheHostsThatItWasPlannedFor) {
  const ResolvedStudy study = resolved("4", "a:2,b:2", false);
  EXPECT_EQ(host_words(study.limits.hosts), "a:2,b:2");
  EXPECT_EQ(study.settings.hosts, study.limits.hosts);
  EXPECT_EQ(study.limits.devices, 4);
  EXPECT_EQ(study.plan.front().nodes, 2);
}

}  // namespace

}  // namespace scalebench
