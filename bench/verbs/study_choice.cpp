// SPDX-License-Identifier: Apache-2.0
#include "bench/verbs/study_choice.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "bench/cli/command_line.hpp"
#include "bench/cli/size.hpp"
#include "collectives/allreduce.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

bool uses(const StudyConfig& config, const std::string& data) {
  const auto is_it = [&](const auto& study) { return study.data == data; };
  return (config.throughput && is_it(*config.throughput)) ||
         std::ranges::any_of(config.epochs, is_it);
}

}  // namespace

void add_study_options(CLI::App& verb, StudyChoice& choice) {
  verb.add_option("config", choice.config, "TOML file, as configs/quick.toml")
      ->required()
      ->type_name("FILE");
  verb.add_option("--ranks", choice.ranks, "numbers of ranks, as 1,2,4, instead of the config's");
  verb.add_option("--layouts", choice.layouts,
                  "hosts x ranks of each, as 1x1,1x2,2x2, instead of numbers of ranks");
  verb.add_option("--launches", choice.launches, "fresh launches of each case");
}

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

StudyConfig config_of(StudyChoice& choice) {
  if (choice.launches < 0) {
    fail<UsageError>("--launches {}: must not be negative", choice.launches);
  }
  KnownNames known = known_names();
  if (choice.job && choice.job->data) known.data = choice.job->data->value;
  StudyConfig config = read_study_config(choice.config, known);
  if (choice.job && !uses(config, known.data)) choice.job->data.reset();
  if (!choice.ranks.empty() && !choice.layouts.empty()) {
    fail<UsageError>("--ranks and --layouts: one says what the other does; give one of them");
  }
  if (!choice.ranks.empty()) {
    config.ranks = parse_counts("--ranks", choice.ranks);
    config.layouts.clear();
  }
  if (!choice.layouts.empty()) {
    config.layouts = parse_layouts(choice.layouts);
    config.ranks.clear();
  }
  if (!choice.hosts.empty()) config.hosts = choice.hosts;
  if (choice.launches > 0) config.launches = choice.launches;
  if (!config.allreduce) return config;
  const std::string place = choice.config.string() + ": [allreduce] ";
  const std::size_t min = parse_size(place + "min", config.allreduce->min_bytes);
  if (min > parse_size(place + "max", config.allreduce->max_bytes)) {
    fail<UsageError>("{}min {} is larger than max {}", place, config.allreduce->min_bytes,
                     config.allreduce->max_bytes);
  }
  return config;
}

}  // namespace scalebench
