// SPDX-License-Identifier: Apache-2.0
// Whose hosts a study uses: the first of --hosts, the config, SCALEBENCH_HOSTS, the Slurm
// allocation, the managed job; else this host.
#pragma once

#include <map>
#include <string>

#include "bench/verbs/study_setup.hpp"

namespace scalebench {

/// By name: SCALEBENCH_HOSTS, SLURM_JOB_NODELIST, SLURM_TASKS_PER_NODE.
using HostVariables = std::map<std::string, std::string, std::less<>>;
HostVariables host_variables();

/// The hosts with their slots (those not said: what this host has); empty: this host, without a
/// word about it, or the launcher's own arguments name some. Throws UsageError in one line that
/// names the source.
Hosts hosts_of(const StartOptions& options, const StudyConfig& config,
               const HostVariables& variables = host_variables());

/// A list, or the path of a hostfile: what is a file, or has a '/'.
Hosts listed_hosts(const std::string& words, std::string_view source);

}  // namespace scalebench
