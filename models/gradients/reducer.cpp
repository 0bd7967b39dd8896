// SPDX-License-Identifier: Apache-2.0
#include "models/gradients/reducer.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "kernels/buffer.hpp"
#include "kernels/device.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/error.hpp"
#include "models/gradients/gradient_sync.hpp"

namespace scalebench {
namespace {

const AllreduceAlgorithm& required(const AllreduceAlgorithm* allreduce) {
  if (allreduce == nullptr) fail<UsageError>("this gradient sync needs an allreduce");
  return *allreduce;
}

/// The part of `all` that `part` is of `whole`.
Span same_part(Span all, Span whole, Span part) {
  const auto first = static_cast<std::size_t>(part.data - whole.data) / size_of(whole.dtype);
  return all.part(first, part.count);
}

}  // namespace

FusedSync::FusedSync(const GradientSyncInputs& inputs)
    : ReplicaSync(inputs),
      reducer_(inputs, replica().gradients()),
      bytes_(replica().gradients().count * size_of(inputs.options.wire)) {
  if (!inputs.allreduce->chooses()) return;
  choices_ = communicator().choices();
  if (choices_ == nullptr) fail<UsageError>("allreduce auto needs a measured table to choose by");
}

void FusedSync::synchronise() {
  replica().finish_step();
  average_now(reducer_, replica().gradients(), trace());
}

std::string FusedSync::remarks() const {
  if (choices_ == nullptr) return {};
  return fmt::format("auto chose {} for {} bytes ({})", choices_->pick(bytes_).name, bytes_,
                     fmt::join(choices_->describe(), ", "));
}

std::vector<std::vector<std::size_t>> fuse(const std::vector<FlatPlace>& places,
                                           std::vector<std::size_t> chosen, std::size_t bytes) {
  std::ranges::sort(chosen, std::greater<>());  // the buffer holds the last parameter first
  std::vector<std::vector<std::size_t>> messages;
  std::size_t length = 0;
  for (const std::size_t index : chosen) {
    const std::size_t more = places[index].count * sizeof(float);
    if (messages.empty() || length + more > bytes) {
      messages.emplace_back();
      length = 0;
    }
    messages.back().push_back(index);
    length += more;
  }
  return messages;
}

bool are_neighbours(const std::vector<std::size_t>& message) {
  return message.front() - message.back() + 1 == message.size();
}

FusionBuffer::FusionBuffer(const GradientSyncInputs& inputs, Span gradients, std::size_t bytes)
    : buffer_(window_for(std::clamp<std::size_t>(bytes / sizeof(float), 1, gradients.count),
                         gradients.memory, inputs.communicator)),
      reducer_(inputs, buffer_.span) {}

void FusionBuffer::pack(const std::vector<Span>& parts) {
  std::size_t count = 0;
  for (const Span& part : parts) count += part.count;
  packed_ = buffer_.span.part(0, count);
  scalebench::pack(std::vector<ConstSpan>(parts.begin(), parts.end()), packed_, reducer_.stream());
}

void FusionBuffer::unpack(const std::vector<Span>& parts) {
  scalebench::unpack(packed_, parts, reducer_.stream());
  reducer_.wait();
}

GradientReducer::GradientReducer(const GradientSyncInputs& inputs, Span gradients)
    : communicator_(inputs.communicator),
      allreduce_(required(inputs.allreduce)),
      wire_(inputs.options.wire),
      gradients_(gradients) {
  if (gradients.memory != communicator_.memory()) {
    staging_ = Buffer(gradients.count, gradients.dtype, communicator_.memory());
    staging_stream_ = std::make_unique<OwnedStream>();
  }
  if (wire_ != DType::float32) narrow_ = communicator_.window(gradients.count, wire_);
}

void GradientReducer::average(Span part) {
  if (staging_.bytes() == 0) {
    average_wire(part);
    return communicator_.wait();
  }
  const Span staged = same_part(staging_.span(), gradients_, part);
  copy(part, staged, stream());
  average_wire(staged);
  communicator_.wait();
  copy(staged, part, stream());
}

void GradientReducer::enqueue(Span part) {
  if (staging_.bytes() > 0)
    fail("gradients in another memory than {}'s", communicator_.transport());
  average_wire(part);
}

DeviceStream GradientReducer::stream() const {
  return staging_stream_ ? staging_stream_->get() : communicator_.stream();
}

void GradientReducer::wait() {
  if (staging_stream_) return staging_stream_->synchronize();
  communicator_.wait();
}

void GradientReducer::average_wire(Span part) {
  if (wire_ == DType::float32) {
    allreduce_.run(communicator_, part, part, ReduceOp::avg);
  } else {
    const Span whole = staging_.bytes() == 0 ? gradients_ : staging_.span();
    const Span sent = same_part(narrow_.span, whole, part);
    cast(part, sent, communicator_.stream());
    // Divided first, as PyTorch's compression hook does: a sum of many halves could overflow.
    communicator_.scale(sent, 1.0 / communicator_.size());
    allreduce_.run(communicator_, sent, sent, ReduceOp::sum);
    cast(sent, part, communicator_.stream());
  }
}

void average_now(GradientReducer& reducer, Span part, StepTrace& trace) {
  // The communicator has a stream of its own, which knows nothing of LibTorch's.
  if (part.memory == Memory::device) device_synchronize();
  trace.posted(Exchange::collective);
  reducer.average(part);
  trace.ended();
}

Negotiation::Negotiation(Communicator& communicator, const AllreduceAlgorithm& allreduce,
                         std::size_t count)
    : communicator_(communicator),
      allreduce_(allreduce),
      flags_(communicator.window(count, DType::int32)) {}

std::vector<std::int32_t> Negotiation::agree(std::vector<std::int32_t> mine) {
  const Span host = span_of(std::span(mine));
  // Not on LibTorch's stream: a round would wait for the backward pass beside which it is made.
  copy(host, flags_.span, communicator_.stream());
  allreduce_.run(communicator_, flags_.span, flags_.span, ReduceOp::min);
  communicator_.wait();
  copy(flags_.span, host, communicator_.stream());
  return mine;
}

ProgressThread::ProgressThread(std::function<void()> begin) {
  if (begin) work_.push_back(std::move(begin));
  thread_ = std::thread([this] { run(); });
}

ProgressThread::~ProgressThread() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  posted_.notify_one();
  thread_.join();
}

void ProgressThread::post(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    // After a failure the other ranks are not met again.
    if (error_) return;
    work_.push_back(std::move(work));
  }
  posted_.notify_one();
}

void ProgressThread::wait() {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return work_.empty(); });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void ProgressThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    posted_.wait(lock, [this] { return leaving_ || !work_.empty(); });
    if (work_.empty()) return;
    const auto& next = work_.front();  // a deque keeps it in place while others are added
    lock.unlock();
    std::exception_ptr error;
    try {
      next();
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error) {
      error_ = error;
      work_.clear();
    } else {
      work_.pop_front();
    }
    if (work_.empty()) done_.notify_all();
  }
}

}  // namespace scalebench
