// SPDX-License-Identifier: Apache-2.0
// smpirun -np N simulate_allreduce: the suite's allreduce algorithms over SimGrid's simulated MPI.
// For each case: check where asked for, start together, run once, take the simulated clock. Not a
// benchmark: what it prints is predicted. Started by `scalebench simulate`, which writes the
// platform; compiled from the same collectives/ and kernels/ as bench_allreduce, without threads,
// shared memory and devices.
#include <fmt/format.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <smpi/smpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "bench/cli/exit.hpp"
#include "bench/cli/stderr.hpp"
#include "collectives/allreduce.hpp"
#include "collectives/allreduce_check.hpp"
#include "collectives/forwarding.hpp"
#include "collectives/mpi_session.hpp"
#include "collectives/transport/transports.hpp"
#include "kernels/buffer.hpp"
#include "kernels/error.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

/// Memory that takes the room of one block whatever its size, and that messages are not copied
/// from or to: for runs that only ask for the time. The same on every rank, which all live in one
/// process: what rank 0 allocates serves all.
class UntouchedMemory {
 public:
  UntouchedMemory(Communicator& mpi, std::size_t bytes);
  ~UntouchedMemory() {
    if (own_ != nullptr) SMPI_SHARED_FREE(own_);
  }
  UntouchedMemory(const UntouchedMemory&) = delete;
  UntouchedMemory& operator=(const UntouchedMemory&) = delete;
  Span span() const { return span_; }

 private:
  void* own_ = nullptr;  // of rank 0
  Span span_;
};

struct ComputeModel {
  double reduce_seconds_per_byte = 0;  // of one operand; 0: reductions are free
  /// Scratch of a run that touches no data; empty: data is real, and scratch the transport's.
  Span untouched = {};
};

/// A communicator inside SimGrid's simulation: messages take the simulated network's time by
/// themselves; what a rank computes takes none there, so that each reduction waits, in simulated
/// time, for what it is modelled to cost. Where results are not checked, data is not touched
/// either.
class ModelledCommunicator final : public ForwardingCommunicator {
 public:
  ModelledCommunicator(Communicator& inner, ComputeModel model)
      : ForwardingCommunicator(inner), model_(model) {}

  void combine(std::span<const ConstSpan> from, std::span<const Span> to, ReduceOp op) override {
    if (real_data()) inner_.combine(from, to, op);
    const auto bytes = static_cast<double>((from.size() - 1) * from.front().bytes());
    const double seconds = model_.reduce_seconds_per_byte * bytes;
    if (seconds > 0) sg_actor_sleep_for(seconds);
  }
  void scale(Span values, double factor) override {
    if (real_data()) inner_.scale(values, factor);
  }
  void copy(ConstSpan from, Span to) override {
    if (real_data()) inner_.copy(from, to);
  }
  Span scratch(std::size_t count, DType dtype) override {
    if (real_data()) return inner_.scratch(count, dtype);
    const Span all{model_.untouched.data, count, dtype, Memory::host};
    if (all.bytes() > model_.untouched.bytes()) {
      fail("scratch of {} bytes is more than the {} there are", all.bytes(),
           model_.untouched.bytes());
    }
    return all;
  }

 private:
  bool real_data() const { return model_.untouched.empty(); }

  const ComputeModel model_;
};

constexpr std::string_view kUsage =
    "usage: simulate_allreduce [--gamma SECONDS_PER_BYTE] ALGORITHM:BYTES[:unchecked]...";

struct SimulatedCase {
  const AllreduceAlgorithm* algorithm = nullptr;
  std::size_t bytes = 0;
  bool checked = true;
};

template <class Number>
Number number_in(std::string_view text) {
  const std::optional<Number> number = read_number<Number>(text);
  if (!number) fail<UsageError>("'{}' is no number; {}", text, kUsage);
  return *number;
}

SimulatedCase case_in(std::string_view word) {
  SimulatedCase one;
  constexpr std::string_view kUnchecked = ":unchecked";
  if (word.ends_with(kUnchecked)) {
    one.checked = false;
    word.remove_suffix(kUnchecked.size());
  }
  const std::size_t colon = word.find(':');
  if (colon == std::string_view::npos) fail<UsageError>("'{}': {}", word, kUsage);
  one.algorithm = &allreduce_named(word.substr(0, colon));
  one.bytes = number_in<std::size_t>(word.substr(colon + 1));
  if (one.bytes == 0 || one.bytes % sizeof(float) != 0) {
    fail<UsageError>("'{}': bytes must be a multiple of {}", word, sizeof(float));
  }
  return one;
}

