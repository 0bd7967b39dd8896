// SPDX-License-Identifier: Apache-2.0
// Many arrays of unequal lengths as one row of chunks, so that the blocks of one launch share the
// work evenly: a model has hundreds of small tensors and a few large ones. For host and device.
#pragma once

#include <cstddef>
#include <limits>

namespace scalebench {

/// Where each of at most `Most` arrays ends in that row; a kernel argument.
template <int Most>
class Chunks {
 public:
  struct Place {
    int array;
    std::size_t chunk;  // of that array, from 0
  };

  /// The next array has so many; false, and nothing changes, when there is no room for it.
  constexpr bool push(std::size_t chunks) {
    constexpr std::size_t kMost = std::numeric_limits<unsigned>::max();
    if (arrays_ == Most || chunks > kMost - total()) return false;
    end_[arrays_] = total() + static_cast<unsigned>(chunks);
    ++arrays_;
    return true;
  }

  constexpr unsigned total() const { return arrays_ == 0 ? 0 : end_[arrays_ - 1]; }

  /// `chunk` < total().
  constexpr Place place_of(unsigned chunk) const {
    int low = 0, high = arrays_ - 1;  // the first array that ends behind it
    while (low < high) {
      const int middle = (low + high) / 2;
      if (end_[middle] > chunk) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return {low, low == 0 ? chunk : chunk - end_[low - 1]};
  }

 private:
  unsigned end_[Most] = {};  // no std::array, whose operators are the host's
  int arrays_ = 0;
};

}  // namespace scalebench
