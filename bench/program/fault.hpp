// SPDX-License-Identifier: Apache-2.0
// Rehearsing a failure, so that a user and the tests see what the program makes of one: in one case
// a rank stops for ever, dies, or gets one element wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "bench/cli/command_line.hpp"
#include "kernels/buffer.hpp"

namespace scalebench {

struct AllreduceFault {
  enum class Kind { none, hang, die, wrong };
  Kind kind = Kind::none;
  int rank = 0;
  std::size_t case_number = 3;  // from 1; 0: while the transports open
  std::size_t every = 1;        // of so many operations of that case the last one

  /// "hang:RANK", "die:RANK" or "wrong:RANK", with "@CASE" behind, and "/EVERY" behind that. Throws
  /// UsageError, also for a rank that is not among `ranks`, and for a wrong element where there is
  /// none. Empty text: none.
  static AllreduceFault parse(const std::string& text, int ranks);

  /// Throws JointRefusal, on all ranks alike, where none of so many cases is struck: a rehearsal
  /// would look passed.
  void require_reached(std::size_t cases) const;

  bool strikes(std::size_t number, int of_rank) const {
    return kind != Kind::none && number == case_number && of_rank == rank;
  }
  /// After an operation whose result is in `out`: returns only if kind is `wrong`, or it is not yet
  /// the turn.
  void strike(Span out) const;

 private:
  mutable std::size_t operations_ = 0;  // so far
};

inline constexpr std::string_view kFaultForm =
    "hang:RANK, die:RANK or wrong:RANK, with @CASE for another case than the third (hang and die "
    "also @0, while the transports open), and /EVERY for one in so many operations, as "
    "wrong:1@1/10000";

// A rank that is killed or stopped on purpose at the begin of a step, to see how it is noticed and
// what going on costs. Steps count from 0 over the whole training. Only a training from its
// beginning is hit: one that resumes has had its fault.

enum class StepFaultKind : std::uint8_t { kill, stop };

struct StepFault {
  StepFaultKind kind = StepFaultKind::kill;
  int rank = -1;  // none
  std::int64_t step = 0;

  /// "killed" or "stopped".
  std::string_view participle() const;
};

struct StepFaultWords {
  std::string kill_rank, stop_rank;  // RANK@STEP; empty: none
};

/// Adds --kill-rank and --stop-rank.
void add_step_fault_options(CLI::App& app, StepFaultWords& words);

/// Throws UsageError for what is no fault on `ranks` ranks, and for two of them.
StepFault step_fault_of(const StepFaultWords& words, int ranks);

// A host whose clock goes wrong on purpose, as all ranks on it see it: to see that it is noticed
// and what the measured times are then worth.

struct ClockFault {
  int drift_rank = -1;      // on whose host; -1: none
  double drift_ppm = 0;     // parts per million that it goes too fast
  int jump_rank = -1;       // on whose host; -1: none
  double jump_seconds = 0;  // at the begin of the second step

  /// As the options that make it, without dashes; empty: none.
  std::string text() const;
};

/// Adds --drift-clock and --jump-clock.
void add_clock_fault_options(CLI::App& app, int ranks, ClockFault& fault);

/// Ends this process by SIGKILL, or stops it by SIGSTOP until somebody else ends it.
void inject(StepFaultKind kind);

}  // namespace scalebench
