// SPDX-License-Identifier: Apache-2.0
// What is stored about a machine, what never is, and what is said about it.
#include "bench/machine/environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>

#include "bench/machine/host_files.hpp"
#include "kernels/gemm.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

TEST(Emulation, IsDeclaredOrFollowsFromCrowding) {
  unsetenv("SCALEBENCH_EMULATED");
  EXPECT_EQ(timed_origin(/*crowded=*/false), "measured");
  EXPECT_EQ(timed_origin(/*crowded=*/true), "emulated");
  setenv("SCALEBENCH_EMULATED", "", 1);
  EXPECT_EQ(timed_origin(/*crowded=*/false), "measured") << "an empty declaration is none";
  setenv("SCALEBENCH_EMULATED", "4 hosts in network namespaces, 1gbit", 1);
  EXPECT_EQ(emulated_burst_bytes(), 0);
  setenv("SCALEBENCH_EMULATED_BURST", "31250", 1);
  EXPECT_EQ(emulated_burst_bytes(), 31250);
  setenv("SCALEBENCH_EMULATED_BURST", "many", 1);
  EXPECT_EQ(emulated_burst_bytes(), 0);
  unsetenv("SCALEBENCH_EMULATED_BURST");
  EXPECT_EQ(declared_emulation(), "4 hosts in network namespaces, 1gbit");
  EXPECT_EQ(emulation_line(), "# EMULATED: 4 hosts in network namespaces, 1gbit\n");
  EXPECT_EQ(timed_origin(/*crowded=*/false), "emulated");
  unsetenv("SCALEBENCH_EMULATED");
}

}  // namespace

namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(Facts, KeepReasonsThroughJson) {
  const Facts facts{{"cores", Fact::of(8)}, {"turbo", Fact::absent("no cpufreq")}};
  const nlohmann::json json = json_of(facts);
  EXPECT_EQ(json.dump(), R"({"absent":{"turbo":"no cpufreq"},"cores":8,"turbo":null})");
  EXPECT_EQ(json_of(facts_of(json)), json);
  EXPECT_EQ(number_of(facts, "cores"), 8.0);
  EXPECT_EQ(number_of(facts, "turbo"), std::nullopt);
  EXPECT_EQ(text_of(facts, "cores"), std::nullopt);
  EXPECT_EQ(flag_of(facts, "none"), std::nullopt);
}

