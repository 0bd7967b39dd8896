// SPDX-License-Identifier: Apache-2.0
// scalebench certify: the same binary against itself. Says how often equal things look different
// here, and which difference a comparison on this machine could see.
// Exit: ok: certified; regression: more cells differ than may, or a host is named and --fail-on
// suspect; incomplete: too few launches, failed
// ones, or wrong results; nothing_measured.
#include "bench/allreduce/options.hpp"
#include "bench/cli/command_line.hpp"
#include "bench/cli/help.hpp"
#include "bench/cli/quantity.hpp"
#include "bench/study/plan/plan.hpp"
#include "bench/study/run/end.hpp"
#include "bench/study/run/resolved_study.hpp"
#include "bench/study/run/run.hpp"
#include "bench/study/verbs/verb.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

struct CertifyOptions : StartOptions {
  int launches = 10;  // of each side
  int ranks = 0;      // 0: one for each core or device
  AllreduceStudy study{.min_bytes = "1K", .max_bytes = "16M", .factor = 16, .max_seconds = 0.25};
  std::string algorithms = "ring,native,direct";
  std::string dtypes = "float";
  std::uint64_t seed = 1;
  std::vector<std::string> more;  // for bench_allreduce, as typed after --
};

// Below, no 95 % interval exists.
constexpr int kFewestLaunches = 4;

StudyConfig config_of(const CertifyOptions& options) {
  StudyConfig config;
  config.name = "certify";
  config.launches = options.launches;
  config.seed = options.seed;
  config.allreduce = options.study;
  config.allreduce->algorithms = split_list("--algorithm", options.algorithms);
  config.allreduce->dtypes = split_list("-d", options.dtypes);
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

/// Once bench_allreduce's own parser has found nothing wrong with what it will be given.
ResolvedStudy study_of(const CertifyOptions& options) {
  StudyConfig config = config_of(options);
  PlanLimits limits = limits_of(options, config);
  config.ranks = {options.ranks > 0 ? options.ranks : std::max(2, limits.devices)};
  std::vector<PlannedLaunch> plan = certify_plan(config, limits);
  for (PlannedLaunch& launch : plan) {
    launch.arguments.insert(launch.arguments.end(), options.more.begin(), options.more.end());
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
  add_shown(verb, "-b,--minbytes", options.study.min_bytes,
            "smallest buffer of one rank; sizes are " + std::string(kSizeRule));
  add_shown(verb, "-e,--maxbytes", options.study.max_bytes, "largest buffer");
  add_shown(verb, "--algorithm", options.algorithms, "names separated by commas, or all");
  add_start_options(verb, options);
  verb.footer("After -- come more options, as bench_allreduce takes them.");
  const Heading method(verb, kMethod);
  add_shown(verb, "-f,--stepfactor", options.study.factor, "multiply the size by this");
  add_shown(verb, "--transport", options.study.transport, "as bench_allreduce takes it");
  add_shown(verb, "-d,--datatype", options.dtypes, "as bench_allreduce takes it");
  add_shown(verb, "--max-seconds", options.study.max_seconds, "cap on the repetitions of a case");
  add_shown(verb, "--seed", options.seed, "of the order of launches and cases");
  add_fail_on_option(verb, options.fail_on_suspect);
}

}  // namespace scalebench
