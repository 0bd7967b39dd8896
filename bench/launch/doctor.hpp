// SPDX-License-Identifier: Apache-2.0
// Looks before anything is measured: what is here, what is missing and what that costs, what will
// spoil the numbers. Starts `mpirun --version` and a Python, writes nothing that stays.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "bench/machine/environment.hpp"
#include "bench/machine/environment_variables.hpp"

namespace scalebench {

struct Finding {
  /// warning: a part of the suite is not available, or numbers will suffer. missing: nothing can be
  /// measured without it.
  enum Level { ok, warning, missing };
  Level level = ok;
  std::string subject;
  std::string text;
  std::string remedy{};  // empty when there is nothing to do
};

/// "ok", "warning", "missing".
std::string_view word_of(Finding::Level level);

struct DoctorInputs {
  Environment environment;                     // of this machine and build
  EnvironmentVariables variables;              // of this process: they may describe a cluster
  int cores_asked = 0;                         // ranks times threads; 0: not known yet
  std::string mpirun = "mpirun";               // a name on the PATH or a path
  std::filesystem::path scripts = "scripts";   // holds `python`, which draws the figures
  std::filesystem::path results = "results";   // where runs will go; need not exist yet
  std::uintmax_t results_bytes = 100'000'000;  // that must be free there
};

std::vector<Finding> diagnose(const DoctorInputs& inputs);

/// A table for a terminal: status word, subject, text; the remedy on a line of its own; at the end
/// one line with the verdict.
std::string render(const std::vector<Finding>& findings);

/// 0, or 4 (nothing can be measured) when something is missing.
int doctor_exit_code(const std::vector<Finding>& findings);

}  // namespace scalebench
