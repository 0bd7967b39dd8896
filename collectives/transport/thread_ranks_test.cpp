// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/thread_ranks_test.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "collectives/transport/shared_segment.hpp"
#include "kernels/buffer.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

/// A message on its way from one rank to another: a view of the sender's data until it is taken,
/// or (buffered) a copy of it.
struct Message {
  ConstSpan data;
  Buffer copy;
  bool* taken = nullptr;
};

using Meanwhile = std::function<bool()>;  // see Communicator::exchange_meanwhile()

/// What all ranks share: a queue of messages per pair of ranks, a barrier, and the first failure.
class Hub {
 public:
  Hub(int ranks, SendMode mode)
      : ranks_(ranks),
        mode_(mode),
        queues_(ranks_of(ranks) * ranks_of(ranks)),
        published_(ranks_of(ranks)) {}

  int ranks() const { return ranks_; }

  void exchange(int rank, ConstSpan out, int to, Span in, int from, const Meanwhile& meanwhile) {
    std::unique_lock lock(mutex_);
    bool taken = out.empty();
    try {
      if (!out.empty()) post(lock, rank, to, out, taken);
      if (!in.empty()) take(lock, from, rank, in, meanwhile);
      wait(lock, meanwhile, [&] { return taken || failed_; });
    } catch (...) {
      // Nobody may look for it any more where it was.
      if (!out.empty()) {
        std::erase_if(queue(rank, to), [&](const Message& one) { return one.taken == &taken; });
      }
      throw;
    }
    if (!taken) stop();
  }

  bool pending(int from, int to) {
    const std::lock_guard lock(mutex_);
    if (failed_) stop();
    return !queue(from, to).empty();
  }

  void barrier() {
    std::unique_lock lock(mutex_);
    const long generation = generation_;
    if (++waiting_ == ranks_) {
      waiting_ = 0;
      ++generation_;
      changed_.notify_all();
      return;
    }
    changed_.wait(lock, [&] { return generation_ != generation || failed_; });
    if (generation_ == generation) stop();
  }

  /// Collective: every rank's pointer, by rank.
  std::vector<std::byte*> all_gather(int rank, std::byte* pointer) {
    {
      const std::lock_guard lock(mutex_);
      published_[ranks_of(rank)] = pointer;
    }
    barrier();
    std::vector<std::byte*> all;
    {
      const std::lock_guard lock(mutex_);
      all = published_;
    }
    barrier();  // before anyone publishes the next one
    return all;
  }

  void fail_with(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (!failed_) failed_ = std::move(error);
    changed_.notify_all();
  }

  std::exception_ptr failure() const { return failed_; }

 private:
  static std::size_t ranks_of(int ranks) { return static_cast<std::size_t>(ranks); }

  std::deque<Message>& queue(int from, int to) {
    return queues_[ranks_of(from) * ranks_of(ranks_) + ranks_of(to)];
  }

  void post(std::unique_lock<std::mutex>& /*held*/, int from, int to, ConstSpan data, bool& taken) {
    Message message{data, {}, &taken};
    if (mode_ == SendMode::buffered) {
      message.copy = Buffer(data.count, data.dtype);
      std::memcpy(message.copy.span().data, data.data, data.bytes());
      message.data = message.copy.span();
      message.taken = nullptr;
      taken = true;
    }
    queue(from, to).push_back(std::move(message));
    changed_.notify_all();
  }

  void take(std::unique_lock<std::mutex>& lock, int from, int to, Span in,
            const Meanwhile& meanwhile) {
    std::deque<Message>& messages = queue(from, to);
    wait(lock, meanwhile, [&] { return !messages.empty() || failed_; });
    // After a failure the sender's buffer may be gone already.
    if (failed_) stop();
    Message& message = messages.front();
    if (message.data.bytes() != in.bytes()) {
      fail("rank {} sent {} bytes to rank {}, which expected {}", from, message.data.bytes(), to,
           in.bytes());
    }
    std::memcpy(in.data, message.data.data, in.bytes());
    if (message.taken != nullptr) *message.taken = true;
    messages.pop_front();
    changed_.notify_all();
  }

  template <class Ready>
  void wait(std::unique_lock<std::mutex>& lock, const Meanwhile& meanwhile, Ready ready) {
    for (bool more = static_cast<bool>(meanwhile); more && !ready();) {
      lock.unlock();
      try {
        more = meanwhile();
      } catch (...) {
        lock.lock();
        throw;
      }
      std::this_thread::yield();
      lock.lock();
    }
    changed_.wait(lock, ready);
  }

  [[noreturn]] static void stop() { fail("another rank failed"); }

  const int ranks_;
  const SendMode mode_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::deque<Message>> queues_;
  std::vector<std::byte*> published_;
  int waiting_ = 0;
  long generation_ = 0;
  std::exception_ptr failed_;
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(Hub& hub, int rank, Topology topology)
      : Communicator(Memory::host), hub_(hub), rank_(rank), topology_(std::move(topology)) {}

  int rank() const override { return rank_; }
  int size() const override { return hub_.ranks(); }
  Topology topology() const override { return topology_; }
  std::string_view transport() const override { return "threads"; }

  void exchange(ConstSpan out, int to, Span in, int from) override {
    hub_.exchange(rank_, out, to, in, from, {});
  }
  void exchange_meanwhile(ConstSpan out, int to, Span in, int from,
                          const Meanwhile& meanwhile) override {
    hub_.exchange(rank_, out, to, in, from, meanwhile);
  }

  bool pending(int from) override { return hub_.pending(from, rank_); }

  Window window(std::size_t count, DType dtype) override {
    const auto buffer = std::make_shared<Buffer>(count, dtype);
    const Span span = buffer->span();
    if (span.empty()) return {span, buffer};
    windows_->insert(hub_.all_gather(rank_, span.data), rank_, span.bytes());
    return {span, std::shared_ptr<void>(span.data, [windows = windows_, buffer](void* own_base) {
              windows->erase(static_cast<const std::byte*>(own_base));
            })};
  }
  std::optional<Span> peer(Span mine, int rank) override {
    if (rank == rank_) return mine;
    return windows_->find(mine, rank);
  }

  void barrier() override { hub_.barrier(); }

 private:
  Hub& hub_;
  const int rank_;
  const Topology topology_;
  // Shared with the windows, the last of which outlive this object as scratch of its base.
  std::shared_ptr<WindowTable> windows_ = std::make_shared<WindowTable>();
};

}  // namespace

void run_ranks(int ranks, const std::function<void(Communicator&)>& body, SendMode mode,
               int ranks_per_node) {
  Topology topology;
  for (int rank = 0; rank < ranks; ++rank) topology.node_of_rank.push_back(rank / ranks_per_node);
  Hub hub(ranks, mode);
  {
    std::vector<std::jthread> threads;
    threads.reserve(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&hub, &body, &topology, rank] {
        try {
          ThreadCommunicator communicator(hub, rank, topology);
          body(communicator);
        } catch (...) {
          hub.fail_with(std::current_exception());
        }
      });
    }
  }
  if (hub.failure()) std::rethrow_exception(hub.failure());
}

}  // namespace scalebench
