// SPDX-License-Identifier: Apache-2.0
// smpirun -np N simulate_allreduce ALGORITHM BYTES...: one of the suite's allreduces over SimGrid's
// simulated MPI. For each size: start together, run once, print what the simulated clock says. Not
// a benchmark: what it prints is predicted. Compiled from the same collectives/ and kernels/ as
// bench_allreduce, without threads, shared memory and devices.
#include <fmt/format.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <smpi/smpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>
#include <string_view>
#include <vector>

#include "bench/cli/exit.hpp"
#include "bench/cli/stderr.hpp"
#include "collectives/allreduce.hpp"
#include "collectives/forwarding.hpp"
#include "collectives/mpi_session.hpp"
#include "collectives/transport/transports.hpp"
#include "kernels/error.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

double over_ranks(Communicator& ranks, double value, ReduceOp op) {
  const Span span = span_of(std::span(&value, 1));
  ranks.native_allreduce(span, span, op);
  return value;
}

/// Memory that takes the room of one block whatever its size, and that messages are not copied
/// from or to. The same on every rank, which all live in one process: what rank 0 allocates serves
/// all.
class UntouchedMemory {
 public:
  UntouchedMemory(Communicator& mpi, std::size_t bytes) {
    double address = 0;  // below 2^47, and so exact
    if (mpi.rank() == 0) {
      own_ = SMPI_SHARED_MALLOC(bytes);
      address = static_cast<double>(reinterpret_cast<std::uintptr_t>(own_));
    }
    const auto common = static_cast<std::uintptr_t>(over_ranks(mpi, address, ReduceOp::max));
    span_ = {reinterpret_cast<std::byte*>(common), bytes / sizeof(float), DType::float32,
             Memory::host};
  }
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

/// Messages alone: they take the simulated network's time by themselves, and no data is touched.
class MessagesOnly final : public ForwardingCommunicator {
 public:
  MessagesOnly(Communicator& inner, Span untouched)
      : ForwardingCommunicator(inner), untouched_(untouched) {}

  void combine(std::span<const ConstSpan>, std::span<const Span>, ReduceOp) override {}
  void scale(Span, double) override {}
  void copy(ConstSpan, Span) override {}
  Span scratch(std::size_t count, DType dtype) override {
    const Span all{untouched_.data, count, dtype, Memory::host};
    if (all.bytes() > untouched_.bytes()) {
      fail("scratch of {} bytes is more than the {} there are", all.bytes(), untouched_.bytes());
    }
    return all;
  }

 private:
  const Span untouched_;
};

/// From the common start to the end on the last rank, in simulated seconds.
double simulated_seconds(Communicator& mpi, const AllreduceAlgorithm& algorithm, Span untouched,
                         std::size_t bytes) {
  MessagesOnly messages(mpi, untouched);
  const Span data = untouched.part(0, bytes / sizeof(float));
  // Far enough ahead for the last rank to know of it.
  const double start = over_ranks(mpi, simgrid_get_clock(), ReduceOp::max) + 3600;
  sg_actor_sleep_until(start);
  algorithm.run(messages, data, data, ReduceOp::sum);
  return over_ranks(mpi, simgrid_get_clock(), ReduceOp::max) - start;
}

void simulate(const MpiSession& session, std::span<char*> words) {
  if (words.size() < 2) fail<UsageError>("usage: simulate_allreduce ALGORITHM BYTES...");
  const AllreduceAlgorithm& algorithm = allreduce_named(words[0]);
  std::vector<std::size_t> sizes;
  for (const std::string_view word : words.subspan(1)) {
    const auto bytes = read_number<std::size_t>(word);
    if (!bytes || *bytes == 0 || *bytes % sizeof(float) != 0) {
      fail<UsageError>("'{}': bytes must be a multiple of {}", word, sizeof(float));
    }
    sizes.push_back(*bytes);
  }
  const auto mpi = make_mpi_communicator();
  // Some algorithms take as much scratch as there is data, and a little more.
  const UntouchedMemory untouched(*mpi, 2 * std::ranges::max(sizes));
  for (const std::size_t bytes : sizes) {
    const double seconds = simulated_seconds(*mpi, algorithm, untouched.span(), bytes);
    if (session.rank() == 0) fmt::print("{}\n", seconds);
  }
  std::fflush(stdout);
}

}  // namespace

}  // namespace scalebench

int main(int argc, char** argv) {
  using namespace scalebench;
  try {
    const MpiSession session(argc, argv);
    try {
      simulate(session, std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
      return static_cast<int>(ExitCode::ok);
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
