// SPDX-License-Identifier: Apache-2.0
// One launch moves up to 128 parts: a model has hundreds of small tensors, and a launch each would
// cost more than the bytes. Blocks in y take the parts, blocks in x share one part. Each part goes
// in the widest words to which both its ends are aligned.
#include <algorithm>

#include "kernels/device_kernels.hpp"
#include "kernels/device_map.cuh"

namespace scalebench::device {
namespace {

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

}  // namespace

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

}  // namespace scalebench::device
