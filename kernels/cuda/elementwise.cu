// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/chunks.hpp"
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

// One launch moves up to 128 parts: a launch each would cost more than the bytes. Each part goes in
// the widest words to which both its ends are aligned, four of them a thread at a time, so that
// loads are under way while others arrive.

constexpr int kMostParts = 128;
constexpr std::size_t kChunkBytes = std::size_t{64} << 10U;
constexpr int kAhead = 4;

struct Move {
  const std::byte* from;
  std::byte* to;
  std::size_t bytes;
};
struct Moves {  // a kernel argument: at most 4 KiB
  Move move[kMostParts];
  Chunks<kMostParts> chunks;
};
static_assert(sizeof(Moves) <= 4000);

template <class Word>
__device__ void move_words(const Move& move) {
  const std::size_t words = move.bytes / sizeof(Word);
  const auto* from = reinterpret_cast<const Word*>(move.from);
  auto* to = reinterpret_cast<Word*>(move.to);
  const std::size_t threads = blockDim.x;
  std::size_t i = threadIdx.x;
  for (; i + (kAhead - 1) * threads < words; i += kAhead * threads) {
    Word held[kAhead];
#pragma unroll
    for (int k = 0; k < kAhead; ++k) held[k] = from[i + k * threads];
#pragma unroll
    for (int k = 0; k < kAhead; ++k) to[i + k * threads] = held[k];
  }
  for (; i < words; i += threads) to[i] = from[i];
  for (i = words * sizeof(Word) + threadIdx.x; i < move.bytes; i += threads) {
    move.to[i] = move.from[i];
  }
}

__global__ void move_kernel(const Moves moves) {
  for (unsigned i = blockIdx.x; i < moves.chunks.total(); i += gridDim.x) {
    const auto place = moves.chunks.place_of(i);
    const Move& whole = moves.move[place.array];
    const std::size_t first = place.chunk * kChunkBytes;
    const std::size_t rest = whole.bytes - first;
    const Move move{whole.from + first, whole.to + first, rest < kChunkBytes ? rest : kChunkBytes};
    const std::uintptr_t bits =
        reinterpret_cast<std::uintptr_t>(move.from) | reinterpret_cast<std::uintptr_t>(move.to);
    if (bits % 16 == 0) {
      move_words<uint4>(move);
    } else if (bits % 4 == 0) {
      move_words<std::uint32_t>(move);
    } else {
      move_words<std::uint16_t>(move);
    }
  }
}

void launch(const Moves& moves, DeviceStream stream) {
  if (moves.chunks.total() == 0) return;
  move_kernel<<<blocks_for_chunks(moves.chunks.total()), 256, 0,
                static_cast<cudaStream_t>(stream.handle)>>>(moves);
  CUDA_CHECK(cudaGetLastError());
}

/// `make(part, offset)` is the Move of one part that lies `offset` bytes into the flat buffer.
template <class Part, class Make>
void move_all(std::span<const Part> parts, DeviceStream stream, Make make) {
  Moves moves{};
  int count = 0;
  std::size_t offset = 0;
  for (const Part& part : parts) {
    const Move move = make(part, offset);
    const std::size_t chunks = (move.bytes + kChunkBytes - 1) / kChunkBytes;
    offset += move.bytes;
    if (!moves.chunks.push(chunks)) {
      launch(moves, stream);
      moves.chunks = {};
      count = 0;
      moves.chunks.push(chunks);
    }
    moves.move[count++] = move;
  }
  launch(moves, stream);
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
