// SPDX-License-Identifier: Apache-2.0
// The table behind models.hpp.
#include "models/models.hpp"

#include <array>
#include <vector>

#include "kernels/error.hpp"
#include "kernels/unknown_name.hpp"

namespace scalebench {
namespace {

constexpr auto kModels = std::to_array<ModelInfo>({
#define MODEL(name, parameters, channels, height, width, classes, batch, optimizer, rate, purpose) \
  {#name, parameters, {channels, height, width, classes}, batch, #optimizer, rate, purpose},
#include "models/models.def"
#undef MODEL
});

}  // namespace

std::span<const ModelInfo> models() { return kModels; }

const ModelInfo& model_named(std::string_view name) {
  std::vector<std::string_view> names;
  for (const ModelInfo& model : kModels) {
    if (model.name == name) return model;
    names.push_back(model.name);
  }
  throw UsageError(unknown_name("model", name, names));
}

}  // namespace scalebench
