// SPDX-License-Identifier: Apache-2.0
// What an NCCL of some version can do, which needs no NCCL to be known: whether ranks may share a
// device, and how it can be told of buffers.
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <string_view>

#include "collectives/transport/nccl.hpp"

namespace scalebench {
namespace {

constexpr int kFirstThatShares = 23003;
constexpr std::array<int, kRegistrations.size()> kFirstThatRegisters{1, 21900, 22700};

}  // namespace

std::string why_nccl_cannot_share(int version) {
  if (version == 0) return "this build has no NCCL";
  if (version >= kFirstThatShares) return {};
  return fmt::format("NCCL {} refuses two ranks on one device (2.30.3 and later can take them)",
                     nccl_version_text(version));
}

bool nccl_shares_devices() {
  const char* const set = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  return why_nccl_cannot_share(nccl_version_code()).empty() && set != nullptr &&
         std::string_view(set) == "1";
}

std::string_view name_of(Registration registration) {
  constexpr std::array<std::string_view, kRegistrations.size()> kNames{"0", "1", "2"};
  return kNames[static_cast<std::size_t>(registration)];
}

std::string why_nccl_cannot_register(Registration registration, int version) {
  if (version == 0) return "this build has no NCCL";
  const int first = kFirstThatRegisters[static_cast<std::size_t>(registration)];
  if (version >= first) return {};
  return fmt::format("NCCL {} has no {} (NCCL {} and later have)", nccl_version_text(version),
                     registration == Registration::local ? "ncclCommRegister" : "symmetric windows",
                     nccl_version_text(first));
}

std::string nccl_version_text(int code) {
  if (code == 0) return {};
  return fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
}

}  // namespace scalebench
