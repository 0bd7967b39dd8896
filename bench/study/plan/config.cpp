// SPDX-License-Identifier: Apache-2.0
#include "bench/study/plan/config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <limits>
#include <sstream>

#include "bench/cli/quantity.hpp"
#include "bench/launch/launcher.hpp"
#include "bench/record/results_folder.hpp"
#include "bench/study/plan/layouts.hpp"
#include "bench/study/plan/named.hpp"
#include "bench/study/plan/toml_reader.hpp"
#include "collectives/carries.hpp"
#include "kernels/dtype.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

std::vector<std::string_view> transports() {
  return {"auto", "mpi", "shared_memory", "nccl", "cuda_ipc"};
}
constexpr std::int64_t kMany = 1'000'000'000;

std::vector<std::string_view> algorithms() {
  return {
#define ALLREDUCE(name, ...) #name,
#include "collectives/allreduce.def"
#undef ALLREDUCE
      "all"};
}

/// What an epoch reduces by: one algorithm, also by TensorFlow's name for it.
std::vector<std::string_view> reducing() {
  std::vector<std::string_view> names = algorithms();
  names.pop_back();
  names.insert(names.end(), kTensorFlowAllreduces.begin(), kTensorFlowAllreduces.end());
  return names;
}

std::vector<std::string_view> dtypes() {
  std::vector<std::string_view> names;
  for (const DType dtype : kDTypes) names.push_back(name_of(dtype));
  names.push_back("all");
  return names;
}

std::vector<std::string_view> models() {
  return {
#define MODEL(name, ...) #name,
#include "models/network/models.def"
#undef MODEL
  };
}

std::vector<std::string_view> gradient_syncs() {
  return {
#define GRADIENT_SYNC(name, ...) #name,
#include "models/gradients/gradient_sync.def"
#undef GRADIENT_SYNC
  };
}

// The keys of each table.

void keys(TomlReader& reader, const toml::table& table, StudyConfig& config) {
  reader.text(table, "name", config.name);
  reader.whole(table, "launches", config.launches, 1, kMostLaunches);
  auto seed = static_cast<std::int64_t>(config.seed);
  reader.whole(table, "seed", seed, 0, std::numeric_limits<std::int64_t>::max());
  config.seed = static_cast<std::uint64_t>(seed);
  reader.whole(table, "threads", config.threads, 1, 4096);
  reader.choice(table, "device", config.device, {"auto", "cpu", "cuda"});
  reader.text(table, "devices", config.devices);
  reader.flag(table, "share_devices", config.share_devices);
  reader.flag(table, "monitor", config.monitor);
  reader.flag(table, "record_trace", config.record_trace);
  reader.texts(table, "mpirun_arguments", config.mpirun_arguments);
  reader.wholes(table, "ranks", config.ranks, 1, 65536);
  reader.text(table, "hosts", config.hosts);
}

void keys(TomlReader& reader, const toml::table& table, AllreduceStudy& study) {
  reader.choices(table, "algorithms", study.algorithms, algorithms());
  reader.choices(table, "dtypes", study.dtypes, dtypes());
  reader.choice(table, "transport", study.transport, transports());
  reader.text(table, "min", study.min_bytes);
  reader.text(table, "max", study.max_bytes);
  reader.whole(table, "factor", study.factor, 2, 1024);
  reader.choice(table, "cache", study.cache, {"warm", "cold", "written"});
  reader.wholes(table, "register", study.registrations, 0, 2);
  reader.positive(table, "max_seconds", study.max_seconds);
}

void keys(TomlReader& reader, const toml::table& table, ThroughputStudy& study) {
  reader.choices(table, "models", study.models, models());
  reader.text(table, "data", study.data);
  reader.whole(table, "batch_per_rank", study.batch_per_rank, 1, kMany);
  reader.wholes(table, "batches_per_rank", study.batches_per_rank, 1, kMany);
  reader.choices(table, "precisions", study.precisions, {"float32", "tf32", "bfloat16", "fp16"});
  reader.choice(table, "channels_last", study.channels_last, {"no", "yes", "both"});
  reader.choices(table, "steps", study.steps, {"eager", "graph", "fused"});
  reader.positive(table, "max_seconds", study.max_seconds);
}

