// SPDX-License-Identifier: Apache-2.0
// The bytes of a checkpoint: "SCBCKPT2" · length of the header (8 bytes, little endian) · header
// (JSON: counters, what is trained, name, type and shape of each tensor) · the tensors' bytes, one
// after the other, as the machine holds them · SHA-256 of all that comes before (32 bytes). A file
// that was cut short or changed in one bit is told from a good one. Free of LibTorch.
#pragma once

#include <string>
#include <string_view>

namespace scalebench {

std::string checkpoint_file(std::string_view header, std::string_view tensors);

/// Views into the bytes of a file.
struct CheckpointParts {
  std::string_view header;
  std::string_view tensors;
};

/// Throws UsageError with the reason, one line, when these are not all bytes of a checkpoint.
CheckpointParts checkpoint_parts(std::string_view bytes);

}  // namespace scalebench
