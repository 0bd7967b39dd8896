// SPDX-License-Identifier: Apache-2.0
// For tests where there is no card: a library with the names and types of nvml.h, one card of which
// a slice is cut, and one whose counter of energy goes back. Loaded as the real one is. What is
// wrong with it is said by SCALEBENCH_FAKE_NVML_TROUBLE: versions, lost, busy, crowded, mps, errors
// or lanes.
#include <cstdlib>
#include <cstring>

extern "C" {

struct FakeProcess {
  unsigned id;
  unsigned long long memory_bytes;
  unsigned slice, slice_part;
};

namespace {
int g_card = 0, g_slice = 1, g_reset = 2;
constexpr int kSuccess = 0, kInvalidArgument = 2, kNotFound = 6, kInsufficientSize = 7;
constexpr int kGpuIsLost = 15, kVersionsDiffer = 18;

bool is_wrong(const char* what) {
  const char* const trouble = std::getenv("SCALEBENCH_FAKE_NVML_TROUBLE");
  return trouble != nullptr && std::strcmp(trouble, what) == 0;
}
}  // namespace

int nvmlInit_v2() { return is_wrong("versions") ? kVersionsDiffer : kSuccess; }
int nvmlShutdown() { return kSuccess; }

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 1;
  return kSuccess;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = &g_card;
  if (is_wrong("lost")) return kGpuIsLost;
  return index == 0 ? kSuccess : kInvalidArgument;
}

int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  const bool slice = std::strncmp(uuid, "MIG-5", 5) == 0;
  const bool card = std::strncmp(uuid, "GPU-c", 5) == 0;
  const bool reset = std::strncmp(uuid, "GPU-b", 5) == 0;
  *device = slice ? &g_slice : reset ? &g_reset : &g_card;
  return slice || card || reset ? kSuccess : kNotFound;
}

int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void* slice, void** card) {
  *card = &g_card;
  return slice == &g_slice ? kSuccess : kInvalidArgument;
}

int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  *milliwatts = 650'500;
  return device == &g_card ? kSuccess : kInvalidArgument;
}

int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  static unsigned long long used = 7'000'000, falling = 7'000'000;
  if (device == &g_reset) {
    *millijoules = falling -= 2'500;
    return kSuccess;
  }
  *millijoules = used += 2'500;
  return device == &g_card ? kSuccess : kInvalidArgument;
}

int nvmlDeviceGetClockInfo(void* device, int of, unsigned* mhz) {
  constexpr int kClockOfMultiprocessors = 1;
  *mhz = of == kClockOfMultiprocessors ? 1755 : 1;
  return device == &g_card ? kSuccess : kInvalidArgument;
}

int nvmlDeviceGetCurrentClocksEventReasons(void* device, unsigned long long* reasons) {
  *reasons = 0x4;
  return device == &g_card ? kSuccess : kInvalidArgument;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, FakeProcess* processes) {
  const unsigned room = *count;
  *count = is_wrong("crowded") ? 3 * room : is_wrong("busy") || is_wrong("mps") ? 2 : 0;
  if (device == &g_slice) *count = 0;
  if (*count > room) return kInsufficientSize;
  for (unsigned i = 0; i < *count; ++i) processes[i] = {4711 + i, 1U << 30U, 0, 0};
  return device == &g_card || device == &g_slice ? kSuccess : kInvalidArgument;
}

int nvmlSystemGetProcessName(unsigned process, char* name, unsigned length) {
  const bool server = is_wrong("mps") && process == 4711;
  std::strncpy(name, server ? "/usr/bin/nvidia-cuda-mps-server" : "python3", length);
  return kSuccess;
}

int nvmlDeviceGetTotalEccErrors(void* device, int kind, int since, unsigned long long* errors) {
  constexpr int kUncorrected = 1, kSinceTheDriverWasLoaded = 0;
  const bool asked = kind == kUncorrected && since == kSinceTheDriverWasLoaded;
  *errors = asked && is_wrong("errors") ? 3 : 0;
  return device == &g_card ? kSuccess : kInvalidArgument;
}

int nvmlDeviceGetCurrPcieLinkWidth(void* device, unsigned* lanes) {
  *lanes = is_wrong("lanes") ? 8 : 16;
  return device == &g_card ? kSuccess : kInvalidArgument;
}

int nvmlDeviceGetMaxPcieLinkWidth(void* device, unsigned* lanes) {
  *lanes = 16;
  return device == &g_card ? kSuccess : kInvalidArgument;
}

}  // extern "C"
