// SPDX-License-Identifier: Apache-2.0
// IDX files, the format of MNIST and its relatives: two zero bytes, the type of an element, the
// number of dimensions, each dimension as a big-endian 32-bit number, then the elements.
// Plain or gzip-compressed; the content decides, not the name. Only unsigned bytes are accepted.
// Source: http://yann.lecun.com/exdb/mnist/, section "the IDX file format".
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace scalebench {

struct Idx {
  /// Outermost first, for images: count, height, width.
  std::vector<std::int64_t> dimensions;
  std::vector<std::uint8_t> values;
};

/// Reads a file that must have `dimensions` dimensions. Throws UsageError with the file's name,
/// what was expected and what was found when the file cannot be read, is damaged, too short, too
/// long, or holds another type or number of dimensions.
Idx read_idx(const std::filesystem::path& file, std::size_t dimensions);

}  // namespace scalebench
