// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce_transport.hpp"

#include "collectives/control.hpp"
#include "collectives/nccl_communicator.hpp"
#include "kernels/device.hpp"

namespace scalebench {

bool every_rank_has_a_device(const Ranks& ranks) {
  return all_agree(ranks.host, ranks.session.local_rank() < device_count());
}

AllreduceTransport::AllreduceTransport(const Ranks& ranks, std::string_view name) {
  const bool devices = every_rank_has_a_device(ranks);
  if (name == "nccl" || (name == "auto" && devices && !nccl_version().empty())) {
    if (devices) select_device(ranks.session.local_rank());
    owned_ = make_nccl_communicator(ranks.host);
  }
  communicator_ = owned_ ? owned_.get() : &ranks.host;
}

}  // namespace scalebench
