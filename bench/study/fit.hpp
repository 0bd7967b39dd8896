// SPDX-License-Identifier: Apache-2.0
// The cost model t = alpha * steps + beta * bytes sent + gamma * bytes reduced, fitted to measured
// times by least squares of the relative errors with coefficients >= 0, over the whole range of
// sizes. Caches make t(size) more than one line: the residuals say how far the model is off.
// Model: Thakur, Rabenseifner, Gropp, IJHPCA 19 (2005).
#pragma once

#include <cstddef>
#include <optional>
#include <span>

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
  double rms_relative_residual = 0;
  double worst_relative_residual = 0;  // (model - measured) / measured, with its sign
  double worst_bytes = 0;              // the size where that is
  double smallest_bytes = 0;
  double largest_bytes = 0;
};

/// Fits all `points`, which belong to one algorithm over one transport. gamma is fitted when the
/// points tell sending from reducing (several numbers of ranks, and an algorithm whose two shares
/// change with them), and else stays empty. Work that is unknown is fitted as alpha + beta * size.
/// Nothing when there are fewer than two sizes, or no more points than unknowns.
std::optional<AllreduceFit> fit_of(std::span<const MeasuredWork> points);

/// What the model says, in seconds. `size_bytes` counts where the work is unknown.
double predicted_seconds(const AllreduceFit& fit, const AllreduceWork& work, double size_bytes);

}  // namespace scalebench
