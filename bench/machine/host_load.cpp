// SPDX-License-Identifier: Apache-2.0
#include "bench/machine/host_load.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

namespace scalebench {
namespace {

// Bits of nvmlClocksEventReason…, of which others are about idling or clocks that somebody has set.
constexpr std::uint64_t kSwPowerCap = 0x4, kHwSlowdown = 0x8, kSwThermalSlowdown = 0x20,
                        kHwThermalSlowdown = 0x40, kHwPowerBrake = 0x80;
constexpr std::uint64_t kByPower = kSwPowerCap | kHwPowerBrake;
constexpr std::uint64_t kSlower = kByPower | kHwSlowdown | kSwThermalSlowdown | kHwThermalSlowdown;

}  // namespace

bool is_throttled(std::uint64_t bits) { return (bits & kSlower) != 0; }

bool is_power_capped(std::uint64_t bits) { return (bits & kByPower) != 0; }

namespace {

constexpr int kSuccess = 0;
constexpr int kInsufficientSize = 7;
constexpr int kFunctionNotFound = 13;
constexpr int kGpuIsLost = 15;
constexpr int kVersionsDiffer = 18;  // of driver and library
constexpr int kUncorrected = 1;
constexpr int kSinceTheDriverWasLoaded = 0;
constexpr int kClockOfMultiprocessors = 1;
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

}  // namespace

template <class... Arguments>
int Nvml::call(const char* name, Arguments... arguments) const {
  void* const symbol = handle_ == nullptr ? nullptr : dlsym(handle_, name);
  if (symbol == nullptr) return kFunctionNotFound;
  return reinterpret_cast<int (*)(Arguments...)>(symbol)(arguments...);
}

Nvml::Nvml(const std::string& library)
    : handle_(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)),
      start_code_(call("nvmlInit_v2")),
      started_(start_code_ == kSuccess) {
  unsigned number = 0;
  if (!started_ || call("nvmlDeviceGetCount_v2", &number) != kSuccess) return;
  for (unsigned i = 0; i < number; ++i) {
    Device device = nullptr;
    const int code = call("nvmlDeviceGetHandleByIndex_v2", i, &device);
    if (code == kSuccess) devices_.emplace_back(static_cast<int>(i), device);
    if (code == kGpuIsLost) lost_.push_back(static_cast<int>(i));
  }
}

Nvml::~Nvml() {
  if (started_) call("nvmlShutdown");
  if (handle_ != nullptr) dlclose(handle_);
}

Nvml::Found Nvml::find(const std::string& uuid) const {
  if (!started_ || uuid.size() < 4) return {};
  const auto has = [&](const std::string& kind, Device& device) {
    const std::string name = kind + uuid.substr(4);
    return call("nvmlDeviceGetHandleByUUID", name.c_str(), &device) == kSuccess;
  };
  Device card = nullptr, slice = nullptr;
  if (has("GPU-", card)) return {.card = card};
  if (!has("MIG-", slice)) return {};
  const int code = call("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", slice, &card);
  return code == kSuccess ? Found{.card = card, .slice = slice} : Found{};
}

/// "4711", "4711 and 2 more"; empty: of nobody, or the driver does not say.
std::string Nvml::foreign_processes(Device device) const {
  std::array<Process, 64> processes{};
  auto count = static_cast<unsigned>(processes.size());
  const int code =
      call("nvmlDeviceGetComputeRunningProcesses_v3", device, &count, processes.data());
  if ((code != kSuccess && code != kInsufficientSize) || count == 0) return {};
  // Of more than there was room for, the driver says their number and nothing else.
  if (code == kInsufficientSize) return fmt::format("{} processes", count);
  // Those that compute through an MPS server are in the list themselves.
  const auto last = std::remove_if(processes.begin(), processes.begin() + count,
                                   [this](const Process& one) { return is_mps_server(one.id); });
  count = static_cast<unsigned>(last - processes.begin());
  if (count == 0) return {};
  const std::string first = fmt::format("process {}", processes[0].id);
  return count == 1 ? first : fmt::format("{} and {} more", first, count - 1);
}

