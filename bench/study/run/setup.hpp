// SPDX-License-Identifier: Apache-2.0
// What belongs to this program, wherever it was built or unpacked: its folders, the programs that
// it starts, and what it is linked with.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "bench/launch/doctor.hpp"
#include "bench/launch/process.hpp"
#include "bench/machine/environment.hpp"
#include "bench/study/plan/plan.hpp"

namespace scalebench {

std::filesystem::path programs_folder();
std::filesystem::path scripts_folder();
std::filesystem::path configs_folder();

/// SHA-256 of each program of the plan. Throws UsageError when one is not built.
std::map<std::string, std::string> hashes_of_programs(const std::vector<PlannedLaunch>& plan);
/// Of this machine, with what this program is linked with.
Environment environment_here();
/// What the doctor is to look at here.
DoctorInputs doctor_inputs(const std::string& mpirun, const std::filesystem::path& results);

}  // namespace scalebench
