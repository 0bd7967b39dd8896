// SPDX-License-Identifier: Apache-2.0
#include "collectives/allreduce_check.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace scalebench {
namespace {

/// Elements that are worked on together: loops over a block vectorise, and the block stays in L1.
constexpr std::size_t kBlock = 1024;
using Block = std::array<std::int32_t, kBlock>;

/// Where the hashes of a seed's elements begin, far from those of the seeds beside it.
std::uint32_t start_of(std::size_t first, std::uint32_t seed) {
  return static_cast<std::uint32_t>(first) + seed * 0x9e3779b9U;
}

/// 32 bits that depend on rank and index alike.
constexpr std::uint32_t hash(std::uint32_t index, std::uint32_t rank) {
  const std::uint32_t mixed = (index + rank * 0x85ebca77U) * 0x9e3779b1U;
  return (mixed ^ (mixed >> 15U)) * 0x2c1b3c6dU;
}

/// Bits of a hash that make an input, so that a sum over `ranks` of them stays an exact integer in
/// bfloat16, the shortest type: at most 256.
struct SumInputs {
  std::uint32_t bits = 4;         // values 0 .. 2^bits - 1
  std::uint32_t sparse_bits = 0;  // more than 256 ranks: only one of 2^sparse_bits is not zero
  explicit SumInputs(int ranks) {
    while (bits > 1 && static_cast<std::int64_t>((1U << bits) - 1U) * ranks > 256) --bits;
    while ((ranks >> sparse_bits) > 256) ++sparse_bits;
  }
};

/// Inputs of `rank` for a block of elements, the first of which has that place among all hashes.
void fill_block(Block& values, std::uint32_t start, int rank, int ranks, ReduceOp op) {
  const auto r = static_cast<std::uint32_t>(rank);
  if (op == ReduceOp::min || op == ReduceOp::max) {
    for (std::uint32_t i = 0; i < kBlock; ++i) {
      values[i] = static_cast<std::int32_t>(hash(start + i, r) >> 24U) - 128;
    }
  } else if (op == ReduceOp::prod) {
    // One in sixteen is 2 and three are -1: no product of inputs is 0, and few are large.
    for (std::uint32_t i = 0; i < kBlock; ++i) {
      const std::uint32_t h = hash(start + i, r) >> 28U;
      values[i] = h == 0 ? 2 : (h < 4 ? -1 : 1);
    }
  } else {
    const SumInputs inputs(ranks);
    const std::uint32_t shift = 32 - inputs.bits;
    const std::uint32_t sparse = (1U << inputs.sparse_bits) - 1U;
    for (std::uint32_t i = 0; i < kBlock; ++i) {
      const std::uint32_t h = hash(start + i, r);
      values[i] = (h & sparse) == 0 ? static_cast<std::int32_t>(h >> shift) : 0;
    }
  }
}

void combine_blocks(Block& into, const Block& from, ReduceOp op) {
  for (std::size_t i = 0; i < kBlock; ++i) {
    if (op == ReduceOp::min) {
      into[i] = std::min(into[i], from[i]);
    } else if (op == ReduceOp::max) {
      into[i] = std::max(into[i], from[i]);
    } else {
      into[i] += from[i];
    }
  }
}

/// The exact reduction over all ranks, before an average is divided; products as double, which
/// holds every power of two that can occur.
std::array<double, kBlock> reduced_block(std::uint32_t first, int ranks, ReduceOp op) {
  Block total, next;
  fill_block(total, first, 0, ranks, op);
  std::array<double, kBlock> result;
  std::ranges::copy(total, result.begin());
  for (int rank = 1; rank < ranks; ++rank) {
    fill_block(next, first, rank, ranks, op);
    if (op == ReduceOp::prod) {
      for (std::size_t i = 0; i < kBlock; ++i) result[i] *= next[i];
    } else {
      combine_blocks(total, next, op);
    }
  }
  if (op != ReduceOp::prod) std::ranges::copy(total, result.begin());
  return result;
}

template <class T>
T number(double value) {
  if constexpr (kStoredOnly<T>) {
    return T(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, std::int32_t>) {
    return static_cast<T>(static_cast<std::uint32_t>(static_cast<std::int64_t>(value)));
  } else {
    return static_cast<T>(value);
  }
}

template <class T>
bool right(T got, double reduced, int ranks, ReduceOp op) {
  if (op != ReduceOp::avg) return got == number<T>(reduced);
  // The distance between neighbouring numbers just above 1, by dtype.
  constexpr std::array<double, kDTypes.size()> kEpsilon{0x1p-23, 0x1p-52, 0, 0x1p-10, 0x1p-7};
  const double average = reduced / ranks;
  const double difference =
      std::abs(static_cast<double>(static_cast<ComputeType<T>>(got)) - average);
  if constexpr (std::is_same_v<T, std::int32_t>) return difference < 1;
  return difference <= 2 * kEpsilon[static_cast<std::size_t>(kDTypeOf<T>)] * std::abs(average);
}

}  // namespace

void fill_inputs(Span data, int rank, int ranks, ReduceOp op, std::uint32_t seed) {
  with_type(data.dtype, [&]<class T>() {
    const auto values = data.as<T>();
    Block block;
    for (std::size_t first = 0; first < values.size(); first += kBlock) {
      fill_block(block, start_of(first, seed), rank, ranks, op);
      const std::size_t length = std::min(kBlock, values.size() - first);
      for (std::size_t i = 0; i < length; ++i) values[first + i] = number<T>(block[i]);
    }
  });
}

std::size_t count_wrong(ConstSpan data, int ranks, ReduceOp op, std::uint32_t seed) {
  return with_type(data.dtype, [&]<class T>() {
    std::size_t wrong = 0;
    const auto values = data.as<T>();
    for (std::size_t first = 0; first < values.size(); first += kBlock) {
      const std::array<double, kBlock> reduced = reduced_block(start_of(first, seed), ranks, op);
      const std::size_t length = std::min(kBlock, values.size() - first);
      for (std::size_t i = 0; i < length; ++i) {
        wrong += right(values[first + i], reduced[i], ranks, op) ? 0 : 1;
      }
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