void keys(TomlReader& reader, const toml::table& table, EpochStudy& study) {
  reader.choice(table, "model", study.model, models());
  reader.choices(table, "gradient_syncs", study.gradient_syncs, gradient_syncs());
  reader.choice(table, "allreduce", study.allreduce, reducing());
  reader.choice(table, "transport", study.transport, transports());
  reader.choice(table, "scaling", study.scaling, {"strong", "weak"});
  reader.text(table, "data", study.data);
  reader.whole(table, "global_batch", study.global_batch, 1, kMany);
  reader.whole(table, "batch_per_rank", study.batch_per_rank, 1, kMany);
  reader.whole(table, "samples", study.samples, 1, kMany);
  reader.whole(table, "epochs", study.epochs, 1, 100'000);
  reader.flag(table, "evaluate", study.evaluate);
  reader.positive(table, "target_accuracy", study.target_accuracy);
  reader.flag(table, "plain_loop", study.plain_loop);
  reader.flag(table, "split_compute", study.split_compute);
  reader.choice(table, "optimizer", study.optimizer, {"sgd", "adam"});
  reader.positive(table, "learning_rate", study.learning_rate);
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
  keys(reader, table, config);
  if (table.contains("name") && !is_plain_name(config.name)) {
    reader.complain(*table.get("name"), fmt::format("name: expected {}", kPlainNames));
  }
  if (config.device == "cpu" && (config.share_devices || !config.devices.empty())) {
    reader.complain(*table.get(config.devices.empty() ? "share_devices" : "devices"),
                    "devices and share_devices are about GPUs, and device is \"cpu\"");
  }
  read_layouts(reader, table, config);
  if (config.share_devices && config.ranks.empty() && config.layouts.empty()) {
    reader.complain(*table.get("share_devices"),
                    "share_devices: name the ranks, since the number of GPUs is no limit then");
  }
  if (names_hosts(config.mpirun_arguments)) {
    reader.complain(
        *table.get("mpirun_arguments"),
        "mpirun_arguments name hosts; valid: hosts = \"h1:4,h2:4\", or a hostfile there");
  }
  reader.no_other_keys(table);
}

/// The bytes that a text stands for; complains about what is no size where the table has the key.
std::optional<std::size_t> size(TomlReader& reader, const toml::table& table, std::string_view key,
                                const std::string& text) {
  try {
    return parse_size(key, text);
  } catch (const UsageError& error) {
    if (table.contains(key)) reader.complain(*table.get(key), error.what());
    return std::nullopt;
  }
}

/// Where the key is, else where its table begins.
const toml::node& place_of(const toml::table& table, std::string_view key) {
  const toml::node* const node = table.get(key);
  return node != nullptr ? *node : table;
}

void refuse_data(TomlReader& reader, const toml::table& table, const std::string& data,
                 const Whereabouts& where) {
  const std::string why = why_no_data(data, where.looks_here);
  if (!why.empty()) reader.complain(place_of(table, "data"), "data: " + why);
}

void read(TomlReader& reader, const toml::table& table, const Whereabouts&, AllreduceStudy& study) {
  keys(reader, table, study);
  for (const char* key : {"algorithms", "dtypes"}) {
    const auto& names = key[0] == 'a' ? study.algorithms : study.dtypes;
    if (names.size() > 1 && std::ranges::find(names, "all") != names.end()) {
      reader.complain(*table.get(key),
                      fmt::format("{}: \"all\" stands for every name, alone", key));
    }
  }
  if (!study.registrations.empty() && study.transport != "nccl" && study.transport != "auto") {
    reader.complain(*table.get("register"),
                    "register: what NCCL is told of its buffers; valid: with transport = \"nccl\"");
  }
  const std::optional<std::size_t> min = size(reader, table, "min", study.min_bytes);
  const std::optional<std::size_t> max = size(reader, table, "max", study.max_bytes);
  if (min && max && *min > *max) {
    reader.complain(*table.get(table.contains("min") ? "min" : "max"),
                    fmt::format("min {} is larger than max {}", study.min_bytes, study.max_bytes));
  }
  reader.no_other_keys(table);
}

struct Step {
  std::int64_t images, batch;
  std::string_view key_of_batch;
};

/// A step takes at most the images that there are, which `key` says.
void refuse_step(TomlReader& reader, const toml::table& table, std::string_view key,
                 const Step& step) {
  if (step.images >= step.batch) return;
  reader.complain(place_of(table, key),
                  fmt::format("{}: {} images are no step of {}; valid: at least as many, or a "
                              "smaller {}",
                              key, step.images, step.batch, step.key_of_batch));
}

/// Of several batches those that fit are measured.
void refuse_batch(TomlReader& reader, const toml::table& table, const ThroughputStudy& study) {
  const std::optional<std::int64_t> images = images_of(study.data);
  if (!images || !study.batches_per_rank.empty()) return;
  for (const std::string& model : study.models) {
    const ModelDefaults* const own = defaults_of(model);
    const bool is_said = study.batch_per_rank > 0 || own == nullptr;
    refuse_step(reader, table, is_said ? "batch_per_rank" : "data",
                {*images, is_said ? study.batch_per_rank : own->batch, "batch_per_rank"});
  }
}

void read(TomlReader& reader, const toml::table& table, const Whereabouts& where,
          ThroughputStudy& study) {
  if (!where.data.empty()) study.data = where.data;
  keys(reader, table, study);
  refuse_data(reader, table, study.data, where);
  if (table.contains("batch_per_rank") && table.contains("batches_per_rank")) {
    reader.complain(*table.get("batch_per_rank"),
                    "batch_per_rank: batches_per_rank lists them; leave one of the two out");
  }
  reader.required(table, "models");
  refuse_batch(reader, table, study);
  reader.no_other_keys(table);
}

/// The batch that stays while N grows.
void refuse_other_batch(TomlReader& reader, const toml::table& table, const EpochStudy& study) {
  const bool strong = study.scaling == "strong";
  if (!strong && study.scaling != "weak") return;
  const char* const other = strong ? "batch_per_rank" : "global_batch";
  if (!table.contains(other)) return;
  reader.complain(*table.get(other), fmt::format("{}: {} scaling takes {}", other, study.scaling,
                                                 strong ? "global_batch" : "batch_per_rank"));
}

/// An epoch is at least a step, and at most the data set.
void refuse_samples(TomlReader& reader, const toml::table& table, const EpochStudy& study) {
  const std::optional<std::int64_t> images = images_of(study.data);
  if (images && study.samples > *images) {
    reader.complain(place_of(table, "samples"),
                    fmt::format("samples: {} of the {} images of {}; valid: up to as many",
                                study.samples, *images, study.data));
  }
  if (study.samples == 0) return;
  const char* const key = table.contains("samples") ? "samples" : "data";
  if (study.scaling == "strong") {
    refuse_step(reader, table, key, {study.samples, study.global_batch, "global_batch"});
  } else {
    refuse_step(reader, table, key, {study.samples, study.batch_per_rank, "batch_per_rank"});
  }
}

void refuse_syncs(TomlReader& reader, const toml::table& table, const EpochStudy& study,
                  const Whereabouts& where) {
  const auto& syncs = study.gradient_syncs;
  if (std::ranges::find(syncs, "tpu") != syncs.end()) {
    reader.complain(*table.get("gradient_syncs"),
                    "gradient_syncs: there is no TPU runtime for C++ to run on; on GPUs use "
                    "mirrored");
  }
  if (std::ranges::none_of(syncs, sends_allreduces)) return;
  const bool is_mpi = table["transport"].value_or(std::string("auto")) == "auto" && where.on_cpus;
  const std::string why = why_not_carried(study.allreduce, study.transport);
  if (!why.empty()) {
    reader.complain(place_of(table, is_mpi ? "allreduce" : "transport"),
                    fmt::format("allreduce: {}{}", why, is_mpi ? " (auto is mpi on CPUs)" : ""));
  }
}

void read(TomlReader& reader, const toml::table& table, const Whereabouts& where,
          EpochStudy& study) {
  if (!where.data.empty()) study.data = where.data;
  keys(reader, table, study);
  if (study.allreduce == "nccl" && study.transport == "auto") study.transport = "nccl";
  spell_out(study, where.on_cpus);
  if (study.target_accuracy > 1) {
    reader.complain(*table.get("target_accuracy"),
                    "target_accuracy: a share of the test set; valid: above 0 and up to 1");
  } else if (study.target_accuracy > 0 && !study.evaluate) {
    reader.complain(*table.get("target_accuracy"),
                    "target_accuracy: needs the evaluation that evaluate = false leaves out");
  }
  if (study.allreduce == "nccl" && study.transport != "nccl") {
    reader.complain(*table.get("allreduce"), "allreduce: nccl needs transport = \"nccl\"");
  }
  study.allreduce = allreduce_meant(study.allreduce);
  refuse_other_batch(reader, table, study);
  refuse_syncs(reader, table, study, where);
  refuse_data(reader, table, study.data, where);
  refuse_samples(reader, table, study);
  if (study.scaling == "weak" && study.samples == 0) {
    reader.complain(*table.get("scaling"),
                    "scaling: without samples a data set does not grow with N; valid: samples = "
                    "the images of each rank, so that the largest N has as many");
  }
  reader.required(table, "model");
  reader.no_other_keys(table);
}

/// What is known of the ranks' hosts once [study] is read.
Whereabouts as_said(const StudyConfig& config, Whereabouts where) {
  if (!config.hosts.empty()) where.looks_here = where.on_cpus = false;
  where.on_cpus = where.on_cpus || config.device == "cpu";
  return where;
}

/// Of [allreduce] or an [[epoch]].
void refuse_gpu_transport(TomlReader& reader, const toml::table& table, const StudyConfig& config,
                          const std::string& transport) {
  if (config.device != "cpu" || !is_of_gpus(transport)) return;
  reader.complain(*table.get("transport"),
                  fmt::format("transport: {} is for GPUs, and device is \"cpu\"", transport));
}

template <class Part>
void read_part(TomlReader& reader, const toml::table& root, std::string_view key,
               const Whereabouts& where, std::optional<Part>& part) {
  if (const toml::table* table = reader.table(root, key)) {
    read(reader, *table, where, part.emplace());
  }
}

/// Where a job's channel has named the data set, and not the file.
void say_data(toml::table& table, const auto& study) {
  if (study.data != std::decay_t<decltype(study)>().data) table.insert("data", study.data);
}

}  // namespace

