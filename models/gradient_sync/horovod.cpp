// SPDX-License-Identifier: Apache-2.0
// A thread beside the backward pass wakes every cycle, asks which gradients all ranks have, and
// reduces those fused into large messages (Sergeev and Del Balso 2018;
// horovod/common/operations.cc). Cost: up to a cycle until a gradient is noticed and a small
// allreduce a cycle, for which any order of gradients on any rank is right; wins where ranks differ
// in that order.
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>

#include "kernels/device.hpp"
#include "kernels/error.hpp"
#include "models/gradients/reducer.hpp"
#include "models/gradients/replica.hpp"
#include "models/step/step_trace.hpp"

namespace scalebench::gradient_sync {
namespace {

class HorovodSync : public ReplicaSync {
 public:
  explicit HorovodSync(const GradientSyncInputs& inputs)
      : ReplicaSync(checked(inputs)),
        options_(inputs.options),
        reducer_(inputs, replica().gradients()),
        fusion_(inputs, replica().gradients(), options_.fusion_bytes),
        negotiation_(communicator(), *inputs.allreduce, replica().places().size()),
        ready_(replica().places().size()),
        reduced_(replica().places().size()) {
    const int device = replica().flat_gradients().device().index();  // -1 on the host
    for (std::size_t i = 0; device >= 0 && i < ready_.size(); ++i) {
      complete_.push_back(std::make_unique<DeviceEvent>());
    }
    thread_ = std::make_unique<ProgressThread>([device] {
      if (device >= 0) select_device(device);
    });
    replica().on_ready([this](std::size_t parameter) { ready(parameter); });
  }

  /// Peers may never come to the rounds that are left: the thread leaves after the one it is in.
  ~HorovodSync() override {
    {
      const std::lock_guard lock(mutex_);
      leaving_ = true;
    }
    woken_.notify_one();
  }
  HorovodSync(const HorovodSync&) = delete;
  HorovodSync& operator=(const HorovodSync&) = delete;

  void begin_step() override {
    ReplicaSync::begin_step();
    ready_.assign(ready_.size(), 0);
    reduced_.assign(reduced_.size(), false);
    left_ = ready_.size();
    under_way_ = false;
  }

  void synchronise() override {
    replica().finish_step();
    thread_->wait();
  }

  std::string remarks() const override {
    const std::string seconds =
        options_.clock != nullptr ? fmt::format(" in {:.3f} s", seconds_) : std::string();
    return fmt::format("{} rounds of negotiation{}, {} messages, {} of them packed", rounds_,
                       seconds, messages_, packed_);
  }

 private:
  static const GradientSyncInputs& checked(const GradientSyncInputs& inputs) {
    if (inputs.allreduce == nullptr) fail<UsageError>("this gradient sync needs an allreduce");
    return inputs;
  }

  /// On the thread of the backward pass.
  void ready(std::size_t parameter) {
    if (!complete_.empty()) complete_[parameter]->record();  // on LibTorch's stream
    begin({parameter}, "NEGOTIATE_ALLREDUCE");
    {
      const std::lock_guard lock(mutex_);
      ready_[parameter] = 1;
    }
    // Between steps the thread sleeps: the rounds in which nobody could have anything new are left
    // out, so that the main thread may use MPI meanwhile.
    if (!under_way_) thread_->post([this] { reduce_all(); });
    under_way_ = true;
  }

  /// On the thread, once a step. All ranks take part in the same rounds: those until all is
  /// reduced.
  void reduce_all() {
    while (left_ > 0) {
      if (!sleep_until_cycle()) return;
      for (const auto& message : fuse(replica().places(), negotiate(), options_.fusion_bytes)) {
        send(message);
        left_ -= message.size();
      }
    }
  }

  double now() const { return options_.clock != nullptr ? options_.clock() : 0; }

