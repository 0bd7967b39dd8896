// SPDX-License-Identifier: Apache-2.0
// Delays put into training on purpose, to prove that the account of where time goes books each on
// the right place. All zero: none.
#pragma once

namespace scalebench {

struct Faults {
  /// In each step this rank sleeps so long at the begin of its forward pass, for which the others
  /// then wait. -1: no rank.
  int sleep_rank = -1;
  double sleep_seconds = 0;
  /// Each communication takes so much longer, on all ranks, after the last of them has come.
  double delay_collective_seconds = 0;
  /// Loading the images of a step takes so much longer, on all ranks.
  double throttle_input_seconds = 0;
};

}  // namespace scalebench
