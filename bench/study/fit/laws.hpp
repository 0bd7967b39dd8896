// SPDX-License-Identifier: Apache-2.0
// Two laws of scaling, fitted to speedups S on N ranks. Amdahl (AFIPS 1967): a share sigma of the
// work is serial, T_N = T_1 (sigma + (1 - sigma) / N). Gunther's universal scalability law
// (Guerrilla Capacity Planning, 2007): S = N / (1 + sigma (N - 1) + kappa N (N - 1)), where sigma
// is waiting for what is shared and kappa what every pair of ranks has to agree on. Values in,
// values out.
#pragma once

#include <optional>
#include <span>

namespace scalebench {

struct SpeedupAt {
  double ranks = 1;
  double speedup = 1;
};

struct Law {
  double sigma = 0;  // negative where speedups are above N: shown as it is
  double kappa = 0;  // 0 in Amdahl's law

  double speedup(double ranks) const;
  /// Where S is largest, of one rank or more: sqrt((1 - sigma) / kappa); nothing where S never
  /// falls again.
  std::optional<double> peak() const;
};

/// Least squares of the relative residuals of T_N; both laws are linear in their parameters then.
/// Points on one rank say nothing, S is 1 there. Nothing where the points do not determine it:
/// Amdahl's law needs one N above 1, the other two. Requires speedups above 0.
std::optional<Law> fit_amdahl(std::span<const SpeedupAt> points);
std::optional<Law> fit_usl(std::span<const SpeedupAt> points);

/// Of (fitted T_N) / (measured T_N) - 1 over the points above one rank, the root of the mean
/// square.
double rms_residual(const Law& law, std::span<const SpeedupAt> points);

}  // namespace scalebench
