// SPDX-License-Identifier: Apache-2.0
// A folder of checkpoints, epoch-000012.ckpt: written so that a crash or a power cut leaves whole
// files only, the newest few kept, and the newest good one found among damaged ones. Only rank 0
// touches it. Free of LibTorch.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace scalebench {

/// The newest checkpoint that is whole, and what was passed over on the way to it.
struct FoundCheckpoint {
  std::filesystem::path path;
  std::string bytes;
  /// One line a file: path and reason.
  std::vector<std::string> refused;
};

class CheckpointFolder {
 public:
  explicit CheckpointFolder(std::filesystem::path path) : path_(std::move(path)) {}

  /// Makes the folder if it is not there and proves that files can be written. Throws UsageError
  /// (path and reason).
  void prepare() const;

  /// Epochs of which there are files, whole or not, ascending.
  std::vector<int> epochs() const;

  /// Writes the checkpoint after `epochs` epochs: temporary file, fsync, rename, fsync of the
  /// folder. Of the files up to this one the newest `keep` stay. Throws Error (path and reason);
  /// earlier checkpoints are then untouched.
  void write(int epochs, std::string_view bytes, int keep) const;

  /// Throws UsageError when there is no checkpoint or none is whole.
  FoundCheckpoint newest() const;

 private:
  std::filesystem::path file_of(int epochs) const;
  std::filesystem::path path_;
};

}  // namespace scalebench
