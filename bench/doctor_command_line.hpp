// SPDX-License-Identifier: Apache-2.0
// `scalebench doctor`: looks before anything is measured.
#pragma once

#include <filesystem>
#include <string>

#include "bench/exit_code.hpp"

namespace scalebench {

struct DoctorOptions {
  std::filesystem::path results = "results";
  std::string mpirun = "mpirun";
  int ranks = 0;
};

/// Prints the findings; nothing_measured when nothing could be.
ExitCode show_doctor(const DoctorOptions& options);

}  // namespace scalebench
