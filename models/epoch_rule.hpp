// SPDX-License-Identifier: Apache-2.0
// The documents' own rules for the length of an epoch, which do not see every image once:
//   mlp        int(60000 / EPOCHS) steps with EPOCHS = 10: 3.2 passes at 2 workers of batch 16
//   mnist_cnn  500 // size steps: less work in all, the more workers do not divide 500
// Sources: a textbook on cloud training; Horovod's examples/tensorflow2_keras_mnist.py.
#pragma once

#include <cstdint>
#include <string_view>

namespace scalebench {

enum class EpochRule : std::uint8_t {
  whole,  // every image once (the last, partial batch is dropped)
  seed,   // steps as the documents count them, going round the data set again when it ends
};

/// Steps of an epoch by the documents' rule of that model. Throws UsageError for a model that has
/// none, and when the rule leaves no step for that many workers.
std::int64_t seed_steps_per_epoch(std::string_view model, int workers);

}  // namespace scalebench
