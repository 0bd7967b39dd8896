// SPDX-License-Identifier: Apache-2.0
// What a log itself says of why an allreduce was slow: NCCL's lines of NCCL_DEBUG=INFO.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace scalebench {

struct Sign {
  std::size_t line = 0;  // from 1
  std::string seen;      // the words of the log
  std::string cause;     // "NCCL_P2P_DISABLE was set"
};

struct Evidence {
  std::vector<Sign> signs;  // each cause once, in the order of the log
  std::set<int> rails;      // numbers of the network devices that channels went over; empty: unsaid
};

Evidence evidence_in(std::string_view log);

}  // namespace scalebench
