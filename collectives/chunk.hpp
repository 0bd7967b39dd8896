// SPDX-License-Identifier: Apache-2.0
// How a buffer is cut among ranks: into runs of whole cache lines, as equal as that allows, so that
// no two ranks ever write the same line. The last chunks of a short buffer may be empty.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/span.hpp"

namespace scalebench {

/// Chunk `index` of `chunks` of a Span or ConstSpan; 0 <= index < chunks. Chunk 0 is the longest.
template <class AnySpan>
AnySpan chunk_of(AnySpan data, int index, int chunks) {
  constexpr std::size_t kLineBytes = 64;
  const std::size_t line = kLineBytes / size_of(data.dtype);
  const std::size_t lines = (data.count + line - 1) / line;
  const auto p = static_cast<std::size_t>(chunks);
  const auto i = static_cast<std::size_t>(index);
  const auto first_of = [&](std::size_t chunk) {
    const std::size_t first = chunk * (lines / p) + std::min(chunk, lines % p);
    return std::min(first * line, data.count);
  };
  return data.part(first_of(i), first_of(i + 1) - first_of(i));
}

}  // namespace scalebench
