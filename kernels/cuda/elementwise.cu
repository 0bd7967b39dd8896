// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/cuda/map.cuh"
#include "kernels/device_kernels.hpp"

namespace scalebench::device {
namespace {

/// dtype.hpp's rounded_to_odd with the device's own truncating conversion.
__device__ float truncated_to_odd(double value) {
  const float below = __double2float_rz(value);
  const bool lost = static_cast<double>(below) != value;
  return __uint_as_float(__float_as_uint(below) | (lost ? 1U : 0U));
}

template <class To, class From>
struct Convert {
  __device__ ComputeType<To> operator()(ComputeType<From> value, ComputeType<From>) const {
    if constexpr (std::is_same_v<To, std::int32_t> && !std::is_same_v<From, std::int32_t>) {
      // __double2int_rn saturates; what it makes of a NaN is not the 0 that elementwise.hpp
      // promises.
      return value == value ? __double2int_rn(static_cast<double>(value)) : 0;
    } else if constexpr (kStoredOnly<To> && !std::is_same_v<ComputeType<From>, float>) {
      return truncated_to_odd(static_cast<double>(value));
    } else {
      return static_cast<ComputeType<To>>(value);
    }
  }
};

// One launch moves up to 128 parts: a model has hundreds of small tensors, and a launch each would
// cost more than the bytes. Blocks in y take the parts, blocks in x share one part. Each part goes
// in the widest words to which both its ends are aligned.

constexpr int kMostParts = 128;

struct Move {
  const std::byte* from;
  std::byte* to;
  std::size_t bytes;
};
struct Moves {  // a kernel argument: at most 4 KiB
  Move move[kMostParts];
};

template <class Word>
__device__ void move_words(const Move& move, std::size_t thread, std::size_t threads) {
  const std::size_t words = move.bytes / sizeof(Word);
  const auto* from = reinterpret_cast<const Word*>(move.from);
  auto* to = reinterpret_cast<Word*>(move.to);
  for (std::size_t i = thread; i < words; i += threads) to[i] = from[i];
  const std::size_t done = words * sizeof(Word);
  for (std::size_t i = done + thread; i < move.bytes; i += threads) move.to[i] = move.from[i];
}

__global__ void move_kernel(const Moves moves) {
  const Move& move = moves.move[blockIdx.y];
  const std::size_t thread = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::size_t threads = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  const std::uintptr_t bits =
      reinterpret_cast<std::uintptr_t>(move.from) | reinterpret_cast<std::uintptr_t>(move.to);
  if (bits % 16 == 0) {
    move_words<uint4>(move, thread, threads);
  } else if (bits % 4 == 0) {
    move_words<std::uint32_t>(move, thread, threads);
  } else {
    move_words<std::uint16_t>(move, thread, threads);
  }
}

void launch(const Moves& moves, int count, DeviceStream stream) {
  std::size_t largest = 0;
  for (int i = 0; i < count; ++i) largest = std::max(largest, moves.move[i].bytes);
  if (largest == 0) return;
  const dim3 grid(blocks_for(largest / 16), static_cast<unsigned>(count));
  move_kernel<<<grid, 256, 0, static_cast<cudaStream_t>(stream.handle)>>>(moves);
  CUDA_CHECK(cudaGetLastError());
}

/// `make(part, offset)` is the Move of one part that lies `offset` bytes into the flat buffer.
template <class Part, class Make>
void move_all(std::span<const Part> parts, DeviceStream stream, Make make) {
  Moves moves{};
  int count = 0;
  std::size_t offset = 0;
  for (const Part& part : parts) {
    moves.move[count++] = make(part, offset);
    offset += part.bytes();
    if (count == kMostParts) {
      launch(moves, count, stream);
      count = 0;
    }
  }
  launch(moves, count, stream);
}

template <class Number>
struct Times {
  double factor;
  __device__ Number operator()(Number value, Number /*unused*/) const {
    if constexpr (std::is_integral_v<Number>) {
      return __double2int_rn(factor * value);
    } else {
      return static_cast<Number>(factor) * value;
    }
  }
};

// Compiled without fused multiply-add (CMakeLists.txt), so that the triad equals the host's.

struct Same {
  __device__ std::uint16_t operator()(std::uint16_t value, std::uint16_t) const { return value; }
};

template <class Number>
struct PlusTimes {
  double factor;
  __device__ Number operator()(Number b, Number c) const {
    if constexpr (std::is_integral_v<Number>) {
      return __double2int_rn(b + factor * c);
    } else {
      return b + static_cast<Number>(factor) * c;
    }
  }
};

}  // namespace

void cast(ConstSpan from, Span to, DeviceStream stream) {
  if (from.dtype == to.dtype) return stream_copy(from, to, stream);
  with_type(from.dtype, [&]<class From>() {
    with_type(to.dtype, [&]<class To>() {
      const From* source = from.as<From>().data();
      map(to.as<To>().data(), source, source, to.count, Convert<To, From>{}, stream);
    });
  });
}

void pack(std::span<const ConstSpan> parts, Span flat, DeviceStream stream) {
  move_all(parts, stream, [&](const ConstSpan& part, std::size_t offset) {
    return Move{part.data, flat.data + offset, part.bytes()};
  });
}

void unpack(ConstSpan flat, std::span<const Span> parts, DeviceStream stream) {
  move_all(parts, stream, [&](const Span& part, std::size_t offset) {
    return Move{flat.data + offset, part.data, part.bytes()};
  });
}

void scale(Span values, double factor, DeviceStream stream) {
  with_type(values.dtype, [&]<class T>() {
    T* all = values.as<T>().data();
    map(all, all, all, values.count, Times<ComputeType<T>>{factor}, stream);
  });
}

void stream_copy(ConstSpan from, Span to, DeviceStream stream) {
  // Every dtype is a whole number of 16-bit words, and words keep the bits of a NaN.
  const auto* source = reinterpret_cast<const std::uint16_t*>(from.data);
  map(reinterpret_cast<std::uint16_t*>(to.data), source, source, from.bytes() / 2, Same{}, stream);
}

void stream_triad(Span a, ConstSpan b, ConstSpan c, double factor, DeviceStream stream) {
  with_type(a.dtype, [&]<class T>() {
    map(a.as<T>().data(), b.as<T>().data(), c.as<T>().data(), a.count,
        PlusTimes<ComputeType<T>>{factor}, stream);
  });
}

}  // namespace scalebench::device
