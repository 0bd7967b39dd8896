// SPDX-License-Identifier: Apache-2.0
// What the devices that are about to train can do at best, measured just before with the suite's
// own kernels: operations a second of a large matrix product.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/program/program.hpp"
#include "models/torch/device.hpp"
#include "models/trainer_options.hpp"

namespace scalebench {

// What makers publish as the peak of their cards, to hold a training step against beside the peak
// that was measured.

/// FLOP/s of dense products of one device in that precision, at boost clock; nothing for a device
/// or a precision that is not in the table. `device`: the name that CUDA gives.
std::optional<double> published_flops(std::string_view device, Precision precision);

struct Roofline {
  /// By rank. A precision is missing where the device's matrix product has it not.
  std::map<Precision, std::vector<double>> flops;
  std::string failure;  // why there is nothing; empty: nothing went wrong
};

/// Collective, all ranks at work at once: the fastest product of square matrices in each of
/// `precisions`, out of about 0.2 s. `trainer`: the device, and the threads of a CPU.
Roofline measure_roofline(const Ranks& ranks, const TrainerOptions& trainer,
                          const std::vector<Precision>& precisions);

}  // namespace scalebench