bool Nvml::is_mps_server(unsigned process) const {
  std::array<char, 256> name{};
  const auto length = static_cast<unsigned>(name.size() - 1);
  const int code = call("nvmlSystemGetProcessName", process, name.data(), length);
  return code == kSuccess &&
         std::string_view(name.data()).find("nvidia-cuda-mps") != std::string_view::npos;
}

void Nvml::look_at(std::size_t number, const Found& which, std::vector<CardTrouble>& found) const {
  const Device device = which.card;
  const std::string others = foreign_processes(which.slice != nullptr ? which.slice : device);
  if (!others.empty()) {
    found.push_back({fmt::format("GPU {} is in use already, by {}", number, others),
                     "wait until it is free, or choose others with --devices"});
  }
  unsigned long long errors = 0;
  const int code =
      call("nvmlDeviceGetTotalEccErrors", device, kUncorrected, kSinceTheDriverWasLoaded, &errors);
  if (code == kSuccess && errors > 0) {
    found.push_back(
        {fmt::format("GPU {} has had {} memory errors that it could not correct", number, errors),
         "its numbers are no baseline: reset it, and replace it if they come back"});
  }
  unsigned lanes = 0, most = 0;
  const bool linked = call("nvmlDeviceGetCurrPcieLinkWidth", device, &lanes) == kSuccess &&
                      call("nvmlDeviceGetMaxPcieLinkWidth", device, &most) == kSuccess;
  if (linked && lanes < most) {
    found.push_back(
        {fmt::format("GPU {} is linked by {} of its {} PCIe lanes", number, lanes, most),
         "look at its slot: what goes to and from it takes longer"});
  }
}

std::vector<CardTrouble> Nvml::troubles(const std::vector<std::string>& visible) const {
  std::vector<CardTrouble> found;
  if (start_code_ == kVersionsDiffer) {
    found.push_back({"the NVIDIA driver that runs and its library are of different versions",
                     "load the new driver: reboot this host"});
  }
  for (const int number : lost_) {
    // CUDA has no number for it.
    found.push_back(
        {fmt::format("GPU {} of nvidia-smi is lost: it does not answer any more", number),
         "see dmesg for its Xid, and reboot"});
  }
  for (std::size_t i = 0; i < visible.size(); ++i) {
    const Found device = find(visible[i]);
    if (device.card != nullptr) look_at(i, device, found);
  }
  return found;
}

double Nvml::busy_share(Device device) const {
  std::array<unsigned, 2> percent{};  // of the multiprocessors' time, and of the memory's
  const int code = call("nvmlDeviceGetUtilizationRates", device, percent.data());
  return code == kSuccess ? percent[0] / 100.0 : kUnknown;
}

double Nvml::memory_used_bytes(Device device) const {
  std::array<unsigned long long, 3> bytes{};  // total, free, used
  const int code = call("nvmlDeviceGetMemoryInfo", device, bytes.data());
  return code == kSuccess ? static_cast<double>(bytes[2]) : kUnknown;
}

double Nvml::watts(Device device) const {
  unsigned milliwatts = 0;
  const int code = call("nvmlDeviceGetPowerUsage", device, &milliwatts);
  return code == kSuccess ? milliwatts / 1e3 : kUnknown;
}

std::optional<double> Nvml::joules(Device device) const {
  unsigned long long millijoules = 0;
  if (device == nullptr) return {};
  if (call("nvmlDeviceGetTotalEnergyConsumption", device, &millijoules) != kSuccess) return {};
  return static_cast<double>(millijoules) / 1e3;
}

double Nvml::clock_mhz(Device device) const {
  unsigned mhz = 0;
  const int code = call("nvmlDeviceGetClockInfo", device, kClockOfMultiprocessors, &mhz);
  return code == kSuccess ? mhz : kUnknown;
}

