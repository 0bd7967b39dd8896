// SPDX-License-Identifier: Apache-2.0
// The networks as a table, made from models.def: size, images, defaults. Free of LibTorch.
// Adding one is a file in network/ and a line in the .def; a line without its file does not link.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace scalebench {

/// Extent of one image and the number of classes its label is one of.
struct ImageShape {
  int channels = 1;
  int height = 28;
  int width = 28;
  int classes = 10;

  std::int64_t pixels() const { return std::int64_t{channels} * height * width; }
};

struct ModelInfo {
  std::string_view name;
  /// Trainable numbers, all float32: one gradient exchange is 4 bytes times this.
  std::int64_t parameters;
  ImageShape shape;
  /// Defaults: images per rank and step, `sgd` or `adam`, rate of one rank.
  std::int64_t batch;
  std::string_view optimizer;
  double learning_rate;
  std::string_view purpose;
};

std::span<const ModelInfo> models();
/// The model of that name; throws UsageError with the valid names and the nearest one.
const ModelInfo& model_named(std::string_view name);

// The model that is trained, resolved: a line of models.def, or a TorchScript file of the user's.
// Free of LibTorch.

/// From a model's output (n, classes) and labels (n); those of PyTorch, mean over the batch. The
/// last two compare with one-hot labels.
enum class Loss : std::uint8_t { cross_entropy, nll, mse, bce_with_logits };
inline constexpr std::array<std::string_view, 4> kLossNames{"cross_entropy", "nll", "mse",
                                                            "bce_with_logits"};

/// What a file does not say about itself. Zeros and an empty name: the defaults, loss cross_entropy
/// of 1x28x28 images of 10 classes.
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

  /// A TorchScript module.
  bool is_file() const;
};

/// `model` with a dot or slash is a TorchScript file, else a name of models.def. Throws UsageError
/// for an unknown name, a file that cannot be read, an unknown loss, and options that the model
/// cannot have.
ModelChoice choose_model(const std::string& model, const ModuleOptions& module);

/// Why no layers of that model can be fused, in a line; empty: some can.
std::string why_not_fused(const ModelChoice& choice);

}  // namespace scalebench
