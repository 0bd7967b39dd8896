// SPDX-License-Identifier: Apache-2.0
// Which device each rank takes: one of its own, told by UUID, since the numbers of CUDA differ from
// rank to rank where CUDA_VISIBLE_DEVICES does. A decision over what every rank reported, so that
// all ranks come to the same.
#pragma once

#include <string>
#include <vector>

namespace scalebench {

/// What one rank can see.
struct DeviceView {
  std::string host;
  std::vector<std::string> uuids;  // in the order of CUDA's numbers
};

struct DevicePlacement {
  std::vector<int> index = {};  // by rank, of its view; empty: not every rank has a device
  bool shared = false;          // some device has several ranks
  std::string why_not = {};     // one line, where there is no device for every rank
};

/// "0,2", or UUIDs as "GPU-8f2c...", also of a MIG slice: its words, none for an empty text. Throws
/// UsageError for anything else, and for a device that is named twice.
std::vector<std::string> parse_devices(const std::string& text);

/// A device of its own for each rank, in the order of `named` (empty: all that a rank sees), and in
/// that of ranks, of which those with the fewest choices come first. With `share` ranks for whom
/// none is left join those with the fewest ranks. Throws UsageError for a device in `named` that is
/// not there.
DevicePlacement place_ranks(const std::vector<DeviceView>& views,
                            const std::vector<std::string>& named, bool share);

}  // namespace scalebench
