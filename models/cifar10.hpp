// SPDX-License-Identifier: Apache-2.0
// CIFAR-10's binary version: data_batch_1.bin to data_batch_5.bin for training, test_batch.bin. A
// record is one label byte and 3072 bytes of a 32x32 image: red, green, blue plane, row by row.
// Source: https://www.cs.toronto.edu/~kriz/cifar.html, section "Binary version".
#pragma once

#include <filesystem>
#include <optional>

#include "models/dataset.hpp"

namespace scalebench {

/// The folder that holds the files: `directory` or its cifar-10-batches-bin; nothing when neither
/// has any of them.
std::optional<std::filesystem::path> find_cifar10(const std::filesystem::path& directory);

/// One split from a folder that find_cifar10 returned. Files may hold any number of records.
/// Throws UsageError with the file's name, what was expected and what was found.
Dataset read_cifar10(const std::filesystem::path& directory, Split split);

}  // namespace scalebench
