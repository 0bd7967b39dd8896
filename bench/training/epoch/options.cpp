// SPDX-License-Identifier: Apache-2.0
#include "bench/training/epoch/options.hpp"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <sstream>
#include <vector>

#include "bench/cli/help.hpp"
#include "bench/cli/words.hpp"
#include "bench/training/epoch/recording.hpp"
#include "collectives/carries.hpp"
#include "kernels/error.hpp"
#include "models/gradients/gradient_sync.hpp"
#include "models/network/models.hpp"

namespace scalebench {
namespace {

constexpr std::array<std::string_view, 2> kScalings{"strong", "weak"};
constexpr std::array<std::string_view, 5> kTransports{"auto", "mpi", "shared_memory", "nccl",
                                                      "cuda_ipc"};
constexpr std::array<std::string_view, 2> kRateScalings{"none", "linear"};

constexpr double kMiB = 1024.0 * 1024.0;
constexpr std::array<std::string_view, 3> kProgress{"thread", "hook", "end"};
constexpr std::array<std::string_view, 3> kCompressions{"none", "fp16", "bfloat16"};
constexpr std::array<DType, 3> kWires{DType::float32, DType::float16, DType::bfloat16};
constexpr std::array<std::string_view, 2> kEpochRules{"true", "seed"};
constexpr std::array<std::string_view, 2> kRateSchedules{"constant", "resnet"};

/// The options that matter to a gradient sync, as case ids name them.
std::vector<std::string> told(const GradientSyncInfo& sync) {
  std::istringstream names{std::string(sync.told)};
  return {std::istream_iterator<std::string>(names), {}};
}

bool given(const CLI::App& app, const char* option) { return app.count(option) > 0; }

void add_gradient_sync_options(CLI::App& app, GradientSyncOptions& options) {
  const Heading strategy(app, kStrategy);
  const auto add_size = [&app](const std::string& name, std::size_t& bytes, const char* what) {
    const auto take = [name, &bytes](double mib) {
      if (!std::isfinite(mib) || mib <= 0) {
        fail<UsageError>("{} {}: must be a positive number of MiB", name, mib);
      }
      bytes = static_cast<std::size_t>(std::max(1.0, mib * kMiB));
    };
    add_word<double>(app, name, static_cast<double>(bytes) / kMiB, take, what);
  };
  const auto add_count = [&app](const std::string& name, int& count, const char* what) {
    const auto take = [name, &count](int number) {
      if (number < 1) fail<UsageError>("{} {}: must be at least 1", name, number);
      count = number;
    };
    add_word<int>(app, name, count, take, what);
  };
  const auto compress = [&options](const std::string& word) {
    require_known("compression", word, kCompressions);
    options.wire = kWires.at(
        static_cast<std::size_t>(std::ranges::find(kCompressions, word) - kCompressions.begin()));
  };
  const auto cycle = [&options](double milliseconds) {
    if (!std::isfinite(milliseconds) || milliseconds < 0) {
      fail<UsageError>("--cycle-ms {}: must be 0 or more", milliseconds);
    }
    options.cycle_seconds = milliseconds / 1000;
  };
  add_size("--bucket-mb", options.bucket_bytes,
           "bucketed_overlap: MiB of gradients that are reduced at once");
  add_choice(app, "--progress", options.progress, kProgress,
             "bucketed_overlap: who reduces a full bucket: a thread beside the backward pass, "
             "the backward pass itself (hook), or nobody before its end");
  offer(add_word<std::string>(app, "--compression", "none", compress,
                              "type in which gradients travel: none, fp16 or bfloat16"),
        kCompressions);
  add_size("--fusion-mb", options.fusion_bytes, "horovod: MiB of one fused message");
  add_word<double>(app, "--cycle-ms", options.cycle_seconds * 1000, cycle,
                   "horovod: time between rounds of negotiation");
  add_count("--servers", options.servers, "ps_sync, ps_async: ranks that hold the variables");
  add_count("--micro-batches", options.micro_batches, "model_split: parts of a step's images");
}

/// Throws UsageError for an option that was typed and that this gradient sync does not read.
void check_gradient_sync_options(const CLI::App& app, std::string_view gradient_sync,
                                 const GradientSyncOptions& options) {
  std::map<std::string, std::vector<std::string_view>> readers;  // by option
  for (const GradientSyncInfo& sync : gradient_syncs()) {
    for (std::string name : told(sync)) {
      std::ranges::replace(name, '_', '-');
      readers["--" + name].push_back(sync.name);
    }
  }
  for (const auto& [option, syncs] : readers) {
    if (app.count(option) == 0 || std::ranges::count(syncs, gradient_sync) > 0) continue;
    fail<UsageError>("{}: gradient sync {} does not read it; expected {}", option, gradient_sync,
                     fmt::join(syncs, " or "));
  }
  if (options.wire != DType::float32 &&
      gradient_sync_named(gradient_sync).sends == Sends::nothing) {
    fail<UsageError>("--compression: gradient sync {} sends nothing; leave it out", gradient_sync);
  }
}

/// What an epoch reads, and by which rules.
void add_input_options(CLI::App& app, TrainerOptions& options) {
  const Heading data(app, kModelAndData);
  app.add_option("--loader-threads", options.loader_threads,
                 "threads of each rank that prepare batches ahead; 0: the rank's own does it")
      ->capture_default_str();
  add_choice(
      app, "--epoch-rule", options.epoch_rule, kEpochRules,
      "true: every image at most once, what does not fill a step is left out; seed: steps as "
      "the textbook counts them (mlp 6000, mnist_cnn 500 // ranks; weak scaling)");
  add_choice(app, "--lr-schedule", options.rate.schedule, kRateSchedules,
             "constant, or resnet: 0.1 per 256 images of a step, 5 epochs of warm-up, a tenth "
             "of it after 30, 60, 80 and 90");
}

/// What is learnt from, at which rate, and until when.
void add_learning_options(CLI::App& app, EpochOptions& options) {
  TrainerOptions& trainer = options.training.trainer;
  const Heading data(app, kModelAndData);
  app.add_option("--accumulate", trainer.accumulate,
                 "backward passes of a step, whose gradients add up before they travel")
      ->capture_default_str();
  add_choice(app, "--lr-scaling", trainer.rate.scaling, kRateScalings,
             "none, or linear: learning rate times ranks");
  app.add_option("--lr-warmup", trainer.rate.warmup_epochs,
                 "with --lr-scaling linear: epochs from the rate of one rank to that of all")
      ->capture_default_str();
  app.add_option("--warmup-steps", options.warm_up_steps,
                 "steps before the clock starts, on a model that is then thrown away")
      ->capture_default_str();
  app.add_option("--target-accuracy", options.target_accuracy,
                 "end when this share of the test set is classified correctly, as 0.91; --epochs "
                 "is then the most that are trained");
  app.add_flag("--no-evaluation")->description("leave the test accuracy out");
}

/// Files that tell when something happened.
void add_event_options(CLI::App& app, EpochOptions& options) {
  const Heading recording(app, kRecording);
  app.add_option("--record-trace", options.record_trace,
                 "after the epochs, on one rank: record steps layer by layer, for scalebench "
                 "predict; without a folder: in that of --out")
      ->type_name("FILE");
  app.add_option("--timeline", options.timeline,
                 "horovod: file for chrome://tracing of what rank 0's gradients go through in the "
                 "first epoch")
      ->type_name("FILE");
}

void describe(CLI::App& app, int ranks, EpochOptions& options) {
  TrainerOptions& trainer = options.training.trainer;
  add_training_options(app, options.training);
  add_choice(app, "--scaling", options.scaling, kScalings,
             "strong: the global batch stays, each rank takes 1/N; weak: the batch per rank stays");
  app.add_option("--batch-per-rank", trainer.batch,
                 "images per rank and step (weak scaling); 0: the model's default")
      ->capture_default_str();
  app.add_option("--global-batch", trainer.global_batch,
                 "images of all ranks in a step (strong scaling); 0: the model's default")
      ->capture_default_str();
  const auto names_in = [](const auto& table) {
    std::vector<std::string> names;
    for (const auto& line : table) names.emplace_back(line.name);
    return names;
  };
  offer(app.add_option("--gradient-sync", trainer.gradient_sync, "a name of --list")
            ->capture_default_str(),
        names_in(gradient_syncs()));
  std::vector<std::string> reducing = names_in(allreduce_algorithms());
  reducing.insert(reducing.end(), kTensorFlowAllreduces.begin(), kTensorFlowAllreduces.end());
  offer(app.add_option("--allreduce", options.allreduce,
                       "algorithm that gradient syncs reduce with; also as TensorFlow names it: "
                       "nccl (native over transport nccl), hierarchical_copy, reduce_to_one")
            ->capture_default_str(),
        reducing);
  add_choice(app, "--transport", options.transport, kTransports,
             "of gradients: mpi, shared_memory, nccl, cuda_ipc, or auto (nccl or mpi, by device)");
  add_gradient_sync_options(app, trainer.sync);
  add_input_options(app, trainer);
  app.add_option("--epochs", options.epochs, "how many")->capture_default_str();
  app.add_option(
         "--samples", trainer.samples_per_epoch,
         "images of an epoch, of all ranks together, with weak scaling of each, which needs it; 0: "
         "the whole data set")
      ->capture_default_str();
  add_learning_options(app, options);
  add_checkpoint_options(app, options.checkpoints);
  app.add_option("--share-of", trainer.share_of,
                 "do the part of one rank among so many: its share of batch and images")
      ->capture_default_str()
      ->group(kParallelism);
  add_inject_option(app, InjectedInto::training, ranks, options.injections);
  add_event_options(app, options);
  add_timeout_option(app, options.timeout_seconds);
  app.add_flag("--list")->description("list models and gradient syncs and stop");
  add_examples(app,
               {"--model mlp --gradient-sync bucketed_overlap",
                "--model mnist_cnn --scaling weak --samples 6000 --out results/mine",
                "--model resnet20 --data synthetic --samples 1024 --format json"},
               "mpirun -np 2 bench_epoch");
}

/// What the trainer does of it. `stepping`: so many ranks make steps.
Faults faults_of(const Injections& injections, int stepping) {
  Faults faults{.delay_collective_seconds = injections.amount(Injected::delay),
                .throttle_input_seconds = injections.amount(Injected::throttle)};
  const Injection* const sleep = injections.find(Injected::sleep);
  if (sleep == nullptr) return faults;
  if (sleep->rank >= stepping) {
    fail<UsageError>("--inject {}: ranks from {} on serve and make no steps; expected 0 to {}",
                     sleep->text, stepping, stepping - 1);
  }
  faults.sleep_rank = sleep->rank;
  faults.sleep_seconds = sleep->amount;
  return faults;
}

/// Rows and tables name the algorithm that is used.
void settle_allreduce(EpochOptions& options) {
  if (options.allreduce == "nccl") {
    if (options.transport != "auto" && options.transport != "nccl") {
      fail<UsageError>(
          "--allreduce nccl reduces with NCCL, but gradients travel over {}; give --transport "
          "nccl, or --allreduce native",
          options.transport);
    }
    options.transport = "nccl";
  }
  options.training.trainer.allreduce = &allreduce_named(allreduce_meant(options.allreduce));
  options.allreduce = options.training.trainer.allreduce->name;
}

/// What strong and weak scaling keep when N grows.
void settle_scaling(EpochOptions& options) {
  TrainerOptions& trainer = options.training.trainer;
  const bool strong = options.scaling == "strong";
  if (strong && trainer.batch > 0 && trainer.global_batch == 0) {
    fail<UsageError>(
        "--batch-per-rank changes the global batch with N: strong scaling takes --global-batch (or "
        "give --scaling weak)");
  }
  if (!strong && trainer.global_batch > 0) {
    fail<UsageError>(
        "--global-batch stays fixed: weak scaling takes --batch-per-rank (or give --scaling "
        "strong)");
  }
  // The textbook's rule says itself how many.
  if (!strong && trainer.samples_per_epoch == 0 && trainer.epoch_rule != EpochRule::seed) {
    fail<UsageError>(
        "--scaling weak: a data set does not grow with N; give --samples, the images of each rank, "
        "so that the largest N has as many");
  }
  if (strong && trainer.epoch_rule == EpochRule::seed) {
    fail<UsageError>(
        "--epoch-rule seed: the textbook's steps keep the batch of each rank, so that the global "
        "one grows with N; give --scaling weak");
  }
  if (strong && trainer.global_batch == 0) {
    trainer.global_batch = trainer.choice.batch;
  }
}

void check_target(const CLI::App& app, const EpochOptions& options) {
  if (!given(app, "--target-accuracy")) return;
  if (!(options.target_accuracy > 0 && options.target_accuracy <= 1)) {
    fail<UsageError>("--target-accuracy {}: expected a share above 0 and up to 1, as 0.91",
                     options.target_accuracy);
  }
  if (!options.evaluate) {
    fail<UsageError>("--target-accuracy needs the evaluation that --no-evaluation leaves out");
  }
}

std::string lists() {
  std::string text = "models:\n";
  for (const ModelInfo& model : models()) {
    text += fmt::format("  {:<12} {:>9} parameters  batch {:>3}, {:<4}  {}\n", model.name,
                        model.parameters, model.batch, model.optimizer, model.purpose);
  }
  text += "gradient syncs:\n";
  for (const GradientSyncInfo& sync : gradient_syncs()) {
    text += fmt::format("  {:<16} {}\n", sync.name, sync.purpose);
  }
  return text;
}

}  // namespace

std::string text_of(std::string_view gradient_sync, const GradientSyncOptions& options) {
  const auto number = [](auto value) { return fmt::format("{}", value); };
  const std::map<std::string, std::string> values{
      {"bucket_mb", number(static_cast<double>(options.bucket_bytes) / kMiB)},
      {"progress", std::string(kProgress.at(static_cast<std::size_t>(options.progress)))},
      {"fusion_mb", number(static_cast<double>(options.fusion_bytes) / kMiB)},
      {"cycle_ms", number(options.cycle_seconds * 1000)},
      {"servers", number(options.servers)},
      {"micro_batches", number(options.micro_batches)}};
  std::vector<std::string> settings;
  for (const std::string& name : told(gradient_sync_named(gradient_sync))) {
    settings.push_back(fmt::format("{}={}", name, values.at(name)));
  }
  if (options.wire != DType::float32) {
    settings.push_back(fmt::format("wire={}", name_of(options.wire)));
  }
  return fmt::format("{}", fmt::join(settings, " "));
}

std::string text_of_input(const TrainerOptions& options) {
  std::string text;
  if (options.loader_threads > 0) {
    text += fmt::format(" loader_threads={}", options.loader_threads);
  }
  if (options.epoch_rule == EpochRule::seed) text += " epoch_rule=seed";
  if (options.rate.schedule == RateSchedule::resnet) text += " lr_schedule=resnet";
  return text;
}

EpochOptions parse_epoch_options(int argc, const char* const* argv, int ranks) {
  EpochOptions options;
  options.training.command.assign(argv, argv + argc);
  CLI::App app("Time whole training epochs on N ranks: mpirun -np N bench_epoch", "bench_epoch");
  describe(app, ranks, options);
  if (!parse_command_line(app, argc, argv, options.text)) return options;
  if (given(app, "--list")) {
    options.text = lists();
    return options;
  }
  apply_training_options(options.training);
  if (options.training.variants.size() > 1) {
    fail<UsageError>(
        "bench_epoch trains one way: give one --precision, --channels-last and --step (lists are "
        "for bench_throughput)");
  }
  options.evaluate = !given(app, "--no-evaluation");
  TrainerOptions& trainer = options.training.trainer;
  gradient_sync_named(trainer.gradient_sync);
  check_gradient_sync_options(app, trainer.gradient_sync, trainer.sync);
  const int workers = workers_of(trainer, ranks);
  trainer.faults =
      faults_of(options.injections, stepping_ranks(trainer.gradient_sync, trainer.sync, ranks));
  if (options.scaling == "weak") {
    const std::int64_t most = kMostSamples / workers;
    if (trainer.samples_per_epoch < 0 || trainer.samples_per_epoch > most) {
      fail<UsageError>("--samples {} of each of {} workers: expected 0 to {}",
                       trainer.samples_per_epoch, workers, most);
    }
    trainer.samples_per_epoch *= workers;
  }
  // Accuracy over rounds is one sample a round.
  trainer.seed += static_cast<std::uint64_t>(options.training.record.round);
  settle_allreduce(options);
  if (!options.timeline.empty() && trainer.gradient_sync != "horovod") {
    fail<UsageError>("--timeline: gradient sync {} tells nothing; expected horovod",
                     trainer.gradient_sync);
  }
  if (options.epochs < 1) fail<UsageError>("--epochs {}: must be at least 1", options.epochs);
  if (options.warm_up_steps < 0) fail<UsageError>("--warmup-steps: must not be negative");
  settle_scaling(options);
  resolved(trainer, workers);
  if (!options.record_trace.empty()) check_recording(trainer, ranks);
  apply_job_default(options.checkpoints, job_folders(environment_variables(::environ)),
                    !options.training.record.run_id.empty(), trainer.gradient_sync, ranks);
  check_checkpoint_options(options.checkpoints, trainer.gradient_sync, ranks);
  check_target(app, options);
  return options;
}

}  // namespace scalebench
