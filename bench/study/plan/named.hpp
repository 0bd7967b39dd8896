// SPDX-License-Identifier: Apache-2.0
// What the names in a config stand for, as far as a plan needs to know it without training: models,
// gradient syncs, data sets, transports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace scalebench {

/// What a model is trained with when nothing else is asked for.
struct ModelDefaults {
  std::string_view name;
  std::int64_t batch;
  std::string_view optimizer;
  double learning_rate;
};
/// Null: of a file or a trace, which says so itself.
const ModelDefaults* defaults_of(std::string_view model);

/// Among how many ranks the images of a step are divided; `ranks` for a name that is in no table.
int workers_among(int ranks, std::string_view gradient_sync);

/// Whether nothing travels in a step of a gradient sync, or allreduces by the algorithm that is
/// asked for; neither for a name that is in no table.
bool sends_nothing(std::string_view gradient_sync);
bool sends_allreduces(std::string_view gradient_sync);

/// Whether it carries what lies on GPUs.
bool is_of_gpus(std::string_view transport);

inline constexpr const char* kFashionMnistFolder = "/usr/share/datasets/fashion-mnist";

/// The images of training of a data set whose name says so; nothing of a folder.
std::optional<std::int64_t> images_of(std::string_view data);

/// Why nothing can be the data set of that name; empty: something can. `here`: a folder is looked
/// for on this host.
std::string why_no_data(const std::string& data, bool here);
/// Why this host lacks a data set that is no folder of the user's; empty: it does not.
std::string why_not_installed(std::string_view data);

}  // namespace scalebench
