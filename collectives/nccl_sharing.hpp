// SPDX-License-Identifier: Apache-2.0
// Several ranks on one device under NCCL: refused before 2.30.3 ("Duplicate GPU detected"), from
// there on an experiment that the variable NCCL_MULTI_RANK_GPU_ENABLE=1 allows.
#pragma once

#include <string>

namespace scalebench {

/// Why NCCL of this version (as ncclGetVersion says it, 0: none) takes no two ranks on one device
/// whatever it is told; empty: it does when it is told to.
std::string why_nccl_cannot_share(int version);

/// Tells the NCCL of this process to take them; before its first communicator. Throws UsageError
/// where it cannot.
void let_nccl_share_devices();

/// Whether this process' NCCL takes them: new enough, and told to, here or by who started it.
bool nccl_shares_devices();

/// ncclGetVersion's number of the library at run time; 0 in a build without NCCL.
int nccl_version_code();

/// "2.28.3" of 22803; empty of 0.
std::string nccl_version_text(int code);

}  // namespace scalebench
