// SPDX-License-Identifier: Apache-2.0
// What a rank is at and how far it came, as its main thread marks it and its watchdog reads it; and
// who is to blame when nothing moves, from what each rank last told of itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/call_marks.hpp"

namespace scalebench {

/// What a rank is at.
enum class Stage : std::uint64_t {
  between,  // cells: results are written, or the program begins or ends
  cell,     // operations, which are counted
  span,     // something else that the ranks do together, with a name
  work,     // of the rank's own: a model is built, a file is read or written
};

/// How far a rank has come. Sent between ranks as it lies in memory.
struct RankProgress {
  std::uint64_t cells = 0;         // cells, spans and works begun so far
  std::uint64_t moves = 0;         // operations entered and left so far; odd: inside one
  std::uint64_t moves_before = 0;  // when this cell began
  double limit_seconds = 0;        // without progress that are too long now
  std::uint64_t signs = 0;         // looks that have found it computing, reading or writing
  std::uint64_t calls = 0;         // of a communicator, begun and ended so far
  std::uint64_t waits = 0;         // 1: at work or between, but in such a call now
  Stage stage = Stage::between;
  char name[96] = {};  // of what was begun last, cut to fit

  bool same_place(const RankProgress& other) const;
  /// Nothing has moved since then.
  bool stands_still_since(const RankProgress& before) const;
  /// At what it cannot mark progress in: whether it lives is seen from outside.
  bool shows_life() const {
    return (stage == Stage::between || stage == Stage::work) && waits == 0;
  }
};

/// Written by one thread, read by others.
class ProgressMarks {
 public:
  /// What may take a second may take so many before anybody is accused.
  static constexpr double kLimitOverExpected = 100;

  /// `patience`: times the limit, where a rank's life is seen from outside. `calls`, which may be
  /// null, outlive this.
  ProgressMarks(double limit_seconds, bool stretches, double patience,
                const CallMarks* calls = nullptr);
  void begin(std::string_view name, Stage stage);
  void end_cell();
  void expect(double operation_seconds);
  // One thread writes: no read-modify-write needs to be atomic. An operation that was not left, as
  // an exception ended it, is so with the next one.
  void enter() { moves_.store(moves() + 1 + moves() % 2, std::memory_order_relaxed); }
  void leave() { moves_.store(moves() + moves() % 2, std::memory_order_relaxed); }
  RankProgress read() const;

 private:
  std::uint64_t moves() const { return moves_.load(std::memory_order_relaxed); }
  double least_seconds() const;

  const double limit_seconds_;
  const bool stretches_;
  const double patience_;
  const CallMarks* const calls_;
  std::atomic<std::uint64_t> moves_{0};
  mutable std::mutex mutex_;
  RankProgress cell_;  // but for its moves
};

struct WatchedRank {
  int rank = 0;
  std::string host;
  bool silent = false;       // its watchdog sends nothing
  double still_seconds = 0;  // without progress
  double dead_seconds = 0;   // and without a sign of life
  RankProgress progress;
  double there_seconds = 0;  // at the same place

  /// It was without a sign of life for too long, where that is how its progress is seen.
  bool idle() const { return progress.shows_life() && still_seconds > progress.limit_seconds; }
};

/// One line, without a newline.
std::string describe_death(const WatchedRank& dead);

/// One line: which of `ranks`, of which some are silent, tell nothing any more. Where these are all
/// the ranks of some hosts, it says what that looks like.
std::string describe_silence(std::span<const WatchedRank> ranks, double seconds);

/// One line: a rank is at work or between cells, and uses neither processor nor files.
std::string describe_idleness(const WatchedRank& idle);

/// `ranks`: all that still take part, at least one. To blame are those that are silent; else those
/// furthest behind, for whom the others wait; else, where a library spins while it waits, those
/// that do nothing; else nobody in particular.
std::string describe_hang(std::span<const WatchedRank> ranks, double seconds);

}  // namespace scalebench
