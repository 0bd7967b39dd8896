// SPDX-License-Identifier: Apache-2.0
#include "bench/study/plan/named.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kSynthetic = "synthetic";
constexpr std::string_view kSyntheticOf = "synthetic:";
constexpr std::string_view kFashionMnist = "fashion-mnist";
constexpr std::int64_t kImages = 60'000;  // of the sets that are no folder and say no number
constexpr std::int64_t kFewestSynthetic = 6;

std::string_view what_travels(std::string_view gradient_sync) {
#define GRADIENT_SYNC(name, equal, mean, overlaps, sends, ...) \
  if (gradient_sync == #name) return #sends;
#include "models/gradients/gradient_sync.def"
#undef GRADIENT_SYNC
  return "";
}

bool is_folder(const std::string& path) {
  std::error_code none;
  return std::filesystem::is_directory(path, none);
}

}  // namespace

const ModelDefaults* defaults_of(std::string_view model) {
  static constexpr ModelDefaults kModels[]{
#define MODEL(name, parameters, channels, height, width, classes, batch, optimizer, rate, ...) \
  {#name, batch, #optimizer, rate},
#include "models/network/models.def"
#undef MODEL
  };
  const auto found = std::ranges::find(kModels, model, &ModelDefaults::name);
  return found == std::end(kModels) ? nullptr : found;
}

int workers_among(int ranks, std::string_view gradient_sync) {
  constexpr int servers = 1;  // the program's default, which no key of a config changes
#define GRADIENT_SYNC(name, equal, mean, overlaps, sends, workers, ...) \
  if (gradient_sync == #name) return workers;
#include "models/gradients/gradient_sync.def"
#undef GRADIENT_SYNC
  return ranks;
}

bool sends_nothing(std::string_view gradient_sync) {
  return what_travels(gradient_sync) == "nothing";
}
bool sends_allreduces(std::string_view gradient_sync) {
  return what_travels(gradient_sync) == "allreduces";
}

bool is_of_gpus(std::string_view transport) {
  return transport == "nccl" || transport == "cuda_ipc";
}

std::optional<std::int64_t> images_of(std::string_view data) {
  if (data == kFashionMnist || data == kSynthetic) return kImages;
  if (!data.starts_with(kSyntheticOf)) return std::nullopt;
  return read_number<std::int64_t>(data.substr(kSyntheticOf.size()));
}

std::string why_no_data(const std::string& data, bool here) {
  if (data == kSynthetic) return "";
  if (data.starts_with(kSyntheticOf)) {
    if (images_of(data).value_or(0) >= kFewestSynthetic) return "";
    return fmt::format("{}: valid: synthetic:N with a whole number N of at least {}", data,
                       kFewestSynthetic);
  }
  if (data == kFashionMnist || !here || is_folder(data)) return "";
  return fmt::format(
      "{} is no folder here; valid: fashion-mnist, synthetic, synthetic:N, or a folder of images",
      data);
}

std::string why_not_installed(std::string_view data) {
  if (data != kFashionMnist || is_folder(kFashionMnistFolder)) return "";
  return fmt::format(
      "{} is not installed: there is no folder {}; install Debian's "
      "dataset-fashion-mnist, or name other data",
      data, kFashionMnistFolder);
}

}  // namespace scalebench
