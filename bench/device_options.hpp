// SPDX-License-Identifier: Apache-2.0
// The words that choose devices, the same for every program of ranks.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cli/app.hpp"

namespace scalebench {

inline constexpr std::array<std::string_view, 3> kDevices{"auto", "cpu", "cuda"};

struct DeviceOptions {
  std::string device = "auto";
  std::string named;        // of each host, such as 0,2, or UUIDs; empty: all
  bool share = false;       // several ranks may be on one device
  bool nccl_share = false;  // and NCCL shall be told to take them

  /// Whether a device must be used: named, or asked for as cuda.
  bool required() const { return device == "cuda" || !named.empty(); }
  /// "--devices 0,2" or "--device cuda", as typed.
  std::string typed() const;
};

/// --device, --devices, --share-devices and --nccl-share-devices, bound to `options`.
void add_device_options(CLI::App& app, DeviceOptions& options);

/// Throws UsageError for unknown words and for words that contradict each other.
void check_device_options(const DeviceOptions& options);

}  // namespace scalebench
