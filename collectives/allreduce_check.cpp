// SPDX-License-Identifier: Apache-2.0
#include "collectives/allreduce_check.hpp"

#include <cstdint>
#include <limits>
#include <type_traits>

namespace scalebench {
namespace {

/// A multiplicative hash of (rank, index), its top four bits.
constexpr int input_at(std::size_t index, int rank) {
  const std::uint64_t key = (static_cast<std::uint64_t>(rank) << 40U) ^ index;
  return static_cast<int>(((key + 1) * 0x9e3779b97f4a7c15U) >> 60U);
}

template <class T>
T number(int value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return T(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

}  // namespace

void fill_inputs(Span data, int rank) {
  with_type(data.dtype, [&]<class T>() {
    const auto values = data.as<T>();
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = number<T>(input_at(i, rank));
  });
}

std::size_t count_wrong(ConstSpan data, int ranks) {
  return with_type(data.dtype, [&]<class T>() {
    std::size_t wrong = 0;
    const auto values = data.as<T>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      int sum = 0;
      for (int rank = 0; rank < ranks; ++rank) sum += input_at(i, rank);
      if (!(values[i] == number<T>(sum))) ++wrong;
    }
    return wrong;
  });
}

void poison(Span data) {
  with_type(data.dtype, [&]<class T>() {
    for (T& value : data.as<T>()) {
      if constexpr (std::is_same_v<T, std::int32_t>) {
        value = std::numeric_limits<T>::lowest();
      } else {
        value = T(std::numeric_limits<float>::quiet_NaN());
      }
    }
  });
}

}  // namespace scalebench
