// SPDX-License-Identifier: Apache-2.0
// A study as a TOML file says it: what to measure, on how many ranks, how often. Strict: an unknown
// key, a wrong type or an impossible value is refused, all of them in one pass.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/launch/hosts.hpp"

namespace scalebench {

struct AllreduceStudy {
  std::vector<std::string> algorithms{"all"};
  std::vector<std::string> dtypes{"float"};
  std::string transport = "auto";
  std::string min_bytes = "1KiB";
  std::string max_bytes = "64MiB";
  std::int64_t factor = 4;
  std::string cache = "warm";
  std::vector<int> registrations = {};  // with NCCL, 0 to 2; empty: as it can
  double max_seconds = 5;               // cap on the repetitions of a case
};

struct ThroughputStudy {
  std::vector<std::string> models;
  std::string data = "fashion-mnist";
  std::int64_t batch_per_rank = 0;    // 0: the model's default
  std::vector<int> batches_per_rank;  // instead: several
  // Of the step, every combination a case: as bench_throughput's options.
  std::vector<std::string> precisions{"float32"};
  std::string channels_last = "no";
  std::vector<std::string> steps{"eager"};
  double max_seconds = 5;
};

struct EpochStudy {
  std::string model;
  std::vector<std::string> gradient_syncs{"mirrored"};
  std::string allreduce = "ring";
  std::string transport = "auto";
  std::string scaling = "strong";
  std::string data = "fashion-mnist";
  std::int64_t global_batch = 0;    // strong scaling; 0: the model's default
  std::int64_t batch_per_rank = 0;  // weak scaling; 0: the model's default
  std::int64_t samples = 0;         // an epoch; 0: the whole data set
  std::int64_t epochs = 1;
  bool evaluate = true;        // test accuracy after each epoch
  double target_accuracy = 0;  // ends a training before `epochs`; 0: none
  bool plain_loop = true;      // also a base without synchronisation code
  bool split_compute = false;  // also one rank alone with its share of the batch
  std::string optimizer;       // empty: the model's default
  double learning_rate = 0;    // 0: the model's default
};

/// Says what the study leaves to the model's own row, to its data set and, `on_cpus`, to the
/// transport that auto then is, so that equal cases have equal words, whoever spells them out.
void spell_out(EpochStudy& study, bool on_cpus);

inline constexpr int kMostLaunches = 1000;

struct StudyConfig {
  std::string name;
  std::int64_t launches = 6;    // up to kMostLaunches
  std::vector<int> ranks;       // empty: 1, 2, 4, ... up to one a core or device
  std::vector<Layout> layouts;  // instead of ranks: on how many hosts
  std::string hosts;            // a list or a hostfile's path; empty: as the environment says
  std::uint64_t seed = 1;
  std::int64_t threads = 1;  // CPU threads of a rank: what counts as one device on a CPU
  std::string device = "auto";
  std::string devices;         // of each host, as --devices says them; empty: all
  bool share_devices = false;  // several ranks may be on one GPU: rows are then emulated
  bool monitor = true;         // training launches record what the machine does beside them
  bool record_trace = true;    // the one_device launches record steps layer by layer
  std::vector<std::string> mpirun_arguments;
  std::optional<AllreduceStudy> allreduce;
  std::optional<ThroughputStudy> throughput;
  std::vector<EpochStudy> epochs;
  std::string text;  // the file itself
};

/// What is known of where the ranks of a study will be, unless it names other hosts.
struct Whereabouts {
  std::string data{};       // of studies that name none; empty: their own default
  bool looks_here = false;  // data sets are those of this host
  bool on_cpus = false;     // the ranks have no GPUs
};

/// A config's text; `path` is what complaints call it. Throws UsageError with one line
/// `file:line:column: what; what is valid` for each thing wrong.
StudyConfig parse_study_config(std::string text, const std::filesystem::path& path,
                               const Whereabouts& here = {});

/// The config's own text with what the command line and the job have changed in it. Reading it back
/// gives the same study.
std::string config_text(const StudyConfig& config);

}  // namespace scalebench
