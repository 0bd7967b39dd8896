// SPDX-License-Identifier: Apache-2.0
// What a network makes of images that it does not train on.
#pragma once

#include <torch/types.h>

#include "models/image_source.hpp"
#include "models/network.hpp"
#include "models/trainer_options.hpp"

namespace scalebench {

struct Tally {
  double correct = 0;  // images that are classified correctly
  double loss = 0;     // summed over images
  std::int64_t replaced = 0;
};

/// Of the images [first, end) of `test`, in evaluation mode; the network trains again afterwards.
Tally tally_of(Network& network, const ImageSource& test, std::int64_t first, std::int64_t end,
               const TrainerOptions& options, torch::Device device);

}  // namespace scalebench
