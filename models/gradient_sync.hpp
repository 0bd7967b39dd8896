// SPDX-License-Identifier: Apache-2.0
// How N ranks train one model, as a table made from gradient_sync.def: what happens to gradients
// between the backward pass and the update, who updates, and who sees images at all.
// Adding one is a file in gradient_sync/ and a line in the .def; a line without its file does not
// link.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collectives/allreduce.hpp"
#include "collectives/communicator.hpp"
#include "models/gradient_sync_options.hpp"
#include "models/pace.hpp"
#include "models/step_trace.hpp"

namespace at {
class Tensor;
}

namespace scalebench {

class ModelPass;
class Network;

/// The ranks among which the images of a step are divided, and this one's place; -1: it sees none.
struct Workers {
  int count = 1;
  int index = 0;
};

/// What an update depends on beside parameters and gradients, by name.
using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

class GradientSync {
 public:
  virtual ~GradientSync() = default;

  virtual Workers workers() const = 0;

  /// Whether images that this rank sees are counted: false where another one counts the same.
  virtual bool counts_images() const { return workers().index >= 0; }

  /// Null: the network's own forward and backward pass, by the trainer.
  virtual ModelPass* own_pass() { return nullptr; }

  /// Before the passes of a step: forgets the last step's gradients.
  virtual void begin_step() = 0;
  /// Before the step's last backward pass, the only one unless gradients are accumulated: from now
  /// on a gradient that is complete may travel.
  virtual void before_last_backward() {}
  /// After the backward pass, collective where there are several ranks. When it returns, the update
  /// may be enqueued. Says through the trace what it waits for.
  virtual void synchronise() = 0;
  /// The parameters of the next step. `gradient_scale`: gradients are that many times too large
  /// (loss scaling). False: some were infinite or not a number, and nothing was updated, which all
  /// ranks find alike.
  virtual bool update(double learning_rate, double gradient_scale) = 0;
  /// The rate of the updates to come, where one that was recorded finds it; false: no update can be
  /// recorded. See Optimizer::set_rate.
  virtual bool set_rate(double) { return false; }

  /// Instead of steps, on ranks that see no images: works for the others until they have finished
  /// as many steps.
  virtual void serve(std::int64_t steps);

  /// Collective, before evaluation, checkpoint and comparison: every rank's parameters become those
  /// of the model that is trained, where a strategy does not keep them so.
  virtual void publish() {}

  /// Collective: what the optimizer remembers, in full on rank 0 (on the others whatever they
  /// have); and the way back, from the same tensors on every rank.
  virtual NamedTensors optimizer_state() = 0;
  virtual void restore_optimizer(const NamedTensors& state) = 0;

  /// Collective: lines for the row's note, the same on every rank: choices made, work that was
  /// counted; empty for most.
  virtual std::string remarks() const { return {}; }
};

/// What a strategy gets. All of it outlives the strategy.
struct GradientSyncInputs {
  /// Trainable parameters, float32, all on one device.
  const std::vector<at::Tensor>& parameters;
  Communicator& communicator;
  /// Used by strategies that reduce; may be null for the others.
  const AllreduceAlgorithm* allreduce;
  /// A name of optimizer_names().
  std::string_view optimizer;
  StepTrace& trace;
  const GradientSyncOptions& options;
  /// For a strategy that cuts it into pieces; null in tests of the others.
  Network* network = nullptr;
  /// Channels, height and width of its images.
  std::vector<std::int64_t> image = {};
  UpdatePace update_pace = {};
};

struct GradientSyncInfo {
  std::string_view name;
  bool equal_replicas;
  /// Collective. Throws UsageError when the strategy cannot work with these inputs.
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
