// SPDX-License-Identifier: Apache-2.0
// A training between two epochs, as a file (models/checkpoint_file.hpp). Free of LibTorch.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collectives/communicator.hpp"
#include "models/gradients/gradient_sync.hpp"
#include "models/network/loss.hpp"

namespace scalebench {

class Network;

/// How far a training has come.
struct TrainingProgress {
  int epochs = 0;
  std::int64_t steps = 0;
  /// Of the epochs so far, by the caller's clock.
  double seconds = 0;
};

struct StoredTensor {
  std::string name;
  /// As in the header: "float32", "int64", "uint8", ...
  std::string dtype;
  std::vector<std::int64_t> shape;
  /// Row-major, without gaps.
  std::string bytes;
};

struct Checkpoint {
  TrainingProgress progress;
  LossScale::State loss_scale;
  /// What is trained and how: all that must be the same for the training to go on as if it had
  /// never stopped, by name.
  std::vector<std::pair<std::string, std::string>> training;
  std::vector<StoredTensor> tensors;
};

std::string bytes_of(const Checkpoint& checkpoint);

/// Throws UsageError with the reason, one line, when these are not all bytes of a checkpoint.
Checkpoint checkpoint_from(std::string_view bytes);

/// "seed is 1 there and 2 here; ...": what differs, empty when nothing does.
std::string difference(const Checkpoint& checkpoint,
                       const std::vector<std::pair<std::string, std::string>>& training);

// All that decides the next step of a training, out of a network and its gradient sync and back:
// parameters, buffers, the optimizer's memory, and every rank's random numbers.

/// Collective over a host communicator, after GradientSync::publish(). In full on rank 0, without
/// tensors on the others; progress and description are the caller's to fill in.
Checkpoint captured(const Network& network, GradientSync& sync, Communicator& host);

/// The same checkpoint on every rank, each of which takes its own random numbers. The parameters
/// come first: a strategy that keeps a copy finds them in the network when its restore_optimizer()
/// is called. Throws UsageError when a tensor is missing or has another shape.
void take_over(const Checkpoint& checkpoint, Network& network, GradientSync& sync, int rank);

}  // namespace scalebench