std::optional<std::uint64_t> Nvml::clock_reasons(Device device) const {
  unsigned long long bits = 0;
  // The same call has a new name, and that of drivers before 535.
  for (const char* const name :
       {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"}) {
    if (call(name, device, &bits) == kSuccess) return bits;
  }
  return {};
}

std::vector<DeviceLoad> device_loads(const Nvml& nvml) {
  std::vector<DeviceLoad> loads;
  for (const auto& [index, device] : nvml.devices()) {
    loads.push_back({.device = index,
                     .busy_share = nvml.busy_share(device),
                     .memory_used_bytes = nvml.memory_used_bytes(device),
                     .watts = nvml.watts(device),
                     .clock_mhz = nvml.clock_mhz(device)});
  }
  return loads;
}

namespace {

/// In /proc/diskstats, whatever the disk's own block size.
constexpr double kSectorBytes = 512;

/// user nice system idle iowait irq softirq steal; guests are in user already. Waiting for a disk
/// is idle time.
CoreTime core_time(std::istream& fields) {
  std::array<double, 8> ticks{};
  for (double& tick : ticks) fields >> tick;
  CoreTime time{0, ticks[7], 0};
  for (const double tick : ticks) time.total += tick;
  time.busy = time.total - ticks[3] - ticks[4] - ticks[7];
  return time;
}

void add(double& sum, double value) { sum = sum == sum ? sum + value : value; }

}  // namespace

HostLoadReader::HostLoadReader(std::filesystem::path root) : root_(std::move(root)) {
  // A disk that is made of others would be counted twice: only those with a device behind them.
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(root_ / "sys/block", ignored)) {
    if (std::filesystem::exists(entry.path() / "device", ignored)) {
      disks_.push_back(entry.path().filename().string());
    }
  }
}

TcpCounters tcp_counters(const std::filesystem::path& root) {
  // A line of names, and a line of numbers below it.
  TcpCounters counters;
  std::ifstream file(root / "proc/net/snmp");
  std::vector<std::string> names;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("Tcp:")) continue;
    std::istringstream words(line);
    std::vector<std::string> cells{std::istream_iterator<std::string>(words), {}};
    if (names.empty()) {
      names = std::move(cells);
      continue;
    }
    for (std::size_t i = 1; i < std::min(names.size(), cells.size()); ++i) {
      if (names[i] == "OutSegs") counters.sent = std::stod(cells[i]);
      if (names[i] == "RetransSegs") counters.retransmitted = std::stod(cells[i]);
    }
  }
  return counters;
}

HostLoad HostLoadReader::read() const {
  HostLoad load;
  read_cores(load);
  read_memory(load);
  read_disks(load);
  read_network(load);
  return load;
}

void HostLoadReader::read_cores(HostLoad& load) const {
  std::ifstream file(root_ / "proc/stat");
  std::string name;
  if (file >> name) load.cores = core_time(file);  // the first line is of all
}

void HostLoadReader::read_memory(HostLoad& load) const {
  std::ifstream lines(root_ / "proc/meminfo");
  double installed = kUnknown, available = kUnknown;
  for (std::string name, line; lines >> name && std::getline(lines, line);) {
    if (name == "MemTotal:") installed = 1024 * std::stod(line);
    if (name == "MemAvailable:") {
      available = 1024 * std::stod(line);
      break;
    }
  }
  load.memory_used_bytes = installed - available;
}

void HostLoadReader::read_disks(HostLoad& load) const {
  std::ifstream lines(root_ / "proc/diskstats");
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string major, minor, name;
    double reads = 0, merged = 0, sectors_read = 0, read_ms = 0, writes = 0, sectors_written = 0;
    fields >> major >> minor >> name;
    if (std::ranges::find(disks_, name) == disks_.end()) continue;
    fields >> reads >> merged >> sectors_read >> read_ms >> writes >> merged >> sectors_written;
    add(load.disk_read_bytes, kSectorBytes * sectors_read);
    add(load.disk_written_bytes, kSectorBytes * sectors_written);
  }
}

void HostLoadReader::read_network(HostLoad& load) const {
  std::ifstream lines(root_ / "proc/net/dev");
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;  // the two lines of the heading
    std::istringstream name_field(line.substr(0, colon));
    std::istringstream fields(line.substr(colon + 1));
    std::string name;
    name_field >> name;
    std::array<double, 9> values{};
    for (double& value : values) fields >> value;
    if (name == "lo") continue;
    add(load.network_received_bytes, values[0]);
    add(load.network_sent_bytes, values[8]);
  }
}

}  // namespace scalebench
