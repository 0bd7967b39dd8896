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
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <thread>

#include "bench/machine/environment_variables.hpp"
#include "bench/machine/host_files.hpp"
#include "bench/machine/host_load.hpp"
#include "commit.inc"
#include "kernels/device.hpp"
#include "kernels/error.hpp"
#include "kernels/gemm.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {

std::string BuildInfo::name() const {
  constexpr std::size_t kDigits = 12;
  return commit.value_or("an unknown commit").substr(0, commit ? kDigits : std::string::npos) +
         (dirty.value_or(false) ? " (modified)" : "");
}

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

double emulated_burst_bytes() {
  const char* const text = std::getenv(kBurstVariable);
  const double bytes = text == nullptr ? 0.0 : read_number<double>(text).value_or(0.0);
  return bytes > 0 && !declared_emulation().empty() ? bytes : 0.0;
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

/// More of each usable core says that something else runs.
constexpr double kHighLoad = 0.5, kBusy = 0.25;

/// The share of all cores' time that was busy just now. Looked at where the load average is high,
/// which remembers for a minute what has ended, as a build.
Fact busy_share(const Facts& observation, const std::filesystem::path& root) {
  const auto load = number_of(observation, "load_average");
  const auto usable = number_of(observation, "usable_cores");
  if (!load || !usable || *load <= kHighLoad * *usable) {
    return Fact::absent("the load average is low");
  }
  const HostLoadReader reader(root);
  const CoreTime before = reader.read().cores;
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const CoreTime after = reader.read().cores;
  const double total = after.total - before.total;
  if (!(total > 0)) return Fact::absent("/proc/stat does not say");
  return Fact::of((after.busy - before.busy) / total);
}

Fact architecture() {
  utsname name{};
  if (::uname(&name) != 0) return Fact::absent("uname fails");
  return Fact::of(name.machine);
}

}  // namespace

Environment capture_environment(const LinkedLibraries& libraries,
                                const std::filesystem::path& root) {
  Environment environment;
  Facts host = host_facts(root);
  const auto take = [&host](Facts& into, std::initializer_list<const char*> names) {
    for (const char* const name : names) into.insert(host.extract(host.find(name)));
  };
  take(environment.key, {"sockets", "cores", "hardware_threads", "numa_nodes", "caches",
                         "cpu_model", "memory_gib", "virtualization"});
  take(environment.observation,
       {"usable_cores", "usable_hardware_threads", "load_average", "available_memory_gib",
        "swap_used_gib", "clock_source", "cpu_quota_cores", "allowed_cpus", "vectors"});
  environment.observation["busy_share"] = busy_share(environment.observation, root);
  environment.treatment = std::move(host);
  environment.key["architecture"] = architecture();
  add_devices(environment);

  Facts& treatment = environment.treatment;
  add_build(treatment);
  treatment["glibc"] = Fact::of(::gnu_get_libc_version());
  treatment["mpi"] = version_fact(libraries.mpi, "MPI");
  treatment["torch"] = version_fact(libraries.torch, "LibTorch");
  treatment["nccl"] = version_fact(libraries.nccl, "NCCL");
  const HostBlas blas = host_blas();
  constexpr const char* kUnasked = "this BLAS cannot be asked";
  treatment["blas"] = blas.name.empty() ? Fact::absent(kUnasked) : Fact::of(blas.name);
  treatment["blas_kernels"] =
      blas.kernels.empty() ? Fact::absent(kUnasked) : Fact::of(blas.kernels);
  const std::string emulation = declared_emulation();
  treatment["emulation"] =
      emulation.empty() ? Fact::absent("SCALEBENCH_EMULATED is not set") : Fact::of(emulation);
  treatment["variables"] = Fact::of(recorded_variables(::environ));
  return environment;
}

void add_card_troubles(Environment& environment, const Nvml& nvml) {
  nlohmann::json troubles = nlohmann::json::array();
  for (const CardTrouble& one : nvml.troubles(texts_in(environment.observation, "gpu_uuids"))) {
    troubles.push_back({{"text", one.text}, {"remedy", one.remedy}});
  }
  environment.observation.erase("gpu_troubles");
  if (!troubles.empty()) environment.observation["gpu_troubles"] = Fact::of(std::move(troubles));
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
  for (const auto& [name, value] : environment_variables(environment)) {
    if (is_recorded_variable(name)) recorded.emplace(name, valid_utf8(value));
  }
  return recorded;
}

namespace {

class Warnings {
 public:
  explicit Warnings(const Environment& environment)
      : key_(environment.key),
        treatment_(environment.treatment),
        observation_(environment.observation) {}

  void look_at_binary() {
    if (flag_of(treatment_, "sanitized").value_or(false)) {
      add("this binary is built with a sanitizer: its times mean nothing", kRelease);
    } else if (!flag_of(treatment_, "optimized").value_or(true)) {
      add(fmt::format("this binary is not optimized (build type {})",
                      text_of(treatment_, "build_type").value_or("unknown")),
          kRelease);
    }
  }

