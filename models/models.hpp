// SPDX-License-Identifier: Apache-2.0
// The networks as a table, made from models.def: size, images, defaults. Free of LibTorch.
// Adding one is a file in network/ and a line in the .def; a line without its file does not link.
#pragma once

#include <cstdint>
#include <span>
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

}  // namespace scalebench
