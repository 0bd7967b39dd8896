// SPDX-License-Identifier: Apache-2.0
// What a rank is at and how far it came, as its main thread marks it and its watchdog, another
// process, reads it. Cost: two stores an operation.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "collectives/call_marks.hpp"

namespace scalebench {

/// What a rank is at.
enum class Stage : std::uint64_t {
  between,  // cells: results are written, or the program begins or ends
  cell,     // operations, which are counted
  span,     // something else that the ranks do together, with a name
  work,     // of the rank's own: a model is built, a file is read or written
};

/// How far a rank has come. Sent between hosts as it lies in memory.
struct RankProgress {
  std::uint64_t cells = 0;         // cells, spans and works begun so far
  std::uint64_t moves = 0;         // operations entered and left so far; odd: inside one
  std::uint64_t moves_before = 0;  // when this cell began
  double limit_seconds = 0;        // without progress that are too long now
  std::uint64_t signs = 0;         // looks that have found it computing, reading or writing
  std::uint64_t calls = 0;         // of a communicator, begun and ended so far
  std::uint64_t waits = 0;         // 1: at work or between, but in such a call now
  Stage stage = Stage::between;
  std::array<char, 96> name = {};  // of what was begun last, cut to fit

  bool same_place(const RankProgress& other) const;
  /// Nothing has moved since then.
  bool stands_still_since(const RankProgress& before) const;
  /// At what it cannot mark progress in: whether it lives is seen from outside.
  bool shows_life() const {
    return (stage == Stage::between || stage == Stage::work) && waits == 0;
  }
};

/// How long a rank may stand still.
struct Patience {
  /// Times the limit, where a rank's life is seen from outside.
  static constexpr double kForLife = 10;
  /// Times the limit there, whatever a rank does: an hour of the default; stretches, too.
  static constexpr double kCeiling = 144;

  double limit_seconds = 25;  // without any rank's progress
  bool stretches = true;      // the limit, for what is expected to take long
};

/// Written by one thread, read by others and by other processes. One that reads in the middle of a
/// change may get half of it: a rank is accused after many looks alone, which all say the same.
class ProgressMarks {
 public:
  /// What may take a second may take so many before anybody is accused.
  static constexpr double kLimitOverExpected = 100;

  ProgressMarks() { set_patience({}); }
  /// Before anything is begun.
  void set_patience(Patience patience);

  // Each lasts until the next one, or end_cell().

  void cell(std::string_view name) { begin(name, Stage::cell); }
  /// What ranks do together beside cells, as "opening transport nccl".
  void span(std::string_view name) { begin(name, Stage::span); }
  /// What this rank does on its own and may take minutes, as "building the model".
  void work(std::string_view name) { begin(name, Stage::work); }
  void end_cell();
  /// An operation of this cell, or what lies between two, may take that long: waits at least a
  /// hundred times as long for it, where the limit stretches. Until the next cell, span or work.
  void expect(double operation_seconds);
  /// What has begun may take that long as a whole, where the limit stretches.
  void allow(double seconds) { expect(seconds / kLimitOverExpected); }
  // One thread writes: no read-modify-write needs to be atomic. An operation that was not left, as
  // an exception ended it, is so with the next one.
  void enter() { moves_.store(moves() + 1 + moves() % 2, std::memory_order_relaxed); }
  void leave() { moves_.store(moves() + moves() % 2, std::memory_order_relaxed); }
  RankProgress read() const;

  /// Of the communicator by which the program coordinates itself.
  CallMarks& calls() { return calls_; }

 private:
  void begin(std::string_view name, Stage stage);
  std::uint64_t moves() const { return moves_.load(std::memory_order_relaxed); }
  double least_seconds() const;
  /// `seconds`, or as many as what is expected to take `expected` may take.
  double stretched(double seconds, double expected) const;

  Patience patience_;
  CallMarks calls_;
  // As in RankProgress.
  std::atomic<std::uint64_t> cells_{0}, moves_{0}, moves_before_{0};
  std::atomic<double> limit_seconds_{0};
  std::atomic<Stage> stage_{Stage::between};
  std::array<std::atomic<char>, std::tuple_size_v<decltype(RankProgress::name)>> name_ = {};
};

}  // namespace scalebench