double over_ranks(Communicator& ranks, double value, ReduceOp op) {
  const Span span = span_of(std::span(&value, 1));
  ranks.native_allreduce(span, span, op);
  return value;
}

UntouchedMemory::UntouchedMemory(Communicator& mpi, std::size_t bytes) {
  if (bytes == 0) return;
  double address = 0;  // below 2^47, and so exact
  if (mpi.rank() == 0) {
    own_ = SMPI_SHARED_MALLOC(bytes);
    address = static_cast<double>(reinterpret_cast<std::uintptr_t>(own_));
  }
  const auto common = static_cast<std::uintptr_t>(over_ranks(mpi, address, ReduceOp::max));
  span_ = {reinterpret_cast<std::byte*>(common), bytes / sizeof(float), DType::float32,
           Memory::host};
}

/// From the common start to the end on the last rank, in simulated seconds.
double simulated_seconds(Communicator& mpi, Communicator& modelled, const SimulatedCase& one,
                         Span data) {
  // Far enough ahead for the last rank to know of it.
  const double start = over_ranks(mpi, simgrid_get_clock(), ReduceOp::max) + 3600;
  sg_actor_sleep_until(start);
  one.algorithm->run(modelled, data, data, ReduceOp::sum);
  return over_ranks(mpi, simgrid_get_clock(), ReduceOp::max) - start;
}

/// One line: algorithm, bytes, status, simulated seconds, wrong elements, note; apart by tabs.
std::string line_of(Communicator& mpi, const SimulatedCase& one, double gamma, Span untouched) {
  ModelledCommunicator modelled(mpi, {gamma, one.checked ? Span() : untouched});
  const std::size_t count = one.bytes / sizeof(float);
  const auto say = [&](std::string_view status, std::string_view rest) {
    return fmt::format("{}\t{}\t{}\t{}\n", one.algorithm->name, one.bytes, status, rest);
  };
  try {
    if (!one.checked) {
      const double seconds = simulated_seconds(mpi, modelled, one, untouched.part(0, count));
      return say("ok", fmt::format("{}\t\t", seconds));
    }
    const Buffer buffer(count, DType::float32);
    fill_inputs(buffer.span(), mpi.rank(), mpi.size(), ReduceOp::sum);
    const double seconds = simulated_seconds(mpi, modelled, one, buffer.span());
    const double wrong =
        over_ranks(mpi, static_cast<double>(count_wrong(buffer.span(), mpi.size(), ReduceOp::sum)),
                   ReduceOp::sum);
    if (wrong > 0) return say("wrong", fmt::format("\t{}\t", wrong));
    return say("ok", fmt::format("{}\t0\t", seconds));
  } catch (const Unavailable& error) {
    return say("skipped", fmt::format("\t\t{}", error.what()));
  }
}

int simulate(const MpiSession& session, int argc, char** argv) {
  double gamma = 0;
  std::vector<SimulatedCase> cases;
  for (int i = 1; i < argc; ++i) {
    if (argv[i] == std::string_view("--gamma") && i + 1 < argc) {
      gamma = number_in<double>(argv[++i]);
    } else {
      cases.push_back(case_in(argv[i]));
    }
  }
  if (cases.empty()) throw UsageError(std::string(kUsage));
  const auto mpi = make_mpi_communicator();
  std::size_t untouched_bytes = 0;
  for (const SimulatedCase& one : cases) {
    // Some algorithms take as much scratch as there is data, and a little more.
    if (!one.checked) untouched_bytes = std::max(untouched_bytes, 2 * one.bytes);
  }
  const UntouchedMemory untouched(*mpi, untouched_bytes);
  for (const SimulatedCase& one : cases) {
    const std::string line = line_of(*mpi, one, gamma, untouched.span());
    if (session.rank() != 0) continue;
    fmt::print("{}", line);
    std::fflush(stdout);
  }
  return static_cast<int>(ExitCode::ok);
}

}  // namespace

}  // namespace scalebench

int main(int argc, char** argv) {
  using namespace scalebench;
  try {
    const MpiSession session(argc, argv);
    try {
      return simulate(session, argc, argv);
    } catch (const UsageError& error) {
      if (session.rank() == 0) print_line(error.what());
      session.abort(static_cast<int>(ExitCode::usage));
    } catch (const std::exception& error) {
      print_line(fmt::format("rank {}: {}", session.rank(), error.what()));
      session.abort(static_cast<int>(ExitCode::internal));
    }
  } catch (const std::exception& error) {  // of MPI itself
    print_line(error.what());
    return static_cast<int>(ExitCode::internal);
  }
}
