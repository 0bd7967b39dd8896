// SPDX-License-Identifier: Apache-2.0
// Why CUDA IPC does not reach from one process of a host to another: CUDA says that it failed, and
// who started the processes can do something about the cause.
#pragma once

#include <span>
#include <string>

namespace scalebench {

/// What of a process decides that.
struct IpcPlace {
  std::string namespaces;  // of IPC and of processes, as the kernel names them; empty: unknown
  std::string device;      // UUID
  bool slice = false;      // of a card: a MIG instance
};

/// Of this process on that device.
IpcPlace ipc_place_here(const std::string& device);

/// A few words, the same whoever asks.
std::string likely_cause(std::span<const IpcPlace> of_ranks);

}  // namespace scalebench