TEST(Variables, AreThoseThatMayChangeAResult) {
  for (const char* name : {"NCCL_ALGO", "OMPI_MCA_btl", "UCX_TLS", "FI_PROVIDER", "OMP_NUM_THREADS",
                           "CUDA_VISIBLE_DEVICES", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"}) {
    EXPECT_TRUE(is_recorded_variable(name)) << name;
  }
  for (const char* name : {"PATH", "HOME", "AWS_SECRET_ACCESS_KEY", "NCCL_TOKEN", "FI_Auth_Key",
                           "OMPI_MCA_orte_precondition_transports", "OMPI_MCA_orte_hnp_uri",
                           "OMPI_MCA_initial_wdir", "MY_NCCL_ALGO", ""}) {
    EXPECT_FALSE(is_recorded_variable(name)) << name;
  }
}

TEST(Variables, SurviveOddEntries) {
  const char* environment[] = {"NCCL_ALGO=a=b", "OMP_X", "=", "UCX_X=\xff", "PATH=/bin", nullptr};
  const std::map<std::string, std::string> expected{{"NCCL_ALGO", "a=b"},
                                                    {"UCX_X", "\xef\xbf\xbd"}};
  EXPECT_EQ(recorded_variables(environment), expected);
  EXPECT_TRUE(recorded_variables(nullptr).empty());
}

TEST(Topology, AddsUp) {
  const Facts facts = host_facts();
  const auto count = [&](const char* name) { return number_of(facts, name).value(); };
  EXPECT_GE(count("cores"), count("sockets"));
  EXPECT_GE(count("hardware_threads"), count("cores"));
  EXPECT_GE(count("usable_cores"), 1);
  EXPECT_LE(count("usable_cores"), count("cores"));
  EXPECT_LE(count("usable_hardware_threads"), count("hardware_threads"));
  for (const nlohmann::json& cache : facts.at("caches").value) EXPECT_GT(cache.at("bytes"), 0);
}

TEST(Environment, HasThreeDisjointSets) {
  const Environment environment = capture_environment({"Open MPI v4.1.4", "", ""});
  EXPECT_TRUE(number_of(environment.key, "cores"));
  EXPECT_EQ(text_of(environment.treatment, "mpi"), "Open MPI v4.1.4");
  for (const auto& [name, fact] : environment.key) {
    EXPECT_FALSE(environment.treatment.contains(name)) << name;
    EXPECT_FALSE(environment.observation.contains(name)) << name;
  }
  for (const auto& [name, fact] : environment.treatment) {
    EXPECT_FALSE(environment.observation.contains(name)) << name;
  }
  const nlohmann::json json = json_of(environment);
  EXPECT_TRUE(json["treatment"]["torch"].is_null());
  EXPECT_EQ(json["treatment"]["absent"]["torch"], "this build has no LibTorch");
  EXPECT_EQ(json_of(environment_of(json)), json);
}

TEST(Environment, SaysWhyWhateverIsNull) {
  const TemporaryFolder nothing;
  const Environment environment = capture_environment({}, nothing.path());
  for (const Facts* set : {&environment.key, &environment.treatment, &environment.observation}) {
    for (const auto& [name, fact] : *set) {
      EXPECT_EQ(fact.value.is_null(), !fact.absent_because.empty()) << name;
      EXPECT_NE(fact.value, "") << name;
    }
  }
}

TEST(Environment, KeepsSecretsOut) {
  ::setenv("SCALEBENCH_CANARY", "canary-one", 1);
  ::setenv("NCCL_API_KEY", "canary-two", 1);
  ::setenv("NCCL_TEST_MARK", "kept", 1);
  const std::string text = json_of(capture_environment({})).dump();
  EXPECT_THAT(text, AllOf(Not(HasSubstr("canary")), HasSubstr("NCCL_TEST_MARK")));
  for (const char* name : {"SCALEBENCH_CANARY", "NCCL_API_KEY", "NCCL_TEST_MARK"}) ::unsetenv(name);
}

Environment quiet_machine() {
  Environment quiet;
  quiet.key = {{"memory_gib", Fact::of(64)}, {"virtualization", Fact::of("none")}};
  quiet.treatment = {{"optimized", Fact::of(true)},
                     {"sanitized", Fact::of(false)},
                     {"governor", Fact::of("performance")},
                     {"turbo", Fact::of(false)},
                     {"transparent_huge_pages", Fact::of("madvise")},
                     {"dirty", Fact::of(false)}};
  quiet.observation = {{"usable_cores", Fact::of(8)},     {"cpu_quota_cores", Fact::of("none")},
                       {"load_average", Fact::of(0.3)},   {"swap_used_gib", Fact::of(0.0)},
                       {"clock_source", Fact::of("tsc")}, {"available_memory_gib", Fact::of(60)}};
  return quiet;
}

/// Texts of all warnings; each must have a remedy and be one line.
std::string said(const Environment& environment, int cores_asked = 0) {
  std::string all;
  for (const Warning& warning : warnings(environment, cores_asked)) {
    EXPECT_NE(warning.remedy, "");
    for (const std::string& line : {warning.text, warning.remedy}) {
      EXPECT_LE(line.size(), 88U) << line;
      EXPECT_EQ(line.find('\n'), std::string::npos);
    }
    all += warning.text + "\n";
  }
  return all;
}

TEST(Warnings, AreNoneOnAQuietMachineOrAnUnknownOne) {
  EXPECT_EQ(said(quiet_machine(), 8), "");
  EXPECT_EQ(said(Environment{}, 8), "");
}

TEST(Warnings, NameWhoUsesACardAlready) {
  Environment environment = quiet_machine();
  setenv("SCALEBENCH_FAKE_NVML_TROUBLE", "busy", 1);
  add_card_troubles(environment, Nvml(SCALEBENCH_FAKE_NVML));
  EXPECT_EQ(said(environment), "") << "CUDA does not see that card";
  environment.observation["gpu_uuids"] =
      Fact::of(nlohmann::json::array({"GPU-d", "GPU-c0000000-0000-0000-0000-000000000000"}));
  add_card_troubles(environment, Nvml(SCALEBENCH_FAKE_NVML));
  unsetenv("SCALEBENCH_FAKE_NVML_TROUBLE");
  EXPECT_EQ(said(environment), "GPU 1 is in use already, by process 4711 and 1 more\n");
  EXPECT_EQ(said(environment_of(json_of(environment))), said(environment))
      << "as a manifest keeps it";
  add_card_troubles(environment, Nvml(SCALEBENCH_FAKE_NVML));
  EXPECT_EQ(said(environment), "");
}

TEST(Warnings, ForgetALoadThatHasEnded) {
  Environment environment = quiet_machine();
  environment.observation["load_average"] = Fact::of(7.5);
  EXPECT_THAT(said(environment), HasSubstr("7.50 on 8 cores"));
  environment.observation["busy_share"] = Fact::of(0.6);
  EXPECT_THAT(said(environment), HasSubstr("7.50 on 8 cores"));
  environment.observation["busy_share"] = Fact::of(0.02);
  EXPECT_EQ(said(environment), "");
}

TEST(Environment, LooksAtHowBusyItIsWhereTheLoadIsHigh) {
  const TemporaryFolder root;
  const auto busy_with = [&](const char* load) {
    root.write("proc/loadavg", fmt::format("{} 0.5 0.2 3/400 999\n", load));
    root.write("proc/stat", "cpu 100 0 100 800 0 0 0 0\n");
    return capture_environment({}, root.path()).observation.at("busy_share");
  };
  EXPECT_EQ(busy_with("0").absent_because, "the load average is low");
  EXPECT_EQ(busy_with("10000").absent_because, "/proc/stat does not say") << "it stands still";
  const Fact here = capture_environment({}).observation.at("busy_share");
  if (here.value.is_null()) return;
  EXPECT_GE(here.value.get<double>(), 0);
  EXPECT_LE(here.value.get<double>(), 1);
}

TEST(Warnings, NameABlasThatDoesNotKnowTheProcessor) {
  const auto with = [](const char* vectors, const char* kernels, const char* told) {
    Environment environment = quiet_machine();
    environment.observation["vectors"] = Fact::of(vectors);
    environment.treatment["blas_kernels"] = Fact::of(kernels);
    if (*told != '\0') {
      environment.treatment["variables"] = Fact::of({{"OPENBLAS_CORETYPE", told}});
    }
    std::string all;
    for (const Warning& one : warnings(environment)) all += one.text + ": " + one.remedy + "\n";
    EXPECT_EQ(said(environment).empty(), all.empty());
    return all;
  };
  EXPECT_THAT(with("AVX-512", "Prescott", ""),
              AllOf(HasSubstr("takes Prescott's kernels, without AVX-512"),
                    HasSubstr("export OPENBLAS_CORETYPE=SkylakeX")));
  EXPECT_THAT(with("AVX2", "Nehalem", ""), HasSubstr("OPENBLAS_CORETYPE=Haswell"));
  EXPECT_EQ(with("AVX-512", "SkylakeX", ""), "");
  EXPECT_EQ(with("AVX-512", "SkylakeX", "SkylakeX"), "") << "as it was told to do";
  EXPECT_EQ(with("AVX-512", "Cooperlake", ""), "");
  EXPECT_EQ(with("SSE", "Nehalem", ""), "");
  EXPECT_THAT(with("AVX-512", "Haswell", "Haswell"), HasSubstr("unset OPENBLAS_CORETYPE"));
}

TEST(Environment, SaysWhichKernelsBlasTakes) {
  const Environment environment = capture_environment({});
  const HostBlas blas = host_blas();
  if (blas.name.empty()) GTEST_SKIP() << "this BLAS cannot be asked";
  EXPECT_THAT(blas.name, testing::MatchesRegex("OpenBLAS [0-9.]+(dev)?"));
  EXPECT_EQ(environment.treatment.at("blas").value, blas.name);
  EXPECT_EQ(environment.treatment.at("blas_kernels").value, blas.kernels);
  EXPECT_NE(blas.kernels, "");
}

TEST(Warnings, NameWhatSpoilsNumbers) {
  const auto with = [](Facts Environment::*set, const char* name, nlohmann::json value) {
    Environment environment = quiet_machine();
    (environment.*set)[name] = Fact::of(std::move(value));
    return said(environment);
  };
  const auto treatment = &Environment::treatment;
  const auto observation = &Environment::observation;
  EXPECT_THAT(with(treatment, "governor", "powersave"), HasSubstr("powersave"));
  EXPECT_THAT(with(treatment, "turbo", true), HasSubstr("turbo"));
  EXPECT_THAT(with(treatment, "optimized", false), HasSubstr("not optimized"));
  EXPECT_THAT(with(treatment, "sanitized", true), HasSubstr("sanitizer"));
  EXPECT_THAT(with(treatment, "variables", {{"OPENBLAS_CORETYPE", "Haswell"}}),
              HasSubstr("OPENBLAS_CORETYPE=Haswell"));
  EXPECT_EQ(with(treatment, "blas_kernels", "Prescott"), "")
      << "which vectors there are is unknown";
  EXPECT_THAT(with(treatment, "dirty", true), HasSubstr("changed files"));
  EXPECT_THAT(with(treatment, "transparent_huge_pages", "never"), HasSubstr("huge pages"));
  EXPECT_THAT(with(observation, "load_average", 4.1), HasSubstr("4.10 on 8 cores"));
  EXPECT_THAT(with(observation, "cpu_quota_cores", 1.5), HasSubstr("1.5 of 8 cores"));
  EXPECT_THAT(with(observation, "swap_used_gib", 0.4), HasSubstr("swapped"));
  EXPECT_THAT(with(observation, "available_memory_gib", 2.0), HasSubstr("2.0 of 64 GiB"));
  EXPECT_THAT(with(observation, "clock_source", "hpet"), HasSubstr("hpet"));
  EXPECT_THAT(with(&Environment::key, "virtualization", "kvm"), HasSubstr("kvm"));
  EXPECT_THAT(said(quiet_machine(), 16), HasSubstr("16 cores are asked for and 8"));
}

}  // namespace

}  // namespace scalebench
