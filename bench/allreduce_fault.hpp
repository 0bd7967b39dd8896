// SPDX-License-Identifier: Apache-2.0
// Rehearsing a failure, so that a user and the tests see what the program makes of one: in one case
// a rank stops for ever, dies, or gets one element wrong.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "kernels/span.hpp"

namespace scalebench {

struct AllreduceFault {
  enum class Kind { none, hang, die, wrong };
  Kind kind = Kind::none;
  int rank = 0;
  std::size_t case_number = 3;  // from 1

  /// "hang:RANK", "die:RANK" or "wrong:RANK", with "@CASE" behind. Throws UsageError, also for a
  /// rank that is not among `ranks`. Empty text: none.
  static AllreduceFault parse(const std::string& text, int ranks);

  bool strikes(std::size_t number, int of_rank) const {
    return kind != Kind::none && number == case_number && of_rank == rank;
  }
  /// After an operation whose result is in `out`: returns only if kind is `wrong`.
  void strike(Span out) const;
};

inline constexpr std::string_view kFaultForm =
    "hang:RANK, die:RANK or wrong:RANK, with @CASE for another case than the third";

}  // namespace scalebench
