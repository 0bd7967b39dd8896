// SPDX-License-Identifier: Apache-2.0
#include "bench/machine/environment.hpp"

#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <utf8cpp/utf8.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdlib>

#include "bench/machine/host_files.hpp"
#include "commit.inc"
#include "kernels/device.hpp"
#include "kernels/error.hpp"

namespace scalebench {

BuildInfo build_info() {
  BuildInfo info;
  info.version = SCALEBENCH_VERSION;
  const std::string commit = SCALEBENCH_COMMIT;
  if (!commit.empty()) info.commit = commit;
  if (SCALEBENCH_DIRTY >= 0) info.dirty = SCALEBENCH_DIRTY == 1;
  info.compiler = SCALEBENCH_COMPILER;
  info.flags = SCALEBENCH_FLAGS;
  info.build_type = SCALEBENCH_BUILD_TYPE;
#ifdef __OPTIMIZE__
  info.optimized = true;
#endif
  info.sanitized = std::string(SCALEBENCH_SANITIZERS) != "";
  return info;
}

std::string declared_emulation() {
  const char* const text = std::getenv(kEmulatedVariable);
  return text == nullptr ? "" : valid_utf8(text);
}

std::string emulation_line() {
  const std::string what = declared_emulation();
  return what.empty() ? "" : fmt::format("# EMULATED: {}\n", what);
}

std::string timed_origin(bool crowded) {
  return crowded || !declared_emulation().empty() ? "emulated" : "measured";
}

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

std::string valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  // One by one: utf8::replace_invalid() makes one mark of a whole broken sequence.
  for (auto from = text.begin(); from != text.end();) {
    const auto bad = utf8::find_invalid(from, text.end());
    valid.append(from, bad);
    if (bad != text.end()) valid += "\xef\xbf\xbd";
    from = bad == text.end() ? bad : bad + 1;
  }
  return valid;
}

namespace {

constexpr std::array<std::string_view, 10> kPrefixes{
    "NCCL_", "OMPI_MCA_", "PMIX_MCA_", "UCX_",  "FI_",
    "OMP_",  "OPENBLAS_", "MKL_",      "GOMP_", "CUDA_VISIBLE_DEVICES"};

constexpr std::array<std::string_view, 9> kSecrets{
    "TOKEN", "SECRET", "PASSWORD", "PASSWD", "KEY", "CREDENTIAL", "AUTH", "COOKIE", "TRANSPORTS"};

// Addresses, jobs and folders of one start; "transports" above is Open MPI's name for a shared key.
constexpr std::array<std::string_view, 7> kLaunchers{
    "OMPI_MCA_orte_",        "OMPI_MCA_prte_", "OMPI_MCA_plm", "OMPI_MCA_ess_",
    "OMPI_MCA_initial_wdir", "OMPI_MCA_pmix_", "NCCL_COMM_ID"};

}  // namespace

bool is_recorded_variable(std::string_view name) {
  const auto begins = [name](std::string_view prefix) { return name.starts_with(prefix); };
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const auto within = [&](std::string_view word) { return upper.find(word) != std::string::npos; };
  return std::any_of(kPrefixes.begin(), kPrefixes.end(), begins) &&
         std::none_of(kLaunchers.begin(), kLaunchers.end(), begins) &&
         std::none_of(kSecrets.begin(), kSecrets.end(), within);
}

std::map<std::string, std::string> recorded_variables(const char* const* environment) {
  std::map<std::string, std::string> recorded;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = entry.substr(0, equals);
    if (is_recorded_variable(name)) recorded.emplace(name, valid_utf8(entry.substr(equals + 1)));
  }
  return recorded;
}

}  // namespace scalebench
