// SPDX-License-Identifier: Apache-2.0
// The table behind models.hpp.
#include "models/network/models.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
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

/// The first 8 hex digits that `sha256sum` prints. `expected`: what the file should hold.
std::string digest_of(const std::string& path, std::string_view expected) {
  // Of a folder the stream would open, and its bytes throw.
  std::error_code unknown;
  errno = std::filesystem::is_directory(path, unknown) ? EISDIR : 0;
  std::ifstream file;
  if (errno == 0) file.open(path, std::ios::binary);
  if (!file.is_open()) {
    fail<UsageError>("--model {}: cannot read this file: {}; expected {}", path,
                     std::strerror(errno), expected);
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
  choice.label = fmt::format("{}-{}", std::filesystem::path(model).stem().string(),
                             digest_of(model, "a TorchScript module"));
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

ModelChoice choose_replay(const std::string& model, double dilation) {
  if (!std::isfinite(dilation) || dilation <= 0) {
    fail<UsageError>("--dilation {}: expected a factor above 0", dilation);
  }
  const std::string file = model.substr(kReplayPrefix.size());
  ModelChoice choice;
  choice.model = model;
  choice.trace = std::make_shared<const ReplayTrace>(read_replay_trace(file));
  choice.trace_digest = digest_of(file, "a trace of bench_epoch --record-trace");
  choice.dilation = dilation;
  choice.label = fmt::format("{}{}", kReplayPrefix, std::filesystem::path(file).stem().string());
  choice.shape = {1, 1, 1, 2};
  choice.batch = choice.trace->batch;
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

bool ModelChoice::is_file() const { return trace == nullptr && names_a_file(model); }

ModelChoice choose_model(const std::string& model, const ModuleOptions& module) {
  const bool replayed = model.starts_with(kReplayPrefix);
  if (!replayed && module.dilation != 1) {
    fail<UsageError>("--dilation {}: only {}FILE can be slower than it is, not {}", module.dilation,
                     kReplayPrefix, model);
  }
  if (!replayed && names_a_file(model)) return choose_file(model, module);
  const ImageShape& given = module.shape;
  const bool described = !module.loss.empty() || given.channels != 0 || given.height != 0 ||
                         given.width != 0 || given.classes != 0;
  if (replayed && !described) return choose_replay(model, module.dilation);
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
