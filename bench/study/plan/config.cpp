// SPDX-License-Identifier: Apache-2.0
#include "bench/study/plan/config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <sstream>

#include "bench/record/file.hpp"
#include "bench/study/plan/toml_reader.hpp"
#include "kernels/error.hpp"

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
  if (!config.gpus.empty()) table.insert("gpus", config.gpus);
  if (config.share_devices) table.insert("share_devices", true);
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

namespace {

constexpr std::string_view kPrefix = "replay:";

}  // namespace

bool is_replay(std::string_view model) { return model.starts_with(kPrefix); }

std::string label_in_rows(const std::string& model) {
  if (!is_replay(model)) return model;
  const std::filesystem::path file = model.substr(kPrefix.size());
  return std::string(kPrefix) + file.stem().string();
}

std::optional<std::string> found_replay(const std::string& model,
                                        const std::filesystem::path& folder) {
  const std::filesystem::path file = model.substr(kPrefix.size());
  for (const std::filesystem::path& candidate : {file, folder / file}) {
    std::error_code none;
    if (std::filesystem::is_regular_file(candidate, none)) {
      return std::string(kPrefix) + candidate.string();
    }
  }
  return std::nullopt;
}

namespace {

const std::vector<std::string_view> kTransports{"auto", "mpi", "shared_memory", "nccl", "cuda_ipc"};
constexpr std::int64_t kMany = 1'000'000'000;

/// "all" stands for every name of the list.
std::vector<std::string_view> or_all(std::vector<std::string_view> names) {
  if (!names.empty()) names.push_back("all");
  return names;
}

void read_layouts(TomlReader& reader, const toml::table& table, StudyConfig& config) {
  std::vector<std::string> words;
  reader.texts(table, "layouts", words);
  if (words.empty()) return;
  const toml::node& place = *table.get("layouts");
  if (!config.ranks.empty()) reader.complain(place, "layouts: stand instead of ranks, not beside");
  try {
    config.layouts = parse_layouts(fmt::format("{}", fmt::join(words, ",")), "layouts");
  } catch (const UsageError& error) {
    reader.complain(place, error.what());
  }
}

void read(TomlReader& reader, const toml::table& table, StudyConfig& config) {
  reader.text(table, "name", config.name);
  reader.whole(table, "launches", config.launches, 1, 1000);
  std::int64_t seed = 1;
  reader.whole(table, "seed", seed, 0, std::numeric_limits<std::int64_t>::max());
  config.seed = static_cast<std::uint64_t>(seed);
  reader.whole(table, "threads", config.threads, 1, 4096);
  reader.choice(table, "device", config.device, {"auto", "cpu", "cuda"});
  reader.whole(table, "devices", config.devices, 1, 65536);
  reader.text(table, "gpus", config.gpus);
  reader.flag(table, "share_devices", config.share_devices);
  if (config.device == "cpu" && (config.share_devices || !config.gpus.empty())) {
    reader.complain(*table.get(config.gpus.empty() ? "share_devices" : "gpus"),
                    "gpus and share_devices are about GPUs, and device is \"cpu\"");
  }
  reader.flag(table, "monitor", config.monitor);
  reader.flag(table, "record_trace", config.record_trace);
  reader.texts(table, "mpirun_arguments", config.mpirun_arguments);
  reader.wholes(table, "ranks", config.ranks, 1, 65536);
  reader.text(table, "hosts", config.hosts);
  read_layouts(reader, table, config);
  if (config.share_devices && config.ranks.empty() && config.layouts.empty()) {
    reader.complain(*table.get("share_devices"),
                    "share_devices: name the ranks, since the number of GPUs is no limit then");
  }
  reader.no_other_keys(table);
}

void read(TomlReader& reader, const toml::table& table, const KnownNames& known,
          AllreduceStudy& study) {
  reader.choices(table, "algorithms", study.algorithms, or_all(known.algorithms));
  reader.choices(table, "dtypes", study.dtypes, or_all(known.dtypes));
  for (const char* key : {"algorithms", "dtypes"}) {
    const auto& names = key[0] == 'a' ? study.algorithms : study.dtypes;
    if (names.size() > 1 && std::ranges::find(names, "all") != names.end()) {
      reader.complain(*table.get(key),
                      fmt::format("{}: \"all\" stands for every name, alone", key));
    }
  }
  reader.choice(table, "transport", study.transport, kTransports);
  reader.text(table, "min", study.min_bytes);
  reader.text(table, "max", study.max_bytes);
  reader.whole(table, "factor", study.factor, 2, 1024);
  reader.choice(table, "cache", study.cache, {"warm", "cold", "written"});
  reader.positive(table, "max_seconds", study.max_seconds);
  reader.no_other_keys(table);
}

void read(TomlReader& reader, const toml::table& table, const KnownNames& known,
          ThroughputStudy& study) {
  reader.choices(table, "models", study.models, known.models);
  if (!known.data.empty()) study.data = known.data;
  reader.text(table, "data", study.data);
  reader.whole(table, "batch", study.batch, 1, kMany);
  reader.wholes_or(table, "batches", study.batches, 1, kMany, "largest");
  if (table.contains("batch") && table.contains("batches")) {
    reader.complain(*table.get("batch"), "batch: batches lists them; leave one of the two out");
  }
  reader.choices(table, "precisions", study.precisions, {"float32", "tf32", "bf16", "fp16"});
  reader.choice(table, "channels_last", study.channels_last, {"no", "yes", "both"});
  reader.choices(table, "steps", study.steps, {"eager", "graph"});
  reader.text(table, "memory_limit", study.memory_limit);
  reader.flag(table, "roofline", study.roofline);
  reader.positive(table, "max_seconds", study.max_seconds);
  reader.required(table, "models");
  reader.no_other_keys(table);
}

/// Recorded steps are found from `folder`, too; a text that a manifest has kept names any file.
void read_model(TomlReader& reader, const toml::table& table, const KnownNames& known,
                const std::filesystem::path& folder, EpochStudy& study) {
  const bool replayed = is_replay(table["model"].value_or(std::string()));
  reader.choice(table, "model", study.model,
                replayed ? std::vector<std::string_view>() : known.models);
  reader.positive(table, "dilation", study.dilation);
  if (!replayed) {
    if (table.contains("dilation")) {
      reader.complain(*table.get("dilation"), "dilation: valid for model = \"replay:FILE\" only");
    }
    return;
  }
  if (!known.models.empty()) {
    const std::optional<std::string> found = found_replay(study.model, folder);
    if (!found) {
      reader.complain(*table.get("model"),
                      fmt::format("model: {} is no file, seen from here or from the config's "
                                  "folder; valid: a trace that bench_epoch --record-trace writes",
                                  study.model));
    }
    study.model = found.value_or(study.model);
  }
  for (const char* key : {"data", "target_accuracy", "ladder"}) {
    if (table.contains(key)) {
      reader.complain(*table.get(key),
                      fmt::format("{}: a replayed model sees no images and learns nothing", key));
    }
  }
}

void require_weak(TomlReader& reader, const toml::table& table, const EpochStudy& study) {
  if (study.scaling == "weak") return;
  const toml::node* const scaling = table.get("scaling");
  reader.complain(scaling != nullptr ? *scaling : *table.get("model"),
                  "scaling: a trace is of one batch per rank; valid: \"weak\"");
}

void read(TomlReader& reader, const toml::table& table, const KnownNames& known,
          const std::filesystem::path& folder, EpochStudy& study) {
  read_model(reader, table, known, folder, study);
  reader.choices(table, "gradient_syncs", study.gradient_syncs, known.gradient_syncs);
  reader.choice(table, "allreduce", study.allreduce, known.algorithms);
  reader.choice(table, "transport", study.transport, kTransports);
  reader.choice(table, "scaling", study.scaling, {"strong", "weak"});
  if (!known.data.empty()) study.data = known.data;
  reader.text(table, "data", study.data);
  reader.whole(table, "batch", study.batch, 1, kMany);
  reader.whole(table, "samples", study.samples, 1, kMany);
  reader.whole(table, "epochs", study.epochs, 1, 100'000);
  reader.flag(table, "evaluate", study.evaluate);
  reader.positive(table, "target_accuracy", study.target_accuracy);
  if (study.target_accuracy > 1) {
    reader.complain(*table.get("target_accuracy"),
                    "target_accuracy: a share of the test set; valid: above 0 and up to 1");
  } else if (study.target_accuracy > 0 && !study.evaluate) {
    reader.complain(*table.get("target_accuracy"),
                    "target_accuracy: needs the evaluation that evaluate = false leaves out");
  }
  reader.flag(table, "ladder", study.ladder);
  reader.choice(table, "optimizer", study.optimizer, {"sgd", "adam"});
  reader.positive(table, "learning_rate", study.learning_rate);
  if (is_replay(study.model)) require_weak(reader, table, study);
  reader.required(table, "model");
  reader.no_other_keys(table);
}

template <class Part>
void read_part(TomlReader& reader, const toml::table& root, std::string_view key,
               const KnownNames& known, std::optional<Part>& part) {
  if (const toml::table* table = reader.table(root, key)) {
    read(reader, *table, known, part.emplace());
  }
}

}  // namespace

StudyConfig read_study_config(const std::filesystem::path& path, const KnownNames& known) {
  return parse_study_config(read_file(path), path, known);
}

StudyConfig parse_study_config(std::string text, const std::filesystem::path& path,
                               const KnownNames& known) {
  StudyConfig config;
  config.text = std::move(text);
  toml::table root;
  try {
    root = toml::parse(config.text);
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    fail<UsageError>("{}:{}:{}: {}", path.string(), at.line, at.column, error.description());
  }
  TomlReader reader(path.string());
  if (const toml::table* study = reader.table(root, "study")) read(reader, *study, config);
  read_part(reader, root, "allreduce", known, config.allreduce);
  read_part(reader, root, "throughput", known, config.throughput);
  for (const toml::table* table : reader.tables(root, "epoch")) {
    read(reader, *table, known, path.parent_path(), config.epochs.emplace_back());
  }
  reader.no_other_keys(root);
  if (config.name.empty()) config.name = path.stem().string();
  if (!config.allreduce && !config.throughput && config.epochs.empty()) {
    reader.complain(root, "measures nothing; valid: [allreduce], [throughput], [[epoch]]");
  }
  reader.throw_complaints();
  return config;
}

}  // namespace scalebench
