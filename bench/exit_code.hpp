// SPDX-License-Identifier: Apache-2.0
// The exit codes of every program of the suite. Never a count: 256 failures would be a success.
#pragma once

namespace scalebench {

enum class ExitCode : int {
  ok = 0,
  regression = 1,
  usage = 2,       // the command line, a config or a data set is not valid
  incomplete = 3,  // some cases failed, are missing or are wrong
  nothing_measured = 4,
  internal = 5,
  interrupted = 130,
  terminated = 143,
};

}  // namespace scalebench
