// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/ipc_cause.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace scalebench {

IpcPlace ipc_place_here(const std::string& device) {
  IpcPlace place{.namespaces = "", .device = device};
  for (const char* const kind : {"/proc/self/ns/ipc", "/proc/self/ns/pid"}) {
    std::error_code unknown;
    place.namespaces += std::filesystem::read_symlink(kind, unknown).string();
  }
  for (const char* const variable : {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"}) {
    const char* const value = std::getenv(variable);
    place.slice = place.slice || (value != nullptr &&
                                  std::string_view(value).find("MIG-") != std::string_view::npos);
  }
  return place;
}

std::string likely_cause(std::span<const IpcPlace> of_ranks) {
  const auto several = [&](auto member) {
    return std::ranges::adjacent_find(of_ranks, std::ranges::not_equal_to(), member) !=
           of_ranks.end();
  };
  if (several(&IpcPlace::namespaces)) {
    return "likely because the ranks are in containers that do not share their IPC: start these "
           "with --ipc=host and --pid=host, or all ranks in one";
  }
  if (std::ranges::any_of(of_ranks, &IpcPlace::slice)) {
    return "likely because devices are MIG instances, which CUDA IPC does not join: take one of "
           "them with --share-devices, or whole cards";
  }
  if (several(&IpcPlace::device)) {
    return "likely because these devices have no peer access to each other, as nvidia-smi topo "
           "-p2p "
           "r would show: take transport nccl, which needs none";
  }
  return "likely because this system has no CUDA IPC, as WSL and some virtual GPUs: take another "
         "transport";
}

}  // namespace scalebench
