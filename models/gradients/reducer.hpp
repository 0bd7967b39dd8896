// SPDX-License-Identifier: Apache-2.0
// What strategies that reduce are made of: means of gradients over the ranks, at once or in fused
// messages, and a thread that makes them while the backward pass goes on.
#pragma once

#include <torch/types.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "collectives/allreduce.hpp"
#include "kernels/buffer.hpp"
#include "kernels/device.hpp"
#include "models/gradients/gradient_sync.hpp"
#include "models/gradients/replica.hpp"

namespace scalebench {

// Means of gradients over the ranks: through host memory where the transport only reaches that, and
// narrower on the wire where that is asked for.

class GradientReducer {
 public:
  /// `gradients`: a span of the buffer that all later ones are parts of. Throws UsageError without
  /// an allreduce.
  GradientReducer(const GradientSyncInputs& inputs, Span gradients);

  /// Collective: `part` becomes its mean over the ranks. It has returned when that is done. Does
  /// not say so to the trace. Gradients on a device must be complete there.
  void average(Span part);

  /// The same, only enqueued on the communicator's stream, in whose memory the gradients must be.
  void enqueue(Span part);

  /// Where what is done to gradients before and after average() is to be enqueued, and waiting for
  /// it. Never LibTorch's, on which the backward pass is still busy with other gradients.
  DeviceStream stream() const;
  void wait();

  std::string_view algorithm() const { return allreduce_.name; }

 private:
  void average_wire(Span part);

  Communicator& communicator_;
  const AllreduceAlgorithm& allreduce_;
  DType wire_;
  Span gradients_;
  Buffer staging_;  // float32, in the communicator's memory, if that is not the gradients'
  std::unique_ptr<OwnedStream> staging_stream_;  // of the copies to and from there
  Window narrow_;                                // in the wire's type, if that is not float32
};

/// The same between posted() and ended() of the trace, after the device has made the gradients.
void average_now(GradientReducer& reducer, Span part, StepTrace& trace);

// What mirrored and multi_worker share: after the backward pass all gradients become their mean in
// one allreduce of the flat buffer.

class FusedSync : public ReplicaSync {
 public:
  /// Collective.
  explicit FusedSync(const GradientSyncInputs& inputs);

  void synchronise() override;
  /// What the allreduce `auto` chose for the one message.
  std::string remarks() const override;

 private:
  GradientReducer reducer_;
  std::size_t bytes_;  // of the message
  const AllreduceChoices* choices_ = nullptr;
};

// Gradients that lie apart in the flat buffer as one message: neighbours travel where they lie,
// others through a fusion buffer, as in Horovod's tensor fusion.

/// The gradients `chosen` (indices of parameters), in the order of the flat buffer, divided into
/// messages of at most `bytes`, more only where one gradient alone is larger.
std::vector<std::vector<std::size_t>> fuse(const std::vector<FlatPlace>& places,
                                           std::vector<std::size_t> chosen, std::size_t bytes);

/// Whether nothing lies between them in the flat buffer.
bool are_neighbours(const std::vector<std::size_t>& message);

/// The memory through which others travel.
class FusionBuffer {
 public:
  /// Collective. Room for at most `bytes`, and for no more than all of `gradients`.
  FusionBuffer(const GradientSyncInputs& inputs, Span gradients, std::size_t bytes);

  /// All as one; the order of calls.
  void pack(const std::vector<Span>& parts);
  /// Collective.
  void average() { reducer_.average(packed_); }
  void unpack(const std::vector<Span>& parts);

 private:
  Window buffer_;
  GradientReducer reducer_;
  Span packed_;
};

// Which gradients are ready on every rank: an allreduce of one flag each, whose minimum is 1 where
// nobody is missing. Cost: the latency of an allreduce of 4 bytes a gradient, however few are new.

class Negotiation {
 public:
  /// Collective, the same `count` on every rank.
  Negotiation(Communicator& communicator, const AllreduceAlgorithm& allreduce, std::size_t count);

  /// Collective: 1 where every rank said 1, else 0.
  std::vector<std::int32_t> agree(std::vector<std::int32_t> mine);

 private:
  Communicator& communicator_;
  const AllreduceAlgorithm& allreduce_;
  Window flags_;
};

// A thread that does what it is given, in order, while the thread of the backward pass goes on. It
// sleeps while there is nothing to do, so that it takes no core from the computation.

class ProgressThread {
 public:
  /// `begin` runs first on the thread: to select a device, say. What it throws, wait() throws.
  explicit ProgressThread(std::function<void()> begin = {});
  /// Ends what was posted, then joins. Exceptions that nobody waited for are lost.
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  void post(std::function<void()> work);

  /// Returns when all that was posted is done. Throws the first exception since the last call;
  /// what was posted behind its cause has been dropped.
  void wait();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable posted_;
  std::condition_variable done_;
  std::deque<std::function<void()>> work_;  // its front stays until it is done
  std::exception_ptr error_;
  bool leaving_ = false;
  std::thread thread_;  // last: it uses all the others
};

}  // namespace scalebench