  /// Cycles go on while there is nothing to do: the next one begins within a cycle from now. False:
  /// the strategy's end has come.
  bool sleep_until_cycle() {
    const double cycle = options_.cycle_seconds;
    const double since = now() - last_cycle_;
    const bool late = options_.clock != nullptr && cycle > 0;
    const double rest = late ? std::ceil(since / cycle) * cycle - since : cycle;
    std::unique_lock lock(mutex_);
    woken_.wait_for(lock, std::chrono::duration<double>(rest), [this] { return leaving_; });
    last_cycle_ = now();
    return !leaving_;
  }

  /// Those that are ready on all ranks and not yet reduced.
  std::vector<std::size_t> negotiate() {
    std::vector<std::int32_t> flags;
    {
      const std::lock_guard lock(mutex_);
      flags = ready_;
    }
    const double begun = now();
    trace().posted(Exchange::collective);
    const std::vector<std::int32_t> agreed = negotiation_.agree(std::move(flags));
    trace().ended();
    seconds_ += now() - begun;
    ++rounds_;
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < agreed.size(); ++i) {
      if (agreed[i] == 0 || reduced_[i]) continue;
      reduced_[i] = true;
      chosen.push_back(i);
    }
    change(chosen, "QUEUE");
    return chosen;
  }

  void send(const std::vector<std::size_t>& message) {
    for (const std::size_t i : message) {
      if (!complete_.empty()) complete_[i]->synchronize();
    }
    trace().posted(Exchange::collective);
    ++messages_;
    if (are_neighbours(message)) {
      change(message, reducer_.algorithm());
      const FlatPlace& first = replica().places()[message.front()];
      const FlatPlace& last = replica().places()[message.back()];
      reducer_.average(
          replica().gradients().part(first.first, last.first + last.count - first.first));
    } else {
      send_packed(message);
    }
    trace().ended();
    end(message);
  }

  void send_packed(const std::vector<std::size_t>& message) {
    ++packed_;
    std::vector<Span> parts;
    for (const std::size_t i : message) {
      const FlatPlace& place = replica().places()[i];
      parts.push_back(replica().gradients().part(place.first, place.count));
    }
    change(message, "MEMCPY_IN_FUSION_BUFFER");
    fusion_.pack(parts);
    change(message, reducer_.algorithm());
    fusion_.average();
    change(message, "MEMCPY_OUT_FUSION_BUFFER");
    fusion_.unpack(parts);
  }

  /// What the timeline is told of these gradients.
  void begin(const std::vector<std::size_t>& gradients, std::string_view activity) const {
    if (options_.timeline == nullptr) return;
    for (const std::size_t i : gradients) options_.timeline->begin(i, activity);
  }
  void end(const std::vector<std::size_t>& gradients) const {
    if (options_.timeline == nullptr) return;
    for (const std::size_t i : gradients) options_.timeline->end(i);
  }
  void change(const std::vector<std::size_t>& gradients, std::string_view activity) const {
    end(gradients);
    begin(gradients, activity);
  }

  const GradientSyncOptions options_;
  GradientReducer reducer_;
  FusionBuffer fusion_;
  Negotiation negotiation_;
  std::vector<std::unique_ptr<DeviceEvent>> complete_;  // by parameter, on a device
  bool under_way_ = false;                              // of the backward pass's thread

  std::mutex mutex_;
  std::condition_variable woken_;
  std::vector<std::int32_t> ready_;  // 1 where the gradient is; under the mutex during a step
  bool leaving_ = false;             // under the mutex

  // Of the thread during a step.
  std::vector<bool> reduced_;
  std::size_t left_ = 0;
  double last_cycle_ = 0;
  double seconds_ = 0;
  std::int64_t rounds_ = 0;
  std::int64_t messages_ = 0;
  std::int64_t packed_ = 0;

  std::unique_ptr<ProgressThread> thread_;  // last: what it does uses the others
};

}  // namespace

std::unique_ptr<GradientSync> horovod(const GradientSyncInputs& inputs) {
  return std::make_unique<HorovodSync>(inputs);
}

}  // namespace scalebench::gradient_sync
