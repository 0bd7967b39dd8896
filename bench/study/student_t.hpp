// SPDX-License-Identifier: Apache-2.0
// Student's t distribution by the regularised incomplete beta function, whose continued fraction is
// summed after Lentz. Source: DLMF 8.17.22; Abramowitz and Stegun 26.7.1. Error below 1e-10 in p.
#pragma once

namespace scalebench {

/// P(T > t) with `df` > 0 degrees of freedom; NaN for a t that is NaN.
double student_t_tail(double t, double df);

/// The t that is exceeded with probability `p`, 0 < p < 1.
double student_t_quantile(double p, double df);

}  // namespace scalebench
