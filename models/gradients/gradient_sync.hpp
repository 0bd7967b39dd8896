// SPDX-License-Identifier: Apache-2.0
// How N ranks train one model, as a table made from gradient_sync.def: what happens to gradients
// between the backward pass and the update, who updates, and who sees images at all.
// Adding one is a file in gradient_sync/ and a line in the .def; a line without its file does not
// link. Nothing here depends on the .def.
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
#include "kernels/dtype.hpp"
#include "models/step/step_trace.hpp"

namespace at {
class Tensor;
}

namespace scalebench {

// What gradient synchronisations may be told. Each reads its own part and ignores the rest.

class Timeline;

/// What carries a bucket's reduction once its last gradient is there.
enum class Progress : std::uint8_t {
  thread,  // a thread beside the backward pass (on a GPU the communicator's stream)
  hook,    // the backward pass itself, which stops meanwhile
  end,     // nothing: all are reduced after the backward pass
};

struct GradientSyncOptions {
  /// bucketed_overlap: a bucket is full from this many bytes on. 25 MiB: PyTorch's default.
  std::size_t bucket_bytes = std::size_t{25} << 20U;
  Progress progress = Progress::thread;
  /// Type in which gradients travel; float32 unless compressed to half or bfloat16.
  DType wire = DType::float32;
  /// horovod: bytes of one fused message, and seconds between two rounds of negotiation. Its own
  /// defaults.
  std::size_t fusion_bytes = std::size_t{128} << 20U;
  double cycle_seconds = 1e-3;
  /// ps_sync, ps_async: ranks that hold the variables and see no images, the last ones.
  int servers = 1;
  /// model_split: parts into which a step's images are cut, so that stages work at once.
  int micro_batches = 4;
  /// horovod: is told what every gradient goes through; outlives it.
  Timeline* timeline = nullptr;
  /// horovod: seconds since some instant, by which it counts what negotiation takes; null: it
  /// does not.
  double (*clock)() = nullptr;
};

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

  /// Whether each rank has an optimizer of its own over what it alone updates, or none; else all
  /// ranks' optimizers remember the same.
  virtual bool divides_optimizer() const { return false; }
  /// What this rank's optimizer remembers, and the way back.
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
};

/// What of a step travels between ranks.
enum class Sends : std::uint8_t {
  nothing,
  messages,    // of its own: over a transport, by no allreduce algorithm
  allreduces,  // by the algorithm that was asked for
};

struct GradientSyncInfo {
  std::string_view name;
  bool equal_replicas;
  Sends sends;
  /// See the table.
  int (*workers)(int ranks, int servers);
  std::string_view told;  // as well
  /// Collective. Throws UsageError when the strategy cannot work with these inputs.
  std::unique_ptr<GradientSync> (*make)(const GradientSyncInputs& inputs);
  std::string_view purpose;
};

std::span<const GradientSyncInfo> gradient_syncs();
/// Whether that many ranks train one model together, of which there can be a checkpoint: not where
/// each has a model of its own, which nothing brings together.
bool trains_one_model(std::string_view gradient_sync, int ranks);
/// The strategy of that name; throws UsageError with the valid names and the nearest one.
const GradientSyncInfo& gradient_sync_named(std::string_view name);

// Among how many ranks the images of a step are divided, by gradient sync.

/// Known before anything is built, since it decides the batch of each worker. Throws UsageError
/// where the strategy cannot work with so many ranks, or at all.
int worker_count(std::string_view gradient_sync, const GradientSyncOptions& options, int ranks);

/// Ranks that make steps: the first of all, without those that only serve the others. Throws as
/// worker_count.
int stepping_ranks(std::string_view gradient_sync, const GradientSyncOptions& options, int ranks);

}  // namespace scalebench
