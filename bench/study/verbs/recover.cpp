// SPDX-License-Identifier: Apache-2.0
// scalebench recover: a rank is killed or stopped in the middle of a training with checkpoints, and
// the training goes on from the last of them: what did that cost? Exit: ok; incomplete: it did not
// go on.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/cli/command_line.hpp"
#include "bench/cli/help.hpp"
#include "bench/program/fault.hpp"
#include "bench/study/plan/plan.hpp"
#include "bench/study/run/recovery.hpp"
#include "bench/study/run/resolved_study.hpp"
#include "bench/study/run/run.hpp"
#include "bench/study/verbs/verb.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::uintmax_t kBytesNeededToRecover = 100'000'000;

struct RecoverOptions : StartOptions {
  std::string model = "mlp";
  Injections injections;
  RecoveryPlan plan;
  std::vector<std::string> more;  // for bench_epoch, as typed after --
};

void require_positive(std::string_view option, int value) {
  if (value < 1) fail<UsageError>("{} {}: must be at least 1", option, value);
}

/// On the first host if that has room for all, else on all hosts alike.
void place(RecoveryPlan& plan) {
  const Hosts& hosts = plan.settings.hosts;
  const bool fit = hosts.empty() || plan.ranks <= hosts.front().slots;
  plan.nodes = fit ? 1 : static_cast<int>(hosts.size());
  if (plan.ranks % plan.nodes != 0) {
    fail<UsageError>("--ranks {}: not the same number on each of {} hosts", plan.ranks, plan.nodes);
  }
  plan.per_node = plan.ranks / plan.nodes;
}

RecoveryPlan plan_of(const RecoverOptions& options) {
  RecoveryPlan plan = options.plan;
  require_positive("--ranks", plan.ranks);
  require_positive("--epochs", plan.epochs);
  require_positive("--checkpoint-every", plan.checkpoint_every);
  if (!(plan.deadline_seconds > 0) || std::isinf(plan.deadline_seconds)) {
    fail<UsageError>("--deadline {}: must be more than 0 seconds", plan.deadline_seconds);
  }
  const Injection* const fault = options.injections.at_a_moment();
  if (fault == nullptr) {
    fail<UsageError>("which fault? valid: --inject kill:RANK@STEP or --inject stop:RANK@STEP");
  }
  if (fault->rank >= plan.ranks) {
    fail<UsageError>("--inject {}: there are {} rank(s), from 0 on", fault->text, plan.ranks);
  }
  plan.fault = fault->fault == Injected::kill ? "kill" : "stop";
  plan.fault_at = fmt::format("{}@{}", fault->rank, fault->when);
  plan.arguments = {"--model", options.model};
  plan.arguments.insert(plan.arguments.end(), options.more.begin(), options.more.end());
  plan.nodes = 1;
  plan.per_node = plan.ranks;
  return plan;
}

/// What the launcher and the manifest need to know of it.
ResolvedStudy study_of(const RecoverOptions& options, const RecoveryPlan& plan) {
  StudyConfig config;
  config.name = "recover";
  config.ranks = {plan.ranks};
  PlanLimits limits = limits_of(options, config);
  if (plan.ranks > limits.devices && !options.oversubscribe) {
    fail<UsageError>("--ranks {}: {} device(s) here; --oversubscribe lets ranks share one",
                     plan.ranks, limits.devices);
  }
  StartOptions start = options;
  start.dry_run = false;  // what is only printed must be built, too
  return resolve(std::move(start), std::move(config), std::move(limits),
                 {launch_of(plan, 1, "", {})});
}

void print(const RecoveryPlan& plan, const Console& console) {
  const auto show = [&](int number, const std::string& name, const std::vector<std::string>& more) {
    const PlannedLaunch launch = launch_of(plan, number, name, more);
    console.result(shell_line(command_of(launch, plan.settings, planned_folder(launch))) + "\n");
  };
  show(1, plan.participle(), {"--checkpoint", "DIR", "--inject", plan.injection()});
  show(2, "resumed", {"--checkpoint", "DIR", "--resume", "DIR"});
}

ExitCode recover(const RecoverOptions& options) {
  Console console(/*speaks=*/true, options.quiet);
  RecoveryPlan plan = plan_of(options);
  const ResolvedStudy study = study_of(options, plan);
  plan.settings = study.settings;
  place(plan);
  if (options.dry_run) {
    print(plan, console);
    return ExitCode::ok;
  }
  const ResultsFolder folder =
      options.out.empty() ? ResultsFolder::create(options.results, "recover", kBytesNeededToRecover)
                          : ResultsFolder::at(options.out, kBytesNeededToRecover);
  plan.settings.run_id = folder.run_id();
  Manifest manifest = manifest_of(study, plan.settings);
  for (const Warning& warning : manifest.warnings) console.warn(warning.text, warning.remedy);
  const Interruption interruption;
  manifest = measure_recovery(plan, folder, std::move(manifest), interruption.stop(), console);
  console.note(fmt::format("results: {}", folder.path().string()));
  console.result(fmt::format("{}, {} ranks, --inject {}, a checkpoint every {} epoch(s)\n{}",
                             options.model, plan.ranks, plan.injection(), plan.checkpoint_every,
                             recovery_text(*manifest.recovery)));
  if (interruption.stop()) return interruption.exit_code();
  return manifest.recovery->at("status") == "ok" ? ExitCode::ok : ExitCode::incomplete;
}

}  // namespace

void add_recover(CLI::App& verb, Invocation& invocation) {
  auto& options = options_of<RecoverOptions>(verb, invocation, recover);
  add_shown(verb, "--model", options.model, "as bench_epoch takes it");
  add_shown(verb, "--ranks", options.plan.ranks, "number of ranks");
  // How many ranks there are is known when all is read.
  add_inject_option(verb, InjectedInto::recovery, kAnyRanks, options.injections)
      ->group(std::string(kUsual));  // what this verb is about
  add_shown(verb, "--epochs", options.plan.epochs, "of the whole training");
  add_start_options(verb, options);
  verb.footer("After -- come more options, as bench_epoch takes them.");
  const Heading method(verb, kMethod);
  add_shown(verb, "--checkpoint-every", options.plan.checkpoint_every,
            "epochs between two checkpoints");
  add_shown(verb, "--deadline", options.plan.deadline_seconds,
            "seconds after which a training that does not end is ended");
}

}  // namespace scalebench
