// SPDX-License-Identifier: Apache-2.0
// The order of streams that wait for each other by events, on devices that are as slow as they can
// be: they begin when all hosts have enqueued everything, and then one goes as far ahead of the
// others as the events let it. Events are as CUDA's: a wait is for the state when it is enqueued.
#include "collectives/transport/stream_order.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <string_view>
#include <tuple>
#include <vector>

#include "collectives/allreduce.hpp"
#include "collectives/allreduce_check.hpp"
#include "collectives/transport/thread_ranks_test.hpp"
#include "kernels/elementwise.hpp"

namespace scalebench {
namespace {

/// All ranks' devices, of one stream each.
class SlowDevices {
 public:
  struct Work {
    std::function<bool()> may_begin;
    std::function<void()> run;
  };

  explicit SlowDevices(int ranks) : streams_(static_cast<std::size_t>(ranks)) {}

  void enqueue(int rank, std::function<void()> run) {
    enqueue(rank, {[] { return true; }, std::move(run)});
  }
  void record(Mark mark, int by, int for_rank) {
    const std::lock_guard lock(mutex_);
    Event& event = events_[{mark, by, for_rank}];
    const int state = ++event.recorded;
    stream(by).push_back({[] { return true; }, [&event, state] { event.reached = state; }});
  }
  void wait_for(Mark mark, int of_rank, int by) {
    const std::lock_guard lock(mutex_);
    const Event& event = events_[{mark, of_rank, by}];
    const int state = event.recorded;
    stream(by).push_back({[&event, state] { return event.reached >= state; }, [] {}});
  }

  /// Runs everything, always of the first stream in `preference` that may go on. False: none may.
  bool run_all(const std::vector<int>& preference) {
    while (true) {
      const auto next = std::ranges::find_if(preference, [&](int rank) {
        return !stream(rank).empty() && stream(rank).front().may_begin();
      });
      if (next == preference.end()) break;
      stream(*next).front().run();
      stream(*next).pop_front();
    }
    return std::ranges::all_of(streams_, [](const auto& left) { return left.empty(); });
  }

 private:
  struct Event {
    int recorded = 0;  // states so far
    int reached = 0;   // the latest that the stream has come to
  };

  void enqueue(int rank, Work work) {
    const std::lock_guard lock(mutex_);
    stream(rank).push_back(std::move(work));
  }
  std::deque<Work>& stream(int rank) { return streams_[static_cast<std::size_t>(rank)]; }

  std::mutex mutex_;
  std::vector<std::deque<Work>> streams_;
  std::map<std::tuple<Mark, int, int>, Event> events_;
};

/// What a mistaken order would leave out.
enum class Without { nothing, ready, taken };

class SlowCommunicator final : public Communicator {
 public:
  SlowCommunicator(Communicator& control, SlowDevices& devices, bool staged, Without without)
      : Communicator(Memory::host),
        control_(control),
        topology_(control.topology()),
        rank_(control.rank()),
        size_(control.size()),
        devices_(devices),
        staged_(staged),
        without_(without),
        meet_(control),
        scratch_(std::size_t{1} << 20U) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  Topology topology() const override { return topology_; }
  std::string_view transport() const override { return "slow"; }
  void barrier() override { control_.barrier(); }
  /// The same for all: it is in the order of the stream, as a device's is.
  Span scratch(std::size_t count, DType dtype) override {
    EXPECT_LE(count * size_of(dtype), scratch_.size());
    return {scratch_.data(), count, dtype, Memory::host};
  }

  void combine(std::span<const ConstSpan> from, std::span<const Span> to, ReduceOp op) override {
    devices_.enqueue(rank_, [from = std::vector(from.begin(), from.end()),
                             to = std::vector(to.begin(), to.end()),
                             op] { scalebench::combine(from, to, op, Stores::cached); });
  }
  void scale(Span values, double factor) override {
    devices_.enqueue(rank_, [=] { scalebench::scale(values, factor); });
  }
  void copy(ConstSpan from, Span to) override { move(from.data, to.data, to.bytes()); }

  void exchange(ConstSpan out, int to, Span in, int from) override {
    meet(out, to, in.bytes(), from,
         [&](const std::byte* theirs, std::size_t at, std::size_t bytes) {
           move(theirs, in.data + at, bytes);
         });
  }
  void exchange_reduce(ConstSpan out, int to, ConstSpan own, Span into, int from,
                       ReduceOp op) override {
    meet(out, to, into.bytes(), from,
         [&](const std::byte* theirs, std::size_t at, std::size_t bytes) {
           const std::size_t first = at / size_of(into.dtype), count = bytes / size_of(into.dtype);
           reduce(own.part(first, count), {theirs, count, into.dtype, into.memory},
                  into.part(first, count), op);
         });
  }

