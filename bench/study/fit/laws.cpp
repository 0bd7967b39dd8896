// SPDX-License-Identifier: Apache-2.0
#include "bench/study/fit/laws.hpp"

#include <algorithm>
#include <cmath>

namespace scalebench {
namespace {

/// Normal equations of a + sigma b + kappa c = 1, a point each.
struct Sums {
  double bb = 0, bc = 0, cc = 0, b = 0, c = 0;
};

/// T_N / T_1 = 1 / S, and by the law 1/N + sigma (N - 1) / N + kappa (N - 1): over 1 / S.
Sums sums_of(std::span<const SpeedupAt> points) {
  Sums sums;
  for (const auto& [n, s] : points) {
    const double a = s / n, b = s * (n - 1) / n, c = s * (n - 1);
    sums.bb += b * b;
    sums.bc += b * c;
    sums.cc += c * c;
    sums.b += b * (1 - a);
    sums.c += c * (1 - a);
  }
  return sums;
}

}  // namespace

double Law::speedup(double ranks) const {
  return ranks / (1 + sigma * (ranks - 1) + kappa * ranks * (ranks - 1));
}

std::optional<double> Law::peak() const {
  if (!(kappa > 0)) return std::nullopt;
  return std::sqrt(std::max(1.0, (1 - sigma) / kappa));
}

std::optional<Law> fit_amdahl(std::span<const SpeedupAt> points) {
  const Sums sums = sums_of(points);
  if (!(sums.bb > 0)) return std::nullopt;
  return Law{sums.b / sums.bb, 0};
}

std::optional<Law> fit_usl(std::span<const SpeedupAt> points) {
  constexpr double kSingular = 1e-12;  // points of one N alone
  const Sums sums = sums_of(points);
  const double determinant = sums.bb * sums.cc - sums.bc * sums.bc;
  if (!(determinant > kSingular * sums.bb * sums.cc)) return std::nullopt;
  return Law{(sums.b * sums.cc - sums.c * sums.bc) / determinant,
             (sums.c * sums.bb - sums.b * sums.bc) / determinant};
}

double rms_residual(const Law& law, std::span<const SpeedupAt> points) {
  double sum = 0, count = 0;
  for (const auto& [n, s] : points) {
    if (!(n > 1)) continue;
    const double relative = s / law.speedup(n) - 1;
    sum += relative * relative;
    ++count;
  }
  return std::sqrt(sum / count);
}

}  // namespace scalebench
