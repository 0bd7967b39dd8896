// SPDX-License-Identifier: Apache-2.0
#include "bench/training/epoch/checkpoints.hpp"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <optional>

#include "bench/cli/help.hpp"
#include "bench/measure/clock_sync.hpp"
#include "bench/record/file.hpp"
#include "collectives/control.hpp"
#include "kernels/error.hpp"
#include "kernels/read_number.hpp"
#include "models/checkpoint_file.hpp"
#include "models/gradients/gradient_sync.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kStart = "epoch-";
constexpr std::string_view kEnd = ".ckpt";

std::optional<int> epochs_in(const std::string& name) {
  if (!name.starts_with(kStart) || !name.ends_with(kEnd)) return {};
  const std::string_view number(name);
  return read_number<int>(number.substr(kStart.size(), name.size() - kStart.size() - kEnd.size()));
}

/// Collective: rank 0 does `work`; UsageError, DiskFull and Error that it throws all ranks throw.
template <class Work>
void on_first(const Ranks& ranks, std::string_view what, Work&& work) {
  std::string refused, full, failed;
  try {
    if (ranks.first()) work();
  } catch (const UsageError& error) {
    refused = error.what();
  } catch (const DiskFull& error) {
    full = error.what();
  } catch (const std::exception& error) {
    failed = error.what();
  }
  throw_together<UsageError>(ranks.host, what, refused);
  throw_together<DiskFull>(ranks.host, what, full);
  throw_together<Error>(ranks.host, what, failed);
}

}  // namespace

std::filesystem::path CheckpointFolder::file_of(int epochs) const {
  return path_ / fmt::format("{}{:06}{}", kStart, epochs, kEnd);
}

void CheckpointFolder::prepare() const {
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  if (error) fail<UsageError>("cannot make the folder '{}': {}", path_.string(), error.message());
  const std::filesystem::path trial = path_ / ".trial";
  try {
    write_file_atomically(trial, "");
  } catch (const Error& reason) {
    throw UsageError(reason.what());
  }
  std::filesystem::remove(trial, error);
}

std::vector<int> CheckpointFolder::epochs() const {
  std::vector<int> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path_, error)) {
    if (const auto epochs = epochs_in(entry.path().filename().string())) found.push_back(*epochs);
  }
  std::ranges::sort(found);
  return found;
}

void CheckpointFolder::write(int epochs, std::string_view bytes, int keep) const {
  write_file_atomically(file_of(epochs), bytes);
  // What comes after this one is of a training that went on from a later, damaged file.
  std::vector<int> old = this->epochs();
  std::erase_if(old, [&](int other) { return other > epochs; });
  for (std::size_t i = 0; i + static_cast<std::size_t>(keep) < old.size(); ++i) {
    std::error_code ignored;
    std::filesystem::remove(file_of(old[i]), ignored);
  }
}

FoundCheckpoint CheckpointFolder::newest() const {
  const std::vector<int> all = epochs();
  if (all.empty()) fail<UsageError>("'{}' holds no checkpoint {}*{}", path_.string(), kStart, kEnd);
  FoundCheckpoint found;
  for (auto epochs = all.rbegin(); epochs != all.rend(); ++epochs) {
    found.path = file_of(*epochs);
    try {
      found.bytes = read_file(found.path);
      checkpoint_from(found.bytes);
      return found;
    } catch (const UsageError& error) {
      found.refused.push_back(fmt::format("{}: {}", found.path.string(), error.what()));
    }
  }
  fail<UsageError>("no checkpoint is whole: {}", fmt::join(found.refused, "; "));
}

void add_checkpoint_options(CLI::App& app, CheckpointOptions& options) {
  const Heading checkpoints(app, kCheckpoints);
  app.add_option("--checkpoint", options.folder,
                 "folder for checkpoints, written by rank 0 outside the epoch's time")
      ->type_name("DIR");
  app.add_option("--checkpoint-every", options.every, "epochs between two checkpoints")
      ->capture_default_str();
  app.add_option("--keep", options.keep, "checkpoints that stay, the newest")
      ->capture_default_str();
  app.add_option("--resume", options.resume,
                 "go on from the newest whole checkpoint in this folder; --epochs counts from the "
                 "training's beginning")
      ->type_name("DIR");
}

void apply_job_default(CheckpointOptions& options, const JobFolders& job, bool started_by_study,
                       std::string_view gradient_sync, int ranks) {
  const bool possible = trains_one_model(gradient_sync, ranks);
  if (options.folder.empty() && !started_by_study && possible) options.folder = job.checkpoints;
}

void check_checkpoint_options(const CheckpointOptions& options, std::string_view gradient_sync,
                              int ranks) {
  if (options.every < 1) {
    fail<UsageError>("--checkpoint-every {}: expected at least 1 epoch", options.every);
  }
  if (options.keep < 1) fail<UsageError>("--keep {}: expected at least 1", options.keep);
  if (options.folder.empty() && options.resume.empty()) return;
  if (!trains_one_model(gradient_sync, ranks)) {
    fail<UsageError>(
        "--checkpoint and --resume: gradient sync {} trains a model of its own on each of {} "
        "ranks; use mirrored, or one rank",
        gradient_sync, ranks);
  }
}

Checkpointing::Checkpointing(const Ranks& ranks, const CheckpointOptions& options)
    : ranks_(ranks), options_(options), folder_(options.folder) {
  if (options_.folder.empty()) return;
  on_first(ranks_, "--checkpoint", [&] {
    folder_.prepare();
    std::error_code ignored;
    const bool goes_on = !options_.resume.empty() &&
                         std::filesystem::equivalent(options_.folder, options_.resume, ignored);
    if (!goes_on && !folder_.epochs().empty()) {
      fail<UsageError>("'{}' holds checkpoints already; --resume them or name another folder",
                       options_.folder);
    }
  });
}

TrainingProgress Checkpointing::resume(Trainer& trainer) const {
  if (options_.resume.empty()) return {};
  FoundCheckpoint found;
  on_first(ranks_, "--resume", [&] { found = CheckpointFolder(options_.resume).newest(); });
  Console console(ranks_.first(), /*quiet=*/false);
  for (const std::string& refused : found.refused) {
    console.warn("checkpoint refused: " + refused, "the one before it is used");
  }
  return trainer.restore(found.bytes);
}

void Checkpointing::after_epoch(Trainer& trainer, int epochs, double seconds_so_far,
                                bool last) const {
  if (options_.folder.empty() || (epochs % options_.every != 0 && !last)) return;
  const std::string bytes = trainer.checkpoint(epochs, seconds_so_far);
  on_first(ranks_, "--checkpoint", [&] { folder_.write(epochs, bytes, options_.keep); });
}

}  // namespace scalebench