  void look_at_cores(int asked) {
    if (const auto what = text_of(treatment_, "emulation")) {
      add(fmt::format("this is emulated: {}", *what),
          "compare its rows with one another; measure on real hosts before you believe one");
    }
    const auto usable = number_of(observation_, "usable_cores");
    if (!usable) return;
    if (asked > *usable) {
      add(fmt::format("{} cores are asked for and {} may be used: ranks will share cores", asked,
                      *usable),
          "use fewer ranks or threads; rows that share a core are marked emulated");
    }
    const auto quota = number_of(observation_, "cpu_quota_cores");
    if (quota && *quota < *usable) {
      add(fmt::format("a control group limits this process to {:.3g} of {} cores", *quota, *usable),
          "raise the container's CPU limit, or use no more threads than that");
    }
    const auto load = number_of(observation_, "load_average");
    const auto busy = number_of(observation_, "busy_share");
    if (load && *load > kHighLoad * *usable && busy.value_or(1) > kBusy) {
      add(fmt::format("load average {:.2f} on {} cores: something else is running", *load, *usable),
          "stop other work (see top), or wait until the load is below 0.5 per core");
    }
  }

  void look_at_memory() {
    const auto swapped = number_of(observation_, "swap_used_gib");
    if (swapped && *swapped > 0) {
      add(fmt::format("{:.1f} GiB are swapped out: memory was short", *swapped),
          "free memory, then: sudo swapoff -a && sudo swapon -a");
    }
    const auto installed = number_of(key_, "memory_gib");
    const auto available = number_of(observation_, "available_memory_gib");
    if (installed && available && *available < 0.1 * *installed) {
      add(fmt::format("{:.1f} of {} GiB of memory are available", *available, *installed),
          "stop other programs, raise the container's memory limit, or use smaller sizes");
    }
  }

  void look_at_clocks() {
    const auto governor = text_of(treatment_, "governor");
    if (governor && *governor != "performance") {
      add(fmt::format("the CPU frequency governor is {}: clocks follow the load", *governor),
          "sudo cpupower frequency-set -g performance");
    }
    if (flag_of(treatment_, "turbo").value_or(false)) {
      add("turbo is on: one busy core is clocked higher than all, so 1 rank looks too good",
          "turn it off (cpufreq/boost = 0 or intel_pstate/no_turbo = 1)");
    }
    const auto kind = text_of(key_, "virtualization");
    if (kind && *kind != "none") {
      add(fmt::format("this is a virtual machine ({}): neighbours may take time", *kind),
          "use a dedicated or bare-metal machine, or more launches");
    }
    constexpr std::array<std::string_view, 4> kSlow{"hpet", "acpi_pm", "jiffies", "xen"};
    const auto source = text_of(observation_, "clock_source");
    if (source && std::ranges::find(kSlow, *source) != kSlow.end()) {
      add(fmt::format("the clock source is {}: reading the time takes microseconds", *source),
          "boot with clocksource=tsc where the processor has a stable TSC");
    }
  }

  void look_at_cards() {
    const auto troubles = observation_.find("gpu_troubles");
    if (troubles == observation_.end() || !troubles->second.value.is_array()) return;
    for (const nlohmann::json& one : troubles->second.value) {
      add(one.value("text", ""), one.value("remedy", ""));
    }
  }

  void look_at_settings() {
    if (text_of(treatment_, "transparent_huge_pages") == "never") {
      add("transparent huge pages are off: large buffers pay for TLB misses",
          "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled");
    }
    look_at_blas();
    if (flag_of(treatment_, "dirty").value_or(false)) {
      add("built from changed files: no commit tells what was measured",
          "commit or stash the changes and build again");
    }
  }

  std::vector<Warning> found;

 private:
  /// Which kernels BLAS takes decides what a training computes with. An OpenBLAS before 0.3.25
  /// takes those of the oldest processor on one that is newer than itself (its issue 4267); told to
  /// be a Haswell, a Zen 5 leaves half of its vector width unused.
  void look_at_blas() {
    constexpr std::array<std::string_view, 12> kWithoutAvx{
        "Prescott", "Katmai",  "Coppermine",   "Northwood", "Banias",    "Core2",
        "Penryn",   "Nehalem", "Opteron_SSE3", "Opteron",   "Barcelona", "Atom"};
    const std::string vectors = text_of(observation_, "vectors").value_or("");
    const std::string kernels = text_of(treatment_, "blas_kernels").value_or("");
    const std::string fitting = vectors == "AVX-512" ? "SkylakeX"
                                : vectors == "AVX2"  ? "Haswell"
                                                     : "";
    if (!fitting.empty() && std::ranges::find(kWithoutAvx, kernels) != kWithoutAvx.end()) {
      add(fmt::format("BLAS knows no processor like this and takes {}'s kernels, without {}",
                      kernels, vectors),
          fmt::format("export OPENBLAS_CORETYPE={}, or install OpenBLAS 0.3.25 or newer", fitting));
    }
    const auto variables = treatment_.find("variables");
    if (variables == treatment_.end() || !variables->second.value.contains("OPENBLAS_CORETYPE")) {
      return;
    }
    const auto told = variables->second.value["OPENBLAS_CORETYPE"].get<std::string>();
    if (told == fitting) return;
    add(fmt::format("OPENBLAS_CORETYPE={} makes BLAS use that processor's kernels, whatever "
                    "this one is",
                    told),
        "unset OPENBLAS_CORETYPE");
  }

  static constexpr const char* kRelease = "build with: cmake --preset release";

  void add(const std::string& text, const std::string& remedy) { found.push_back({text, remedy}); }

  const Facts& key_;
  const Facts& treatment_;
  const Facts& observation_;
};

}  // namespace

std::vector<Warning> warnings(const Environment& environment, int cores_asked) {
  Warnings all(environment);
  all.look_at_binary();
  all.look_at_cards();
  all.look_at_cores(cores_asked);
  all.look_at_memory();
  all.look_at_clocks();
  all.look_at_settings();
  return std::move(all.found);
}

}  // namespace scalebench
