// SPDX-License-Identifier: Apache-2.0
// scalebench certify: the same binary against itself. Says how often equal things look different
// here, and which difference a comparison on this machine could see.
// Exit: ok: certified; regression: more cells differ than may, or a host is named and --fail-on
// suspect; incomplete: too few launches, failed
// ones, or wrong results; nothing_measured.
#include <algorithm>
#include <iterator>

#include "bench/allreduce/options.hpp"
#include "bench/cli/command_line.hpp"
#include "bench/study/plan/plan.hpp"
#include "bench/study/run/end.hpp"
#include "bench/study/run/resolved_study.hpp"
#include "bench/study/run/run.hpp"
#include "bench/study/verbs/verb.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

struct CertifyOptions : StartOptions {
  int launches = 10;              // of each side
  int ranks = 0;                  // 0: one for each core or device
  std::vector<std::string> more;  // for bench_allreduce, as typed after --
};

// Below, no 95 % interval exists.
constexpr int kFewestLaunches = 4;

StudyConfig config_of(const CertifyOptions& options) {
  StudyConfig config;
  config.name = "certify";
  config.launches = options.launches;
  config.allreduce = AllreduceStudy{.algorithms = {"ring", "native", "direct"},
                                    .min_bytes = "1K",
                                    .max_bytes = "16M",
                                    .factor = 16,
                                    .max_seconds = 0.25};
  return config;
}

void require_valid(const CertifyOptions& options) {
  if (options.launches < kFewestLaunches) {
    fail<UsageError>("--launches {}: fewer than {} a side have no 95 % interval", options.launches,
                     kFewestLaunches);
  }
  if (options.launches > kMostLaunches) {
    fail<UsageError>("--launches {}: valid: {} to {}", options.launches, kFewestLaunches,
                     kMostLaunches);
  }
  if (options.ranks < 0 || options.ranks == 1) {
    fail<UsageError>("--ranks {}: an allreduce needs 2 or more", options.ranks);
  }
}

/// `more` stands instead of what `words` says of the same options.
void append_instead(std::vector<std::string>& words, const std::vector<std::string>& more) {
  for (const std::string& option : more) {
    const auto said = std::ranges::find(words, option);
    if (!option.starts_with('-') || said == words.end()) continue;
    const auto next = std::next(said);
    const bool has_value = next != words.end() && !next->starts_with('-');
    words.erase(said, has_value ? std::next(next) : next);
  }
  words.insert(words.end(), more.begin(), more.end());
}

/// Once bench_allreduce's own parser has found nothing wrong with what it will be given.
ResolvedStudy study_of(const CertifyOptions& options) {
  StudyConfig config = config_of(options);
  PlanLimits limits = limits_of(options, config);
  config.ranks = {options.ranks > 0 ? options.ranks : std::max(2, limits.devices)};
  std::vector<PlannedLaunch> plan = certify_plan(config, limits);
  for (PlannedLaunch& launch : plan) {
    append_instead(launch.arguments, options.more);
  }
  const PlannedLaunch& first = plan.front();
  std::vector<const char*> argv{first.program.c_str()};
  for (const std::string& word : first.arguments) argv.push_back(word.c_str());
  parse_allreduce_options(static_cast<int>(argv.size()), argv.data(), first.ranks);
  return resolve(options, std::move(config), std::move(limits), std::move(plan));
}

ExitCode certify(CertifyOptions options) {
  require_valid(options);
  enter_job(options);
  return measure_study(study_of(options), {.fail_on_suspect = options.fail_on_suspect});
}

}  // namespace

void add_certify(CLI::App& verb, Invocation& invocation) {
  auto& options = options_of<CertifyOptions>(verb, invocation, certify, unless_dry_run);
  add_shown(verb, "--launches", options.launches, "fresh launches of each side, A and B");
  add_shown(verb, "--ranks", options.ranks, "number of ranks; 0: one for each core or device");
  add_start_options(verb, options);
  verb.footer("After -- come options of bench_allreduce, as -b, -e, --algorithm.");
  add_fail_on_option(verb, options.fail_on_suspect);
}

}  // namespace scalebench
