// SPDX-License-Identifier: Apache-2.0
#include "bench/training_options.hpp"

#include <array>

#include "bench/allreduce_transport.hpp"
#include "bench/cli/command_line.hpp"
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
  std::string names;
  for (const ModelInfo& model : models())
    names += (names.empty() ? "" : ", ") + std::string(model.name);
  app.add_option("--model", trainer.model, names)->capture_default_str();
  app.add_option(
         "--data-dir", trainer.dataset,
         "fashion-mnist, synthetic, or a folder: IDX files named as MNIST's, CIFAR-10's binary "
         "files, or JPEG files as class/image.jpg, also below train/ and val/")
      ->capture_default_str();
  app.add_option("--batch", trainer.batch, "images per rank and step; 0: the model's default")
      ->capture_default_str();
  app.add_option("--optimizer", trainer.optimizer,
                 "sgd (momentum 0.9) or adam; default: the model's");
  app.add_option("--lr", trainer.rate.base, "learning rate of one rank; 0: the model's default")
      ->capture_default_str();
  app.add_option("--seed", trainer.seed, "of weights, shuffle, dropout and synthetic images")
      ->capture_default_str();
  app.add_option("--threads", trainer.threads, "CPU threads of a rank")->capture_default_str();
  app.add_option("--device", options.device, "auto, cpu, or cuda (one device per rank of a host)")
      ->capture_default_str();
  app.add_option("--format", options.format, "table, csv or json (one object a line) on stdout")
      ->capture_default_str();
  add_record_options(app, options.record);
  app.add_flag("--monitor", options.monitor,
               "record how busy cores, memory, disks, network and GPUs are, twice a second, in "
               "monitor.csv of --out");
  app.add_flag("-q,--quiet", options.quiet, "no progress on stderr");
}

void check_training_options(const TrainingOptions& options) {
  require_known("device", options.device, kDevices);
  require_known("format", options.format, kFormats);
  model_named(options.trainer.model);
  if (options.monitor && options.record.out.empty()) {
    fail<UsageError>("--monitor writes monitor.csv: give a folder with --out");
  }
}

void choose_device(const Ranks& ranks, TrainingOptions& options) {
  const bool possible = every_rank_has_a_device(ranks) && all_agree(ranks.host, torch_sees_cuda());
  if (options.device == "cuda" && !possible) {
    fail<Unavailable>("--device cuda: {} device(s) for {} rank(s) on {}, LibTorch {} {} CUDA{}{}",
                      device_count(), ranks.session.local_size(), ranks.session.host(),
                      torch_version(), torch_sees_cuda() ? "with" : "without usable",
                      device_count() > 0 ? "" : "; ", device_count() > 0 ? "" : why_no_device());
  }
  if (options.device == "cpu" || !possible) return;
  options.trainer.device = ComputeDevice::cuda;
  options.trainer.device_index = ranks.session.local_rank();
  select_device(options.trainer.device_index);
}

LinkedLibraries training_libraries() {
  return {.mpi = MpiSession::library_version(), .torch = torch_version(), .nccl = nccl_version()};
}

std::string device_label(const TrainerOptions& trainer) {
  return trainer.device == ComputeDevice::cpu ? "cpu" : device_name(trainer.device_index);
}

}  // namespace scalebench
