// SPDX-License-Identifier: Apache-2.0
// Whether ranks may share a device, which needs no NCCL to be known.
#include <cstdlib>
#include <string_view>

#include "collectives/transport/nccl.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr int kFirstThatShares = 23003;
constexpr const char* kVariable = "NCCL_MULTI_RANK_GPU_ENABLE";

}  // namespace

std::string why_nccl_cannot_share(int version) {
  if (version == 0) return "this build has no NCCL";
  if (version >= kFirstThatShares) return {};
  return fmt::format("NCCL {} refuses two ranks on one device (2.30.3 and later can take them)",
                     nccl_version_text(version));
}

void let_nccl_share_devices() {
  const std::string why = why_nccl_cannot_share(nccl_version_code());
  if (!why.empty()) {
    fail<UsageError>("--nccl-share-devices: {}; leave it out, cuda_ipc works without", why);
  }
  setenv(kVariable, "1", /*overwrite=*/1);
}

bool nccl_shares_devices() {
  const char* set = std::getenv(kVariable);
  return why_nccl_cannot_share(nccl_version_code()).empty() && set != nullptr &&
         std::string_view(set) == "1";
}

std::string nccl_version_text(int code) {
  if (code == 0) return {};
  return fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
}

}  // namespace scalebench