void spell_out(EpochStudy& study, bool on_cpus) {
  const bool strong = study.scaling == "strong";
  if (const ModelDefaults* const own = defaults_of(study.model)) {
    std::int64_t& batch = strong ? study.global_batch : study.batch_per_rank;
    if (batch == 0) batch = own->batch;
    if (study.optimizer.empty()) study.optimizer = own->optimizer;
    if (study.learning_rate == 0) study.learning_rate = own->learning_rate;
  }
  const std::optional<std::int64_t> images = images_of(study.data);
  if (study.data == "synthetic") study.data = fmt::format("synthetic:{}", images.value());
  if (strong && study.samples == 0) study.samples = images.value_or(0);
  if (study.transport == "auto" && on_cpus) study.transport = "mpi";
}

std::string config_text(const StudyConfig& config) {
  toml::table root = toml::parse(config.text);
  root.insert("study", toml::table());
  toml::table& study = *root["study"].as_table();
  study.insert_or_assign("name", config.name);
  study.insert_or_assign("launches", config.launches);
  for (const char* key : {"ranks", "layouts"}) study.erase(key);
  toml::array ranks, layouts;
  for (const int number : config.ranks) ranks.push_back(number);
  for (const Layout& layout : config.layouts) layouts.push_back(layout_words(layout));
  if (!ranks.empty()) study.insert("ranks", ranks);
  if (!layouts.empty()) study.insert("layouts", layouts);
  if (!config.hosts.empty()) study.insert_or_assign("hosts", config.hosts);
  if (config.throughput) say_data(*root["throughput"].as_table(), *config.throughput);
  for (std::size_t i = 0; i < config.epochs.size(); ++i) {
    say_data(*root["epoch"][i].as_table(), config.epochs[i]);
  }
  std::ostringstream text;
  text << toml::toml_formatter(root, toml::format_flags::none) << "\n";
  return text.str();
}

StudyConfig parse_study_config(std::string text, const std::filesystem::path& path,
                               const Whereabouts& here) {
  StudyConfig config;
  config.text = std::move(text);
  TomlReader reader(path.string());
  const toml::table root = reader.parsed(config.text);
  if (const toml::table* study = reader.table(root, "study")) read(reader, *study, config);
  const Whereabouts where = as_said(config, here);
  read_part(reader, root, "allreduce", where, config.allreduce);
  if (config.allreduce) {
    refuse_gpu_transport(reader, *root["allreduce"].as_table(), config,
                         config.allreduce->transport);
  }
  read_part(reader, root, "throughput", where, config.throughput);
  for (const toml::table* table : reader.tables(root, "epoch")) {
    read(reader, *table, where, config.epochs.emplace_back());
    refuse_gpu_transport(reader, *table, config, config.epochs.back().transport);
  }
  reader.no_other_keys(root);
  if (config.name.empty()) config.name = plain_name(path.stem().string());
  if (!config.allreduce && !config.throughput && config.epochs.empty()) {
    reader.complain(root, "measures nothing; valid: [allreduce], [throughput], [[epoch]]");
  }
  reader.throw_complaints();
  return config;
}

}  // namespace scalebench
