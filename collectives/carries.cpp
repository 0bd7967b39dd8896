// SPDX-License-Identifier: Apache-2.0
#include "collectives/carries.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace scalebench {
namespace {

enum class Needs : std::uint8_t { messages, windows, own };

Needs needs_of(std::string_view algorithm) {
#define ALLREDUCE(name, steps, sent, reduced, needs, purpose) \
  if (algorithm == #name) return Needs::needs;
#include "collectives/allreduce.def"
#undef ALLREDUCE
  return Needs::messages;
}

}  // namespace

std::string why_not_carried(std::string_view algorithm, std::string_view transport, int hosts) {
  const Needs needs = needs_of(algorithm);
  const bool windows = transport == "shared_memory" || transport == "cuda_ipc";
  if (needs == Needs::windows && !windows && transport != "auto") {
    return fmt::format(
        "algorithm {} needs ranks that address each other's memory; transport {} cannot; valid: "
        "shared_memory, cuda_ipc",
        algorithm, transport);
  }
  if (needs == Needs::windows && hosts > 1) {
    return fmt::format(
        "algorithm {} needs ranks that address each other's memory; those of {} hosts cannot",
        algorithm, hosts);
  }
  if (needs == Needs::own && windows) {
    return fmt::format("algorithm {} is the transport's own, and {} has none; valid: mpi, nccl",
                       algorithm, transport);
  }
  return "";
}

std::string_view allreduce_meant(std::string_view word) {
  if (word == "nccl") return "native";
  if (word == "hierarchical_copy") return "hierarchical";
  return word == "reduce_to_one" ? "naive" : word;
}

}  // namespace scalebench
