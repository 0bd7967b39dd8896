// SPDX-License-Identifier: Apache-2.0
// How busy this machine is, as its kernel counts it: cores, memory, disks, network; and its cards,
// as NVIDIA's management library does. Counters grow since boot; a share or a rate is the
// difference of two readings. What a kernel, a container or a card does not show is NaN.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace scalebench {

// Why a card's clocks are where they are, from the driver's bits (nvmlClocksEventReason…).

/// Slower than its settings allow: by power, heat or the board. Idling, and clocks that somebody
/// has set, are no throttling.
bool is_throttled(std::uint64_t bits);

/// Of these, by power: the card's limit or the board's brake.
bool is_power_capped(std::uint64_t bits);

/// Why the numbers of a card, or of all, would be wrong or none; each text is one terminal line.
struct CardTrouble {
  std::string text;
  std::string remedy;
};

/// NVIDIA's management library, loaded if the machine has it: no header and no library of a toolkit
/// is needed to build this. Types and numbers are those of nvml.h, stable since version 4.
class Nvml {
 public:
  using Device = void*;  // null: none

  /// Loads and starts `library`; without it there are no devices.
  explicit Nvml(const std::string& library = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  /// All cards with the driver's numbers, which CUDA_VISIBLE_DEVICES does not change.
  const std::vector<std::pair<int, Device>>& devices() const { return devices_; }
  /// What a UUID means as CUDA or nvidia-smi writes it. Of a MIG slice `card` is the one that it is
  /// cut of, which alone has clocks; its power and energy are those of all slices together.
  struct Found {
    Device card = nullptr;   // null: there is none
    Device slice = nullptr;  // null: the whole card
  };
  Found find(const std::string& uuid) const;
  /// What is wrong with the driver, or with the cards of these UUIDs, each one line with what to
  /// do. `visible`: those that CUDA sees, in its order, whose numbers are said.
  std::vector<CardTrouble> troubles(const std::vector<std::string>& visible) const;

  /// NaN and empty: the card or its driver does not say.
  double busy_share(Device device) const;
  double memory_used_bytes(Device device) const;
  /// As the driver says it: from Ampere on, but for GA100, the mean of the last second (NVML
  /// reference).
  double watts(Device device) const;
  /// Used since the driver was loaded; nothing: the card does not count, or there is none.
  std::optional<double> joules(Device device) const;
  double clock_mhz(Device device) const;  // of the multiprocessors
  /// Why the clocks are where they are, in the driver's bits.
  std::optional<std::uint64_t> clock_reasons(Device device) const;

 private:
  /// As nvmlProcessInfo_t of its version 3.
  struct Process {
    unsigned id;
    unsigned long long memory_bytes;
    unsigned slice, slice_part;
  };
  std::string foreign_processes(Device device) const;
  bool is_mps_server(unsigned process) const;
  void look_at(std::size_t number, const Found& which, std::vector<CardTrouble>& found) const;
  /// What the library's function returns; NVML_ERROR_FUNCTION_NOT_FOUND where it has none of that
  /// name, or there is no library. `arguments` are of the very types that nvml.h declares: no
  /// compiler compares them.
  template <class... Arguments>
  int call(const char* name, Arguments... arguments) const;

  void* handle_;
  int start_code_;
  bool started_;
  std::vector<int> lost_;  // numbers of cards that do not answer any more
  std::vector<std::pair<int, Device>> devices_;
};

// How busy and hungry the GPUs of this machine are.

/// NaN: the card or its driver does not say.
struct DeviceLoad {
  int device = 0;  // the driver's number, which CUDA_VISIBLE_DEVICES does not change
  double busy_share = std::numeric_limits<double>::quiet_NaN();
  double memory_used_bytes = std::numeric_limits<double>::quiet_NaN();
  double watts = std::numeric_limits<double>::quiet_NaN();
  double clock_mhz = std::numeric_limits<double>::quiet_NaN();  // of the multiprocessors
};

/// One for each card; none without the driver's library. Never throws for a card that does not
/// answer.
std::vector<DeviceLoad> device_loads(const Nvml& nvml);

/// Clock ticks.
struct CoreTime {
  double busy = std::numeric_limits<double>::quiet_NaN();
  double steal = std::numeric_limits<double>::quiet_NaN();  // a hypervisor gave it to others
  double total = std::numeric_limits<double>::quiet_NaN();
};

struct HostLoad {
  CoreTime cores;                                                       // all together
  double memory_used_bytes = std::numeric_limits<double>::quiet_NaN();  // not available
  double disk_read_bytes = std::numeric_limits<double>::quiet_NaN();
  double disk_written_bytes = std::numeric_limits<double>::quiet_NaN();
  double network_received_bytes = std::numeric_limits<double>::quiet_NaN();  // without loopback
  double network_sent_bytes = std::numeric_limits<double>::quiet_NaN();
};

/// What TCP has sent in this network namespace since it began, in segments.
struct TcpCounters {
  double sent = std::numeric_limits<double>::quiet_NaN();
  double retransmitted = std::numeric_limits<double>::quiet_NaN();
};

/// One small file of the kernel. `root` is another folder than / in tests only.
TcpCounters tcp_counters(const std::filesystem::path& root = "/");

class HostLoadReader {
 public:
  /// `root` is another folder than / in tests only.
  explicit HostLoadReader(std::filesystem::path root = "/");

  /// A few small files of the kernel; never throws for one that is missing.
  HostLoad read() const;

 private:
  void read_cores(HostLoad& load) const;
  void read_memory(HostLoad& load) const;
  void read_disks(HostLoad& load) const;
  void read_network(HostLoad& load) const;

  std::filesystem::path root_;
  std::vector<std::string> disks_;  // whole ones
};

}  // namespace scalebench
