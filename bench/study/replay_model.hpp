// SPDX-License-Identifier: Apache-2.0
// A model of a study that is a file of recorded steps: `replay:FILE`, as bench_epoch takes it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace scalebench {

bool is_replay(std::string_view model);

/// What rows call a model: `replay:resnet18` for `replay:configs/traces/resnet18.json`; any other
/// by its own name.
std::string label_in_rows(const std::string& model);

/// The same with its file as it is found from the current folder, else from `folder`; nothing when
/// it is in neither.
std::optional<std::string> found_replay(const std::string& model,
                                        const std::filesystem::path& folder);

}  // namespace scalebench
