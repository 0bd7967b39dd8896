// SPDX-License-Identifier: Apache-2.0
// The model that is trained, resolved: a line of models.def or a TorchScript file of the user's.
// Free of LibTorch.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "models/models.hpp"

namespace scalebench {

/// From a model's output (n, classes) and labels (n); those of PyTorch, mean over the batch. The
/// last two compare with one-hot labels.
enum class Loss : std::uint8_t { cross_entropy, nll, mse, bce_with_logits };
inline constexpr std::array<std::string_view, 4> kLossNames{"cross_entropy", "nll", "mse",
                                                            "bce_with_logits"};

/// What a TorchScript file does not say about itself. Zeros and an empty name: the defaults, loss
/// cross_entropy of 1x28x28 images of 10 classes.
struct ModuleOptions {
  /// A name of kLossNames.
  std::string loss = {};
  ImageShape shape{0, 0, 0, 0};
};

struct ModelChoice {
  /// As asked for: a name of models.def or a path.
  std::string model;
  /// For result files: that name, or the file's stem and the first 8 hex digits of its SHA-256.
  std::string label;
  ImageShape shape;
  Loss loss = Loss::cross_entropy;
  /// Defaults, as in ModelInfo.
  std::int64_t batch = 0;
  std::string optimizer;
  double learning_rate = 0;

  bool is_file() const;
};

/// `model` with a dot or slash is a file, else a name of models.def. Throws UsageError for an
/// unknown name, a file that cannot be read, an unknown loss, and module options beside a name.
ModelChoice choose_model(const std::string& model, const ModuleOptions& module);

}  // namespace scalebench
