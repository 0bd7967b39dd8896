// SPDX-License-Identifier: Apache-2.0
#include "collectives/communicator.hpp"

#include <algorithm>
#include <utility>

#include "kernels/buffer.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/error.hpp"

namespace scalebench {

int Topology::nodes() const {
  if (node_of_rank.empty()) return 0;
  return *std::max_element(node_of_rank.begin(), node_of_rank.end()) + 1;
}

Topology topology_of_hosts(std::span<const std::string> host_of_rank) {
  Topology topology;
  std::vector<std::string> seen;
  for (const std::string& host : host_of_rank) {
    const auto found = std::find(seen.begin(), seen.end(), host);
    topology.node_of_rank.push_back(static_cast<int>(found - seen.begin()));
    if (found == seen.end()) seen.push_back(host);
  }
  return topology;
}

void Communicator::combine(std::span<const ConstSpan> from, std::span<const Span> to, ReduceOp op) {
  scalebench::combine(from, to, op, Stores::cached, stream());
}

void Communicator::exchange_reduce(ConstSpan out, int to, ConstSpan own, Span into, int from,
                                   ReduceOp op) {
  const Span received = scratch(into.count, into.dtype);
  exchange(out, to, received, from);
  reduce(own, received, into, op);
}

void Communicator::scale(Span values, double factor) {
  scalebench::scale(values, factor, stream());
}

void Communicator::copy(ConstSpan from, Span to) { stream_copy(from, to, stream()); }

Span Communicator::scratch(std::size_t count, DType dtype) {
  if (!scratch_.holds(count, dtype)) wait();  // for what is enqueued on the smaller one, which goes
  return scratch_.get(count, dtype);
}

Window Communicator::window(std::size_t count, DType dtype) {
  const auto buffer = std::make_shared<Buffer>(count, dtype, memory_, pages_);
  return {buffer->span(), buffer};
}

Span Communicator::shared_scratch(std::size_t count, DType dtype) {
  Window& window = shared_scratch_[next_shared_scratch_++ % 2];
  const std::size_t doubles = (count * size_of(dtype) + sizeof(double) - 1) / sizeof(double);
  if (doubles > window.span.count) {
    // The former one goes first: both letting go and making are collective.
    window = {};
    window = this->window(doubles, DType::float64);
  }
  return {window.span.data, count, dtype, memory_};
}

void Communicator::exchange_meanwhile(ConstSpan out, int to, Span in, int from,
                                      const std::function<bool()>& /*meanwhile*/) {
  exchange(out, to, in, from);
}

std::optional<Span> Communicator::peer(Span mine, int rank) {
  if (rank == this->rank()) return mine;
  return std::nullopt;
}

bool Communicator::pending(int /*from*/) {
  fail<Unavailable>(
      "transport {} cannot tell whether a message waits; take mpi or shared_memory, on the CPU",
      transport());
}

bool Communicator::gather_short(ConstSpan /*in*/, Span /*all*/) { return false; }

bool Communicator::native_allreduce(ConstSpan /*in*/, Span /*out*/, ReduceOp /*op*/) {
  return false;
}

void Communicator::set_choices(std::shared_ptr<const AllreduceChoices> choices) {
  choices_ = std::move(choices);
}

}  // namespace scalebench
