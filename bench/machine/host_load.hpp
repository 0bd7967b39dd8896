// SPDX-License-Identifier: Apache-2.0
// How busy this machine is, as its kernel counts it: cores, memory, disks, network. Counters grow
// since boot; a share or a rate is the difference of two readings. What a kernel or a container
// does not show is NaN.
#pragma once

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "bench/machine/nvml.hpp"

namespace scalebench {

// How busy, warm and hungry the GPUs of this machine are.

/// NaN and empty text: the card or its driver does not say.
struct DeviceLoad {
  int device = 0;  // the driver's number, which CUDA_VISIBLE_DEVICES does not change
  double busy_share = std::numeric_limits<double>::quiet_NaN();
  double memory_used_bytes = std::numeric_limits<double>::quiet_NaN();
  double memory_bytes = std::numeric_limits<double>::quiet_NaN();
  double watts = std::numeric_limits<double>::quiet_NaN();
  double clock_mhz = std::numeric_limits<double>::quiet_NaN();  // of the multiprocessors
  double celsius = std::numeric_limits<double>::quiet_NaN();
  std::string throttle_reasons = {};  // "none", or names joined by ;
};

class DeviceLoadReader {
 public:
  /// One for each card; none without the driver's library. Never throws for a card that does not
  /// answer.
  std::vector<DeviceLoad> read() const;

 private:
  Nvml nvml_;
};

/// Clock ticks of one core, or of all together.
struct CoreTime {
  int core = -1;  // -1: all
  double busy = std::numeric_limits<double>::quiet_NaN();
  double steal = std::numeric_limits<double>::quiet_NaN();  // a hypervisor gave it to others
  double total = std::numeric_limits<double>::quiet_NaN();
};

struct HostLoad {
  CoreTime all;
  std::vector<CoreTime> cores;  // those asked for
  double context_switches = std::numeric_limits<double>::quiet_NaN();
  double clock_mhz = std::numeric_limits<double>::quiet_NaN();  // mean of the cores asked for
  double processes_memory_bytes = std::numeric_limits<double>::quiet_NaN();  // resident
  double memory_bytes = std::numeric_limits<double>::quiet_NaN();            // installed
  double memory_used_bytes = std::numeric_limits<double>::quiet_NaN();       // not available
  double disk_read_bytes = std::numeric_limits<double>::quiet_NaN();
  double disk_written_bytes = std::numeric_limits<double>::quiet_NaN();
  double network_received_bytes = std::numeric_limits<double>::quiet_NaN();  // without loopback
  double network_sent_bytes = std::numeric_limits<double>::quiet_NaN();
  double loopback_bytes = std::numeric_limits<double>::quiet_NaN();  // received
};

class HostLoadReader {
 public:
  /// Process ids whose memory is counted, and cores that are told apart. `root` is another folder
  /// than / in tests only.
  HostLoadReader(std::vector<int> processes, std::vector<int> cores,
                 std::filesystem::path root = "/");

  /// A few small files of the kernel; never throws for one that is missing.
  HostLoad read() const;

 private:
  std::string text_of(const std::string& file) const;
  void read_cores(HostLoad& load) const;
  void read_memory(HostLoad& load) const;
  void read_disks(HostLoad& load) const;
  void read_network(HostLoad& load) const;

  std::filesystem::path root_;
  std::vector<int> processes_;
  std::vector<int> cores_;
  std::vector<std::string> disks_;  // whole ones
};

}  // namespace scalebench
