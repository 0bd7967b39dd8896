// SPDX-License-Identifier: Apache-2.0
// For tests: a grid of blocks run on the host as a device runs it, with a thread for each thread of
// a block, one block after the other. What blocks share begins as no number, so that a body which
// reads what it has not written is found out.
#pragma once

#include <algorithm>
#include <barrier>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "kernels/layers/norm_body.hpp"
#include "kernels/testing.hpp"

namespace scalebench {

/// A Parallel of one thread.
inline void in_order(unsigned count, const std::function<void(unsigned)>& piece) {
  for (unsigned i = 0; i < count; ++i) piece(i);
}

class ThreadBlock {
 public:
  ThreadBlock(unsigned thread, unsigned threads, std::barrier<>& barrier, float* shared)
      : thread_(thread), threads_(threads), barrier_(barrier), shared_(shared) {}

  unsigned thread() const { return thread_; }
  unsigned threads() const { return threads_; }
  unsigned tile() const { return tile_; }
  unsigned slice() const { return slice_; }
  void barrier() { barrier_.arrive_and_wait(); }
  float* shared() { return shared_; }
  template <class T>
  static void put(T* to, const Eight<T>& values) {
    LoneBlock::put(to, values);
  }
  template <class T>
  static Eight<T> narrowed(const float (&values)[kWide]) {
    return LoneBlock::narrowed<T>(values);
  }

  void move_to(unsigned tile, unsigned slice) {
    tile_ = tile;
    slice_ = slice;
  }

 private:
  unsigned thread_;
  unsigned threads_;
  unsigned tile_ = 0;
  unsigned slice_ = 0;
  std::barrier<>& barrier_;
  float* shared_;
};

/// Launches for norm_body.hpp with blocks of `threads` threads.
inline auto thread_launcher(unsigned threads) {
  return [threads]<class Body>(const Body& body, unsigned tiles, unsigned slices) {
    std::vector<float> shared(std::size_t{threads} * shared_floats<Body>());
    std::barrier<> barrier(threads);
    const auto work = [&](unsigned thread) {
      ThreadBlock block(thread, threads, barrier, shared.data());
      for (unsigned number = 0; number < tiles * slices; ++number) {
        if (thread == 0) {
          std::ranges::fill(shared, std::numeric_limits<float>::quiet_NaN());
        }
        block.barrier();
        block.move_to(number % tiles, number / tiles);
        body(block);
        block.barrier();
      }
    };
    std::vector<std::jthread> all;
    for (unsigned thread = 0; thread < threads; ++thread) all.emplace_back(work, thread);
  };
}

/// All that a normalisation, forward and backward, reads and writes, in one memory.
class NormArrays {
 public:
  NormArrays(const Activations& shape, const Grid& grid, Memory memory) : shape_(shape) {
    const std::size_t all = shape.rows * shape.channels;
    for (TestSpan* const span : {&x, &beside, &y, &y_gradient, &x_gradient, &beside_gradient}) {
      *span = TestSpan(all, shape.dtype, 0, memory);
    }
    for (TestSpan* const span :
         {&weight, &bias, &running_mean, &running_variance, &weight_gradient, &bias_gradient}) {
      *span = TestSpan(shape.channels, DType::float32, 0, memory);
    }
    numbers = TestSpan(kNormNumbers * shape.channels, DType::float32, 0, memory);
    scratch = TestSpan(scratch_floats(shape, grid), DType::float32, 0, memory);
    positive = TestSpan(all / kWide, DType::int32, 0, memory);
    batches = TestSpan(1, DType::float64, 0, memory);
    // Waves whose periods no channel count divides, so that every channel has its own numbers.
    x.fill([&](std::size_t i) {
      const auto channel = static_cast<double>(i % shape.channels);
      return std::sin(0.7 * static_cast<double>(i)) + std::cos(channel);
    });
    beside.fill([](std::size_t i) { return std::sin(1.3 * static_cast<double>(i) + 1); });
    y_gradient.fill([](std::size_t i) { return std::cos(0.9 * static_cast<double>(i) + 2); });
    weight.fill([](std::size_t i) { return 1 + 0.5 * std::sin(static_cast<double>(i)); });
    bias.fill([](std::size_t i) { return 0.3 * std::cos(static_cast<double>(i)); });
    running_mean.fill([](std::size_t i) { return 0.1 * static_cast<double>(i % 5); });
    running_variance.fill([](std::size_t i) { return 1 + 0.1 * static_cast<double>(i % 7); });
  }

  NormForward forward(Tail tail, bool training) {
    return {.shape = shape_,
            .tail = tail,
            .training = training,
            .x = x.get().data,
            .beside = tail == Tail::add_relu ? beside.get().data : nullptr,
            .y = y.get().data,
            .positive = tail == Tail::add_relu ? bits() : nullptr,
            .weight = floats(weight),
            .bias = floats(bias),
            .running_mean = floats(running_mean),
            .running_variance = floats(running_variance),
            .batches = reinterpret_cast<std::int64_t*>(batches.get().data),
            .numbers = floats(numbers),
            .scratch = floats(scratch)};
  }
  /// `twice`: y was used for two things, the gradient of the second being `beside`.
  NormBackward backward(Tail tail, bool training, bool twice = false) {
    return {.shape = shape_,
            .tail = tail,
            .training = training,
            .y_gradient = y_gradient.get().data,
            .second_gradient = twice ? beside.get().data : nullptr,
            .x = x.get().data,
            .positive = bits(),
            .numbers = floats(numbers),
            .beside_gradient = tail == Tail::add_relu ? beside_gradient.get().data : nullptr,
            .x_gradient = x_gradient.get().data,
            .weight_gradient = floats(weight_gradient),
            .bias_gradient = floats(bias_gradient),
            .scratch = floats(scratch)};
  }
  /// Of the same arrays: the bias is the term, y_gradient the gradient.
  BiasForward bias_forward() { return {shape_, x.get().data, floats(bias), y.get().data, bits()}; }
  BiasBackward bias_backward() {
    return {
        shape_,         y_gradient.get().data, bits(), x_gradient.get().data, floats(bias_gradient),
        floats(scratch)};
  }

  /// All that was written, the scratch excepted.
  std::vector<std::vector<double>> results() const {
    std::vector<std::vector<double>> all;
    for (const TestSpan* const span :
         {&y, &x_gradient, &beside_gradient, &running_mean, &running_variance, &weight_gradient,
          &bias_gradient, &numbers, &positive, &batches}) {
      all.push_back(span->values());
      EXPECT_TRUE(span->margins_are_zero());
    }
    return all;
  }

  TestSpan x = none(), beside = none(), y = none();
  TestSpan y_gradient = none(), x_gradient = none(), beside_gradient = none();
  TestSpan weight = none(), bias = none(), weight_gradient = none(), bias_gradient = none();
  TestSpan running_mean = none(), running_variance = none(), batches = none();
  TestSpan numbers = none(), positive = none(), scratch = none();

 private:
  static TestSpan none() { return {0, DType::float32}; }
  static float* floats(const TestSpan& span) { return span.get().as<float>().data(); }
  std::uint8_t* bits() const { return reinterpret_cast<std::uint8_t*>(positive.get().data); }

  Activations shape_;
};

}  // namespace scalebench
