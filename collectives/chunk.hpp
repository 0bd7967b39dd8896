// SPDX-License-Identifier: Apache-2.0
// How a buffer is cut among ranks: into runs of whole cache lines, as equal as that allows, so that
// no two ranks ever write the same line. The last chunks of a short buffer may be empty.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/span.hpp"

namespace scalebench {

/// Elements [first, first + count) of a buffer.
struct Range {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// Where the `length` chunks from `index` on lie together, of `chunks` in all.
inline Range range_of_chunks(ConstSpan data, int index, int length, int chunks) {
  constexpr std::size_t kLineBytes = 64;
  const std::size_t line = kLineBytes / size_of(data.dtype);
  const std::size_t lines = (data.count + line - 1) / line;
  const auto p = static_cast<std::size_t>(chunks);
  const auto first_of = [&](int chunk) {
    const auto i = static_cast<std::size_t>(chunk);
    return std::min((i * (lines / p) + std::min(i, lines % p)) * line, data.count);
  };
  return {first_of(index), first_of(index + length) - first_of(index)};
}

/// Chunks [index, index + length) of `chunks` of a Span or ConstSpan, as one.
template <class AnySpan>
AnySpan chunks_of(AnySpan data, int index, int length, int chunks) {
  const Range range = range_of_chunks(data, index, length, chunks);
  return data.part(range.first, range.count);
}

/// Chunk `index` of `chunks`; 0 <= index < chunks. Chunk 0 is the longest.
template <class AnySpan>
AnySpan chunk_of(AnySpan data, int index, int chunks) {
  return chunks_of(data, index, 1, chunks);
}

}  // namespace scalebench
