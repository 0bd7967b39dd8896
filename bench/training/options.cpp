// SPDX-License-Identifier: Apache-2.0
#include "bench/training/options.hpp"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "bench/cli/command_line.hpp"
#include "bench/cli/help.hpp"
#include "bench/cli/words.hpp"
#include "bench/machine/identity.hpp"
#include "bench/machine/managed_job.hpp"
#include "collectives/transport/nccl.hpp"
#include "kernels/device.hpp"
#include "kernels/error.hpp"
#include "models/network/models.hpp"
#include "models/torch/device.hpp"

namespace scalebench {
namespace {

constexpr std::array<std::string_view, 3> kChannelsLast{"no", "yes", "both"};
constexpr std::array<std::string_view, 3> kFormats{"table", "csv", "json"};

/// Which of `names` are listed, as their places.
std::vector<std::size_t> places(std::string_view option, const std::string& list,
                                std::span<const std::string_view> names) {
  std::vector<std::size_t> found;
  for (const std::string& name : split_set(option, list)) {
    require_known(option.substr(2), name, names);
    found.push_back(static_cast<std::size_t>(std::ranges::find(names, name) - names.begin()));
  }
  return found;
}

void add_step_options(CLI::App& app, StepWords& words) {
  const Heading data(app, kModelAndData);
  offer(app.add_option("--precision", words.precision,
                       "of forward and backward: float32; tf32, which lets tensor cores round "
                       "products; or autocast to bfloat16 or fp16 (loss scaling)")
            ->capture_default_str(),
        kPrecisionNames);
  offer(app.add_option("--channels-last", words.channels_last,
                       "yes: images and weights with the channel as the fastest index; in "
                       "bench_throughput also both: a case each")
            ->capture_default_str(),
        kChannelsLast);
  offer(app.add_option("--step", words.step,
                       "eager: kernels are launched one by one; graph: on a GPU, a step as one "
                       "CUDA graph; fused: batch normalisation, addition, bias and ReLU as layers "
                       "of our own, on a GPU as a graph too, always channels last (not for mlp "
                       "and files, which have none of them)")
            ->capture_default_str(),
        kStepNames);
}

/// Of a TorchScript module, and of the training of any model.
void add_module_options(CLI::App& app, TrainerOptions& trainer) {
  const Heading data(app, kModelAndData);
  offer(app.add_option(
            "--loss", trainer.module.loss,
            "of a TorchScript module: cross_entropy (default), nll, mse or bce_with_logits"),
        kLossNames);
  const auto input_shape = [&shape = trainer.module.shape](const std::string& word) {
    const std::vector<int> sizes = parse_counts("--input-shape", word);
    if (sizes.size() != 3) {
      fail<UsageError>("--input-shape {}: expected channels,height,width", word);
    }
    shape.channels = sizes[0];
    shape.height = sizes[1];
    shape.width = sizes[2];
  };
  app.add_option_function<std::string>(
      "--input-shape", input_shape,
      "of a TorchScript module: channels,height,width; default 1,28,28");
  app.add_option("--classes", trainer.module.shape.classes,
                 "of a TorchScript module, which returns (n, classes); default 10");
  app.add_flag("--release-memory", trainer.release_memory,
               "let the C library give freed memory back in every step, as it does by itself");
  offer(app.add_option("--optimizer", trainer.optimizer,
                       "sgd (momentum 0.9) or adam; default: the model's"),
        {"sgd", "adam"});
  app.add_option("--lr", trainer.rate.base, "learning rate of one rank; 0: the model's default")
      ->capture_default_str();
  app.add_option("--seed", trainer.seed, "of weights, shuffle, dropout and synthetic images")
      ->capture_default_str();
}

/// Every combination of what is listed, precisions outermost, but fused steps with channels last
/// alone. Throws UsageError for a word that is none.
std::vector<StepVariant> step_variants(const StepWords& words) {
  require_known("channels-last", words.channels_last, kChannelsLast);
  const bool both = words.channels_last == "both";
  std::vector<StepVariant> variants;
  for (const std::size_t precision : places("--precision", words.precision, kPrecisionNames)) {
    for (const bool last : {false, true}) {
      if (!both && last != (words.channels_last == "yes")) continue;
      for (const std::size_t place : places("--step", words.step, kStepNames)) {
        const auto step = static_cast<StepKind>(place);
        const bool fused = step == StepKind::fused;
        if (fused && both && !last) continue;
        variants.push_back({static_cast<Precision>(precision), last || fused, step});
      }
    }
  }
  return variants;
}

}  // namespace

void apply(const StepVariant& variant, TrainerOptions& trainer) {
  trainer.precision = variant.precision;
  trainer.channels_last = variant.channels_last;
  trainer.step = variant.step;
}

void add_training_options(CLI::App& app, TrainingOptions& options) {
  TrainerOptions& trainer = options.trainer;
  const JobFolders job = job_folders(environment_variables(::environ));
  if (!job.data.empty()) trainer.dataset = job.data;
  std::vector<std::string> names;
  for (const ModelInfo& model : models()) names.emplace_back(model.name);
  offer(app.add_option("--model", trainer.model,
                       fmt::format("{}, or a TorchScript file as net.pt", fmt::join(names, ", ")))
            ->capture_default_str(),
        names);
  app.add_option(
         "--data", trainer.dataset,
         "fashion-mnist, synthetic, or a folder: IDX files named as MNIST's, CIFAR-10's binary "
         "files, or JPEG files as class/image.jpg, also below train/ and val/")
      ->capture_default_str()
      ->type_name("DIR");
  add_step_options(app, options.step);
  add_module_options(app, trainer);
  add_device_options(app, options.devices);
  app.add_option("--threads", trainer.threads, "CPU threads of a rank")
      ->capture_default_str()
      ->group(kParallelism);
  add_choice(app, "--format", options.format, kFormats,
             "table, csv or json (one object a line) on stdout");
  add_record_options(app, options.record);
  add_host_options(app, options.hosts);
  app.add_flag("--monitor", options.monitor,
               "record how busy cores, memory, disks, network and GPUs are, twice a second, in "
               "monitor.csv of --out")
      ->group(kRecording);
  app.add_flag("-q,--quiet", options.quiet, "no progress on stderr");
  add_version_option(app);
}

void apply_training_options(TrainingOptions& options) {
  check_device_options(options.devices);
  if (options.monitor && options.record.out.empty()) {
    fail<UsageError>("--monitor writes monitor.csv: give a folder with --out");
  }
  TrainerOptions& trainer = options.trainer;
  options.variants = step_variants(options.step);
  apply(options.variants.front(), trainer);
  trainer.choice = choose_model(trainer.model, trainer.module);
}

void note_job(const TrainingOptions& options, std::string_view checkpoints, Console& console) {
  if (!options.record.run_id.empty()) return;
  JobFolders used = job_folders(environment_variables(::environ));
  used.results.clear();
  if (used.data != options.trainer.dataset) used.data.clear();
  if (used.checkpoints != checkpoints) used.checkpoints.clear();
  if (!used.named().empty()) console.note(describe(used));
}

void choose_device(const Ranks& ranks, TrainingOptions& options) {
  RankDevices& placed = options.placed = place_on_devices(ranks, options.devices);
  if (placed.any && !all_agree(ranks.host, torch_sees_cuda())) {
    placed = {};
    placed.why_not = fmt::format("LibTorch {} is without usable CUDA", torch_version());
  }
  require_device_each(placed, options.devices);
  if (!placed.each()) return;
  options.trainer.device = ComputeDevice::cuda;
  options.trainer.device_index = placed.mine;
  options.record.emulated = options.record.emulated || placed.shared;
  select_device(placed.mine);
}

LinkedLibraries training_libraries() {
  return {.mpi = MpiSession::library_version(), .torch = torch_version(), .nccl = nccl_version()};
}

std::string variant_text(const TrainerOptions& trainer) {
  std::string text;
  if (trainer.choice.loss != Loss::cross_entropy) {
    text += fmt::format(" loss={}", kLossNames.at(static_cast<std::size_t>(trainer.choice.loss)));
  }
  if (trainer.accumulate > 1) text += fmt::format(" accumulate={}", trainer.accumulate);
  if (trainer.channels_last) text += " channels_last";
  if (trainer.step == StepKind::graph) text += " step_graph";
  if (trainer.step == StepKind::fused) text += " step_fused";
  if (trainer.release_memory) text += " release_memory";
  return text;
}

std::string memory_format(const TrainerOptions& trainer) {
  return trainer.channels_last ? "channels_last" : "contiguous";
}

std::string device_label(const TrainerOptions& trainer) {
  return trainer.device == ComputeDevice::cpu ? "cpu" : device_name(trainer.device_index);
}

}  // namespace scalebench
