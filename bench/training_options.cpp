// SPDX-License-Identifier: Apache-2.0
#include "bench/training_options.hpp"

#include <array>

#include "bench/allreduce_transport.hpp"
#include "bench/cli/command_line.hpp"
#include "bench/device_choice.hpp"
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
  app.add_option("--data-dir", trainer.dataset,
                 "fashion-mnist, synthetic, or a folder with IDX files named as MNIST's")
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
  app.add_option("--devices", options.devices,
                 "the devices that the ranks of a host take, in their order, such as 0,2; "
                 "default: all");
  app.add_option("--format", options.format, "table, csv or json (one object a line) on stdout")
      ->capture_default_str();
  add_record_options(app, options.record);
  app.add_flag("-q,--quiet", options.quiet, "no progress on stderr");
}

void check_training_options(const TrainingOptions& options) {
  require_known("device", options.device, kDevices);
  require_known("format", options.format, kFormats);
  model_named(options.trainer.model);
  if (!parse_devices(options.devices).empty() && options.device == "cpu") {
    fail<UsageError>("--devices {} names CUDA devices, and --device cpu asks for none",
                     options.devices);
  }
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

std::string device_label(const TrainerOptions& trainer) {
  return trainer.device == ComputeDevice::cpu ? "cpu" : device_name(trainer.device_index);
}

}  // namespace scalebench
