// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce_verifier.hpp"

#include <cstring>
#include <numeric>

#include "collectives/allreduce_check.hpp"
#include "collectives/control.hpp"

namespace scalebench {
namespace {

Span front(const Buffer& buffer, std::size_t count, DType dtype) {
  return {buffer.span().data, count, dtype, Memory::host};
}

/// Elements whose bytes differ.
std::size_t count_changed(ConstSpan before, ConstSpan after) {
  if (before.empty() || std::memcmp(before.data, after.data, before.bytes()) == 0) return 0;
  std::size_t changed = 0;
  for (std::size_t i = 0; i < before.count; ++i) {
    const ConstSpan one = before.part(i, 1);
    changed += std::memcmp(one.data, after.part(i, 1).data, one.bytes()) == 0 ? 0 : 1;
  }
  return changed;
}

void zero(Span span) {
  if (span.empty()) return;
  if (span.memory == Memory::device) return device_zero(span.data, span.bytes());
  std::memset(span.data, 0, span.bytes());
}

}  // namespace

AllreduceVerifier::AllreduceVerifier(Communicator& host, std::size_t largest_bytes)
    : host_(host), largest_bytes_(largest_bytes + sizeof(double)) {}

ConstSpan AllreduceVerifier::inputs(const Communicator& data, std::size_t count, DType dtype,
                                    ReduceOp op) {
  if (inputs_.bytes() == 0) inputs_ = Buffer(largest_bytes_ / sizeof(double), DType::float64);
  if (dtype != dtype_ || op != op_ || count > filled_) {
    fill_inputs(front(inputs_, count, dtype), data.rank(), data.size(), op);
    dtype_ = dtype;
    op_ = op;
    filled_ = count;
  }
  return front(inputs_, count, dtype);
}

std::size_t AllreduceVerifier::count_wrong(Communicator& data, AllreduceSpans spans, ReduceOp op,
                                           const std::function<void()>& run) {
  const Span out = spans.out;
  const bool in_place = spans.in.data == out.data;
  const bool on_device = data.memory() == Memory::device;
  if (on_device && staging_.bytes() == 0) {
    staging_ = Buffer(largest_bytes_ / sizeof(double), DType::float64);
  }
  // On a device, whatever the host is to see or to write passes through `staging`.
  const Span staging = on_device ? front(staging_, out.count, out.dtype) : out;
  const ConstSpan given = inputs(data, out.count, out.dtype, op);
  copy(given, spans.in);
  if (!in_place) {
    poison(staging);
    if (on_device) copy(staging, out);
  }
  run();
  if (on_device) copy(out, staging);
  std::size_t wrong = scalebench::count_wrong(staging, data.size(), op);
  if (!in_place) {
    if (on_device) copy(spans.in, staging);
    wrong += count_changed(given, on_device ? staging : spans.in);
  }
  const std::vector<double> all = all_gather(host_, static_cast<double>(wrong));
  zero(spans.in);
  zero(out);
  return static_cast<std::size_t>(std::accumulate(all.begin(), all.end(), 0.0));
}

}  // namespace scalebench
