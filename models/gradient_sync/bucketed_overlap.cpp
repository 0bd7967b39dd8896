// SPDX-License-Identifier: Apache-2.0
// Buckets of gradients are reduced while the backward pass still makes the others, as in PyTorch's
// DDP (Li et al., VLDB 2020): each is handed over once its last gradient is there, in one order on
// all ranks. Cost: as mirrored's, of which only what outlasts the backward pass is exposed, and a
// latency a bucket; wins where something else than the compute core carries it, as a GPU's stream.
#include <array>
#include <memory>

#include "kernels/device.hpp"
#include "models/gradients/reducer.hpp"
#include "models/gradients/replica.hpp"
#include "models/step/step_trace.hpp"

namespace scalebench::gradient_sync {
namespace {

/// As DDP's: a small first bucket brings communication under way early.
constexpr std::size_t kFirstBytes = std::size_t{1} << 20U;

class BucketedOverlap : public ReplicaSync {
 public:
  explicit BucketedOverlap(const GradientSyncInputs& inputs)
      : ReplicaSync(inputs),
        reducer_(inputs, replica().gradients()),
        on_device_(replica().gradients().memory == Memory::device),
        carrier_(carrier_of(inputs.options.progress)),
        buckets_(buckets_of(replica().places(), replica().gradients().count, kFirstBytes,
                            inputs.options.bucket_bytes)),
        bucket_of_(replica().places().size()) {
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      for (const std::size_t parameter : buckets_[i].parameters) bucket_of_[parameter] = i;
      if (on_device_) complete_.push_back(std::make_unique<DeviceEvent>());
      if (carrier_ == Carrier::stream) reduced_.push_back(std::make_unique<DeviceEvent>());
    }
    if (carrier_ == Carrier::stream) now_ = std::make_unique<DeviceEvent>();
    if (carrier_ == Carrier::thread) {
      const int device = replica().flat_gradients().device().index();  // -1 on the host
      thread_ = std::make_unique<ProgressThread>([device] {
        if (device >= 0) select_device(device);
      });
    }
    replica().on_ready([this](std::size_t parameter) { ready(parameter); });
  }

  void begin_step() override {
    ReplicaSync::begin_step();
    missing_.clear();
    for (const GradientBucket& bucket : buckets_) missing_.push_back(bucket.parameters.size());
    next_ = 0;
  }

  void synchronise() override {
    replica().finish_step();
    while (next_ < buckets_.size()) hand_over(next_++);
    if (carrier_ == Carrier::thread) thread_->wait();
    if (carrier_ == Carrier::stream) join_stream();
  }

  std::string remarks() const override {
    constexpr std::array<std::string_view, 4> kCarriers{
        "a thread", "the hook", "nothing, at the end", "the communicator's stream"};
    return fmt::format("{} buckets, carried by {}", buckets_.size(),
                       kCarriers.at(static_cast<std::size_t>(carrier_)));
  }

 private:
  /// What carries a bucket's reduction: as Progress, and a device that does it by itself.
  enum class Carrier : std::uint8_t { thread, hook, end, stream };

  Carrier carrier_of(Progress progress) const {
    if (progress == Progress::end) return Carrier::end;
    const bool one_memory = replica_memory() == communicator().memory();
    if (on_device_ && one_memory && communicator().capturable()) return Carrier::stream;
    return progress == Progress::thread ? Carrier::thread : Carrier::hook;
  }
  Memory replica_memory() const { return on_device_ ? Memory::device : Memory::host; }

  /// On the thread of the backward pass. A bucket that is complete early waits for those before it:
  /// otherwise ranks could meet in different ones.
  void ready(std::size_t parameter) {
    --missing_[bucket_of_[parameter]];
    if (carrier_ == Carrier::end) return;
    while (next_ < buckets_.size() && missing_[next_] == 0) hand_over(next_++);
  }

  void hand_over(std::size_t index) {
    if (on_device_) complete_[index]->record();  // on LibTorch's stream
    if (carrier_ != Carrier::stream) trace().posted(Exchange::collective);
    if (carrier_ == Carrier::thread) {
      thread_->post([this, index] { reduce(index); });
    } else if (carrier_ == Carrier::stream) {
      complete_[index]->hold(communicator().stream());
      reducer_.enqueue(part(index));
      reduced_[index]->record(communicator().stream());
    } else {
      reduce(index);
    }
  }

  void reduce(std::size_t index) {
    if (on_device_) complete_[index]->synchronize();
    reducer_.average(part(index));
    trace().ended();
  }

  /// The host waits for the communicator's stream, and so LibTorch's next work does. Only the
  /// device knows when a bucket was complete and when it was reduced: the host was ahead of both.
  void join_stream() {
    now_->record(communicator().stream());
    // Not for the event: where a peer or the network failed it never comes, and this one says so.
    communicator().wait();
    // Whoever is told of an end may sleep before it notes it: all is posted by then.
    for (const auto& complete : complete_) {
      trace().posted_ago(Exchange::collective, now_->seconds_since(*complete));
    }
    for (const auto& reduced : reduced_) trace().ended_ago(now_->seconds_since(*reduced));
  }

  Span part(std::size_t index) {
    return replica().gradients().part(buckets_[index].first, buckets_[index].count);
  }

  GradientReducer reducer_;
  const bool on_device_;
  const Carrier carrier_;
  const std::vector<GradientBucket> buckets_;
  std::vector<std::size_t> bucket_of_;                  // by parameter
  std::vector<std::size_t> missing_;                    // gradients, by bucket
  std::size_t next_ = 0;                                // bucket to be handed over
  std::vector<std::unique_ptr<DeviceEvent>> complete_;  // by bucket, on a device
  std::vector<std::unique_ptr<DeviceEvent>> reduced_;   // by bucket, where a stream carries it
  std::unique_ptr<DeviceEvent> now_;                    // the same
  std::unique_ptr<ProgressThread> thread_;              // last: what it does uses the others
};

}  // namespace

std::unique_ptr<GradientSync> bucketed_overlap(const GradientSyncInputs& inputs) {
  return std::make_unique<BucketedOverlap>(inputs);
}

}  // namespace scalebench::gradient_sync
