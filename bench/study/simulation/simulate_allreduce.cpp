// SPDX-License-Identifier: Apache-2.0
// smpirun -np N simulate_allreduce: the suite's allreduce algorithms over SimGrid's simulated MPI.
// For each case: check where asked for, start together, run once, take the simulated clock. Not a
// benchmark: what it prints is predicted. Started by `scalebench simulate`, which writes the
// platform; compiled from the same collectives/ and kernels/ as bench_allreduce, without threads,
// shared memory and devices.
#include "bench/study/simulation/simulate_allreduce.hpp"

#include <fmt/format.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <smpi/smpi.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string_view>
#include <vector>

#include "bench/cli/exit.hpp"
#include "collectives/allreduce.hpp"
#include "collectives/allreduce_check.hpp"
#include "collectives/mpi_session.hpp"
#include "collectives/transport/mpi.hpp"
#include "kernels/buffer.hpp"
#include "kernels/error.hpp"

namespace scalebench {

UntouchedMemory::UntouchedMemory(std::size_t bytes)
    : data_(static_cast<std::byte*>(SMPI_SHARED_MALLOC(bytes))) {}

UntouchedMemory::~UntouchedMemory() { SMPI_SHARED_FREE(data_); }

void ModelledCommunicator::combine(std::span<const ConstSpan> from, std::span<const Span> to,
                                   ReduceOp op) {
  if (real_data()) inner_.combine(from, to, op);
  const auto bytes = static_cast<double>((from.size() - 1) * from.front().bytes());
  const double seconds = model_.reduce_seconds_per_byte * bytes;
  if (seconds > 0) sg_actor_sleep_for(seconds);
}

void ModelledCommunicator::scale(Span values, double factor) {
  if (real_data()) inner_.scale(values, factor);
}

void ModelledCommunicator::copy(ConstSpan from, Span to) {
  if (real_data()) inner_.copy(from, to);
}

Span ModelledCommunicator::scratch(std::size_t count, DType dtype) {
  if (real_data()) return inner_.scratch(count, dtype);
  const Span all{model_.untouched.data, count, dtype, Memory::host};
  if (all.bytes() > model_.untouched.bytes()) {
    fail("scratch of {} bytes is more than the {} there are", all.bytes(),
         model_.untouched.bytes());
  }
  return all;
}

namespace {

constexpr std::string_view kUsage =
    "usage: simulate_allreduce [--gamma SECONDS_PER_BYTE] ALGORITHM:BYTES[:unchecked]...";

struct SimulatedCase {
  const AllreduceAlgorithm* algorithm = nullptr;
  std::size_t bytes = 0;
  bool checked = true;
};

template <class Number>
Number number_in(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    fail<UsageError>("'{}' is no number; {}", text, kUsage);
  }
  return number;
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

/// The same on every rank, which all live in one process: what rank 0 allocates serves all.
class MemoryOfRankZero {
 public:
  MemoryOfRankZero(Communicator& mpi, std::size_t bytes);
  Span span() const { return span_; }

 private:
  std::optional<UntouchedMemory> own_;
  Span span_;
};

double over_ranks(Communicator& ranks, double value, ReduceOp op) {
  const Span span = span_of(std::span(&value, 1));
  ranks.native_allreduce(span, span, op);
  return value;
}

MemoryOfRankZero::MemoryOfRankZero(Communicator& mpi, std::size_t bytes) {
  if (bytes == 0) return;
  double address = 0;  // below 2^47, and so exact
  if (mpi.rank() == 0) {
    own_.emplace(bytes);
    address = static_cast<double>(reinterpret_cast<std::uintptr_t>(own_->data()));
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
  const MemoryOfRankZero untouched(*mpi, untouched_bytes);
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
      if (session.rank() == 0) fmt::print(stderr, "{}\n", error.what());
      session.abort(static_cast<int>(ExitCode::usage));
    } catch (const std::exception& error) {
      fmt::print(stderr, "rank {}: {}\n", session.rank(), error.what());
      session.abort(static_cast<int>(ExitCode::internal));
    }
  } catch (const std::exception& error) {  // of MPI itself
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(ExitCode::internal);
  }
}
