// SPDX-License-Identifier: Apache-2.0
// What is put into a benchmark on purpose, so that a user and the tests see what is made of it:
// --inject WHAT[=AMOUNT][:RANK][@WHEN]. The table of what there is stands in fault.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "bench/cli/command_line.hpp"
#include "kernels/buffer.hpp"

namespace scalebench {

enum class Injected : std::uint8_t {
  slower,
  hang,
  kill,
  wrong,
  sleep,
  delay,
  throttle,
  stop,
  drift
};

struct Injection {
  Injected fault = Injected::slower;
  double amount = 0;      // in the unit of the fault
  int rank = -1;          // -1: all
  std::int64_t when = 0;  // a case of bench_allreduce, from 1, or a step of a training, from 0
  std::string text = {};  // as typed
  bool at_a_moment = false;
};

/// What --inject can do differs.
enum class InjectedInto : std::uint8_t { allreduce, training };

constexpr int kAnyRanks = std::numeric_limits<int>::max();  // where nobody knows yet how many

class Injections {
 public:
  Injections() = default;
  /// Throws UsageError for what is no injection into that program on `ranks` ranks, for one fault
  /// that is given twice, and for two of those that come at a moment.
  Injections(const std::vector<std::string>& texts, InjectedInto program, int ranks);

  /// Null: nothing of that kind.
  const Injection* find(Injected fault) const;
  /// 0: nothing of that kind.
  double amount(Injected fault) const;
  /// The one that comes at a case or a step; null: none.
  const Injection* at_a_moment() const;
  /// Those that last, as typed, with a blank between them; empty: none.
  std::string lasting() const;

 private:
  std::vector<Injection> all_;
};

/// Adds --inject, which may be repeated.
CLI::Option* add_inject_option(CLI::App& app, InjectedInto program, int ranks,
                               Injections& injections);

// A rank that dies, stops, hangs, or gets one element wrong at one case or step.

class MomentFault {
 public:
  MomentFault() = default;
  explicit MomentFault(const Injections& injections);

  /// Throws JointRefusal, on all ranks alike, where its moment comes after the last: a rehearsal
  /// would look passed.
  void require_reached(std::size_t last) const;

  /// A case of bench_allreduce, of which 0 is while the transports open; or a step.
  bool strikes(std::size_t number, int of_rank) const;
  /// Says that it is on purpose, and returns only if the rank goes on after SIGSTOP, if one element
  /// of `out`, the result of an operation, is to be wrong, or if it is not yet the turn.
  void strike(Span out = {}) const;

 private:
  Injection what_ = {};                 // of rank -1: none
  mutable std::size_t operations_ = 0;  // so far
};

}  // namespace scalebench
