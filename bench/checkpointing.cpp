// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpointing.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>

#include "bench/measure/clock_sync.hpp"
#include "collectives/control.hpp"
#include "collectives/together.hpp"

namespace scalebench {
namespace {

/// Collective: rank 0 does `work`; what it throws as UsageError, or as Error, all ranks throw.
template <class Work>
void on_first(const Ranks& ranks, std::string_view what, Work&& work) {
  std::string refused, failed;
  try {
    if (ranks.first()) work();
  } catch (const UsageError& error) {
    refused = error.what();
  } catch (const std::exception& error) {
    failed = error.what();
  }
  throw_together<UsageError>(ranks.host, what, refused);
  throw_together<Error>(ranks.host, what, failed);
}

}  // namespace

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

double Checkpointing::after_epoch(Trainer& trainer, int epochs, double seconds_so_far,
                                  bool last) const {
  if (options_.folder.empty() || (epochs % options_.every != 0 && !last)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double begin = local_seconds();
  const std::string bytes = trainer.checkpoint(epochs, seconds_so_far);
  on_first(ranks_, "--checkpoint", [&] { folder_.write(epochs, bytes, options_.keep); });
  return std::ranges::max(all_gather(ranks_.host, local_seconds() - begin));
}

}  // namespace scalebench
