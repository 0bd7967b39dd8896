// SPDX-License-Identifier: Apache-2.0
#include "bench/study/config_text.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <charconv>
#include <sstream>

#include "bench/study/replay_model.hpp"

namespace scalebench {
namespace {

template <class Value>
toml::array array_of(const std::vector<Value>& values) {
  toml::array array;
  for (const Value& value : values) array.push_back(value);
  return array;
}

toml::table table_of(const AllreduceStudy& study) {
  toml::table table;
  table.insert("algorithms", array_of(study.algorithms));
  table.insert("dtypes", array_of(study.dtypes));
  table.insert("transport", study.transport);
  table.insert("min", study.min_bytes);
  table.insert("max", study.max_bytes);
  table.insert("factor", study.factor);
  table.insert("cache", study.cache);
  table.insert("max_seconds", study.max_seconds);
  return table;
}

/// Numbers as numbers.
toml::array batches_of(const std::vector<std::string>& batches) {
  toml::array array;
  for (const std::string& batch : batches) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(batch.data(), batch.data() + batch.size(), number);
    if (error == std::errc()) {
      array.push_back(number);
    } else {
      array.push_back(batch);
    }
  }
  return array;
}

toml::table table_of(const ThroughputStudy& study) {
  toml::table table;
  table.insert("models", array_of(study.models));
  table.insert("data", study.data);
  if (study.batch > 0) table.insert("batch", study.batch);
  if (!study.batches.empty()) table.insert("batches", batches_of(study.batches));
  table.insert("precisions", array_of(study.precisions));
  table.insert("channels_last", study.channels_last);
  table.insert("steps", array_of(study.steps));
  if (!study.memory_limit.empty()) table.insert("memory_limit", study.memory_limit);
  table.insert("roofline", study.roofline);
  table.insert("max_seconds", study.max_seconds);
  return table;
}

/// What is 0 or empty stands for a default that the file cannot say.
toml::table table_of(const EpochStudy& study) {
  toml::table table;
  table.insert("model", study.model);
  const bool replayed = is_replay(study.model);
  if (replayed) table.insert("dilation", study.dilation);
  table.insert("gradient_syncs", array_of(study.gradient_syncs));
  table.insert("allreduce", study.allreduce);
  table.insert("transport", study.transport);
  table.insert("scaling", study.scaling);
  if (!replayed) table.insert("data", study.data);
  if (study.batch > 0) table.insert("batch", study.batch);
  if (study.samples > 0) table.insert("samples", study.samples);
  table.insert("epochs", study.epochs);
  table.insert("evaluate", study.evaluate);
  if (study.target_accuracy > 0) table.insert("target_accuracy", study.target_accuracy);
  if (!replayed) table.insert("ladder", study.ladder);
  if (!study.optimizer.empty()) table.insert("optimizer", study.optimizer);
  if (study.learning_rate > 0) table.insert("learning_rate", study.learning_rate);
  return table;
}

toml::table study_table(const StudyConfig& config) {
  toml::table table;
  table.insert("name", config.name);
  table.insert("launches", config.launches);
  table.insert("seed", static_cast<std::int64_t>(config.seed));
  table.insert("threads", config.threads);
  table.insert("device", config.device);
  if (config.devices > 0) table.insert("devices", config.devices);
  table.insert("monitor", config.monitor);
  table.insert("record_trace", config.record_trace);
  if (!config.mpirun_arguments.empty()) {
    table.insert("mpirun_arguments", array_of(config.mpirun_arguments));
  }
  if (!config.ranks.empty()) table.insert("ranks", array_of(config.ranks));
  if (!config.hosts.empty()) table.insert("hosts", config.hosts);
  std::vector<std::string> layouts;
  for (const Layout& layout : config.layouts) layouts.push_back(layout_words(layout));
  if (!layouts.empty()) table.insert("layouts", array_of(layouts));
  return table;
}

}  // namespace

std::string config_text(const StudyConfig& config) {
  toml::table root;
  root.insert("study", study_table(config));
  if (config.allreduce) root.insert("allreduce", table_of(*config.allreduce));
  if (config.throughput) root.insert("throughput", table_of(*config.throughput));
  toml::array epochs;
  for (const EpochStudy& study : config.epochs) epochs.push_back(table_of(study));
  if (!epochs.empty()) root.insert("epoch", epochs);
  std::ostringstream text;
  text << toml::toml_formatter(root, toml::format_flags::none) << "\n";
  return text.str();
}

}  // namespace scalebench
