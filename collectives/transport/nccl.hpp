// SPDX-License-Identifier: Apache-2.0
// Device memory over NCCL: exchange by ncclSend/ncclRecv, native by ncclAllReduce, reductions by
// the suite's own kernel on the same stream; windows are registered with NCCL where it can, for its
// collectives: messages go over a second communicator, to which nothing is registered.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "collectives/communicator.hpp"
#include "kernels/error.hpp"

namespace scalebench {

/// What NCCL is told of a window before it is used, as nccl-tests' -R: nothing; by
/// ncclCommRegister, so that NVLink SHARP and networks reach it without a copy; or by
/// ncclCommWindowRegister with NCCL_WIN_COLL_SYMMETRIC, which its fastest kernels within a node ask
/// for. Its memory is ncclMemAlloc's in each case, where NCCL has that (2.19).
enum class Registration : std::uint8_t { none, local, symmetric };
inline constexpr std::array<Registration, 3> kRegistrations{Registration::none, Registration::local,
                                                            Registration::symmetric};
/// As in options and result files: `0`, `1` or `2`.
std::string_view name_of(Registration registration);

/// Why an NCCL of this version (as ncclGetVersion says it, 0: none) cannot; empty: it can.
std::string why_nccl_cannot_register(Registration registration, int version);

/// Collective over the ranks of `control`, a host transport, which carries the NCCL id and the
/// barriers and must outlive the result. Every rank has selected its device before. A first
/// collective has gone round when it returns. wait() throws Error, after it has aborted the
/// communicator, when NCCL reports that a peer or the network failed. Throws Unavailable, on every
/// rank, in a build without NCCL, without a device, when two ranks chose the same card, unless
/// nccl_shares_devices(), when this NCCL cannot register as asked, and when NCCL refuses to start
/// or its first collective fails; a window() does where NCCL refuses to register. Without a
/// registration windows have the local one, or none where that fails.
std::unique_ptr<Communicator> make_nccl_communicator(
    Communicator& control, std::optional<Registration> registration = std::nullopt);

/// Waits until `is_done()`, a look at a stream. A peer that failed leaves the stream stuck for
/// ever, and NCCL reports that beside it: where `problem()` is not empty, `abort()` ends what is
/// enqueued, and Error is thrown. Knows nothing of CUDA, so that it can be tested without.
template <class IsDone, class Problem, class Abort>
void wait_beside_errors(IsDone is_done, Problem problem, Abort abort) {
  while (!is_done()) {
    const std::string what = problem();
    if (what.empty()) continue;
    abort();
    fail("nccl: {}", what);
  }
}

/// "2.28.3": the library at run time; empty in a build without NCCL.
std::string nccl_version();

// Several ranks on one device under NCCL: refused before 2.30.3 ("Duplicate GPU detected"), from
// there on an experiment that the variable NCCL_MULTI_RANK_GPU_ENABLE=1 allows.

/// Why NCCL of this version (as ncclGetVersion says it, 0: none) takes no two ranks on one device
/// whatever it is told; empty: it does when it is told to.
std::string why_nccl_cannot_share(int version);

/// Whether this process' NCCL takes them: new enough, and told to by who started it.
bool nccl_shares_devices();

/// ncclGetVersion's number of the library at run time; 0 in a build without NCCL.
int nccl_version_code();

/// "2.28.3" of 22803; empty of 0.
std::string nccl_version_text(int code);

}  // namespace scalebench
