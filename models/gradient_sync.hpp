// SPDX-License-Identifier: Apache-2.0
// What happens to gradients between the backward pass and the update, as a table made from
// gradient_sync.def. Adding one is a file in gradient_sync/ and a line in the .def; a line without
// its file does not link.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "collectives/allreduce.hpp"
#include "collectives/communicator.hpp"

namespace at {
class Tensor;
}

namespace scalebench {

class GradientSync {
 public:
  virtual ~GradientSync() = default;
  /// Before the backward pass: forgets the last step's gradients.
  virtual void begin_step() = 0;
  /// After the backward pass, collective where there are several ranks: every gradient becomes its
  /// mean over the ranks (except for `none`). When it returns, the update may be enqueued.
  virtual void synchronise() = 0;
};

/// What a strategy gets. The communicator outlives it.
struct GradientSyncInputs {
  /// Trainable parameters, float32, all on one device.
  const std::vector<at::Tensor>& parameters;
  Communicator& communicator;
  /// Used by strategies that reduce; may be null for the others.
  const AllreduceAlgorithm* allreduce = nullptr;
};

struct GradientSyncInfo {
  std::string_view name;
  bool equal_replicas;
  /// Throws UsageError when the strategy cannot work with these inputs.
  std::unique_ptr<GradientSync> (*make)(const GradientSyncInputs& inputs);
  std::string_view purpose;
};

std::span<const GradientSyncInfo> gradient_syncs();
/// The strategy of that name; throws UsageError with the valid names and the nearest one.
const GradientSyncInfo& gradient_sync_named(std::string_view name);

namespace gradient_sync {
#define GRADIENT_SYNC(name, equal_replicas, purpose) \
  std::unique_ptr<GradientSync> name(const GradientSyncInputs& inputs);
#include "models/gradient_sync.def"
#undef GRADIENT_SYNC
}  // namespace gradient_sync

}  // namespace scalebench
