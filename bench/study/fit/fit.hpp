// SPDX-License-Identifier: Apache-2.0
// The cost model t = alpha * steps + beta * bytes sent + gamma * bytes reduced, fitted to measured
// times by least squares of the relative errors with coefficients >= 0, over the whole range of
// sizes. Caches make t(size) more than one line: the residuals say how far the model is off.
// Model: Thakur, Rabenseifner, Gropp, IJHPCA 19 (2005).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/record/result_row.hpp"

namespace scalebench {

/// What one allreduce makes its busiest rank do. NaN in any: unknown, the library decides.
struct AllreduceWork {
  double steps = 0;
  double sent_bytes = 0;
  double reduced_bytes = 0;
};

struct MeasuredWork {
  AllreduceWork work;
  double size_bytes = 0;  // one rank's buffer
  double seconds = 0;     // > 0
};

struct AllreduceFit {
  double alpha_seconds = 0;          // a step
  double beta_seconds_per_byte = 0;  // sent; where gamma is empty and bytes are reduced, both
  std::optional<double> gamma_seconds_per_byte;  // reduced
  std::size_t points = 0;
  double rms_relative_residual = 0;  // of (model - measured) / measured
};

/// Fits all `points`, which belong to one algorithm over one transport. gamma is fitted when the
/// points tell sending from reducing (several numbers of ranks, and an algorithm whose two shares
/// change with them), and else stays empty. Work that is unknown is fitted as alpha + beta * size.
/// Nothing when there are fewer than two sizes, or no more points than unknowns.
std::optional<AllreduceFit> fit_of(std::span<const MeasuredWork> points);

/// What the model says, in seconds. `size_bytes` counts where the work is unknown.
double predicted_seconds(const AllreduceFit& fit, const AllreduceWork& work, double size_bytes);

/// What must be equal for points to share a fit. Inside a node and between nodes are two things.
struct FitCase {
  std::string algorithm, transport, memory, dtype, op, placement, mode, cache;
  std::string registered;  // with NCCL
  std::string origin;
  bool one_node = true;

  auto operator<=>(const FitCase&) const = default;
  /// Its words, as "ring mpi host float sum in_place isolated warm one_host".
  std::string label() const;
};

struct AllreducePoint {
  FitCase of;
  int ranks = 0;
  int nodes = 1;
  double element_bytes = 0;
  double count = 0;    // elements of one rank's buffer
  double seconds = 0;  // measured median
  bool burst = false;  // some of it passed an emulated link faster than the link's rate

  double size_bytes() const { return count * element_bytes; }
};

/// An allreduce as far as its work depends on it.
struct AllreduceCall {
  std::string_view algorithm;
  std::string_view transport;
  bool on_device = false;
  double ranks = 0;
  double ranks_on_node = 0;
  double count = 0;  // elements of one rank's buffer
  double element_bytes = 0;
};

/// What the algorithm's own line says. Throws UsageError for an unknown algorithm.
AllreduceWork work_of(const AllreduceCall& call);

/// Rows of allreduce.csv that can be fitted: status ok, two or more ranks.
std::vector<AllreducePoint> points_of(const std::vector<ResultRow>& allreduce_rows);

/// fits.csv: a row for each case of these rows of allreduce.csv, over all of its sizes and numbers
/// of ranks. What an emulated link's burst has touched is not fitted. What cannot be fitted has
/// status `skipped` and the reason.
std::vector<ResultRow> fit_rows(const std::vector<ResultRow>& allreduce_rows,
                                std::string_view run_id);

}  // namespace scalebench
