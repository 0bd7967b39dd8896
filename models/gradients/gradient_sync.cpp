// SPDX-License-Identifier: Apache-2.0
// The table behind gradient_sync.hpp.
#include "models/gradients/gradient_sync.hpp"

#include <array>
#include <span>

#include "kernels/error.hpp"

namespace scalebench {

namespace gradient_sync {
#define GRADIENT_SYNC(name, equal, mean, overlaps, sends, workers, told, purpose) \
  std::unique_ptr<GradientSync> name(const GradientSyncInputs& inputs);
#include "models/gradients/gradient_sync.def"
#undef GRADIENT_SYNC
}  // namespace gradient_sync

namespace {

constexpr auto kGradientSyncs = std::to_array<GradientSyncInfo>({
#define GRADIENT_SYNC(name, equal, mean, overlaps, sends, workers, told, purpose)  \
  {#name,        equal,                                                            \
   Sends::sends, []([[maybe_unused]] int ranks, [[maybe_unused]] int servers) { return workers; }, \
   told,         gradient_sync::name,                                              \
   purpose},
#include "models/gradients/gradient_sync.def"
#undef GRADIENT_SYNC
});

bool has_servers(const GradientSyncInfo& info, int ranks) {
  return info.workers(ranks, 0) != info.workers(ranks, 1);
}

}  // namespace

void GradientSync::serve(std::int64_t) { fail("every rank of this gradient sync sees images"); }

std::span<const GradientSyncInfo> gradient_syncs() { return kGradientSyncs; }

const GradientSyncInfo& gradient_sync_named(std::string_view name) {
  return row_named(kGradientSyncs, &GradientSyncInfo::name, "gradient sync", name);
}

bool trains_one_model(std::string_view gradient_sync, int ranks) {
  const GradientSyncInfo& info = gradient_sync_named(gradient_sync);
  return ranks == 1 || info.equal_replicas || info.sends != Sends::nothing;
}

int worker_count(std::string_view gradient_sync, const GradientSyncOptions& options, int ranks) {
  if (gradient_sync == "tpu") {
    fail<UsageError>(
        "gradient sync tpu: there is no TPU runtime for C++ to run on; on GPUs use mirrored");
  }
  const GradientSyncInfo& info = gradient_sync_named(gradient_sync);
  const bool served = has_servers(info, ranks);
  if (served && ranks < 2) {
    fail<UsageError>("gradient sync {} needs a server and a worker: at least 2 ranks, not {}",
                     gradient_sync, ranks);
  }
  if (served && (options.servers < 1 || options.servers >= ranks)) {
    fail<UsageError>("{} servers among {} ranks leave no worker; expected 1 to {}", options.servers,
                     ranks, ranks - 1);
  }
  return info.workers(ranks, options.servers);
}

int stepping_ranks(std::string_view gradient_sync, const GradientSyncOptions& options, int ranks) {
  const int workers = worker_count(gradient_sync, options, ranks);
  return has_servers(gradient_sync_named(gradient_sync), ranks) ? workers : ranks;
}

}  // namespace scalebench
