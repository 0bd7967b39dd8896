// SPDX-License-Identifier: Apache-2.0
#include "bench/study/student_t.hpp"

#include <cmath>
#include <limits>

namespace scalebench {
namespace {

/// The continued fraction of I_x(a, b); converges fast for x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  constexpr double kEnough = 1e-15;
  const auto not_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / not_zero(1 - (a + b) * x / (a + 1));
  double product = d;
  for (int m = 1; m < 500; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / not_zero(1 + even * d);
    c = not_zero(1 + even / c);
    product *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / not_zero(1 + odd * d);
    c = not_zero(1 + odd / c);
    product *= d * c;
    if (std::abs(d * c - 1) < kEnough) break;
  }
  return product;
}

/// I_x(a, b); `y` is 1 - x, which near 0 knows more digits than x does.
double incomplete_beta(double a, double b, double x, double y) {
  if (x <= 0) return 0;
  if (y <= 0) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log(y));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, y) / b;
}

}  // namespace

double student_t_tail(double t, double df) {
  if (std::isnan(t)) return t;
  if (std::isinf(t)) return t > 0 ? 0 : 1;
  const double square = t * t;
  const double half = incomplete_beta(df / 2, 0.5, df / (df + square), square / (df + square)) / 2;
  return t > 0 ? half : 1 - half;
}

double student_t_quantile(double p, double df) {
  if (p > 0.5) return -student_t_quantile(1 - p, df);
  double low = 0;
  double high = 1;
  while (student_t_tail(high, df) > p && high < std::numeric_limits<double>::max() / 4) high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-13 * high; ++i) {
    const double middle = (low + high) / 2;
    (student_t_tail(middle, df) > p ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace scalebench
