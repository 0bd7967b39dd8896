// SPDX-License-Identifier: Apache-2.0
#include "bench/machine/warnings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace scalebench {
namespace {

using MaybeWarning = std::optional<Warning>;

MaybeWarning about_build(const Facts& treatment) {
  const std::string type = text_of(treatment, "build_type").value_or("unknown");
  if (flag_of(treatment, "sanitized").value_or(false)) {
    return Warning{"this binary is built with a sanitizer: its times mean nothing",
                   "build with: cmake --preset release"};
  }
  if (!flag_of(treatment, "optimized").value_or(true)) {
    return Warning{fmt::format("this binary is not optimized (build type {})", type),
                   "build with: cmake --preset release"};
  }
  return std::nullopt;
}

MaybeWarning about_emulation(const Facts& treatment) {
  const auto what = text_of(treatment, "emulation");
  if (!what) return std::nullopt;
  return Warning{fmt::format("this is emulated: {}", *what),
                 "compare its rows with one another; measure on real hosts before you believe one"};
}

MaybeWarning about_cores(const Facts& observation, int cores_asked) {
  const auto usable = number_of(observation, "usable_cores");
  if (!usable || cores_asked <= *usable) return std::nullopt;
  return Warning{fmt::format("{} cores are asked for and {} may be used: ranks will share cores",
                             cores_asked, *usable),
                 "use fewer ranks or threads; rows that share a core are marked emulated"};
}

MaybeWarning about_quota(const Facts& observation) {
  const auto usable = number_of(observation, "usable_cores");
  const auto quota = number_of(observation, "cpu_quota_cores");
  if (!usable || !quota || *quota >= *usable) return std::nullopt;
  return Warning{
      fmt::format("a control group limits this process to {:.3g} of {} cores", *quota, *usable),
      "raise the container's CPU limit, or use no more threads than that"};
}

MaybeWarning about_load(const Facts& observation) {
  const auto usable = number_of(observation, "usable_cores");
  const auto load = number_of(observation, "load_average");
  if (!usable || !load || *load <= 0.5 * *usable) return std::nullopt;
  return Warning{
      fmt::format("load average {:.2f} on {} cores: something else is running", *load, *usable),
      "stop other work (see top), or wait until the load is below 0.5 per core"};
}

MaybeWarning about_swap(const Facts& observation) {
  const auto used = number_of(observation, "swap_used_gib");
  if (!used || *used <= 0) return std::nullopt;
  return Warning{fmt::format("{:.1f} GiB are swapped out: memory was short", *used),
                 "free memory, then: sudo swapoff -a && sudo swapon -a"};
}

MaybeWarning about_memory(const Environment& environment) {
  const auto installed = number_of(environment.key, "memory_gib");
  const auto available = number_of(environment.observation, "available_memory_gib");
  if (!installed || !available || *available >= 0.1 * *installed) return std::nullopt;
  return Warning{fmt::format("{:.1f} of {} GiB of memory are available", *available, *installed),
                 "stop other programs, or use smaller sizes"};
}

MaybeWarning about_governor(const Facts& treatment) {
  const auto governor = text_of(treatment, "governor");
  if (!governor || *governor == "performance") return std::nullopt;
  return Warning{fmt::format("the CPU frequency governor is {}: clocks follow the load", *governor),
                 "sudo cpupower frequency-set -g performance"};
}

MaybeWarning about_turbo(const Facts& treatment) {
  if (!flag_of(treatment, "turbo").value_or(false)) return std::nullopt;
  return Warning{"turbo is on: one busy core is clocked higher than all, so 1 rank looks too good",
                 "turn it off (cpufreq/boost = 0 or intel_pstate/no_turbo = 1)"};
}

MaybeWarning about_virtualization(const Facts& key) {
  const auto kind = text_of(key, "virtualization");
  if (!kind || *kind == "none") return std::nullopt;
  return Warning{fmt::format("this is a virtual machine ({}): neighbours may take time", *kind),
                 "use a dedicated or bare-metal machine, or more launches"};
}

MaybeWarning about_clock(const Facts& observation) {
  constexpr std::array<std::string_view, 4> kSlow{"hpet", "acpi_pm", "jiffies", "xen"};
  const auto source = text_of(observation, "clock_source");
  if (!source || std::find(kSlow.begin(), kSlow.end(), *source) == kSlow.end()) return std::nullopt;
  return Warning{
      fmt::format("the clock source is {}: reading the time takes microseconds", *source),
      "boot with clocksource=tsc where the processor has a stable TSC"};
}

MaybeWarning about_huge_pages(const Facts& treatment) {
  if (text_of(treatment, "transparent_huge_pages") != "never") return std::nullopt;
  return Warning{"transparent huge pages are off: large buffers pay for TLB misses",
                 "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"};
}

/// One variable can cost the training benchmarks a third of their speed: a Zen 5 core told to be a
/// Haswell leaves half of its vector width unused.
MaybeWarning about_blas_kernels(const Facts& treatment) {
  const auto variables = treatment.find("variables");
  if (variables == treatment.end()) return std::nullopt;
  const auto& found = variables->second.value;
  if (!found.is_object() || !found.contains("OPENBLAS_CORETYPE")) return std::nullopt;
  return Warning{
      fmt::format("OPENBLAS_CORETYPE={} makes BLAS use that processor's kernels, whatever "
                  "this one is",
                  found["OPENBLAS_CORETYPE"].get<std::string>()),
      "unset OPENBLAS_CORETYPE"};
}

MaybeWarning about_commit(const Facts& treatment) {
  if (!flag_of(treatment, "dirty").value_or(false)) return std::nullopt;
  return Warning{"built from changed files: no commit tells what was measured",
                 "commit or stash the changes and build again"};
}

}  // namespace

std::vector<Warning> warnings(const Environment& environment, int cores_asked) {
  const Facts& treatment = environment.treatment;
  const Facts& observation = environment.observation;
  std::vector<Warning> found;
  for (MaybeWarning& warning : std::array{
           about_build(treatment), about_emulation(treatment),
           about_cores(observation, cores_asked), about_quota(observation), about_load(observation),
           about_swap(observation), about_memory(environment), about_governor(treatment),
           about_turbo(treatment), about_virtualization(environment.key), about_clock(observation),
           about_huge_pages(treatment), about_blas_kernels(treatment), about_commit(treatment)}) {
    if (warning) found.push_back(std::move(*warning));
  }
  return found;
}

}  // namespace scalebench
