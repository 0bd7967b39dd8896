// SPDX-License-Identifier: Apache-2.0
// The table behind gradient_sync.hpp.
#include "models/gradient_sync.hpp"

#include <array>

#include "kernels/error.hpp"
#include "kernels/unknown_name.hpp"

namespace scalebench {
namespace {

constexpr auto kGradientSyncs = std::to_array<GradientSyncInfo>({
#define GRADIENT_SYNC(name, equal_replicas, purpose) \
  {#name, equal_replicas, gradient_sync::name, purpose},
#include "models/gradient_sync.def"
#undef GRADIENT_SYNC
});

}  // namespace

void GradientSync::serve(std::int64_t) { fail("every rank of this gradient sync sees images"); }

std::span<const GradientSyncInfo> gradient_syncs() { return kGradientSyncs; }

const GradientSyncInfo& gradient_sync_named(std::string_view name) {
  std::vector<std::string_view> names;
  for (const GradientSyncInfo& sync : kGradientSyncs) {
    if (sync.name == name) return sync;
    names.push_back(sync.name);
  }
  throw UsageError(unknown_name("gradient sync", name, names));
}

}  // namespace scalebench
