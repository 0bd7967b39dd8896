// SPDX-License-Identifier: Apache-2.0
// A training between two epochs as a file. Its bytes: "SCBCKPT2" · length of the header (8 bytes,
// little endian) · header (JSON: counters, what is trained, name, type and shape of each tensor) ·
// the tensors' bytes, one after the other, as the machine holds them · SHA-256 of all that comes
// before (32 bytes). A file that was cut short or changed in one bit is told from a good one. Free
// of LibTorch.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/step/loss_scale.hpp"

namespace scalebench {

std::string checkpoint_file(std::string_view header, std::string_view tensors);

/// Views into the bytes of a file.
struct CheckpointParts {
  std::string_view header;
  std::string_view tensors;
};

/// Throws UsageError with the reason, one line, when these are not all bytes of a checkpoint.
CheckpointParts checkpoint_parts(std::string_view bytes);

// What is in the file.

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

/// Throws as checkpoint_parts does.
Checkpoint checkpoint_from(std::string_view bytes);

/// "seed is 1 there and 2 here; ...": what differs, empty when nothing does.
std::string difference(const Checkpoint& checkpoint,
                       const std::vector<std::pair<std::string, std::string>>& training);

}  // namespace scalebench
