// SPDX-License-Identifier: Apache-2.0
// Measuring one case: checked, timed, and checked again, in the memory in which all cases of one
// transport run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/allreduce/options.hpp"
#include "bench/program/watchdog/progress.hpp"
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

  std::size_t window_bytes(Memory memory) const;
  /// At least so many bytes of buffers are used in turn; 0 unless cold.
  std::size_t walk_bytes(Memory memory) const;
};

AllreduceFootprint footprint_of(const AllreduceOptions& options);

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
  std::size_t walk_;  // through so many bytes when cold; else 0
};

/// Throws UsageError with the bytes needed and free when windows for so many places, of which
/// in `shared` the ranks share memory, and what the exact check and the algorithms need, do not fit
/// into this host's memory for all of its ranks.
void require_memory(const AllreduceFootprint& footprint, std::size_t host_transports,
                    std::size_t shared, int ranks_on_host);

// The exact check of a case: inputs whose reduction is known, a poisoned output, every element of
// every rank compared; out of place, the input must also be what it was. Inputs of a longer buffer
// begin with those of a shorter one, so they are made once per dtype, op and place of the rank.

class AllreduceVerifier {
 public:
  /// `host` joins the verdicts of all ranks. `largest_bytes` of one rank's buffer.
  AllreduceVerifier(Communicator& host, std::size_t largest_bytes);

  /// Collective: fills `spans.in`, calls `run`, which returns when it is done, returns the wrong
  /// elements of each rank, and leaves zeros, which stay zeros however often they are reduced in
  /// place.
  /// The first count of a dtype and op is made twice, with an element that is wrong on purpose: an
  /// Error where that is not seen.
  std::vector<std::size_t> count_wrong(Communicator& data, AllreduceSpans spans, ReduceOp op,
                                       std::uint32_t seed, const std::function<void()>& run);

 private:
  /// What inputs depend on, besides how many they are.
  struct Kind {
    int rank = -1;
    int ranks = 0;
    DType dtype = DType::float32;
    ReduceOp op = ReduceOp::sum;
    std::uint32_t seed = 0;
    bool operator==(const Kind&) const = default;
  };
  ConstSpan inputs(std::size_t count, const Kind& kind);
  /// Spoils an element of a right result.
  void require_sight(Span right, const Kind& kind);

  Communicator& host_;
  Buffer inputs_;
  Buffer staging_;  // what came back from a device
  std::size_t largest_bytes_;
  Kind kind_;
  std::size_t filled_ = 0;  // leading elements of inputs_ that hold inputs of kind_
  std::set<std::pair<DType, ReduceOp>> seen_;  // that the check can tell a wrong element of
};

struct AllreduceResult {
  std::string status = "ok";  // ok, skipped, wrong
  std::string note;
  std::vector<std::size_t> wrong = {};  // elements of each rank, before or after timing
  Timing timing = {};                   // empty unless ok

  std::size_t all_wrong() const {
    return std::accumulate(wrong.begin(), wrong.end(), std::size_t{0});
  }
};

/// What a case runs on.
struct AllreduceBench {
  Communicator& data;               // which the algorithm uses
  const AllreduceBuffers& buffers;  // made of it
  CollectiveTimer& timer;
  AllreduceVerifier& verifier;
  ProgressMarks* progress = nullptr;       // is told of every operation
  const MomentFault* fault = nullptr;      // strikes this rank's operations
  double slower = 0;                       // as AllreduceMethod has it
  std::function<double()> next_part = {};  // as TimingMethod has it

  /// Runs the case once.
  void run(const AllreduceCase& one, AllreduceSpans spans) const;
  void wait() const;
};

/// What the slowest algorithm may take on a slow network, all through one rank.
double slow_seconds(std::size_t bytes, int ranks);

/// Collective. All ranks return the same result.
AllreduceResult measure_allreduce(const AllreduceBench& bench, const AllreduceCase& one,
                                  const AllreduceMethod& method);

}  // namespace scalebench
