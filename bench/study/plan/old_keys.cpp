// SPDX-License-Identifier: Apache-2.0
#include "bench/study/plan/old_keys.hpp"

#include <fmt/format.h>

#include <utility>

namespace scalebench {
namespace {

void rename(toml::table& table, std::string_view old, std::string_view now,
            std::vector<std::string>& renamed) {
  const auto found = table.find(old);
  if (found == table.end() || table.contains(now)) return;
  const toml::source_position at = found->first.source().begin;
  renamed.push_back(fmt::format("{}:{}: {} is now {}", at.line, at.column, old, now));
  found->second.visit([&](auto& value) { table.insert(now, std::move(value)); });
  table.erase(old);
}

}  // namespace

std::vector<std::string> rename_old_keys(toml::table& root) {
  std::vector<std::string> renamed;
  if (toml::table* const study = root["study"].as_table()) {
    // Once a number: how many there are.
    if ((*study)["devices"].is_integer()) rename(*study, "devices", "slots", renamed);
    rename(*study, "gpus", "devices", renamed);
  }
  if (toml::table* const throughput = root["throughput"].as_table()) {
    rename(*throughput, "batch", "batch_per_rank", renamed);
    rename(*throughput, "batches", "batches_per_rank", renamed);
  }
  if (toml::array* const epochs = root["epoch"].as_array()) {
    for (toml::node& node : *epochs) {
      toml::table* const epoch = node.as_table();
      if (epoch == nullptr) continue;
      const bool weak = (*epoch)["scaling"].value_or(std::string_view()) == "weak";
      rename(*epoch, "batch", weak ? "batch_per_rank" : "global_batch", renamed);
    }
  }
  return renamed;
}

}  // namespace scalebench
