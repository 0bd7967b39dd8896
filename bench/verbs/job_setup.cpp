// SPDX-License-Identifier: Apache-2.0
#include "bench/verbs/job_setup.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <thread>

namespace scalebench {
namespace {

namespace fs = std::filesystem;

bool is_rank_daemon(const fs::path& process) {
  std::ifstream file(process / "comm");  // gone when the process has just ended
  std::string name;
  return std::getline(file, name) && (name == "orted" || name == "prted");
}

bool daemon_runs() {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", error)) {
    if (is_rank_daemon(entry.path())) return true;
  }
  return false;
}

bool names_hosts(const std::vector<std::string>& arguments) {
  constexpr std::array<std::string_view, 9> kOptions{
      "--host",     "-host",         "-H",           "--hostfile",        "-hostfile",
      "--hostlist", "--machinefile", "-machinefile", "--default-hostfile"};
  return std::ranges::find_first_of(arguments, kOptions) != arguments.end();
}

}  // namespace

void enter_job(StartOptions& options) {
  options.job = managed_job(job_variables(::environ));
  if (!options.job) return;
  ManagedJob& job = *options.job;
  const bool said = !options.out.empty() || options.results_option->count() > 0;
  if (said) job.results.reset();
  if (job.results) options.results = job.results->value;
  job.model.reset();  // a study keeps no model; bench_epoch --checkpoint does
}

int slots_of(const ManagedJob& job, const StudyConfig& config) {
  const int gpus = job.gpus.value_or(0);
  return gpus > 0 && config.device != "cpu" ? gpus : devices_of(config);
}

std::vector<std::string> host_arguments(const ManagedJob& job, const StudyConfig& config) {
  if (job.hosts.size() < 2 || names_hosts(config.mpirun_arguments)) return {};
  return {"--host", host_list(job, slots_of(job, config)), "-x", "OMP_NUM_THREADS"};
}

bool waits_for_first_host(const StartOptions& options) {
  return options.job && !options.job->is_first_host();
}

ExitCode stand_by(const ManagedJob& job, const Interruption& interruption, Console& console,
                  const StandByLimits& limits) {
  using Clock = std::chrono::steady_clock;
  console.note(fmt::format("{}: the ranks are started by {} (SM_HOSTS); waiting for their end",
                           job.current_host, job.hosts.front()));
  bool seen = false;
  Clock::time_point last = Clock::now();
  while (!interruption.stop()) {
    if (daemon_runs()) {
      seen = true;
      last = Clock::now();
    } else if (Clock::now() - last > (seen ? limits.gap : limits.first)) {
      if (seen) return ExitCode::ok;
      console.warn(fmt::format("{} has started no rank here", job.hosts.front()),
                   "look into its log; it needs ssh to this host");
      return ExitCode::nothing_measured;
    }
    std::this_thread::sleep_for(limits.poll);
  }
  return interruption.exit_code();
}

void note_job_account(const StudyRun& study, Console& console) {
  const nlohmann::json& job = study.manifest().job;
  if (job.is_null()) return;
  const nlohmann::json& billed = job.at("billed_seconds");
  console.note(fmt::format("job: {} billed so far, {:.1f} s of them training",
                           billed.is_null() ? std::string("unknown seconds")
                                            : fmt::format("{:.1f} s", billed.get<double>()),
                           job.at("training_seconds").get<double>()));
}

}  // namespace scalebench
