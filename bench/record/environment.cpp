// SPDX-License-Identifier: Apache-2.0
#include "bench/record/environment.hpp"

#include <gnu/libc-version.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bench/record/build_info.hpp"
#include "bench/record/cpu_quota.hpp"
#include "bench/record/emulation.hpp"
#include "bench/record/host_files.hpp"
#include "bench/record/host_topology.hpp"
#include "bench/record/variables.hpp"
#include "bench/record/virtualization.hpp"
#include "kernels/device.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

Fact version_fact(const std::string& version, std::string_view library) {
  if (version.empty()) return Fact::absent(fmt::format("this build has no {}", library));
  return Fact::of(version);
}

void add_topology(Environment& environment) {
  constexpr const char* kKeyNames[] = {"sockets", "cores", "hardware_threads", "numa_nodes",
                                       "caches"};
  constexpr const char* kUsableNames[] = {"usable_cores", "usable_hardware_threads"};
  HostTopology host;
  try {
    host = host_topology();
  } catch (const Error& error) {
    for (const char* name : kKeyNames) environment.key[name] = Fact::absent(error.what());
    for (const char* name : kUsableNames)
      environment.observation[name] = Fact::absent(error.what());
    return;
  }
  const auto counted = [](int count) {
    return count > 0 ? Fact::of(count) : Fact::absent("hwloc counts none");
  };
  environment.key["sockets"] = counted(host.sockets);
  environment.key["cores"] = counted(host.cores);
  environment.key["hardware_threads"] = counted(host.hardware_threads);
  environment.key["numa_nodes"] = counted(host.numa_nodes);
  environment.observation["usable_cores"] = counted(host.usable_cores);
  environment.observation["usable_hardware_threads"] = counted(host.usable_hardware_threads);
  nlohmann::json caches = nlohmann::json::array();
  for (const HostTopology::Cache& cache : host.caches) {
    caches.push_back({{"level", cache.level},
                      {"bytes", cache.bytes},
                      {"count", cache.count},
                      {"hardware_threads", cache.hardware_threads}});
  }
  environment.key["caches"] =
      caches.empty() ? Fact::absent("hwloc finds no caches") : Fact::of(caches);
}

void add_devices(Environment& environment) {
  const int count = device_count();
  const auto listed = [count](std::string (*property)(int)) {
    if (count == 0) return Fact::absent(why_no_device());
    nlohmann::json list = nlohmann::json::array();
    for (int i = 0; i < count; ++i) list.push_back(property(i));
    return Fact::of(list);
  };
  environment.key["gpus"] = listed(device_name);
  environment.observation["gpu_uuids"] = listed(device_uuid);
  environment.treatment["cuda"] = version_fact(cuda_build_version(), "CUDA");
  const std::string driver = cuda_driver_version();
  environment.treatment["cuda_driver"] =
      driver.empty() ? Fact::absent("no CUDA driver") : Fact::of(driver);
}

void add_build(Facts& treatment) {
  const BuildInfo build = build_info();
  constexpr const char* kNoGit = "git knew no commit of the sources when this was built";
  treatment["version"] = Fact::of(build.version);
  treatment["commit"] = Fact::of(build.commit, kNoGit);
  treatment["dirty"] = Fact::of(build.dirty, kNoGit);
  treatment["compiler"] = Fact::of(build.compiler);
  treatment["flags"] = Fact::of(build.flags);
  treatment["build_type"] = Fact::of(build.build_type);
  treatment["optimized"] = Fact::of(build.optimized);
  treatment["sanitized"] = Fact::of(build.sanitized);
}

Fact architecture() {
  utsname name{};
  if (::uname(&name) != 0) return Fact::absent("uname fails");
  return Fact::of(name.machine);
}

}  // namespace

Environment capture_environment(const LinkedLibraries& libraries,
                                const std::filesystem::path& root) {
  const HostFiles host(root);
  Environment environment;
  add_topology(environment);
  add_devices(environment);

  Facts& key = environment.key;
  key["architecture"] = architecture();
  key["cpu_model"] = host.cpu_model();
  key["memory_gib"] = host.memory_gib();
  key["virtualization"] = virtualization();

  Facts& treatment = environment.treatment;
  add_build(treatment);
  treatment["kernel"] = host.kernel();
  treatment["distribution"] = host.distribution();
  treatment["container"] = host.container();
  treatment["microcode"] = host.microcode();
  treatment["glibc"] = Fact::of(::gnu_get_libc_version());
  treatment["mpi"] = version_fact(libraries.mpi, "MPI");
  treatment["torch"] = version_fact(libraries.torch, "LibTorch");
  treatment["nccl"] = version_fact(libraries.nccl, "NCCL");
  const std::string emulation = declared_emulation();
  treatment["emulation"] =
      emulation.empty() ? Fact::absent("SCALEBENCH_EMULATED is not set") : Fact::of(emulation);
  treatment["variables"] = Fact::of(recorded_variables(::environ));
  treatment["governor"] = host.governor();
  treatment["turbo"] = host.turbo();
  treatment["transparent_huge_pages"] = host.transparent_huge_pages();
  treatment["address_randomization"] = host.address_randomization();
  treatment["isolated_cpus"] = host.isolated_cpus();

  Facts& observation = environment.observation;
  observation["load_average"] = host.load_average();
  observation["running_processes"] = host.running_processes();
  observation["available_memory_gib"] = host.available_memory_gib();
  observation["swap_used_gib"] = host.swap_used_gib();
  observation["clock_source"] = host.clock_source();
  observation["cpu_quota_cores"] = cpu_quota(root);
  observation["allowed_cpus"] = host.allowed_cpus();
  observation["uptime_seconds"] = host.uptime_seconds();
  return environment;
}

nlohmann::json json_of(const Environment& environment) {
  return {{"key", json_of(environment.key)},
          {"treatment", json_of(environment.treatment)},
          {"observation", json_of(environment.observation)}};
}

Environment environment_of(const nlohmann::json& json) {
  if (!json.is_object()) fail<UsageError>("the environment is not a JSON object");
  const auto set = [&json](const char* name) {
    return facts_of(json.value(name, nlohmann::json::object()));
  };
  return {set("key"), set("treatment"), set("observation")};
}

}  // namespace scalebench
