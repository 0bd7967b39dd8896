// SPDX-License-Identifier: Apache-2.0
// What the devices that are about to train can do at best, measured just before with the suite's
// own kernels: bytes moved a second, and operations a second of a large matrix product.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/program.hpp"
#include "models/trainer_options.hpp"

namespace scalebench {

struct Roofline {
  std::vector<double> bytes_per_s;  // by rank; empty: not measured
  /// By rank. A precision is missing where the device's matrix product has it not.
  std::map<Precision, std::vector<double>> flops;
  std::string failure;  // why there is nothing; empty: nothing went wrong
};

/// Collective, all ranks at work at once: the fastest copy or triad of arrays larger than caches
/// (on a CPU with one thread), and the fastest product of square matrices in each of `precisions`,
/// both out of about 0.2 s. `trainer`: the device, and the threads of a CPU.
Roofline measure_roofline(const Ranks& ranks, const TrainerOptions& trainer,
                          const std::vector<Precision>& precisions);

}  // namespace scalebench
