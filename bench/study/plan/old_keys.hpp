// SPDX-License-Identifier: Apache-2.0
// Keys of a config that once had another name: files with the old ones go on working.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <vector>

namespace scalebench {

/// Gives every old key in `root` today's name; its value keeps its place in the file. Returns what
/// was renamed, as "12:1: batch is now global_batch". An old key beside its new one is left alone.
std::vector<std::string> rename_old_keys(toml::table& root);

}  // namespace scalebench