  void record(Mark mark, int for_rank) const { devices_.record(mark, rank_, for_rank); }
  void wait_for(Mark mark, int of_rank) const {
    const bool left_out = (mark == Mark::ready && without_ == Without::ready) ||
                          (mark == Mark::taken && without_ == Without::taken);
    if (!left_out) devices_.wait_for(mark, of_rank, rank_);
  }

 private:
  void move(const std::byte* from, std::byte* to, std::size_t bytes) {
    devices_.enqueue(rank_, [=] { std::memmove(to, from, bytes); });
  }

  template <class Receive>
  void meet(ConstSpan out, int to, std::size_t in_bytes, int from, const Receive& receive) {
    const auto offer = [&](std::size_t at) {
      if (!staged_) return piece_at(out.data, out.bytes(), out.bytes());
      const std::size_t bytes = std::min(staging_.size(), out.bytes() - at);
      move(out.data + at, staging_.data(), bytes);
      return piece_at(staging_.data(), bytes, out.bytes());
    };
    const auto take = [&](const Piece& piece, std::size_t at) {
      receive(reinterpret_cast<const std::byte*>(piece.window), at, piece.bytes);
    };
    exchange_on_streams(meet_, *this, out.bytes(), to, offer, in_bytes, from, take);
  }
  static Piece piece_at(const std::byte* data, std::size_t bytes, std::size_t message_bytes) {
    return {reinterpret_cast<std::uintptr_t>(data), 0, bytes, message_bytes};
  }

  Communicator& control_;
  const Topology topology_;
  const int rank_, size_;
  SlowDevices& devices_;
  const bool staged_;
  const Without without_;
  Rendezvous meet_;
  std::vector<std::byte> scratch_;
  std::array<std::byte, 256> staging_{};
};

struct Outcome {
  bool ended = false;
  std::size_t wrong = 0;  // elements, over all ranks and operations
};

/// Three operations, one after the other without a host that waits.
Outcome run_slowly(std::string_view algorithm, int ranks, bool staged,
                   const std::vector<int>& preference, Without without = Without::nothing) {
  constexpr int kOperations = 3;
  constexpr std::size_t kCount = 1003;
  const auto all = static_cast<std::size_t>(ranks);
  SlowDevices devices(ranks);
  std::vector<std::vector<Buffer>> buffers(all);
  std::vector<std::unique_ptr<SlowCommunicator>> communicators(all);
  run_ranks(ranks, [&](Communicator& control) {
    const auto rank = static_cast<std::size_t>(control.rank());
    communicators[rank] = std::make_unique<SlowCommunicator>(control, devices, staged, without);
    for (int i = 0; i < kOperations; ++i) {
      const Span span = buffers[rank].emplace_back(kCount, DType::float32).span();
      fill_inputs(span, control.rank(), ranks, ReduceOp::sum);
    }
    for (const Buffer& buffer : buffers[rank]) {
      allreduce_named(algorithm).run(*communicators[rank], buffer.span(), buffer.span(),
                                     ReduceOp::sum);
    }
  });
  Outcome outcome;
  outcome.ended = devices.run_all(preference);
  for (const std::vector<Buffer>& of_rank : buffers) {
    for (const Buffer& buffer : of_rank) {
      outcome.wrong += count_wrong(buffer.span(), ranks, ReduceOp::sum);
    }
  }
  return outcome;
}

/// Every order of preference among so many.
std::vector<std::vector<int>> preferences(int ranks) {
  std::vector<int> one(static_cast<std::size_t>(ranks));
  std::iota(one.begin(), one.end(), 0);
  std::vector<std::vector<int>> all;
  do {
    all.push_back(one);
  } while (std::next_permutation(one.begin(), one.end()));
  return all;
}

constexpr std::array<std::string_view, 4> kOfMessages{"naive", "ring", "recursive_doubling",
                                                      "rabenseifner"};

TEST(StreamOrder, IsExactWhicheverDeviceIsAhead) {
  for (const std::string_view algorithm : kOfMessages) {
    for (const int ranks : {1, 2, 3, 4}) {
      for (const bool staged : {true, false}) {
        for (const std::vector<int>& preference : preferences(ranks)) {
          const Outcome outcome = run_slowly(algorithm, ranks, staged, preference);
          EXPECT_TRUE(outcome.ended) << algorithm << " p=" << ranks << ": streams wait in a circle";
          EXPECT_EQ(outcome.wrong, 0U) << algorithm << " p=" << ranks << " staged=" << staged
                                       << " first " << preference.front();
        }
      }
    }
  }
}

TEST(StreamOrder, IsWrongWithoutEitherEvent) {
  for (const Without without : {Without::ready, Without::taken}) {
    std::size_t wrong = 0;
    for (const std::vector<int>& preference : preferences(3)) {
      wrong += run_slowly("ring", 3, true, preference, without).wrong;
    }
    EXPECT_GT(wrong, 0U) << "then these devices would show nothing";
  }
}

}  // namespace
}  // namespace scalebench
