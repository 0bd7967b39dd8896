// SPDX-License-Identifier: Apache-2.0
// Parameter servers out of step: a server applies each worker's gradients when they come and
// replies with the weights of that moment, so nobody waits for a slower worker. Dean et al., NIPS
// 2012. Cost: gradients belong to weights that others have updated since, which remarks() counts.
// Wins where workers are unequally fast and the model forgives it.
#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <thread>

#include "kernels/error.hpp"
#include "models/gradients/divided.hpp"

namespace scalebench::gradient_sync {
namespace {

/// Waits for whoever comes first without taking the core from those who compute.
class Patience {
 public:
  void pause() {
    if (++turns_ < kYields) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }

 private:
  static constexpr int kYields = 50;
  int turns_ = 0;
};

class PsAsync : public ServerSync {
 public:
  explicit PsAsync(const GradientSyncInputs& inputs) : ServerSync("ps_async", inputs) {
    pulled_.assign(static_cast<std::size_t>(worker_count()), 0);
    // A transport that cannot tell says so here, on every rank.
    communicator().pending((communicator().rank() + 1) % communicator().size());
  }

  /// With one server after the other, and each worker beginning at another one: a server that
  /// replies waits for nothing but its worker, so that no ring of waiting can close.
  bool update(double learning_rate, double gradient_scale) override {
    trace().enter(Phase::sync);
    const Push header = push_of(learning_rate, gradient_scale);
    for (int turn = 0; turn < server_count(); ++turn) {
      const int server = (communicator().rank() + turn) % server_count();
      trace().posted(Exchange::transfer);
      push(server, header);
      trace().ended();
      trace().posted(Exchange::wait);
      pull(server);
      trace().ended();
    }
    return header.finite;
  }

  void serve(std::int64_t steps) override {
    std::vector<std::int64_t> left(pulled_.size(), steps);
    const std::int64_t pushes = steps * worker_count();
    for (std::int64_t push = 0; push < pushes; ++push) {
      if (push % worker_count() == 0) trace().begin_step();
      trace().enter(Phase::sync);
      trace().posted(Exchange::wait);
      const int worker = next_worker(left);
      const Push header = receive(worker, replica().flat_gradients());
      trace().ended();
      trace().enter(Phase::update);
      if (header.finite) use(worker, header);
      trace().enter(Phase::sync);
      trace().posted(Exchange::transfer);
      reply(worker, header.finite);
      trace().ended();
      pulled_[static_cast<std::size_t>(worker)] = updates_;
      --left[static_cast<std::size_t>(worker)];
    }
    trace().enter(Phase::other);
  }

  void publish() override {
    ServerSync::publish();
    std::ranges::fill(pulled_, updates_);
  }

  std::string remarks() const override {
    std::string text = ServerSync::remarks() + "; staleness";
    for (const auto& [updates, pushes] : all_counts())
      text += fmt::format(" {}:{}", updates, pushes);
    return text;
  }

 private:
  /// In turn among those whose push waits, so that none starves.
  int next_worker(const std::vector<std::int64_t>& left) {
    for (Patience patience;; patience.pause()) {
      for (int turn = 1; turn <= worker_count(); ++turn) {
        const int worker = (served_last_ + turn) % worker_count();
        if (left[static_cast<std::size_t>(worker)] == 0 || !communicator().pending(worker))
          continue;
        served_last_ = worker;
        return worker;
      }
    }
  }

  void use(int worker, const Push& header) {
    ++counts_[updates_ - pulled_[static_cast<std::size_t>(worker)]];
    apply(header.learning_rate, 1 / header.gradient_scale);
    ++updates_;
  }

  /// Collective: pushes by staleness, of all servers together.
  std::map<std::int64_t, std::int64_t> all_counts() const {
    StagedExchange ranks(communicator());
    std::map<std::int64_t, std::int64_t> all;
    for (int server = worker_count(); server < communicator().size(); ++server) {
      const bool mine = communicator().rank() == server;
      double size = mine ? static_cast<double>(counts_.size()) : 0;
      ranks.broadcast(span_of(std::span(&size, 1)), server);
      auto next = counts_.begin();
      for (int i = 0; i < static_cast<int>(size); ++i) {
        std::array<double, 2> pair{};
        if (mine) {
          pair = {static_cast<double>(next->first), static_cast<double>(next->second)};
          ++next;
        }
        ranks.broadcast(span_of(std::span<double>(pair)), server);
        all[static_cast<std::int64_t>(pair[0])] += static_cast<std::int64_t>(pair[1]);
      }
    }
    return all;
  }

  // On servers:
  std::int64_t updates_ = 0;                     // of its variables
  std::vector<std::int64_t> pulled_;             // by worker: updates_ when it last got weights
  std::map<std::int64_t, std::int64_t> counts_;  // pushes by updates since the worker's last pull
  int served_last_ = 0;
};

}  // namespace

std::unique_ptr<GradientSync> ps_async(const GradientSyncInputs& inputs) {
  return std::make_unique<PsAsync>(inputs);
}

}  // namespace scalebench::gradient_sync
