// SPDX-License-Identifier: Apache-2.0
#include "bench/training_options.hpp"

#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "bench/allreduce_transport.hpp"
#include "bench/cli/choices.hpp"
#include "bench/cli/command_line.hpp"
#include "bench/device_choice.hpp"
#include "bench/record/managed_job.hpp"
#include "collectives/control.hpp"
#include "collectives/nccl_communicator.hpp"
#include "kernels/device.hpp"
#include "kernels/error.hpp"
#include "models/models.hpp"
#include "models/torch_library.hpp"

namespace scalebench {
namespace {

constexpr std::array<std::string_view, 3> kDevices{"auto", "cpu", "cuda"};
constexpr std::array<std::string_view, 3> kFormats{"table", "csv", "json"};

}  // namespace

void add_training_options(CLI::App& app, TrainingOptions& options) {
  TrainerOptions& trainer = options.trainer;
  const ManagedJob job = job_folders(job_variables(::environ));
  if (job.data) trainer.dataset = job.data->value;
  std::vector<std::string> names;
  for (const ModelInfo& model : models()) names.emplace_back(model.name);
  offer(app.add_option(
               "--model", trainer.model,
               fmt::format(
                   "{}, a TorchScript module (a file as net.pt), or in bench_epoch replay:FILE, "
                   "recorded steps that are slept through",
                   fmt::join(names, ", ")))
            ->capture_default_str(),
        names);
  offer(app.add_option(
            "--loss", trainer.module.loss,
            "of a TorchScript module: cross_entropy (default), nll, mse or bce_with_logits"),
        kLossNames);
  app.add_option("--input-shape", options.input_shape,
                 "of a TorchScript module: channels,height,width; default 1,28,28");
  app.add_option("--classes", trainer.module.shape.classes,
                 "of a TorchScript module, which returns (n, classes); default 10");
  add_step_options(app, options.step);
  app.add_flag("--release-memory", trainer.release_memory,
               "let the C library give freed memory back in every step, as it does by itself");
  app.add_option(
         "--data-dir", trainer.dataset,
         "fashion-mnist, synthetic, or a folder: IDX files named as MNIST's, CIFAR-10's binary "
         "files, or JPEG files as class/image.jpg, also below train/ and val/")
      ->capture_default_str()
      ->type_name("DIR");
  offer(app.add_option("--optimizer", trainer.optimizer,
                       "sgd (momentum 0.9) or adam; default: the model's"),
        {"sgd", "adam"});
  app.add_option("--lr", trainer.rate.base, "learning rate of one rank; 0: the model's default")
      ->capture_default_str();
  app.add_option("--seed", trainer.seed, "of weights, shuffle, dropout and synthetic images")
      ->capture_default_str();
  app.add_option("--threads", trainer.threads, "CPU threads of a rank")->capture_default_str();
  offer(app.add_option("--device", options.device,
                       "auto, cpu, or cuda (one device per rank of a host)")
            ->capture_default_str(),
        kDevices);
  app.add_option("--devices", options.devices,
                 "the devices that the ranks of a host take, in their order, such as 0,2; "
                 "default: all");
  offer(
      app.add_option("--format", options.format, "table, csv or json (one object a line) on stdout")
          ->capture_default_str(),
      kFormats);
  add_record_options(app, options.record);
  app.add_flag("--monitor", options.monitor,
               "record how busy cores, memory, disks, network and GPUs are, twice a second, in "
               "monitor.csv of --out");
  app.add_flag("-q,--quiet", options.quiet, "no progress on stderr");
  add_color_option(app, options.color);
}

void apply_training_options(TrainingOptions& options) {
  require_known("device", options.device, kDevices);
  require_known("format", options.format, kFormats);
  if (options.monitor && options.record.out.empty()) {
    fail<UsageError>("--monitor writes monitor.csv: give a folder with --out");
  }
  TrainerOptions& trainer = options.trainer;
  options.variants = step_variants(options.step);
  apply(options.variants.front(), trainer);
  if (!options.input_shape.empty()) {
    const std::vector<int> sizes = parse_counts("--input-shape", options.input_shape);
    if (sizes.size() != 3) {
      fail<UsageError>("--input-shape {}: expected channels,height,width", options.input_shape);
    }
    ImageShape& shape = trainer.module.shape;
    shape.channels = sizes[0];
    shape.height = sizes[1];
    shape.width = sizes[2];
  }
  trainer.choice = choose_model(trainer.model, trainer.module);
  if (!parse_devices(options.devices).empty() && options.device == "cpu") {
    fail<UsageError>("--devices {} names CUDA devices, and --device cpu asks for none",
                     options.devices);
  }
}

void note_job(const TrainingOptions& options, std::string_view checkpoints, Console& console) {
  if (!options.record.run_id.empty()) return;
  const std::string used =
      describe_used(job_folders(job_variables(::environ)), options.trainer.dataset, checkpoints);
  if (!used.empty()) console.note(used);
}

void choose_device(const Ranks& ranks, TrainingOptions& options) {
  const bool possible = every_rank_has_a_device(ranks) && all_agree(ranks.host, torch_sees_cuda());
  const std::vector<int> devices = parse_devices(options.devices);
  if ((options.device == "cuda" || !devices.empty()) && !possible) {
    fail<Unavailable>("--device{} {}: {} device(s) for {} rank(s) on {}, LibTorch {} {} CUDA{}{}",
                      devices.empty() ? "" : "s", devices.empty() ? "cuda" : options.devices,
                      device_count(), ranks.session.local_size(), ranks.session.host(),
                      torch_version(), torch_sees_cuda() ? "with" : "without usable",
                      device_count() > 0 ? "" : "; ", device_count() > 0 ? "" : why_no_device());
  }
  if (options.device == "cpu" || !possible) return;
  options.trainer.device = ComputeDevice::cuda;
  options.trainer.device_index = device_of_rank(devices, ranks.session.local_rank(),
                                                ranks.session.local_size(), device_count());
  select_device(options.trainer.device_index);
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
  if (trainer.step_graph) text += " step_graph";
  if (trainer.release_memory) text += " release_memory";
  if (trainer.choice.trace != nullptr) {
    text +=
        fmt::format(" trace={} dilation={}", trainer.choice.trace_digest, trainer.choice.dilation);
  }
  return text;
}

std::string memory_format(const TrainerOptions& trainer) {
  return trainer.channels_last ? "channels_last" : "contiguous";
}

std::string device_label(const TrainerOptions& trainer) {
  return trainer.device == ComputeDevice::cpu ? "cpu" : device_name(trainer.device_index);
}

}  // namespace scalebench
