// SPDX-License-Identifier: Apache-2.0
// Measuring one case: checked, timed, and checked again, in the memory in which all cases of one
// transport run; and what that memory alone would let it be.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/allreduce/options.hpp"
#include "bench/program/card_watch.hpp"
#include "bench/program/watchdog/watchdog.hpp"
#include "kernels/buffer.hpp"

namespace scalebench {

// One window that peers can reach, cut into page-aligned slots. A warm case stays in one slot; a
// cold one walks through several.

/// Where one operation reads and writes: the same span in place, else two apart.
struct AllreduceSpans {
  Span in;
  Span out;
};

/// What the plan asks of every transport's memory.
struct AllreduceFootprint {
  std::size_t largest_bytes = 0;  // of one rank's buffer
  bool out_of_place = false;      // some case needs two of them
  bool cold = false;
  std::size_t cold_bytes = 0;  // to walk through when cold; 0: four times the last-level cache

  /// In huge pages: whole ones, and as many as are worth asking for.
  std::size_t window_bytes(Memory memory, std::optional<Pages> pages = std::nullopt) const;
};

class AllreduceBuffers {
 public:
  /// Collective, and so is the end. Zeroed.
  AllreduceBuffers(Communicator& data, const AllreduceFootprint& footprint);

  /// How many slots a case walks through, one after the other in memory; at least one.
  std::size_t slots(const AllreduceCase& one) const;
  AllreduceSpans slot(const AllreduceCase& one, std::size_t index) const;
  /// All of this rank's.
  ConstSpan all() const { return window_.span; }
  /// The first `count` elements as one span.
  Span front(std::size_t count, DType dtype) const;

 private:
  Window window_;
  bool cold_;
};

/// Throws UsageError with the bytes needed and free when `transports` such windows, and what the
/// exact check and the algorithms need, do not fit into this host's memory for all of its ranks.
void require_memory(const AllreduceFootprint& footprint, std::size_t host_transports,
                    int ranks_on_host);

// The transports of one start of bench_allreduce, side by side, each with its memory; or why one
// of them cannot work here.

struct LaunchTransport {
  AllreducePlace place;
  std::optional<double> huge_share;  // of its buffers' bytes on the rank with the fewest, of 1
  std::string registered;            // how NCCL was told of them; empty: no NCCL, or no buffers
  bool shares_devices = false;       // some device has several ranks: emulated
  std::string why_not;               // empty: it works
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<AllreduceBuffers> buffers;  // goes before the communicator
};

/// Collective, on those `devices`. In the plan's order, on host memory one for each kind of pages,
/// with NCCL one for each registration; those that cannot work are left out unless they were asked
/// for by name. Throws JointRefusal for a registration where there is no NCCL to be told.
std::vector<LaunchTransport> open_transports(const Ranks& ranks, const TransportPlan& plan,
                                             const AllreduceOptions& options,
                                             const RankDevices& devices);

/// Collective: the window of each transport that works. One whose huge pages were not given cannot
/// work: nothing else is measured under their name.
void allocate(std::vector<LaunchTransport>& transports, const AllreduceFootprint& footprint);

// The exact check of a case: inputs whose reduction is known, a poisoned output, every element of
// every rank compared; out of place, the input must also be what it was. Inputs of a longer buffer
// begin with those of a shorter one, so they are made once per dtype and op.

class AllreduceVerifier {
 public:
  /// `host` joins the ranks' verdicts. `largest_bytes` of one rank's buffer.
  AllreduceVerifier(Communicator& host, std::size_t largest_bytes);

  /// Collective: fills `spans.in`, calls `run`, which returns when it is done, returns the wrong
  /// elements over all ranks, and leaves zeros, which stay zeros however often they are reduced in
  /// place.
  std::size_t count_wrong(Communicator& data, AllreduceSpans spans, ReduceOp op,
                          const std::function<void()>& run);

 private:
  ConstSpan inputs(const Communicator& data, std::size_t count, DType dtype, ReduceOp op);

  Communicator& host_;
  Buffer inputs_;
  Buffer staging_;  // what came back from a device
  std::size_t largest_bytes_;
  DType dtype_ = DType::float32;
  std::optional<ReduceOp> op_;
  std::size_t filled_ = 0;  // leading elements of inputs_ that hold inputs of dtype_ and op_
};

/// What enqueueing an operation costs the host, and how long the stream then works: medians of a
/// few operations after those that are timed, which they would disturb. NaN: on host memory.
struct LaunchCost {
  double enqueue_seconds = std::numeric_limits<double>::quiet_NaN();
  double device_seconds = std::numeric_limits<double>::quiet_NaN();
};

struct AllreduceResult {
  std::string status = "ok";  // ok, skipped, wrong
  std::string note;
  std::size_t wrong = 0;                 // elements, over all ranks, before and after timing
  Timing timing = {};                    // empty unless ok
  LaunchCost launch = {};                // on a device, this rank's
  std::vector<DeviceSpell> spells = {};  // of the cards, by repetition; empty: nothing watched
};

/// What a case runs on.
struct AllreduceBench {
  Communicator& data;               // which the algorithm uses
  const AllreduceBuffers& buffers;  // made of it
  CollectiveTimer& timer;
  AllreduceVerifier& verifier;
  Watchdog* watchdog = nullptr;           // is told of every operation
  const AllreduceFault* fault = nullptr;  // strikes this rank's operations
  double slower = 0;                      // as AllreduceMethod has it

  /// Runs the case once.
  void run(const AllreduceCase& one, AllreduceSpans spans) const;
  void wait() const;
};

/// What the slowest algorithm may take on a slow network, all through one rank.
double slow_seconds(std::size_t bytes, int ranks);

/// Collective. All ranks return the same result.
AllreduceResult measure_allreduce(const AllreduceBench& bench, const AllreduceCase& one,
                                  const AllreduceMethod& method);

// What memory alone would let an allreduce be: its buffers must at least be read once and written
// once, 2 * bytes on every rank. All ranks together stream over the same footprint in the memory of
// one transport, by scaling, copying or combining, whichever is fastest. Host memory only.

/// The fastest kernel on a footprint of some bytes on each rank.
struct BoundPoint {
  std::string_view kernel;
  double bytes_per_second = 0;       // of all ranks together, when last measured
  double best_bytes_per_second = 0;  // of the launch
  double measured_at = 0;            // local_seconds() of rank 0
  double cost_seconds = 0;           // of measuring it
};

class AllreduceBound {
 public:
  /// `budget_seconds`: for the first measurement of all sizes; those after it do without.
  AllreduceBound(Communicator& host, const AllreduceBuffers& buffers, double budget_seconds)
      : host_(host), buffers_(buffers), budget_seconds_(budget_seconds) {}

  /// Collective, just before a case of that size, and `buffers` hold zeros: what memory gives
  /// changes from minute to minute where a machine is shared. At the power of two below `bytes`,
  /// from 64 KiB on; false, and cheap, when that was done a moment ago.
  bool measure(std::size_t bytes);

  /// By footprint, at powers of two.
  const std::map<std::size_t, BoundPoint>& points() const { return points_; }
  /// 2 * bytes * ranks at the last rate of the largest point not above `bytes`; NaN below all.
  double seconds(std::size_t bytes) const;

 private:
  Communicator& host_;
  const AllreduceBuffers& buffers_;
  double budget_seconds_;
  std::map<std::size_t, BoundPoint> points_;
};

}  // namespace scalebench
