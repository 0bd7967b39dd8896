// SPDX-License-Identifier: Apache-2.0
// scalebench run CONFIG: plan, launch everything, put the rows together, draw, report.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "bench/cli/command_line.hpp"
#include "bench/cli/size.hpp"
#include "bench/interruption.hpp"
#include "bench/study/study_config.hpp"
#include "bench/verbs/drawing.hpp"
#include "bench/verbs/fit_table.hpp"
#include "bench/verbs/scaling_table.hpp"
#include "bench/verbs/study_setup.hpp"
#include "bench/verbs/verb.hpp"
#include "collectives/allreduce.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

struct RunOptions : StartOptions {
  std::filesystem::path config;
  std::string ranks;  // instead of the config's
  int launches = 0;   // instead of the config's; 0: as there
};

/// What the programs know, so that a config is refused before anything starts.
KnownNames known_names() {
  KnownNames known;
#define MODEL(name, ...) known.models.push_back(#name);
#include "models/models.def"
#undef MODEL
#define GRADIENT_SYNC(name, ...) known.gradient_syncs.push_back(#name);
#include "models/gradient_sync.def"
#undef GRADIENT_SYNC
  for (const AllreduceAlgorithm& algorithm : allreduce_algorithms()) {
    known.algorithms.push_back(algorithm.name);
  }
  for (const DType dtype : kDTypes) known.dtypes.push_back(name_of(dtype));
  return known;
}

StudyConfig config_of(const RunOptions& options) {
  if (options.launches < 0) {
    fail<UsageError>("--launches {}: must not be negative", options.launches);
  }
  StudyConfig config = read_study_config(options.config, known_names());
  if (!options.ranks.empty()) config.ranks = parse_counts("--ranks", options.ranks);
  if (options.launches > 0) config.launches = options.launches;
  if (!config.allreduce) return config;
  const std::string place = options.config.string() + ": [allreduce] ";
  const std::size_t min = parse_size(place + "min", config.allreduce->min_bytes);
  if (min > parse_size(place + "max", config.allreduce->max_bytes)) {
    fail<UsageError>("{}min {} is larger than max {}", place, config.allreduce->min_bytes,
                     config.allreduce->max_bytes);
  }
  return config;
}

ExitCode exit_code_of(const StudyRun& study) {
  if (study.measured() == 0) return ExitCode::nothing_measured;
  return study.failed() > 0 ? ExitCode::incomplete : ExitCode::ok;
}

ExitCode run_study(const RunOptions& options) {
  const StudyConfig config = config_of(options);
  const std::vector<PlannedLaunch> plan = plan_of(config, limits_of(options, config));
  Console console(/*speaks=*/true, options.quiet);
  if (options.dry_run) {
    print_plan(options, config, plan, console);
    return ExitCode::ok;
  }
  StudyRun study = open_study(options, config, plan, console);
  const Interruption interruption;
  study.measure(interruption.stop());
  study.summarise();
  study.seal(interruption.stop() ? "partial" : "complete");
  console.result(fit_table(study.fits()));
  console.result(scaling_table(study.scaling()));
  draw_run(study.folder(), console);
  console.note(fmt::format("results: {}", study.folder().string()));
  if (interruption.stop()) {
    console.warn("partial: interrupted; everything that was measured is kept");
    return interruption.exit_code();
  }
  return exit_code_of(study);
}

}  // namespace

void add_run(CLI::App& verb, Invocation& invocation) {
  const auto options = std::make_shared<RunOptions>();
  verb.add_option("config", options->config, "TOML file, as configs/quick.toml")->required();
  verb.add_option("--ranks", options->ranks, "numbers of ranks, as 1,2,4, instead of the config's");
  verb.add_option("--launches", options->launches, "fresh launches of each case");
  add_start_options(verb, *options);
  verb.callback([options, &invocation] {
    options->command = invocation.command;
    invocation.chosen = [options] { return run_study(*options); };
  });
}

}  // namespace scalebench
