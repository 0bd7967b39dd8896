// SPDX-License-Identifier: Apache-2.0
// The machine and the software under a run, in three disjoint sets: what must be equal to compare
// at all (key), what may have caused a change (treatment), and what is noted only (observation).
// Software is a treatment on purpose: as part of the key, an upgrade would hide its own regression.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/machine/host_files.hpp"
#include "bench/machine/host_load.hpp"
#include "bench/machine/identity.hpp"

namespace scalebench {

// What this binary was built from and how, as known when it was built.

struct BuildInfo {
  std::string version;                // "0.1.0"
  std::optional<std::string> commit;  // 40 hex digits; unknown where git knew none
  std::optional<bool> dirty;          // tracked files differed from the commit
  std::string compiler;               // "GNU 12.2.0"
  std::string flags;                  // "-O3 -DNDEBUG"
  std::string build_type;             // "Release"
  bool optimized = false;
  bool sanitized = false;

  /// "3f2a90b1c4d5", "3f2a90b1c4d5 (modified)" or "an unknown commit": what people know it by.
  std::string name() const;
};

BuildInfo build_info();

// Whether what is timed here is what it seems to be: ranks may share a core, and hosts may be
// namespaces of one machine, which whoever made them declares in SCALEBENCH_EMULATED.

/// What is emulated, in words; ranks inherit it from whoever starts them.
inline constexpr const char* kEmulatedVariable = "SCALEBENCH_EMULATED";
inline constexpr const char* kBurstVariable = "SCALEBENCH_EMULATED_BURST";

/// What SCALEBENCH_EMULATED declares, such as "4 hosts in network namespaces, 1gbit"; empty:
/// nothing.
std::string declared_emulation();

/// How many bytes at a time pass an emulated link faster than its rate, as
/// SCALEBENCH_EMULATED_BURST declares; 0: nothing is declared.
double emulated_burst_bytes();

/// What is emulated as a line of comment above a table; empty where nothing is declared.
std::string emulation_line();

/// The origin of what is timed here: "emulated" where something is declared, or where ranks are
/// `crowded` on cores or devices; else "measured".
std::string timed_origin(bool crowded);

struct Environment {
  Facts key;
  Facts treatment;
  Facts observation;
};

/// Looks at this machine and process; a probe that finds nothing leaves a null with its reason.
/// Takes some milliseconds, and 200 more where the load average is high. `root` is another folder
/// than / in tests only.
Environment capture_environment(const LinkedLibraries& libraries,
                                const std::filesystem::path& root = "/");

/// As the observation `gpu_troubles`, where there are any, for warnings(): what is wrong with cards
/// or their driver, other processes on them among it. Of the cards that CUDA sees, as the
/// observation `gpu_uuids` has them, and by its numbers.
void add_card_troubles(Environment& environment, const Nvml& nvml);

/// {"key": {...}, "treatment": {...}, "observation": {...}}.
nlohmann::json json_of(const Environment& environment);
/// Throws UsageError or nlohmann::json::exception when `json` is not what json_of makes.
Environment environment_of(const nlohmann::json& json);

// What in an environment will spoil numbers, and what to do about it.

struct Warning {
  std::string text;    // one terminal line
  std::string remedy;  // what to do, imperative; one terminal line
};

/// Worst first. `cores_asked` is ranks on this host times threads of each; 0 leaves that question
/// out. A fact that is absent gives no warning.
std::vector<Warning> warnings(const Environment& environment, int cores_asked = 0);

// Text from outside (program output, environment) made safe for files that promise UTF-8.

/// `text` with each byte that is not part of a well-formed UTF-8 sequence replaced by U+FFFD.
std::string valid_utf8(std::string_view text);

// The environment variables that may change a result, and no other: a full dump would leak secrets.

/// Whether a variable is stored: NCCL_* OMPI_MCA_* PMIX_MCA_* UCX_* FI_* OMP_* OPENBLAS_* MKL_*
/// GOMP_* CUDA_VISIBLE_DEVICES, but none that names a secret, and none that a launcher makes up
/// anew for each start.
bool is_recorded_variable(std::string_view name);

/// The recorded ones of `environment`, a null-terminated array of "NAME=value" as ::environ is.
std::map<std::string, std::string> recorded_variables(const char* const* environment);

}  // namespace scalebench
