// SPDX-License-Identifier: Apache-2.0
// The table behind models.hpp.
#include "models/network/models.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

bool names_a_file(std::string_view model) {
  return model.find_first_of("./") != std::string_view::npos;
}

/// The first 8 hex digits that `sha256sum` prints.
std::string digest_of(const std::string& path) {
  // Of a folder the stream would open, and its bytes throw.
  std::error_code unknown;
  errno = std::filesystem::is_directory(path, unknown) ? EISDIR : 0;
  std::ifstream file;
  if (errno == 0) file.open(path, std::ios::binary);
  if (!file.is_open()) {
    fail<UsageError>("--model {}: cannot read this file: {}; expected a TorchScript module", path,
                     std::strerror(errno));
  }
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha256(), nullptr) != 1) {
    fail("SHA-256 is not available in this OpenSSL");
  }
  return fmt::format("{:02x}{:02x}{:02x}{:02x}", digest[0], digest[1], digest[2], digest[3]);
}

Loss loss_named(const std::string& name) {
  if (name.empty()) return Loss::cross_entropy;
  return static_cast<Loss>(&row_named(kLossNames, std::identity(), "loss", name) - &kLossNames[0]);
}

ModelChoice choose_file(const std::string& model, const ModuleOptions& module) {
  const ImageShape defaults;
  const ImageShape& given = module.shape;
  const auto or_default = [](int value, int other) { return value == 0 ? other : value; };
  ModelChoice choice;
  choice.model = model;
  choice.label =
      fmt::format("{}-{}", std::filesystem::path(model).stem().string(), digest_of(model));
  choice.shape = {
      or_default(given.channels, defaults.channels), or_default(given.height, defaults.height),
      or_default(given.width, defaults.width), or_default(given.classes, defaults.classes)};
  const ImageShape& shape = choice.shape;
  if (std::min({shape.channels, shape.height, shape.width, shape.classes}) < 1) {
    fail<UsageError>("images of {}x{}x{} and {} classes: expected positive numbers", shape.channels,
                     shape.height, shape.width, shape.classes);
  }
  choice.loss = loss_named(module.loss);
  choice.batch = 32;
  choice.optimizer = "sgd";
  choice.learning_rate = 0.01;
  return choice;
}

constexpr auto kModels = std::to_array<ModelInfo>({
#define MODEL(name, parameters, channels, height, width, classes, batch, optimizer, rate, purpose) \
  {#name, parameters, {channels, height, width, classes}, batch, #optimizer, rate, purpose},
#include "models/network/models.def"
#undef MODEL
});

}  // namespace

bool ModelChoice::is_file() const { return names_a_file(model); }

ModelChoice choose_model(const std::string& model, const ModuleOptions& module) {
  if (names_a_file(model)) return choose_file(model, module);
  const ImageShape& given = module.shape;
  const bool described = !module.loss.empty() || given.channels != 0 || given.height != 0 ||
                         given.width != 0 || given.classes != 0;
  if (described) {
    fail<UsageError>(
        "model {} has its own loss, input shape and classes: those options are for a TorchScript "
        "file",
        model);
  }
  const ModelInfo& info = model_named(model);
  return {model,      std::string(info.name),      info.shape,        Loss::cross_entropy,
          info.batch, std::string(info.optimizer), info.learning_rate};
}

std::span<const ModelInfo> models() { return kModels; }

const ModelInfo& model_named(std::string_view name) {
  return row_named(kModels, &ModelInfo::name, "model", name);
}

}  // namespace scalebench
