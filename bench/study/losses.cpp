// SPDX-License-Identifier: Apache-2.0
#include "bench/study/losses.hpp"

#include <numeric>

namespace scalebench {

double total(const StateSeconds& states) {
  return std::accumulate(states.begin(), states.end(), 0.0);
}

double Losses::sum() const { return work + total(by_state) + unattributed; }

Losses losses_of(const StateSeconds& one, double h_seconds, const StateSeconds& n, double t_seconds,
                 double rho, int devices, double batch_seconds) {
  Losses losses;
  const double ideal = h_seconds / devices;
  losses.work = (rho - 1) * ideal;
  for (std::size_t i = 0; i < one.size(); ++i) losses.by_state[i] = n[i] - rho * one[i] / devices;
  losses.batch = batch_seconds;
  losses.contention = losses.by_state[0] - batch_seconds;
  losses.unattributed = t_seconds - ideal - losses.work - total(losses.by_state);
  return losses;
}

double batch_loss(double compute_of_share, double compute_of_all, double rho, int devices) {
  return compute_of_share - rho * compute_of_all / devices;
}

}  // namespace scalebench
